/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "apps/biplane/run/backoff.h"

#define MS 1000000ull

static void exits_double_to_five_seconds(void **state)
{
	struct bp_backoff b = {0};
	const unsigned expected[] = {100, 200, 400, 800, 1600, 3200, 5000, 5000};

	for (unsigned i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_int_equal(bp_backoff_next(&b, 10 * MS, false), expected[i] * MS);
}

static void signals_stay_below_half_a_second(void **state)
{
	struct bp_backoff b = {0};
	const unsigned expected[] = {100, 200, 400, 500, 500};

	for (unsigned i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_int_equal(bp_backoff_next(&b, 10 * MS, true), expected[i] * MS);
	for (unsigned i = 0; i < 200; i++)
		assert_int_equal(bp_backoff_next(&b, 10 * MS, true), 500 * MS);
}

static void signal_after_exits_has_no_backoff(void **state)
{
	struct bp_backoff b = {0};

	for (unsigned i = 0; i < 10; i++)
		bp_backoff_next(&b, 0, false);
	assert_int_equal(bp_backoff_next(&b, 0, true), 500 * MS);
}

static void long_runtime_resets_backoff(void **state)
{
	struct bp_backoff b = {0};

	for (unsigned i = 0; i < 10; i++)
		bp_backoff_next(&b, 0, false);
	assert_int_equal(bp_backoff_next(&b, 59999 * MS, false), 5000 * MS);
	assert_int_equal(bp_backoff_next(&b, 60000 * MS, false), 100 * MS);
	assert_int_equal(bp_backoff_next(&b, 0, false), 200 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exits_double_to_five_seconds),
		cmocka_unit_test(signals_stay_below_half_a_second),
		cmocka_unit_test(signal_after_exits_has_no_backoff),
		cmocka_unit_test(long_runtime_resets_backoff),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
