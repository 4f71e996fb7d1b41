/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_TRANSFORM_TRANSFORM_H
#define BP_BENCH_TRANSFORM_TRANSFORM_H

#include <pthread.h>
#include <stdio.h>

#include <rte_ethdev.h>

#include "bench/lcl/wire.h"
#include "dataplane/workers/graph.h"

/*
 * Coordinate transformation on one worker: readings of bench/transform/transform_frames.h, from a
 * capture as fast as the worker takes them, or from bench/lcl/wire.h at rates that are gone
 * through.
 */
#define BENCH_TRANSFORM_SOURCES_MAX 65536u

struct bench_transform {
	const char *method; /* as in the configuration; NULL: nothing is transformed */
	/* Trackers, each with a matrix of its own; each reading is of any of them, drawn by a
	 * receive callback whose cost is part of the figure. 0: one, as it is in the capture. */
	uint32_t sources;
	const char *rates; /* readings a second, with commas between; NULL: capture */
	bool routed;       /* the port routes, and finds the receiver's MAC address itself */
	uint64_t seed;
	uint8_t *frames;
	struct bench_wire wire;
};

static inline bool bench_transform_on(const struct bench_transform *x)
{
	return x->method != NULL;
}

/* Whether these options fit together. */
bool bench_transform_fits(const struct bench_transform *x);
void bench_transform_configuration(const struct bench_transform *x, FILE *f);

/* The ports are started. Of the worker all but `transformer` and the graph is there. Ends the
 * process when something is refused. */
void bench_transform_set_up(struct bench_transform *x, struct rte_mempool *pool);
/* Goes through the rates, each for so much of the worker's processor time; prints members of a JSON
 * object. */
void bench_transform_sweep(
	struct bench_transform *x, const struct bp_shm *shm, pthread_t worker, double seconds);
/* After the worker has ended: whether its counters prove the work; prints members of a JSON object.
 * `frames`: received on port 0. */
bool bench_transform_report(
	const struct bench_transform *x, const struct bp_shm *shm, uint64_t frames);

#endif
