/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_AGGREGATION_AGG_H
#define BP_BENCH_AGGREGATION_AGG_H

#include <stdio.h>

#include "bench/aggregation/agg_traffic.h"
#include "bench/lcl/wire.h"
#include "dataplane/workers/graph.h"

/*
 * Aggregation and disaggregation on one worker. Each from a capture as fast as the worker takes it;
 * or both ends of a WAN one behind the other, for Figure 9 of Lin et al. (2018): port 1 gives back
 * what it is sent, and messages come from bench/lcl/wire.h at rates that are gone through.
 */
struct bench_agg {
	uint32_t aggregate, disaggregate; /* N of each; 0: not done */
	bool lin2018;                     /* format lin2018; false: full */
	uint32_t streams;                 /* destinations; 0 and 1: one */
	const char *rates; /* messages a second, with commas between; NULL: capture */
	struct bench_wire wire;
	struct bench_agg_sequence sequence;
	struct bench_agg_servers servers;
	uint8_t *frames;
	uint64_t taken, full; /* messages, and full aggregates, when the measurement was over */
};

static inline bool bench_agg_on(const struct bench_agg *a)
{
	return a->aggregate != 0 || a->disaggregate != 0;
}

/* Whether these options fit together. */
bool bench_agg_fits(const struct bench_agg *a);
/* The device of port 1, where both ends are measured. */
#define BENCH_AGG_LOOP "net_ring0"
void bench_agg_configuration(const struct bench_agg *a, FILE *f);
/* mbufs next to those of the ports: an aggregate of each stream lies in one. */
uint32_t bench_agg_mbufs(const struct bench_agg *a);

/* The ports are started. Of the worker all but `agg` and the graph is there. Ends the process
 * when something is refused. */
void bench_agg_set_up(struct bench_agg *a, struct rte_mempool *pool);
/* Receive queues of the worker; returns how many. */
unsigned bench_agg_queues(const struct bench_agg *a, struct bp_rx_queue queues[2]);
/* What counts messages: that came in, or that were restored. */
const _Atomic uint64_t *bench_agg_messages(const struct bench_agg *a, const struct bp_shm *shm);
/* Goes through the rates, each for so much of the worker's processor time; prints members of a JSON
 * object. */
void bench_agg_sweep(
	struct bench_agg *a, const struct bp_shm *shm, pthread_t worker, double seconds);
/* When the measurement is over, and the worker not yet told to stop: then it holds nothing any
 * more.
 */
void bench_agg_note(struct bench_agg *a, const struct bp_shm *shm);
/* After the worker has ended: whether its counters prove the work; prints members of a JSON object.
 * `frames`: received on port 0. */
bool bench_agg_report(const struct bench_agg *a, const struct bp_shm *shm, uint64_t frames);

#endif
