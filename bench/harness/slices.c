/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/harness/slices.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <rte_common.h>

#define SLICE_US 20000
#define SETTLE_US 1000 /* settling time after a change */
#define PAIRS_MAX 4096u
#define CPU_MIN_NS 2000000 /* minimum share of CPU time of a valid slice */
#define TRIES 20           /* for each pair */

struct slice {
	double mpps, other;
};

double bench_cpu_ns(pthread_t thread)
{
	clockid_t clock;
	struct timespec t;

	if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &t) != 0) {
		fprintf(stderr, "biplane-bench: no processor time of the worker\n");
		exit(1);
	}
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint64_t others(const struct bench_slices_load *load)
{
	return load->other != NULL ? load->other(load->arg) : 0;
}

/* Returns whether the worker ran long enough. */
static bool measure_one(struct slice *s, const struct bench_slices_load *load, bool on,
	pthread_t worker, const _Atomic uint64_t *frames)
{
	uint64_t all, other;
	double cpu;

	load->set(load->arg, on);
	usleep(SETTLE_US);
	all = atomic_load_explicit(frames, memory_order_relaxed);
	other = others(load);
	cpu = bench_cpu_ns(worker);
	usleep(SLICE_US);
	all = atomic_load_explicit(frames, memory_order_relaxed) - all;
	other = others(load) - other;
	cpu = bench_cpu_ns(worker) - cpu;
	s->mpps = (double)(all - other) / cpu * 1e3;
	s->other = (double)other / cpu * 1e9;
	return cpu >= CPU_MIN_NS;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, unsigned n)
{
	qsort(v, n, sizeof(*v), by_value);
	return n == 0 ? 0 : v[n / 2];
}

void bench_slices_measure(struct bench_slices *s, const struct bench_slices_load *load,
	double seconds, pthread_t worker, const _Atomic uint64_t *frames)
{
	static double none[PAIRS_MAX], data[PAIRS_MAX], ratio[PAIRS_MAX], other[PAIRS_MAX];
	unsigned n = 0, pairs = (unsigned)(seconds * 1e6 / (2 * (SLICE_US + SETTLE_US))) + 1;

	pairs = RTE_MIN(pairs, PAIRS_MAX);
	for (unsigned i = 0; n < pairs && i < TRIES * pairs; i++) {
		struct slice of[2]; /* without, with */
		unsigned first = i % 2;

		if (!measure_one(&of[first], load, first, worker, frames) ||
			!measure_one(&of[!first], load, !first, worker, frames))
			continue;
		none[n] = of[0].mpps;
		data[n] = of[1].mpps;
		ratio[n] = of[1].mpps / of[0].mpps;
		other[n++] = of[1].other;
	}
	if (n == 0) {
		fprintf(stderr,
			"biplane-bench: other processes leave the worker too little of its "
			"processor (core 1) to measure anything; run again when they have ended\n");
		exit(1);
	}
	*s = (struct bench_slices){
		median(none, n), median(data, n), median(ratio, n), median(other, n)};
}
