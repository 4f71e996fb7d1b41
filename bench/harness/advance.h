/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_ADVANCE_H
#define BP_BENCH_HARNESS_ADVANCE_H

#include <rte_ethdev.h>

#include "bench/harness/traffic.h"

/*
 * A capture that is replayed in a loop is a stream of retransmissions, and those cost nothing to
 * inspect. This receive callback, which only the benchmark installs, makes each pass new: pass 0 is
 * every connection's SYN, pass 1 the broker's SYN-ACK, pass 2 CONNECT, pass 3 CONNACK, from then on
 * its PUBLISH with the sequence number where the one before ended. With more connections than the
 * capture has frames it also writes the client's address, in an order that visits all of them once
 * a pass and never two neighbors; these connect one after another. Checksums are kept right (RFC
 * 1624).
 */
#define BENCH_PRIMING 4u /* passes before the first PUBLISH */

struct bench_advance {
	const struct bench_traffic *traffic;
	uint32_t connections; /* BENCH_FRAMES, or a power of ten above it */
	uint32_t connection;  /* whose turn it is */
	uint32_t step;
	uint32_t primed;     /* frames of this connection so far, of BENCH_PRIMING */
	uint32_t in_pass;    /* frames of this pass so far */
	uint32_t in_capture; /* frames of the capture so far, 0..BENCH_FRAMES-1 */
	uint64_t pass;
	uint64_t publishes;                     /* made so far */
	uint64_t over;                          /* of these, over the threshold */
	uint32_t over_before[BENCH_FRAMES + 1]; /* frames over it before this position */
	uint8_t connect[BENCH_FRAME_MAX];
};

void bench_advance_init(
	struct bench_advance *a, const struct bench_traffic *t, uint32_t connections);
uint16_t bench_advance_rx(uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n,
	uint16_t max, void *arg);

#endif
