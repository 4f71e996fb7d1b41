/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HEALTH_PHD_INPUT_H
#define BP_BENCH_HEALTH_PHD_INPUT_H

#include <rte_ethdev.h>

#include "bench/health/phd_frames.h"

/*
 * A report that comes again is answered from the session and stored no more. This receive callback,
 * which only the benchmark installs, makes each pass over the devices new: invoke-id, report number
 * and values go up. With more devices than the capture has it also writes the source address, in an
 * order that visits all of them once a pass and never two neighbors. Checksums are kept right.
 */
struct bench_phd_input {
	uint32_t devices; /* BENCH_PHD_DEVICES, or a power of ten above it */
	uint32_t device;  /* whose turn it is */
	uint32_t step;
	uint32_t in_pass;
	uint16_t pass;
	uint16_t raise;  /* of the values, in network order's numbers */
	uint64_t change; /* of the UDP checksum by what this pass writes */
	uint64_t made;   /* reports */
};

void bench_phd_input_init(struct bench_phd_input *in, uint32_t devices);
uint16_t bench_phd_input_rx(uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n,
	uint16_t max, void *arg);

#endif
