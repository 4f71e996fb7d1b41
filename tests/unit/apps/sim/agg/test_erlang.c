/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/apps/sim/agg/close.h"

#include <stdbool.h>

#include "apps/sim/agg/erlang.h"
#include "apps/sim/sim_random.h"

#define N 20000

/* Its derivative is the density as the paper has it, and it goes from 0 to 1. */
static void distribution_of_equation_1(void **state)
{
	for (unsigned n = 1; n <= 20; n++) {
		double factorial = 1;

		for (unsigned i = 2; i < n; i++)
			factorial *= i;
		for (double t = 0.1; t < 40; t += 0.37) {
			const double h = 1e-5;
			const double slope =
				(sim_erlang_cdf(n, t + h) - sim_erlang_cdf(n, t - h)) / (2 * h);

			assert_true(fabs(slope - pow(t, n - 1) * exp(-t) / factorial) < 1e-9);
		}
		assert_true(sim_erlang_cdf(n, 0) == 0 && sim_erlang_cdf(n, -1) == 0);
		assert_close(sim_erlang_cdf(n, 200), 1, 1e-12);
	}
}

/* Points of Kolmogorov's distribution, from tables. */
static void p_values(void **state)
{
	static const struct {
		double x, p;
	} table[] = {{0.5712, 0.9}, {0.8276, 0.5}, {1.2238, 0.1}, {1.3581, 0.05}, {1.6276, 0.01},
		{1.9495, 0.001}};

	for (unsigned i = 0; i < COUNT(table); i++)
		assert_close(sim_ks_p(table[i].x / 1e4, 100000000), table[i].p, 1e-3);
	assert_true(sim_ks_p(0, 1000) == 1);
	assert_true(sim_ks_p(1, 1000) == 0);
	/* of 100 samples, one in a hundred is farther away than 0.1608 (Smirnov's tables) */
	assert_close(sim_ks_p(0.16081, 100), 0.01, 0.02);
}

/* Of n quantiles in the middle of n equal parts the distance is half a part. */
static void statistic_of_known_points(void **state)
{
	double x[100];
	struct sim_ks ks;

	for (unsigned i = 0; i < 100; i++)
		x[99 - i] = -log(1 - (i + 0.5) / 100);
	ks = sim_ks_erlang(x, 100, 1);
	assert_close(ks.statistic, 0.005, 1e-9);
	for (unsigned i = 0; i < 100; i++)
		x[i] = i < 30 ? -log(1 - (i + 0.5) / 100) : 50; /* 70 too late */
	ks = sim_ks_erlang(x, 100, 1);
	assert_close(ks.statistic, 0.7, 1e-9);
}

static struct sim_ks of_sample(unsigned made_of, unsigned against, double scale, uint64_t seed)
{
	static double x[N];
	struct sim_random r = {seed};

	for (unsigned i = 0; i < N; i++) {
		x[i] = 0;
		for (unsigned j = 0; j < made_of; j++)
			x[i] += scale * sim_exponential(&r);
	}
	return sim_ks_erlang(x, N, against);
}

/* True samples have every p equally often; false ones none. */
static void true_samples_pass_and_false_ones_do_not(void **state)
{
	unsigned below[4] = {0};

	for (unsigned i = 0; i < 200; i++) {
		const double p = of_sample(1 + i % 8, 1 + i % 8, 1, 1000 + i).p;

		below[(unsigned)fmin(3, p * 4)]++;
	}
	for (unsigned i = 0; i < 4; i++)
		assert_in_range(below[i], 30, 72);
	for (unsigned n = 1; n <= 8; n++) {
		assert_true(of_sample(n, n + 1, 1, n).p < 1e-9);
		assert_true(of_sample(n + 1, n, 1, n).p < 1e-9);
		/* a rate that is 5 % off */
		assert_true(of_sample(n, n, 1.05, n).p < 1e-4);
		/* the right mean, the wrong shape */
		assert_true(of_sample(n, n + 1, (n + 1.0) / n, n).p < 1e-4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distribution_of_equation_1),
		cmocka_unit_test(p_values),
		cmocka_unit_test(statistic_of_known_points),
		cmocka_unit_test(true_samples_pass_and_false_ones_do_not),
	};

	return cmocka_run_group_tests_name("agg_sim erlang", tests, NULL, NULL);
}
