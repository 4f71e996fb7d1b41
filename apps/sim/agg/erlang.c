/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/agg/erlang.h"

#include <math.h>
#include <stdlib.h>

double sim_erlang_cdf(unsigned n, double t)
{
	double term = 1, sum = 1;

	if (t <= 0)
		return 0;
	for (unsigned j = 1; j < n; j++) {
		term *= t / j;
		sum += term;
	}
	return 1 - exp(-t) * sum;
}

double sim_ks_p(double statistic, size_t count)
{
	const double root = sqrt((double)count);
	const double x = (root + 0.12 + 0.11 / root) * statistic;
	double sum = 0, sign = 1;

	/* The alternating series needs many terms below 0.2, where the result is 1 anyway. */
	if (x < 0.2)
		return 1;
	for (unsigned k = 1; k <= 100; k++, sign = -sign) {
		const double term = exp(-2.0 * k * k * x * x);

		sum += sign * term;
		if (term < 1e-18)
			break;
	}
	return fmin(1, fmax(0, 2 * sum));
}

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct sim_ks sim_ks_erlang(double *x, size_t count, unsigned n)
{
	struct sim_ks ks = {0, 0};

	qsort(x, count, sizeof(x[0]), ascending);
	for (size_t i = 0; i < count; i++) {
		const double f = sim_erlang_cdf(n, x[i]);

		/* The sample's function steps from i / count to (i + 1) / count here. */
		ks.statistic = fmax(ks.statistic, f - (double)i / (double)count);
		ks.statistic = fmax(ks.statistic, (double)(i + 1) / (double)count - f);
	}
	ks.p = sim_ks_p(ks.statistic, count);
	return ks;
}
