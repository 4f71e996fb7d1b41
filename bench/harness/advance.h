/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_ADVANCE_H
#define BP_BENCH_HARNESS_ADVANCE_H

#include <rte_ethdev.h>

#include "bench/harness/traffic.h"

/*
 * Receive callback, installed only by the benchmark, that turns a replayed capture into a
 * continuing TCP stream: a plain replay would contain only retransmissions, which inspection skips.
 * Pass 0 has the SYN of every connection, pass 1 the SYN-ACK of the broker, pass 2 CONNECT, pass 3
 * CONNACK, and all further passes PUBLISH packets whose sequence numbers continue. If there are
 * more connections than frames in the capture, the callback also rewrites the client address, in an
 * order that visits all connections once per pass and never two neighbors; these connections are
 * opened one after another. Checksums stay correct (RFC 1624).
 * With Sparkplug B, pass 4 has the NBIRTH of every connection, as long as a PUBLISH.
 */
#define BENCH_OPENING 4u                      /* passes up to CONNACK */
#define BENCH_PRIMING_MAX (BENCH_OPENING + 1) /* passes before the first PUBLISH */
static inline uint32_t bench_priming(const struct bench_traffic *t)
{
	return BENCH_OPENING + (t->kind == BENCH_SPARKPLUG);
}

#define BENCH_ACK_EVERY 16u

struct bench_advance {
	const struct bench_traffic *traffic;
	uint32_t connections; /* those of the capture, or a power of ten above 1,000 */
	uint32_t connection;  /* the current connection */
	uint32_t step;
	uint32_t primed;     /* setup frames of this connection so far, up to bench_priming() */
	uint32_t in_pass;    /* frames of this pass so far */
	uint32_t in_capture; /* frames of the capture so far, below their number */
	uint64_t pass;
	uint64_t publishes; /* frames generated so far */
	uint64_t over;      /* of these, above the threshold */
	uint64_t observed;  /* of these, on connections of bench_is_observed() */
	uint32_t observed_before[BENCH_FRAMES_MAX + 1]; /* likewise before this position */
	uint32_t over_before[BENCH_FRAMES_MAX + 1];     /* frames above it before this position */
	uint32_t topics;                                /* of a connection, in turn */
	bool acknowledged; /* the broker acknowledges what clients send, each BENCH_ACK_EVERY passes
			    */
};

void bench_advance_init(struct bench_advance *a, const struct bench_traffic *t,
	uint32_t connections, uint32_t topics);
uint16_t bench_advance_rx(uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n,
	uint16_t max, void *arg);

#endif
