/* SPDX-License-Identifier: BSD-3-Clause */
/* How often a line may be written. */
#include "tests/unit/dataplane/test.h"

#include <stdlib.h>

#include "daemon/pace.h"

#define P 1000u
#define WRITTEN_MAX 20000

static struct bp_pace pace;

static bool try(bool urgent, uint64_t now_ns)
{
	if (!bp_pace_may(&pace, urgent, now_ns))
		return false;
	bp_pace_take(&pace, now_ns);
	return true;
}

static void burst_then_one_per_period(void **state)
{
	(void)state;
	bp_pace_init(&pace, P, 5);
	for (unsigned i = 0; i < BP_PACE_BURST; i++)
		assert_true(try(true, 10));
	assert_false(try(true, 10));
	assert_false(try(true, 10 + P - 1));
	assert_true(try(true, 10 + P));
	assert_false(try(true, 10 + 2 * P - 1));
	assert_true(try(true, 10 + 2 * P));
}

static void repeated_events_wait_for_a_period(void **state)
{
	(void)state;
	bp_pace_init(&pace, P, 5);
	assert_true(try(false, 10)); /* the first waits for none */
	assert_false(try(false, 10 + P - 1));
	assert_true(try(true, 10 + P - 1));
	assert_false(try(false, 10 + P));
	assert_true(try(false, 10 + 2 * P - 1));
}

static void quiet_period_restores_only_the_burst(void **state)
{
	(void)state;
	bp_pace_init(&pace, P, 0);
	for (unsigned i = 0; i < BP_PACE_BURST; i++)
		assert_true(try(true, 1000 * P));
	assert_false(try(true, 1000 * P));
	/* and the time before does not count towards the next */
	assert_false(try(true, 1001 * P - 1));
	assert_true(try(true, 1001 * P));
}

static void query_has_no_side_effect(void **state)
{
	(void)state;
	bp_pace_init(&pace, P, 0);
	for (unsigned i = 0; i < 100; i++)
		assert_true(bp_pace_may(&pace, true, i));
	for (unsigned i = 0; i < BP_PACE_BURST; i++)
		assert_true(try(true, 100));
}

static void period_of_0_is_period_of_1(void **state)
{
	(void)state;
	bp_pace_init(&pace, 0, 7);
	for (unsigned i = 0; i < BP_PACE_BURST; i++)
		assert_true(try(true, 7));
	assert_false(try(true, 7));
	assert_true(try(true, 8));
}

/* Whatever is asked when: between any two lines there are no more than the bound says. */
static void log_rate_bound_holds_between_any_two_lines(void **state)
{
	static uint64_t at[WRITTEN_MAX];

	(void)state;
	for (unsigned seed = 1; seed <= 20; seed++) {
		uint64_t now = 0;
		unsigned n = 0;

		srand(seed);
		bp_pace_init(&pace, P, now);
		for (unsigned i = 0; i < 5000; i++) {
			now += rand() % 8 ? (unsigned)rand() % 100 : (unsigned)rand() % (6 * P);
			if (try(rand() % 2, now))
				at[n++] = now;
		}
		assert_true(n > 1000);
		for (unsigned i = 0; i < n; i++)
			for (unsigned j = i; j < n && j < i + 200; j++)
				assert_true(j - i + 1 <= BP_PACE_BURST + (at[j] - at[i]) / P);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(burst_then_one_per_period),
		cmocka_unit_test(repeated_events_wait_for_a_period),
		cmocka_unit_test(quiet_period_restores_only_the_burst),
		cmocka_unit_test(query_has_no_side_effect),
		cmocka_unit_test(period_of_0_is_period_of_1),
		cmocka_unit_test(log_rate_bound_holds_between_any_two_lines),
	};

	return cmocka_run_group_tests_name("fault_log_rate", tests, NULL, NULL);
}
