/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/apps/sim/lcl/rig.h"

#include "apps/sim/lcl/events.h"

/* Against a search of all, with many at the same time. */
static void equals_a_linear_search(void **state)
{
	for (uint32_t count = 1; count < 70; count = count * 2 + 1) {
		struct sim_random r = {count};
		struct lsim_events e;

		assert_int_equal(lsim_events_init(&e, count), 0);
		assert_true(e.at[lsim_events_first(&e)] == LSIM_NEVER);
		for (unsigned step = 0; step < 20000; step++) {
			const uint32_t thing = (uint32_t)(sim_random_next(&r) % count);
			const uint64_t at = sim_random_next(&r) % 50;
			uint32_t first = 0;

			lsim_events_set(&e, thing, at == 0 ? LSIM_NEVER : at);
			for (uint32_t i = 1; i < count; i++)
				first = e.at[i] < e.at[first] ? i : first;
			assert_int_equal(lsim_events_first(&e), first);
		}
		lsim_events_free(&e);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(equals_a_linear_search)};

	return cmocka_run_group_tests_name("events", tests, NULL, NULL);
}
