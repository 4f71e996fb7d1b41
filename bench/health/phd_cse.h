/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HEALTH_PHD_CSE_H
#define BP_BENCH_HEALTH_PHD_CSE_H

#include <rte_ethdev.h>

/*
 * The CSE on port 1, whose device gives back what it is sent: each request becomes, in its own
 * mbuf, the piggybacked response that a CSE which stored it makes of it (2.01, TS-0008: response
 * status code 2001, the request's identifier and release, an originating time stamp), with right
 * checksums. It is a transmit callback, so that it runs on the worker, and costs what one copy of
 * the headers and one checksum cost.
 */
struct bench_phd_cse {
	uint64_t stored; /* requests that were answered */
	uint64_t others; /* frames that are none: not one may come */
};

uint16_t bench_phd_cse_tx(
	uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n, void *arg);

#endif
