/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_AGGREGATION_AGG_TRAFFIC_H
#define BP_BENCH_AGGREGATION_AGG_TRAFFIC_H

#include <rte_ethdev.h>

/*
 * What a capture that is replayed in a loop cannot hold, as receive callbacks that only the
 * benchmark installs. Checksums stay right. What they cost is part of the figure.
 */

/*
 * Aggregates in format full: a stream whose numbers continue. Replayed as they are, all but the
 * first pass would be duplicates, or too old to tell, and the reader's memory of what came would
 * never move on as it does in life.
 */
struct bench_agg_sequence {
	uint32_t next; /* sequence number */
};
uint16_t bench_agg_sequence_rx(uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n,
	uint16_t max, void *arg);

/*
 * Messages to many servers, each to any of them: a stream is met in a random order, and streams are
 * not in step, which would fill all aggregates in the same pass.
 */
struct bench_agg_servers {
	uint32_t n; /* addresses from BENCH_AGG_STREAMS on, at most 65,536 */
	uint64_t seed;
};
uint16_t bench_agg_servers_rx(uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n,
	uint16_t max, void *arg);

#endif
