/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/apps/sim/lcl/rig.h"

#include <string.h>

/* Ways at random between ports: flows meet, part, and meet again, in cycles too. */

static void bound_is_kept_with_enough_slots(void **state)
{
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct lsim_scenario_options o = scenario(LSIM_RANDOM);
		struct lsim_network w;

		o.seed = seed;
		o.nodes = 4 + (unsigned)seed;
		o.hops = 1 + (unsigned)seed % o.nodes;
		o.flows = 4 + 3 * (unsigned)seed;
		o.source = seed % 3 == 0 ? LSIM_CONSTANT : LSIM_BURSTS;
		run(&w, &o, 20000);
		for (unsigned i = 0; i < w.n_flows; i++) {
			if (!w.flows[i].best_effort)
				assert_kept(&w, &w.flows[i]);
		}
		lsim_network_free(&w);
	}
}

static void no_node_twice(void **state)
{
	struct lsim_scenario_options o = scenario(LSIM_RANDOM);
	struct lsim_network w;
	bool longest = false;

	assert_null(lsim_scenario_make(&w, &o));
	for (unsigned i = 0; i < o.flows; i++) {
		const struct lsim_flow *f = &w.flows[i];
		bool seen[16] = {false};

		assert_in_range(f->hops, 1, o.hops);
		longest = longest || f->hops == o.hops;
		for (unsigned h = 0; h < f->hops; h++) {
			assert_true(f->route[h] < o.nodes);
			assert_false(seen[f->route[h]]);
			seen[f->route[h]] = true;
		}
	}
	assert_true(longest);
	lsim_network_free(&w);
}

static void same_again(void **state)
{
	struct lsim_scenario_options o = scenario(LSIM_RANDOM), again = o, other = o;
	struct lsim_network a, b, c;

	other.seed = 2;
	run(&a, &o, 20000);
	run(&b, &again, 20000);
	run(&c, &other, 20000);
	assert_int_equal(a.departures, b.departures);
	for (unsigned i = 0; i < a.n_flows; i++)
		assert_memory_equal(&a.flows[i].measured.delay, &b.flows[i].measured.delay,
			sizeof(a.flows[i].measured.delay));
	assert_int_not_equal(a.departures, c.departures);
	lsim_network_free(&a);
	lsim_network_free(&b);
	lsim_network_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bound_is_kept_with_enough_slots),
		cmocka_unit_test(no_node_twice),
		cmocka_unit_test(same_again),
	};

	return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
