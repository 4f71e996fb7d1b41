/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/apps/sim/agg/measured.h"

#include "apps/sim/agg/erlang.h"

#define N 100000

static const enum bp_agg_format formats[] = {BP_AGG_FORMAT_FULL, BP_AGG_FORMAT_LIN2018};

/* Of the times between N-packets against Erlang-`against`. */
static struct sim_ks evaluate(const struct sim_first_options *o, size_t count, unsigned against)
{
	static double gap[N];

	(void)measure(o, count / 10, count, gap);
	return sim_ks_erlang(gap, count, against);
}

/* Equation 1. */
static void poisson_messages_leave_as_erlang(void **state)
{
	static const unsigned ns[] = {1, 2, 5, 8, 91};

	for (unsigned i = 0; i < COUNT(ns); i++) {
		for (unsigned k = 0; k < COUNT(formats); k++) {
			const struct sim_first_options o = poisson(formats[k], ns[i], 100 + i);

			assert_true(evaluate(&o, ns[i] <= 8 ? N : N / 10, ns[i]).p > 0.01);
		}
	}
}

/* The test detects an aggregator with wrong counts or early flushes. */
static void non_erlang_is_detected(void **state)
{
	for (unsigned n = 2; n <= 8; n += 3) {
		struct sim_first_options o = poisson(BP_AGG_FORMAT_LIN2018, n, n);

		assert_true(evaluate(&o, N, n - 1).p < 1e-12);
		assert_true(evaluate(&o, N, n + 1).p < 1e-12);
		o.max_delay_ns = 10000; /* 1 / lambda */
		assert_true(evaluate(&o, N, n).p < 1e-12);
	}
}

static struct sim_first_options with_server(
	enum sim_position place, enum sim_service service, double mu, unsigned n)
{
	struct sim_first_options o = poisson(BP_AGG_FORMAT_LIN2018, n, 7);

	o.place = place;
	o.service = service;
	o.mu = mu;
	return o;
}

/*
 * Figure 7 with the server where the text has it, before the aggregator. Exponential service times
 * change nothing whatever the load: what leaves M/M/1 is a Poisson process (Burke's theorem). Fixed
 * ones do, at a load of 0.91 beyond all doubt: the opposite of what Figure 7d shows.
 */
static void a_server_before_the_aggregator(void **state)
{
	struct sim_first_options o = with_server(SIM_BEFORE, SIM_EXPONENTIAL, 1.1, 5);

	assert_true(evaluate(&o, N, 5).p > 0.01);
	o = with_server(SIM_BEFORE, SIM_EXPONENTIAL, 1.1, 8);
	assert_true(evaluate(&o, N, 8).p > 0.01);
	o = with_server(SIM_BEFORE, SIM_EXPONENTIAL, 2.2, 5);
	assert_true(evaluate(&o, N, 5).p > 0.01);
	o = with_server(SIM_BEFORE, SIM_FIXED, 1.1, 5);
	assert_true(evaluate(&o, N, 5).statistic > 0.1);
	o = with_server(SIM_BEFORE, SIM_FIXED, 2.2, 5);
	assert_true(evaluate(&o, N, 5).statistic > 0.02);
}

/* Behind it, where it serves N-packets, everything is as Figure 7 shows: the fit is better with a
 * faster server, with a greater N and with fixed service times. */
static void a_server_behind_the_aggregator(void **state)
{
	const struct sim_first_options a = with_server(SIM_AFTER, SIM_EXPONENTIAL, 1.1, 5);
	const struct sim_first_options b = with_server(SIM_AFTER, SIM_EXPONENTIAL, 1.1, 8);
	const struct sim_first_options c = with_server(SIM_AFTER, SIM_EXPONENTIAL, 2.2, 5);
	const struct sim_first_options d = with_server(SIM_AFTER, SIM_FIXED, 1.1, 5);
	const double worst = evaluate(&a, N, 5).statistic;

	assert_true(evaluate(&b, N, 8).statistic < 0.8 * worst);
	assert_true(evaluate(&c, N, 5).statistic < 0.8 * worst);
	assert_true(evaluate(&d, N, 5).statistic < 0.8 * worst);
}

/* That what many devices send is a Poisson process needs many: periodic ones are not random. */
static void periodic_devices(void **state)
{
	struct sim_first_options o = poisson(BP_AGG_FORMAT_FULL, 8, 3);

	o.devices = 10000;
	assert_true(evaluate(&o, 20000, 8).statistic < 0.02);
	o.devices = 10;
	assert_true(evaluate(&o, 20000, 8).statistic > 0.1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(poisson_messages_leave_as_erlang),
		cmocka_unit_test(non_erlang_is_detected),
		cmocka_unit_test(a_server_before_the_aggregator),
		cmocka_unit_test(a_server_behind_the_aggregator),
		cmocka_unit_test(periodic_devices),
	};

	return cmocka_run_group_tests_name("agg_sim departures", tests, NULL, NULL);
}
