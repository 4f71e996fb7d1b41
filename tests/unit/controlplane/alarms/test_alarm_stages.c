/* SPDX-License-Identifier: BSD-3-Clause */
/* The delay of alarms by stage: first the arithmetic, then of a publisher. */
#include "publisher_rig.h"

#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>

#include "controlplane/alarms/alarm_stages.h"

#define HOUR_NS 3600000000000ull

static struct bp_histogram_summary stage(const struct fixture *f, enum bp_alarm_stage which)
{
	struct bp_histogram_summary s;

	bp_histogram_summarize(&f->shm.alarm_latency->stage[which], &s);
	return s;
}

static void each_stage_is_counted(void **state)
{
	struct fixture *f = *state;
	struct bp_alarm *a = test_alarm_number(1, "alarm/x", 0);
	const uint64_t begin = test_now_ns();
	uint64_t sum = 0, elapsed;

	rig_start(f);
	/* in the worker for 30 ms, and 20 ms in the ring */
	assert_true(test_ring_put_times(bp_shm_ring(&f->shm, 0), a,
		&(struct bp_alarm_times){begin - 50000000, begin - 20000000}));
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].acked) == 1);
	elapsed = test_now_ns() - begin;
	for (unsigned i = 0; i < BP_ALARM_STAGES; i++) {
		assert_int_equal(stage(f, i).count, 1);
		sum += stage(f, i).avg_ns;
	}
	assert_int_equal(stage(f, BP_ALARM_EVALUATE).max_ns, 30000000);
	assert_in_range(stage(f, BP_ALARM_HANDOVER).max_ns, 20000000, 20000000 + elapsed);
	assert_in_range(stage(f, BP_ALARM_TOTAL).max_ns, 50000000, 50000000 + elapsed);
	assert_true(stage(f, BP_ALARM_PUBLISH).max_ns > 0);
	assert_true(stage(f, BP_ALARM_ACKNOWLEDGE).max_ns > 0);
	assert_int_equal(sum, 2 * stage(f, BP_ALARM_TOTAL).avg_ns);
	assert_int_equal(get(&f->shm.alarm_latency->invalid), 0);
	/* the next control plane counts from 0 */
	rig_stop_publisher(f);
	rig_start_publisher(f);
	assert_int_equal(stage(f, BP_ALARM_TOTAL).count, 0);
	free(a);
}

/* Times that are impossible, or missing: the alarm is published, and not counted. */
static void damaged_times_are_not_counted(void **state)
{
	struct fixture *f = *state;
	struct bp_alarm *a = test_alarm_number(1, "alarm/x", 0);
	struct bp_ring *ring;

	rig_start(f);
	ring = bp_shm_ring(&f->shm, 0);
	assert_true(
		test_ring_put_times(ring, a, &(struct bp_alarm_times){UINT64_MAX - 1, UINT64_MAX}));
	assert_true(test_ring_put_times(ring, a, NULL));
	assert_true(test_ring_put_times(ring, a, &(struct bp_alarm_times){2, 1}));
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].acked) == 3);
	assert_int_equal(get(&f->shm.alarm_latency->invalid), 2);
	assert_int_equal(stage(f, BP_ALARM_TOTAL).count, 0);
	assert_true(test_ring_put(ring, a));
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].acked) == 4);
	assert_int_equal(stage(f, BP_ALARM_TOTAL).count, 1);
	free(a);
}

/* Alarms from the spool have no stages: their times would be those of the outage. */
static void alarms_of_the_spool_are_not_counted(void **state)
{
	struct fixture *f = *state;

	rig_start(f);
	rig_put(f, 0, 1);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].acked) == 1);
	test_broker_stop(&f->broker);
	for (uint64_t id = 2; id <= 50; id++)
		rig_put(f, 0, id);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].spool_rows) == 49);
	test_broker_start(&f->broker);
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].acked) == 50);
	assert_int_equal(stage(f, BP_ALARM_TOTAL).count, 1);
}

/* The bounds: 1 ms in the future, for the difference of the clocks, and an hour in the past. */
static void times_are_bounded(void **state)
{
	static const struct {
		struct bp_alarm_times times;
		uint64_t now;
		bool valid;
	} cases[] = {
		{{1000, 2000}, 2000, true},
		{{1000, 1000}, 1000, true},
		{{0, 1000}, 1000, false},
		{{2000, 1999}, 3000, false},
		{{1000, 1001000}, 1000, true},
		{{1000, 1001001}, 1000, false},
		{{1001000, 1001000}, 1000, true},
		{{1, 1}, HOUR_NS + 1, true},
		{{1, 1}, HOUR_NS + 2, false},
		{{UINT64_MAX, UINT64_MAX}, 1000, false},
	};
	struct bp_alarm_latency *l = calloc(1, sizeof(*l));
	uint64_t invalid = 0;

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint64_t now = cases[i].now;
		struct bp_alarm_stamps s = bp_alarm_stages_read(l, &cases[i].times, now);

		invalid += !cases[i].valid;
		assert_int_equal(get(&l->invalid), invalid);
		assert_int_equal(s.received_ns != 0, cases[i].valid);
		assert_true(s.received_ns <= s.evaluated_ns && s.evaluated_ns <= s.read_ns);
		assert_int_equal(s.read_ns, cases[i].valid ? now : 0);
	}
	free(l);
}

/* From 100 on: 10, 200, 3000 and 40000 ns. */
static void stages_follow_each_other(void **state)
{
	static const uint64_t expected[BP_ALARM_STAGES] = {10, 200, 3000, 40000, 43210};
	struct bp_alarm_latency *l = calloc(1, sizeof(*l));
	const struct bp_alarm_stamps stamps = {100, 110, 310}, none = {0};

	(void)state;
	bp_alarm_stages_acknowledged(l, &none, 3310, 43310);
	bp_alarm_stages_acknowledged(l, &stamps, 3310, 43310);
	for (unsigned i = 0; i < BP_ALARM_STAGES; i++) {
		struct bp_histogram_summary s;

		bp_histogram_summarize(&l->stage[i], &s);
		assert_int_equal(s.count, 1);
		assert_int_equal(s.max_ns, expected[i]);
	}
	/* acknowledged before the write returned */
	bp_alarm_stages_acknowledged(l, &stamps, 0, 400);
	assert_int_equal(atomic_load(&l->stage[BP_ALARM_ACKNOWLEDGE].bucket[0]), 1);
	bp_alarm_stages_reset(l);
	for (unsigned i = 0; i < BP_ALARM_STAGES; i++)
		assert_int_equal(atomic_load(&l->stage[i].sum_ns), 0);
	free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_bounded),
		cmocka_unit_test(stages_follow_each_other),
		cmocka_unit_test_setup_teardown(each_stage_is_counted, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			damaged_times_are_not_counted, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			alarms_of_the_spool_are_not_counted, rig_setup, rig_teardown),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("alarm_stages", tests, NULL, NULL);
}
