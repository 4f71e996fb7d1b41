/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "daemon/watchdog.h"

#define SECOND 1000000000ull

static void test_due_when_all_moved(void **state)
{
	struct bp_watchdog w;
	uint64_t count[2] = {0, 0};

	(void)state;
	bp_watchdog_init(&w, 4 * SECOND, 2, 100 * SECOND);
	count[0] = count[1] = 5;
	assert_false(bp_watchdog_due(&w, count, 100 * SECOND + SECOND / 2));
	assert_true(bp_watchdog_due(&w, count, 101 * SECOND));
	/* no progress since */
	assert_false(bp_watchdog_due(&w, count, 102 * SECOND));
	count[0]++;
	assert_false(bp_watchdog_due(&w, count, 103 * SECOND));
	count[1]++;
	assert_true(bp_watchdog_due(&w, count, 103 * SECOND));
}

static void test_a_thread_that_hangs_ends_it(void **state)
{
	struct bp_watchdog w;
	uint64_t count[3] = {1, 1, 1};
	unsigned signs = 0;

	(void)state;
	bp_watchdog_init(&w, 2 * SECOND, 3, 0);
	for (uint64_t t = 1; t < 1000; t++) {
		count[0]++;
		count[2]++;
		if (t < 100)
			count[1]++;
		signs += bp_watchdog_due(&w, count, t * SECOND / 4);
	}
	/* one each half second for 25 s; the last because it moved just before it hung */
	assert_in_range(signs, 49, 50);
}

static void test_without_requests(void **state)
{
	struct bp_watchdog w;
	uint64_t count[1] = {0};

	(void)state;
	bp_watchdog_init(&w, 0, 1, 0);
	count[0] = 1;
	assert_false(bp_watchdog_due(&w, count, UINT64_MAX));
}

static void test_ready_once_all_have_moved(void **state)
{
	struct bp_watchdog w;
	uint64_t count[2] = {1, 0};

	(void)state;
	bp_watchdog_init(&w, 0, 2, 0);
	assert_false(bp_watchdog_all_moved(&w, count));
	count[1]++;
	assert_true(bp_watchdog_all_moved(&w, count));
}

/* An event loop: that it asks at all is its heartbeat. */
static void test_no_threads(void **state)
{
	struct bp_watchdog w;

	(void)state;
	bp_watchdog_init(&w, 4 * SECOND, 0, 0);
	assert_false(bp_watchdog_due(&w, NULL, SECOND - 1));
	assert_true(bp_watchdog_due(&w, NULL, SECOND));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_due_when_all_moved),
		cmocka_unit_test(test_a_thread_that_hangs_ends_it),
		cmocka_unit_test(test_without_requests),
		cmocka_unit_test(test_ready_once_all_have_moved),
		cmocka_unit_test(test_no_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
