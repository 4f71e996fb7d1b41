/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_AGGREGATION_AGG_TRAFFIC_H
#define BP_BENCH_AGGREGATION_AGG_TRAFFIC_H

#include <rte_ethdev.h>

/*
 * Changes to the frames of a replayed capture, as receive callbacks that only the benchmark
 * installs. Checksums stay correct. Their cost is part of the result.
 */

/*
 * Aggregates in format full with continuing sequence numbers. A plain replay would contain only
 * duplicates and stale aggregates after its first pass, and the window of sequence numbers would
 * not advance.
 */
struct bench_agg_sequence {
	uint32_t next; /* next sequence number */
};
uint16_t bench_agg_sequence_rx(uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n,
	uint16_t max, void *arg);

/*
 * Messages to random servers: the streams occur in a random order and are not synchronised, so that
 * not all aggregates become full in the same pass.
 */
struct bench_agg_servers {
	uint32_t n; /* addresses from BENCH_AGG_STREAMS on, at most 65,536 */
	uint64_t seed;
};
uint16_t bench_agg_servers_rx(uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n,
	uint16_t max, void *arg);

#endif
