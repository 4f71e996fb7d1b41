/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_AGGREGATION_AGG_H
#define BP_BENCH_AGGREGATION_AGG_H

#include <stdio.h>

#include "bench/aggregation/agg_traffic.h"
#include "bench/lcl/wire.h"
#include "dataplane/workers/graph.h"

/*
 * Aggregation benchmark with one worker. Encapsulation or decapsulation alone reads frames from a
 * capture as fast as the worker polls. With both (Figure 9 of Lin et al. 2018), port 1 is a
 * loopback device, and the messages come from the rate generator of bench/lcl/wire.h at a list of
 * rates.
 */
struct bench_agg {
	uint32_t aggregate, disaggregate; /* messages per aggregate (N) of each; 0: not measured */
	bool lin2018;                     /* format lin2018; false: full */
	uint32_t streams;                 /* number of destinations; 0 and 1: one */
	const char *rates;                /* messages/s, comma-separated; NULL: from the capture */
	struct bench_wire wire;
	struct bench_agg_sequence sequence;
	struct bench_agg_servers servers;
	uint8_t *frames;
	uint64_t taken, full; /* messages and full aggregates at the end of the measurement */
};

static inline bool bench_agg_on(const struct bench_agg *a)
{
	return a->aggregate != 0 || a->disaggregate != 0;
}

/* Whether these options can be combined. */
bool bench_agg_fits(const struct bench_agg *a);
/* The device of port 1 if encapsulation and decapsulation are measured together. */
#define BENCH_AGG_LOOP "net_ring0"
void bench_agg_configuration(const struct bench_agg *a, FILE *f);
/* mbufs in addition to those of the ports: one per stream for its aggregate. */
uint32_t bench_agg_mbufs(const struct bench_agg *a);

/* Call it after the ports are started. The worker is complete except for `agg` and the graph.
 * Terminates the process on failure. */
void bench_agg_set_up(struct bench_agg *a, struct rte_mempool *pool);
/* Sets the receive queues of the worker; returns their number. */
unsigned bench_agg_queues(const struct bench_agg *a, struct bp_rx_queue queues[2]);
/* The counter of messages: received, or restored. */
const _Atomic uint64_t *bench_agg_messages(const struct bench_agg *a, const struct bp_shm *shm);
/* Measures each rate for the given CPU time of the worker; prints members of a JSON object. */
void bench_agg_sweep(
	struct bench_agg *a, const struct bp_shm *shm, pthread_t worker, double seconds);
/* Records the counters at the end of the measurement, before the worker is stopped, because
 * stopping flushes all aggregates. */
void bench_agg_note(struct bench_agg *a, const struct bp_shm *shm);
/* Call it after the worker has ended: checks the counters and prints members of a JSON object.
 * `frames`: received on port 0. Returns whether the counters are correct. */
bool bench_agg_report(const struct bench_agg *a, const struct bp_shm *shm, uint64_t frames);

#endif
