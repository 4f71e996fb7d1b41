/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/apps/sim/lcl/rig.h"

/* Figure 4 of Ma et al., with the traffic of their Table 1. */
#define FLOWS 4u
#define FRAMES 200000u

static void table_1(void **state)
{
	struct lsim_scenario_options o = scenario(LSIM_MA);
	static const struct {
		uint64_t d0;
		unsigned hops;
	} due[FLOWS] = {{10000, 1}, {10000, 2}, {15000, 3}, {20000, 3}};
	struct lsim_network w;

	run(&w, &o, FRAMES);
	assert_int_equal(w.n_ports, 3);
	assert_int_equal(w.n_flows, FLOWS + 3);
	assert_int_equal(o.port.lcl.queues, 4);
	for (unsigned i = 0; i < FLOWS; i++) {
		const struct lsim_flow *f = &w.flows[i];
		const double bps = (double)f->measured.bytes * 8e12 / (double)w.end_ps;

		assert_int_equal(f->budget_ns, due[i].d0);
		assert_int_equal(f->hops, due[i].hops);
		/* as many frames as fit in 8 us */
		assert_int_equal(f->source.burst, 8000000 / lsim_tx_time_ps(124, 25000000000));
		/* all but a part of a period */
		assert_true(bps > 5.78125e9 * 0.97 && bps < 5.78125e9 * 1.03);
	}
	for (unsigned i = FLOWS; i < w.n_flows; i++) {
		const struct lsim_measured *m = &w.flows[i].measured;
		const double sent =
			(double)m->sent * (1514 + 60 + 48) / 2 * 8e12 / (double)w.end_ps;

		assert_true(sent > 4.9e9 && sent < 5.1e9);
	}
	lsim_network_free(&w);
}

/* Figure 4(e), and the three lines of 4(f) that have a bound. */
static void within_the_bound(void **state)
{
	static const uint64_t taus[] = {8000, 10000, 12000};

	for (unsigned t = 0; t < COUNT(taus); t++) {
		for (uint64_t seed = 1; seed <= 4; seed++) {
			struct lsim_scenario_options o = scenario(LSIM_MA);
			struct lsim_network w;

			o.seed = seed;
			o.port.lcl.tau_ns = taus[t];
			run(&w, &o, FRAMES);
			for (unsigned i = 0; i < FLOWS; i++)
				assert_kept(&w, &w.flows[i]);
			lsim_network_free(&w);
		}
	}
}

/* Figure 4(c) and (d), and the fourth line of (f): less delay, and more variation with each node.
 */
static void without_lcl(void **state)
{
	struct lsim_scenario_options o = scenario(LSIM_MA), plain = o;
	struct lsim_network with, without;

	plain.port.scheduling = LSIM_PRIORITY;
	run(&with, &o, FRAMES);
	run(&without, &plain, FRAMES);
	for (unsigned i = 0; i < FLOWS; i++) {
		const struct lsim_spread *a = &with.flows[i].measured.delay;
		const struct lsim_spread *b = &without.flows[i].measured.delay;

		assert_int_equal(a->count, b->count);
		assert_true(b->min_ps < a->min_ps && b->sum_ps < a->sum_ps);
	}
	assert_true(variation(&without.flows[1]) > variation(&without.flows[0]) * 3 / 2);
	assert_true(variation(&without.flows[2]) > variation(&without.flows[1]) * 5 / 4);
	lsim_network_free(&with);
	lsim_network_free(&without);
}

/* Four bursts of 8 us at once are 32 us of wire: then 10 us +- 8 us cannot be kept by anyone. */
static void bursts_at_once(void **state)
{
	struct lsim_scenario_options o = scenario(LSIM_MA);
	struct lsim_network w;
	uint64_t outside = 0;

	o.phases = LSIM_WANDERING;
	run(&w, &o, FRAMES);
	for (unsigned i = 0; i < FLOWS; i++)
		outside += w.flows[i].measured.early + w.flows[i].measured.late;
	assert_true(outside > 0);
	lsim_network_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_1),
		cmocka_unit_test(within_the_bound),
		cmocka_unit_test(without_lcl),
		cmocka_unit_test(bursts_at_once),
	};

	return cmocka_run_group_tests_name("three_nodes", tests, NULL, NULL);
}
