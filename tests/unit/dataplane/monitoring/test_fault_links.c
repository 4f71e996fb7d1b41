/* SPDX-License-Identifier: BSD-3-Clause */
/* The watch over links. */
#include "biplane/counters/general.h"
#include "tests/unit/dataplane/monitoring/fault_rig.h"

static void lan_is(enum bp_fault_link link)
{
	readings.port[0].link = link;
}

static void link_up_is_no_fault(void **state)
{
	(void)state;
	pass(60 * S);
	assert_no_more_events();
	assert_int_equal(counters.v[BP_C_LINK_DOWN], 0);
	assert_int_equal(shown(BP_FAULT_LINK_DOWN, "lan").spells, 0);
}

static void exit_and_restart_are_logged(void **state)
{
	struct bp_fault_record t;

	(void)state;
	check_after(S);
	lan_is(BP_FAULT_LINK_LOST);
	check_after(S);
	assert_event(BP_LOG_WARNING, "link down: ", "port=lan");
	t = shown(BP_FAULT_LINK_DOWN, "lan");
	assert_int_equal(t.active, 1);
	assert_true(t.began_ns == BEGIN_UNIX_NS + 2 * S);
	assert_int_equal(t.ended_ns, 0);
	pass(100 * S); /* once is enough */
	assert_no_more_events();
	assert_true(shown(BP_FAULT_LINK_DOWN, "lan").total == 100 * S);
	lan_is(BP_FAULT_LINK_IS_UP);
	check_after(1500 * MS);
	assert_event(BP_LOG_INFO, "link up ", "port=lan down_ms=101500 ");
	assert_no_more_events();
	t = shown(BP_FAULT_LINK_DOWN, "lan");
	assert_int_equal(t.active, 0);
	assert_true(t.ended_ns == t.began_ns + 101500 * MS);
	assert_int_equal(t.spells, 1);
	assert_true(t.total == 101500 * MS && t.worst == t.total);
	assert_int_equal(counters.v[BP_C_LINK_DOWN], 1);
	assert_int_equal(shown(BP_FAULT_LINK_DOWN, "wan").spells, 0);
}

/* Down and up at each look: a few lines at once, then one in ten seconds that has the rest. */
static void flapping_link_log_is_rate_limited(void **state)
{
	unsigned lines;

	(void)state;
	for (unsigned i = 0; i < 240; i++) {
		lan_is(i % 2 ? BP_FAULT_LINK_IS_UP : BP_FAULT_LINK_LOST);
		check_after(250 * MS);
	}
	assert_int_equal(counters.v[BP_C_LINK_DOWN], 120);
	assert_event(BP_LOG_WARNING, "link down: ", "port=lan");
	assert_event(BP_LOG_INFO, "link up ", "port=lan down_ms=250 ");
	assert_event(BP_LOG_WARNING, "link down: ", "port=lan");
	assert_event(BP_LOG_INFO, "link up ", "port=lan down_ms=250 ");
	assert_event(BP_LOG_WARNING, "link flapping; ", "port=lan");
	lines = n_logged;
	assert_int_equal(lines, 4 + 5);
	pass(10 * S);
	assert_int_equal(n_logged, lines + 1);
	n_read = lines;
	assert_event(BP_LOG_WARNING, "link flapping; ", "port=lan");
	assert_non_null(strstr(logged[lines].text, " link=up "));
	pass(60 * S);
	assert_no_more_events();
}

/* At the start a link may take its time, and a driver that never reports one is not asked. */
static void missing_link_is_logged_after_the_delay(void **state)
{
	struct bp_fault_record t;

	(void)state;
	lan_is(BP_FAULT_LINK_NOT_YET);
	pass(9750 * MS);
	assert_no_more_events();
	assert_int_equal(counters.v[BP_C_LINK_DOWN], 0);
	check_after(250 * MS);
	assert_event(BP_LOG_WARNING,
		"link has not come up since the start: ", "port=lan down_ms=10000 ");
	t = shown(BP_FAULT_LINK_DOWN, "lan");
	assert_true(t.began_ns == BEGIN_UNIX_NS);
	assert_int_equal(counters.v[BP_C_LINK_DOWN], 1);
	lan_is(BP_FAULT_LINK_IS_UP);
	check_after(S);
	assert_event(BP_LOG_INFO, "link up ", "port=lan down_ms=11000 ");
	/* from now on it is as any other */
	lan_is(BP_FAULT_LINK_NOT_YET);
	check_after(S);
	assert_event(BP_LOG_WARNING, "link down: ", "port=lan");
	assert_no_more_events();
	t = shown(BP_FAULT_LINK_DOWN, "lan");
	assert_true(t.began_ns == BEGIN_UNIX_NS + 12 * S);
	check_after(S);
	t = shown(BP_FAULT_LINK_DOWN, "lan");
	assert_true(t.total == 12 * S); /* of both times */
	assert_true(t.worst == 11 * S);
	lan_is(BP_FAULT_LINK_IS_UP);
	check_after(S);
	lan_is(BP_FAULT_LINK_LOST);
	check_after(S);
	check_after(S);
	assert_true(shown(BP_FAULT_LINK_DOWN, "lan").total == 14 * S);
}

static void link_up_in_time_is_no_fault(void **state)
{
	(void)state;
	lan_is(BP_FAULT_LINK_NOT_YET);
	pass(9 * S);
	lan_is(BP_FAULT_LINK_IS_UP);
	pass(60 * S);
	assert_no_more_events();
	assert_int_equal(counters.v[BP_C_LINK_DOWN], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(link_up_is_no_fault, start),
		cmocka_unit_test_setup(exit_and_restart_are_logged, start),
		cmocka_unit_test_setup(flapping_link_log_is_rate_limited, start),
		cmocka_unit_test_setup(missing_link_is_logged_after_the_delay, start),
		cmocka_unit_test_setup(link_up_in_time_is_no_fault, start),
	};

	return cmocka_run_group_tests_name("fault_links", tests, NULL, NULL);
}
