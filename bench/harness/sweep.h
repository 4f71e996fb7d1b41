/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_SWEEP_H
#define BP_BENCH_HARNESS_SWEEP_H

#include <pthread.h>
#include <stdatomic.h>

#include "bench/lcl/wire.h"

/* What a worker counts while a wire (bench/lcl/wire.h) brings it frames at one rate after the
 * other. */
struct bench_sweep_figure {
	const char *name;
	const _Atomic uint64_t *count;
};

/*
 * Goes through `rates` (frames a second, with commas between), each for so much of the worker's
 * processor time, and prints "points": for each its "rate", what was really "offered", and the
 * figures, all per second of that time. When it returns, nothing is offered any more and what was
 * on its way has arrived. Ends the process when a rate cannot be read.
 */
void bench_sweep(struct bench_wire *wire, const char *rates, pthread_t worker, double seconds,
	const struct bench_sweep_figure figure[], unsigned n);

#endif
