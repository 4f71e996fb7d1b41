/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/harness/sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/harness/slices.h"

#define FIGURES_MAX 4u
#define SETTLE_NS 5e6 /* after the last rate */
#define SETTLE 0.2    /* warm-up share of a measurement */

static void wait_for(pthread_t worker, double cpu_ns)
{
	while (bench_cpu_ns(worker) < cpu_ns)
		usleep(500);
}

/* figure[0] is counted by the wire itself. */
static double look(
	pthread_t worker, const struct bench_sweep_figure figure[], unsigned n, uint64_t count[])
{
	const double ns = bench_cpu_ns(worker);

	for (unsigned i = 0; i < n; i++)
		count[i] = atomic_load(figure[i].count);
	return ns;
}

static double rate_of(const char **p)
{
	char *end;
	const double rate = strtod(*p, &end);

	if (end == *p || !(rate > 0)) {
		fprintf(stderr, "biplane-bench: rates: %s\n", *p);
		exit(1);
	}
	*p = *end == ',' ? end + 1 : end;
	return rate;
}

void bench_sweep(struct bench_wire *wire, const char *rates, pthread_t worker, double seconds,
	const struct bench_sweep_figure figure[], unsigned n)
{
	struct bench_sweep_figure all[FIGURES_MAX + 1] = {{"offered", &wire->offered}};
	uint64_t before[FIGURES_MAX + 1], after[FIGURES_MAX + 1];
	const char *p = rates;

	for (unsigned i = 0; i < n && i < FIGURES_MAX; i++)
		all[i + 1] = figure[i];
	n = 1 + (n < FIGURES_MAX ? n : FIGURES_MAX);
	printf("\"points\": [");
	while (*p != '\0') {
		const bool first = p == rates;
		const double rate = rate_of(&p);
		double from, cpu;

		atomic_store(&wire->rate, rate);
		wait_for(worker, bench_cpu_ns(worker) + SETTLE * seconds * 1e9);
		from = look(worker, all, n, before);
		wait_for(worker, from + seconds * 1e9);
		cpu = (look(worker, all, n, after) - from) / 1e9;
		printf("%s{\"rate\": %.0f", first ? "" : ", ", rate);
		for (unsigned i = 0; i < n; i++)
			printf(", \"%s\": %.0f", all[i].name, (double)(after[i] - before[i]) / cpu);
		printf("}");
	}
	atomic_store(&wire->rate, 0);
	wait_for(worker, bench_cpu_ns(worker) + SETTLE_NS);
	printf("]");
}
