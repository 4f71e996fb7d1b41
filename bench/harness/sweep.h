/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_SWEEP_H
#define BP_BENCH_HARNESS_SWEEP_H

#include <pthread.h>
#include <stdatomic.h>

#include "bench/lcl/wire.h"

/* Counters to read while a wire (bench/lcl/wire.h) offers frames at a series of rates. */
struct bench_sweep_figure {
	const char *name;
	const _Atomic uint64_t *count;
};

/*
 * Offers each of `rates` (frames/s, comma-separated) for the given CPU time of the worker, and
 * prints "points": for each its "rate", the really "offered" rate and the figures, all per second
 * of that time. At return nothing is offered any more and no frame is in flight. Terminates the
 * process if a rate is invalid.
 */
void bench_sweep(struct bench_wire *wire, const char *rates, pthread_t worker, double seconds,
	const struct bench_sweep_figure figure[], unsigned n);

#endif
