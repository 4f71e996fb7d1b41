/* SPDX-License-Identifier: BSD-3-Clause */
/* Monitoring of workers: long poll gaps, and stalled workers. */
#include "biplane/counters/general.h"
#include "tests/unit/dataplane/monitoring/fault_rig.h"

static int begin(void **state)
{
	held[0] = held[1] = false;
	return start(state);
}

static void overran(unsigned worker, unsigned times, uint64_t ns)
{
	readings.worker[worker].overruns += times;
	readings.worker[worker].overrun_ns += ns;
	if (ns > readings.worker[worker].longest_ns)
		readings.worker[worker].longest_ns = ns;
}

static void poll_gap_is_logged(void **state)
{
	struct bp_fault_record t;

	(void)state;
	overran(1, 1, 153 * MS);
	check_after(S);
	assert_event(BP_LOG_WARNING, "poll gap above monitoring.poll_gap_warning: ",
		"worker=1 cpu=7 count=1 gap_ms=153 limit_ms=100 ");
	for (unsigned i = 0; i < 10; i++) {
		assert_no_more_events();
		overran(1, 2, 300 * MS);
		check_after(S);
	}
	assert_event(BP_LOG_WARNING, "poll gap above monitoring.poll_gap_warning: ",
		"worker=1 cpu=7 count=20 interval_ms=10000 gap_ms=3000 ");
	pass(10 * S);
	assert_event(BP_LOG_INFO, "no more poll gaps", "worker=1 cpu=7 total=21 gap_ms=31");
	assert_no_more_events();
	t = shown(BP_FAULT_WORKER_OVERRUN, "worker 1");
	assert_int_equal(t.total, 21);
	assert_int_equal(t.spells, 1);
	assert_true(t.worst == 300 * MS);
	/* the worker itself counts */
	assert_int_equal(counters.v[BP_C_POLL_GAPS], 0);
	assert_int_equal(shown(BP_FAULT_WORKER_OVERRUN, "worker 0").total, 0);
}

static void longest_poll_gap_is_recorded_without_fault(void **state)
{
	(void)state;
	readings.worker[0].longest_ns = 3 * MS;
	check_after(S);
	assert_no_more_events();
	assert_true(shown(BP_FAULT_WORKER_OVERRUN, "worker 0").worst == 3 * MS);
}

static void stalled_worker_is_logged_while_stalled(void **state)
{
	struct bp_fault_record t;

	(void)state;
	check_after(S);
	held[0] = true;
	pass(1750 * MS);
	assert_no_more_events();
	check_after(250 * MS);
	assert_event(BP_LOG_ERROR,
		"worker does not poll its queues: ", "worker=0 cpu=3 duration_ms=2000 ");
	t = shown(BP_FAULT_WORKER_STUCK, "worker 0");
	assert_int_equal(t.active, 1);
	assert_true(t.began_ns == BEGIN_UNIX_NS + S - 1000); /* its last sign of life */
	pass(60 * S);
	assert_no_more_events();
	held[0] = false;
	check_after(250 * MS);
	assert_event(
		BP_LOG_INFO, "worker polls its queues again", "worker=0 cpu=3 duration_ms=622");
	assert_no_more_events();
	assert_int_equal(counters.v[BP_C_WORKER_STALLS], 1);
	assert_int_equal(shown(BP_FAULT_WORKER_STUCK, "worker 0").active, 0);
	assert_int_equal(shown(BP_FAULT_WORKER_STUCK, "worker 1").spells, 0);
}

/* A thread that was not even begun has no sign of life at all. */
static void worker_that_never_started_is_stalled(void **state)
{
	(void)state;
	held[1] = true;
	pass(2 * S);
	assert_event(BP_LOG_ERROR,
		"worker does not poll its queues: ", "worker=1 cpu=7 duration_ms=2000 ");
	assert_no_more_events();
}

/* More workers than queues: the thread of one that has none has ended. */
static void worker_without_queues_is_ignored(void **state)
{
	(void)state;
	held[1] = true;
	readings.worker[1].runs = false;
	pass(60 * S);
	assert_no_more_events();
}

/* The machine stood still, or the process was stopped: no one is to be blamed before he had the
 * time to come back. */
static void delayed_monitor_reports_no_poll_gap(void **state)
{
	(void)state;
	check_after(S);
	held[0] = true;
	check_after(30 * S);
	assert_no_more_events();
	held[0] = false;
	check_after(250 * MS);
	assert_no_more_events();
	assert_int_equal(counters.v[BP_C_WORKER_STALLS], 0);
	/* but one that then does not come back */
	held[0] = true;
	check_after(30 * S);
	check_after(250 * MS);
	assert_event(BP_LOG_ERROR,
		"worker does not poll its queues: ", "worker=0 cpu=3 duration_ms=30250 ");
}

static void off_disables_the_check(void **state)
{
	struct bp_config_monitoring off = watch.sink.settings;

	(void)state;
	off.worker_stall_timeout_ns = 0;
	start_with(&off);
	held[0] = true;
	pass(60 * S);
	assert_no_more_events();
}

static void uninspected_connections_are_a_fault(void **state)
{
	struct bp_fault_record t;

	(void)state;
	check_after(S);
	readings.worker[1].unread = (struct bp_unread){.connections = 12, .longest_ns = 61 * S};
	check_after(250 * MS);
	assert_event(BP_LOG_WARNING, "MQTT connections are not inspected: ", "worker=1 ");
	t = shown(BP_FAULT_NOT_INSPECTED, "worker 1");
	assert_int_equal(t.active, 1);
	assert_int_equal(t.worst, 12);
	readings.worker[1].unread = (struct bp_unread){.connections = 3, .longest_ns = 90 * S};
	pass(30 * S);
	assert_no_more_events();
	readings.worker[1].unread = (struct bp_unread){0};
	check_after(250 * MS);
	assert_event(BP_LOG_INFO, "all MQTT connections are inspected", "worker=1 ");
	assert_int_equal(counters.v[BP_C_CONNECTIONS_NOT_INSPECTED], 1);
	assert_int_equal(shown(BP_FAULT_NOT_INSPECTED, "worker 1").active, 0);
	assert_int_equal(shown(BP_FAULT_NOT_INSPECTED, "worker 0").spells, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(uninspected_connections_are_a_fault, begin),
		cmocka_unit_test_setup(poll_gap_is_logged, begin),
		cmocka_unit_test_setup(longest_poll_gap_is_recorded_without_fault, begin),
		cmocka_unit_test_setup(stalled_worker_is_logged_while_stalled, begin),
		cmocka_unit_test_setup(worker_that_never_started_is_stalled, begin),
		cmocka_unit_test_setup(worker_without_queues_is_ignored, begin),
		cmocka_unit_test_setup(delayed_monitor_reports_no_poll_gap, begin),
		cmocka_unit_test_setup(off_disables_the_check, begin),
	};

	return cmocka_run_group_tests_name("fault_workers", tests, NULL, NULL);
}
