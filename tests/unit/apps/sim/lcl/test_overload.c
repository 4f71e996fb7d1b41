/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/apps/sim/lcl/rig.h"

/* Where nothing is promised: run() has checked order, at accounts, and that no frame is missing.
 */

static uint64_t lost(const struct lsim_network *w, bool best_effort)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < w->n_flows; i++) {
		for (unsigned h = 0; h < w->flows[i].hops; h++) {
			if (w->flows[i].best_effort == best_effort)
				sum += w->flows[i].measured.hop[h].put[BP_LCL_PUT_FULL];
		}
	}
	return sum;
}

static void slots_overflow(void **state)
{
	uint64_t outside = 0, moved = 0;

	for (uint64_t seed = 1; seed <= 9; seed++) {
		struct lsim_scenario_options o = scenario(LSIM_RANDOM);
		struct lsim_network w;

		o.seed = seed;
		o.load = 1 + (double)seed;
		o.flows = 100;
		o.source = (enum lsim_kind)(seed % 3);
		run(&w, &o, 30000);
		for (unsigned i = 0; i < w.n_flows; i++) {
			outside += w.flows[i].measured.early + w.flows[i].measured.late;
			for (unsigned h = 0; h < w.flows[i].hops; h++)
				moved += w.flows[i].measured.hop[h].put[BP_LCL_PUT_MOVED];
		}
		lsim_network_free(&w);
	}
	assert_true(outside > 0);
	assert_true(moved > outside / 100);
}

static void queues_run_out(void **state)
{
	struct lsim_scenario_options o = scenario(LSIM_MA);
	struct lsim_network w;

	o.phases = LSIM_WANDERING;
	o.port.lcl.queues = 2;
	run(&w, &o, 100000);
	assert_true(lost(&w, false) > 0);
	lsim_network_free(&w);

	o = scenario(LSIM_MA);
	o.port.lcl.queue_frames = 10; /* of 168 in a burst */
	run(&w, &o, 100000);
	assert_true(lost(&w, false) > 0);
	lsim_network_free(&w);
}

/* 23.1 of 25 Gbps are time-sensitive at the first node; the last has 11.6. */
static void best_effort_gets_the_rest(void **state)
{
	struct lsim_scenario_options o = scenario(LSIM_MA);
	struct lsim_network w;

	run(&w, &o, 400000);
	assert_int_equal(lost(&w, false), 0);
	for (unsigned i = 0; i < 3; i++) {
		const struct lsim_measured *m = &w.flows[4 + i].measured;
		const struct bp_lcl_measured *l = bp_lcl_measured(w.ports[i].lcl);
		const double bps = (double)m->bytes * 8e12 / (double)w.now_ps;
		const double gated = (double)l->gated_ns * 25e12 / (double)w.now_ps;

		assert_true(l->gated > 0);
		if (i == 0) /* all that time-sensitive frames and the gate leave is used */
			assert_true(bps + gated > 1.8e9 && bps < 2.0e9);
		else
			assert_int_equal(m->received, m->sent);
	}
	lsim_network_free(&w);
}

static void without_lcl_too(void **state)
{
	static const enum lsim_scheduling plain[] = {LSIM_PRIORITY, LSIM_FIFO};

	for (unsigned i = 0; i < COUNT(plain); i++) {
		struct lsim_scenario_options o = scenario(LSIM_MA);
		struct lsim_network w;

		o.port.scheduling = plain[i];
		run(&w, &o, 200000);
		assert_true(lost(&w, true) > 0);
		/* they share the queue with best effort: 28 Gbps on 25 */
		assert_true((lost(&w, false) > 0) == (plain[i] == LSIM_FIFO));
		lsim_network_free(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_overflow),
		cmocka_unit_test(queues_run_out),
		cmocka_unit_test(best_effort_gets_the_rest),
		cmocka_unit_test(without_lcl_too),
	};

	return cmocka_run_group_tests_name("overload", tests, NULL, NULL);
}
