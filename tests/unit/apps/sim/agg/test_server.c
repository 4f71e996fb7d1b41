/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/apps/sim/agg/close.h"

#include <stdbool.h>

#include "apps/sim/agg/min_rate.h"
#include "apps/sim/agg/models.h"
#include "apps/sim/sim_random.h"
#include "apps/sim/agg/server.h"

#define N 2000000

static double *gap, *work;

static int setup(void **state)
{
	gap = malloc(N * sizeof(gap[0]));
	work = malloc(N * sizeof(work[0]));
	return gap != NULL && work != NULL ? 0 : -1;
}

static int teardown(void **state)
{
	free(gap);
	free(work);
	return 0;
}

static void draw(unsigned n, unsigned count, uint64_t seed)
{
	struct sim_random r = {seed};

	for (unsigned i = 0; i < count; i++) {
		double product = 1;

		for (unsigned j = 0; j < n; j++)
			product *= sim_uniform(&r);
		gap[i] = -log(product);
		work[i] = sim_exponential(&r);
	}
}

/* Arrivals and services by hand. */
static void one_by_one(void **state)
{
	struct sim_server s;

	assert_int_equal(sim_server_init(&s, SIM_ENDLESS), 0);
	assert_true(sim_server_arrive(&s, 10, 5) == 0);
	assert_true(sim_server_arrive(&s, 12, 1) == 3);
	assert_true(sim_server_arrive(&s, 16, 4) == 0);
	assert_true(sim_server_arrive(&s, 18, 1) == 2);
	assert_true(sim_server_mean_wait(&s) == 1.25 && s.refused == 0);
	assert_true(sim_server_utilisation(&s) == 11.0 / 8);
	sim_server_free(&s);

	/* one may wait: while 10..15 is served, 12 waits and 13 is lost; at 15 the place is free */
	assert_int_equal(sim_server_init(&s, 1), 0);
	assert_true(sim_server_arrive(&s, 10, 5) == 0);
	assert_true(sim_server_arrive(&s, 12, 5) == 3);
	assert_true(sim_server_arrive(&s, 13, 5) < 0);
	assert_true(sim_server_arrive(&s, 15, 5) == 5);
	assert_true(sim_server_arrive(&s, 19, 5) < 0);
	assert_true(s.accepted == 3 && s.refused == 2);
	sim_server_free(&s);

	assert_int_equal(sim_server_init(&s, 0), 0);
	assert_true(sim_server_arrive(&s, 10, 5) == 0);
	assert_true(sim_server_arrive(&s, 14, 5) < 0);
	assert_true(sim_server_arrive(&s, 15, 5) == 0);
	sim_server_free(&s);
}

static struct sim_server run(uint32_t buffer, bool fixed, double mu, unsigned count)
{
	struct sim_server s;
	double now = 0;

	assert_int_equal(sim_server_init(&s, buffer), 0);
	for (unsigned i = 0; i < count; i++) {
		now += gap[i];
		(void)sim_server_arrive(&s, now, (fixed ? 1 : work[i]) / mu);
	}
	sim_server_free(&s);
	return s;
}

/* E_N/M/1 and E_N/D/1; this is also what holds Crommelin's series to a simulation. */
static void waits_as_the_models_say(void **state)
{
	static const unsigned ns[] = {1, 2, 5, 8};

	for (unsigned i = 0; i < COUNT(ns); i++) {
		const unsigned n = ns[i];
		const double mu = 1 / (0.6 * n);
		struct sim_server s;

		draw(n, N, 77 + n);
		s = run(SIM_ENDLESS, false, mu, N);
		assert_close(
			sim_server_mean_wait(&s), sim_model_wait(SIM_EXPONENTIAL, n, mu), 0.02);
		assert_close(sim_server_utilisation(&s), 0.6, 0.005);
		/* the very same queue, in service times */
		assert_close(sim_mean_wait(gap, work, N, mu) / mu, sim_server_mean_wait(&s), 1e-6);
		s = run(SIM_ENDLESS, true, mu, N);
		assert_close(sim_server_mean_wait(&s), sim_model_wait(SIM_FIXED, n, mu), 0.02);
		assert_close(sim_mean_wait(gap, NULL, N, mu) / mu, sim_server_mean_wait(&s), 1e-6);
	}
}

/* No waiting room: Erlang's formula, whatever the service times. M/M/1/K: its own. */
static void loses_as_the_models_say(void **state)
{
	const double mu = 1.25, load = 1 / mu;

	draw(1, N, 5);
	for (unsigned fixed = 0; fixed < 2; fixed++) {
		struct sim_server s = run(0, fixed != 0, mu, N);

		assert_close((double)s.refused / N, sim_model_loss(mu), 0.005);
	}
	for (unsigned buffer = 1; buffer <= 4; buffer++) {
		struct sim_server s = run(buffer, false, mu, N);
		const double k = buffer + 1;

		assert_close((double)s.refused / N,
			(1 - load) * pow(load, k) / (1 - pow(load, k + 1)), 0.02);
	}
}

static void min_rate_of_small_counts(void **state)
{
	/* Two come at once and then no one: with fixed service the second waits one service time of
	 * the first, so that the mean is 1 / 3 of it while the third comes in time. */
	const double few[] = {1, 0, 4};
	double mu;

	/* The third waits for what is left of two services after 4: max(0, 2 - 4 mu). With beta 0.5
	 * (1 + 2 - 4 mu) / 3 = 0.5. */
	assert_close(sim_mean_wait(few, NULL, 3, 1), 1.0 / 3, 1e-12);
	mu = sim_min_mu(few, NULL, 3, 0.5);
	assert_close(mu, 3.0 / 5, 1e-3); /* the rate of arrivals: more is not needed */
	mu = sim_min_mu((const double[]){0.1, 0, 0.1, 0.4}, NULL, 4, 0.5);
	assert_close(sim_mean_wait((const double[]){0.1, 0, 0.1, 0.4}, NULL, 4, mu), 0.5, 1e-5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_by_one),
		cmocka_unit_test(waits_as_the_models_say),
		cmocka_unit_test(loses_as_the_models_say),
		cmocka_unit_test(min_rate_of_small_counts),
	};

	return cmocka_run_group_tests_name("agg_sim server", tests, setup, teardown);
}
