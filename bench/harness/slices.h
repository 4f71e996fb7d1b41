/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_SLICES_H
#define BP_BENCH_HARNESS_SLICES_H

#include <pthread.h>
#include <stdatomic.h>

#include "bench/harness/control.h"

/* Processor time of a thread so far, ns. Ends the process when there is none. */
double bench_cpu_ns(pthread_t thread);

/* Medians; rates are per second of the worker's processor time. */
struct bench_slices {
	double none_mpps; /* data frames while no control messages come */
	double data_mpps; /* data frames while they come */
	double ratio;     /* of neighboring slices, with to without */
	double control;   /* messages per second while they come */
};

/*
 * Measures for so many seconds of which the worker has its processor, in short slices in turn
 * without control messages and with `rate` of them a second: whatever else the machine does
 * meanwhile befalls neighboring slices alike, so a difference of a hundredth can be seen. `frames`
 * counts all that the worker received.
 */
void bench_slices_measure(struct bench_slices *s, struct bench_control *c, uint32_t rate,
	double seconds, pthread_t worker, const _Atomic uint64_t *frames);

#endif
