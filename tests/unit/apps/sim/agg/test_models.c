/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/apps/sim/agg/close.h"

#include <stdbool.h>

#include "apps/sim/agg/models.h"

static const double betas[] = {0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 3};

/* Equation 7 itself, and its solutions as the paper writes them: (8), and (10) with the sign that V
 * has in its second line; in the third it has lost it. */
static double paper_x3(double mu, double v_sign)
{
	const double theta = 1 / mu;
	const double v = v_sign * (2 + 9 * theta + 27 * theta * theta) / 54;
	const double w = -(3 * theta + 1) / 9;
	const double root = sqrt(v * v + w * w * w);

	return 2.0 / 3 + theta + cbrt(v + root) + cbrt(v - root);
}

static void root_of_equation_7(void **state)
{
	for (unsigned n = 1; n <= 8; n++) {
		for (double load = 0.05; load < 1; load += 0.05) {
			const double mu = 1 / (n * load), x = sim_model_x(n, mu);

			assert_true(x > 0 && x < 1);
			assert_close(pow(1 / mu / (1 - x + 1 / mu), n), x, 1e-9);
		}
	}
	for (double load = 0.05; load < 1; load += 0.05) {
		const double mu2 = 1 / (2 * load), mu3 = 1 / (3 * load);

		assert_close(sim_model_x(1, 1 / load), load, 1e-9);
		assert_close(
			sim_model_x(2, mu2), (mu2 + 2 - sqrt(mu2 * (mu2 + 4))) / (2 * mu2), 1e-9);
		assert_close(sim_model_x(3, mu3), paper_x3(mu3, -1), 1e-9);
		/* with the sign as printed last it is no probability */
		assert_true(paper_x3(mu3, 1) > 1);
	}
}

static void equations_12_to_15(void **state)
{
	for (unsigned i = 0; i < COUNT(betas); i++) {
		const double b = betas[i];

		assert_close(sim_model_min_mu(SIM_EXPONENTIAL, 1, b), (b + 1) / b, 1e-9);
		assert_close(sim_model_min_mu(SIM_FIXED, 1, b), (2 * b + 1) / (2 * b), 1e-9);
		assert_close(sim_model_min_mu(SIM_EXPONENTIAL, 2, b),
			(1 + b) / (b + sqrt(b * b + b)), 1e-9);
	}
	for (double mu = 1.05; mu < 20; mu *= 1.3) {
		assert_close(sim_model_wait(SIM_EXPONENTIAL, 1, mu), 1 / (mu * (mu - 1)), 1e-9);
		assert_close(sim_model_wait(SIM_FIXED, 1, mu), 1 / (2 * mu * (mu - 1)), 1e-9);
	}
}

/* Equation 16 has mu on both sides (V and W are made of it): it holds at the least mu. */
static void equation_16_is_a_fixed_point(void **state)
{
	for (unsigned i = 0; i < COUNT(betas); i++) {
		const double b = betas[i], mu = sim_model_min_mu(SIM_EXPONENTIAL, 3, b);
		const double roots = paper_x3(mu, -1) - 2.0 / 3 - 1 / mu;

		assert_close(3 * (1 + b) / (b - 2 - 3 * (1 + b) * roots), mu, 1e-9);
	}
}

/* The minimum is the root of Equation 7, also where the paper has only numbers. */
static void min_rate_meets_the_condition(void **state)
{
	for (unsigned n = 1; n <= 8; n++) {
		for (unsigned i = 0; i < COUNT(betas); i++) {
			const double b = betas[i];
			const double e = sim_model_min_mu(SIM_EXPONENTIAL, n, b);
			double f;

			assert_close(sim_model_wait(SIM_EXPONENTIAL, n, e), b / e, 1e-8);
			if (b > 1)
				continue; /* the series would be long, and is none of the paper's */
			f = sim_model_min_mu(SIM_FIXED, n, b);
			assert_close(sim_model_wait(SIM_FIXED, n, f), b / f, 1e-8);
			assert_true(f < e && f > 1.0 / n);
		}
	}
}

/*
 * Crommelin's formula for the mean waiting time in M/D/2, summed the plain way. A message in two
 * goes to each of two servers, and waits there as in E_2/D/1.
 */
static void two_servers_with_fixed_services(void **state)
{
	for (double load = 0.1; load < 0.8; load += 0.2) {
		const double a = 2 * load;
		double sum = 0;

		for (int i = 1; i <= 200; i++) {
			double term = exp(-i * a), below = 0;

			for (int j = 0; j < 2 * i; j++) {
				below += term;
				term *= i * a / (j + 1);
			}
			sum += (1 - below) - (1 - below - term) / load;
		}
		assert_close(sim_model_wait(SIM_FIXED, 2, 1 / a), a * sum, 1e-6);
	}
}

static void fill_of_an_aggregate(void **state)
{
	for (double t = 0.1; t < 20; t *= 1.7) {
		const double e = exp(-t);
		struct sim_model_fill f = sim_model_fill(2, t);

		/* N = 2: the first waits for the second, but no longer than t */
		assert_close(f.messages, 2 - e, 1e-12);
		assert_close(f.full, 1 - e, 1e-12);
		assert_close(f.delay, (1 - e) / (2 - e), 1e-12);
		f = sim_model_fill(1, t);
		assert_true(f.messages == 1 && f.delay == 0 && f.full == 1);
		/* Many: nothing but the time limits them, and on average one waits half of it if it
		 * is not the first, who waits all. */
		f = sim_model_fill(200, t);
		assert_close(f.messages, 1 + t, 1e-9);
		assert_close(f.delay, (t + t * t / 2) / (1 + t), 1e-9);
	}
	for (unsigned n = 1; n <= 8; n++) {
		const struct sim_model_fill never = sim_model_fill(n, 0),
					    late = sim_model_fill(n, 100);

		assert_close(never.messages, n, 0);
		assert_close(never.delay, (n - 1) / 2.0, 0);
		assert_close(late.messages, n, 1e-12);
		assert_close(late.delay, (n - 1) / 2.0, 1e-12);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_of_equation_7),
		cmocka_unit_test(equations_12_to_15),
		cmocka_unit_test(equation_16_is_a_fixed_point),
		cmocka_unit_test(min_rate_meets_the_condition),
		cmocka_unit_test(two_servers_with_fixed_services),
		cmocka_unit_test(fill_of_an_aggregate),
	};

	return cmocka_run_group_tests_name("agg_sim models", tests, NULL, NULL);
}
