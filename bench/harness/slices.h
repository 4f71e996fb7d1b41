/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_SLICES_H
#define BP_BENCH_HARNESS_SLICES_H

#include <pthread.h>
#include <stdatomic.h>

#include "bench/harness/control.h"

/* CPU time of a thread so far, ns. Terminates the process if the thread does not exist. */
double bench_cpu_ns(pthread_t thread);

/* Medians; rates are per second of CPU time of the worker. */
struct bench_slices {
	double none_mpps; /* data frames/s without control messages */
	double data_mpps; /* data frames/s with control messages */
	double ratio;     /* ratio of neighboring slices, with to without */
	double control;   /* control messages/s */
};

/*
 * Measures for the given CPU time of the worker in short slices, alternately without control
 * messages and with `rate` of them per second: other load on the machine influences neighboring
 * slices equally, so that a difference of one percent is visible. `frames` counts all frames that
 * the worker received.
 */
void bench_slices_measure(struct bench_slices *s, struct bench_control *c, uint32_t rate,
	double seconds, pthread_t worker, const _Atomic uint64_t *frames);

#endif
