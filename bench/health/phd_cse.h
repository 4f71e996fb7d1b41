/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HEALTH_PHD_CSE_H
#define BP_BENCH_HEALTH_PHD_CSE_H

#include <rte_ethdev.h>

/*
 * Simulated CSE on port 1, whose device is a loopback: a transmit callback turns each request, in
 * place, into the piggybacked response of a CSE that stored it (2.01; TS-0008: response status code
 * 2001, request identifier, release, originating time stamp), with correct checksums. The callback
 * runs on the worker; it costs one copy of the headers and one checksum.
 */
struct bench_phd_cse {
	uint64_t stored; /* answered requests */
	uint64_t others; /* other frames: must remain 0 */
};

uint16_t bench_phd_cse_tx(
	uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n, void *arg);

#endif
