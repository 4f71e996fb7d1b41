/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_TRANSFORM_TRANSFORM_H
#define BP_BENCH_TRANSFORM_TRANSFORM_H

#include <pthread.h>
#include <stdio.h>

#include <rte_ethdev.h>

#include "bench/lcl/wire.h"
#include "dataplane/workers/graph.h"

/*
 * Coordinate transformation benchmark with one worker: readings of
 * bench/transform/transform_frames.h, from a capture as fast as the worker polls, or from the rate
 * generator of bench/lcl/wire.h at a list of rates.
 */
#define BENCH_TRANSFORM_SOURCES_MAX 65536u

struct bench_transform {
	const char *method; /* as in the configuration; NULL: no transformation */
	/* Number of trackers, each with a matrix of its own; a receive callback gives each reading
	 * a random one, and its cost is part of the result. 0: one, as in the capture. */
	uint32_t sources;
	const char *rates; /* readings/s, comma-separated; NULL: from the capture */
	bool routed;       /* the port is routed, and the MAC address of the receiver is resolved */
	uint64_t seed;
	uint8_t *frames;
	struct bench_wire wire;
};

static inline bool bench_transform_on(const struct bench_transform *x)
{
	return x->method != NULL;
}

/* Whether these options can be combined. */
bool bench_transform_fits(const struct bench_transform *x);
void bench_transform_configuration(const struct bench_transform *x, FILE *f);

/* Call it after the ports are started. The worker is complete except for `transformer` and the
 * graph. Terminates the process on failure. */
void bench_transform_set_up(struct bench_transform *x, struct rte_mempool *pool);
/* Measures each rate for the given CPU time of the worker; prints members of a JSON object. */
void bench_transform_sweep(
	struct bench_transform *x, const struct bp_shm *shm, pthread_t worker, double seconds);
/* Call it after the worker has ended: checks the counters and prints members of a JSON object.
 * `frames`: received on port 0. */
bool bench_transform_report(
	const struct bench_transform *x, const struct bp_shm *shm, uint64_t frames);

#endif
