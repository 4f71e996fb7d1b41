/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_SLICES_H
#define BP_BENCH_HARNESS_SLICES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* CPU time of a thread so far, ns. Terminates the process if the thread does not exist. */
double bench_cpu_ns(pthread_t thread);

/* What every second slice has in addition. */
struct bench_slices_load {
	void (*set)(void *arg, bool on);
	uint64_t (*other)(void *arg); /* counted frames that are not data; NULL: none */
	void *arg;
};

/* Medians; rates are per second of CPU time of the worker. */
struct bench_slices {
	double none_mpps; /* data frames/s without the load */
	double data_mpps; /* data frames/s with the load */
	double ratio;     /* ratio of neighboring slices, with to without */
	double other;     /* other frames/s with the load */
};

/*
 * Measures for the given CPU time of the worker in short slices, alternately without the load and
 * with it: other load on the machine influences neighboring slices equally, so that a difference of
 * one percent is visible. `frames` counts all frames that the worker received.
 */
void bench_slices_measure(struct bench_slices *s, const struct bench_slices_load *load,
	double seconds, pthread_t worker, const _Atomic uint64_t *frames);

#endif
