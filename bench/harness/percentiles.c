/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/harness/percentiles.h"

#include <stdio.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static double at_us(const uint64_t *ns, unsigned n, double p)
{
	return (double)ns[(unsigned)(p * (n - 1) + 0.5)] / 1e3;
}

void bench_percentiles(uint64_t *ns, unsigned n)
{
	double sum = 0;

	qsort(ns, n, sizeof(ns[0]), by_value);
	for (unsigned i = 0; i < n; i++)
		sum += (double)ns[i];
	printf("\"median_us\": %.1f, \"p99_us\": %.1f, \"p999_us\": %.1f, \"max_us\": %.1f, "
	       "\"mean_us\": %.1f, \"percentiles_us\": [",
		at_us(ns, n, 0.5), at_us(ns, n, 0.99), at_us(ns, n, 0.999), at_us(ns, n, 1),
		sum / n / 1e3);
	for (unsigned i = 0; i <= 100; i++)
		printf("%s%.1f", i ? ", " : "", at_us(ns, n, i / 100.0));
	putchar(']');
}
