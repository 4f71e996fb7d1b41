/* SPDX-License-Identifier: BSD-3-Clause */
/* The watch over frames that never reached biplane. */
#include "biplane/counters/general.h"
#include "tests/unit/dataplane/monitoring/fault_rig.h"

static void frames_are_counted_and_logged(void **state)
{
	struct bp_fault_record t;

	(void)state;
	check_after(S);
	readings.port[1].missed = 1234;
	check_after(S);
	assert_event(BP_LOG_WARNING, "frames dropped by the NIC ", "port=wan count=1234 ");
	/* as long as it continues, one line in ten seconds */
	for (unsigned i = 0; i < 10; i++) {
		assert_no_more_events();
		readings.port[1].missed += 100;
		check_after(S);
	}
	assert_event(BP_LOG_WARNING, "frames dropped by the NIC ",
		"port=wan count=1000 interval_ms=10000 total=2234 ");
	assert_int_equal(counters.v[BP_C_NIC_MISSED], 2234);
	t = shown(BP_FAULT_NIC_MISSED, "wan");
	assert_int_equal(t.active, 1);
	assert_int_equal(t.total, 2234);
	assert_int_equal(t.spells, 1);
	assert_true(t.began_ns == BEGIN_UNIX_NS + S); /* when they had not been lost yet */
	pass(9750 * MS);
	assert_no_more_events();
	check_after(250 * MS);
	assert_event(BP_LOG_INFO, "the NIC drops no more frames (imissed)", "port=wan total=2234 ");
	t = shown(BP_FAULT_NIC_MISSED, "wan");
	assert_int_equal(t.active, 0);
	assert_true(t.ended_ns == BEGIN_UNIX_NS + 12 * S); /* when the last was lost */
	assert_no_more_events();
	assert_int_equal(shown(BP_FAULT_NIC_MISSED, "lan").total, 0);
	assert_int_equal(counters.v[BP_C_NIC_NO_MBUF], 0);
	assert_int_equal(counters.v[BP_C_NIC_ERRORS], 0);
}

static void each_reason_has_a_message_and_a_counter(void **state)
{
	(void)state;
	readings.port[0].no_mbuf = 1;
	check_after(S);
	assert_event(BP_LOG_WARNING, "no mbuf for received frames (rx_nombuf); raise mbufs",
		"port=lan count=1 ");
	assert_int_equal(counters.v[BP_C_NIC_NO_MBUF], 1);
	readings.port[0].errors = 2;
	check_after(S);
	assert_event(BP_LOG_WARNING, "frames received with errors", "port=lan count=2 ");
	assert_int_equal(counters.v[BP_C_NIC_ERRORS], 2);
	assert_int_equal(counters.v[BP_C_NIC_MISSED], 0);
	assert_no_more_events();
}

/* Frames lost before the workers started are no fault. */
static void counts_before_the_start_are_ignored(void **state)
{
	const struct bp_fault_subjects who = {.n_ports = 1, .port = {"lan"}};

	(void)state;
	readings.port[0].missed = 500;
	bp_fault_monitor_init(&watch, &watch.sink.settings, &who, &readings, now_ns);
	check_after(S);
	assert_no_more_events();
	readings.port[0].missed = 501;
	check_after(S);
	assert_event(BP_LOG_WARNING, "frames dropped by the NIC ", "port=lan count=1 ");
	assert_int_equal(counters.v[BP_C_NIC_MISSED], 1);
}

/* Some drivers begin again when their link returns. */
static void restarted_driver_counter_is_counted_from_0(void **state)
{
	(void)state;
	readings.port[0].missed = 1000;
	check_after(S);
	readings.port[0].missed = 7;
	check_after(S);
	assert_int_equal(counters.v[BP_C_NIC_MISSED], 1007);
	readings.port[0].missed = 0;
	check_after(S);
	assert_int_equal(counters.v[BP_C_NIC_MISSED], 1007);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(frames_are_counted_and_logged, start),
		cmocka_unit_test_setup(each_reason_has_a_message_and_a_counter, start),
		cmocka_unit_test_setup(counts_before_the_start_are_ignored, start),
		cmocka_unit_test_setup(restarted_driver_counter_is_counted_from_0, start),
	};

	return cmocka_run_group_tests_name("fault_rx_missed", tests, NULL, NULL);
}
