/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HEALTH_PHD_INPUT_H
#define BP_BENCH_HEALTH_PHD_INPUT_H

#include <rte_ethdev.h>

#include "bench/health/phd_frames.h"

/*
 * Receive callback, installed only by the benchmark, that makes each pass of the replayed capture
 * new, because a repeated report is answered from the session and not stored again: invoke-id,
 * report number and values are increased. If there are more devices than frames in the capture, it
 * also rewrites the source address, in an order that visits all devices once per pass and never two
 * neighbors. Checksums stay correct.
 */
struct bench_phd_input {
	uint32_t devices; /* BENCH_PHD_DEVICES, or a power of ten above it */
	uint32_t device;  /* the current device */
	uint32_t step;
	uint32_t in_pass;
	uint16_t pass;
	uint16_t raise;  /* increase of the values, in network byte order */
	uint64_t change; /* change of the UDP checksum in this pass */
	uint64_t made;   /* reports */
};

void bench_phd_input_init(struct bench_phd_input *in, uint32_t devices);
uint16_t bench_phd_input_rx(uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n,
	uint16_t max, void *arg);

#endif
