/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/apps/sim/lcl/rig.h"

/* 1 to 64 nodes in a line, with flows that join at each and leave after one, two or three. */

static void any_number_of_hops(void **state)
{
	for (unsigned hops = 1; hops <= 64; hops += hops < 8 ? 1 : 7) {
		struct lsim_scenario_options o = scenario(LSIM_CHAIN);
		struct lsim_network w;

		o.hops = hops;
		o.seed = hops;
		run(&w, &o, 60000);
		assert_int_equal(w.flows[0].hops, hops);
		assert_true(w.flows[0].measured.received > 0);
		for (unsigned i = 0; i < w.n_flows; i++) {
			if (!w.flows[i].best_effort)
				assert_kept(&w, &w.flows[i]);
		}
		lsim_network_free(&w);
	}
}

static void any_slot_and_rate(void **state)
{
	static const struct {
		uint64_t tau_ns, rate_bps;
		unsigned bytes;
	} ports[] = {{1000, 100000000000, 60}, {10000, 25000000000, 1514},
		{100000, 1000000000, 124}, {1000000, 1000000000, 1514}, {10000000, 100000000, 60},
		{8000, 33333333333, 100}};

	for (unsigned i = 0; i < COUNT(ports); i++) {
		struct lsim_scenario_options o = scenario(LSIM_CHAIN);
		struct lsim_network w;

		o.port.lcl.tau_ns = ports[i].tau_ns;
		o.port.lcl.rate_bps = ports[i].rate_bps;
		o.best_effort_bps = ports[i].rate_bps / 5;
		o.bytes = ports[i].bytes;
		o.flows = 1;
		run(&w, &o, 20000);
		for (unsigned k = 0; k < w.n_flows; k++) {
			if (!w.flows[k].best_effort)
				assert_kept(&w, &w.flows[k]);
		}
		lsim_network_free(&w);
	}
}

/* Delay variation of the flow over all 64 nodes: with LCL at most 2 tau, as over two nodes; without
 * it best effort alone can cause more. */
static void without_lcl_it_grows(void **state)
{
	uint64_t without[2], with[2];

	for (unsigned i = 0; i < 2; i++) {
		struct lsim_scenario_options o = scenario(LSIM_CHAIN);
		struct lsim_network w;

		o.hops = i == 0 ? 2 : 64;
		o.best_effort_bps = UINT64_C(20000000000);
		run(&w, &o, 400000);
		with[i] = variation(&w.flows[0]);
		lsim_network_free(&w);
		o.port.scheduling = LSIM_PRIORITY;
		run(&w, &o, 400000);
		without[i] = variation(&w.flows[0]);
		lsim_network_free(&w);
	}
	assert_true(without[1] > 2 * without[0]);
	assert_true(with[1] <= 16000 * LSIM_PS + 128 * LSIM_PS);
	assert_true(with[0] <= 16000 * LSIM_PS + 4 * LSIM_PS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_number_of_hops),
		cmocka_unit_test(any_slot_and_rate),
		cmocka_unit_test(without_lcl_it_grows),
	};

	return cmocka_run_group_tests_name("chain", tests, NULL, NULL);
}
