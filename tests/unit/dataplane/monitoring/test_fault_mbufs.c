/* SPDX-License-Identifier: BSD-3-Clause */
/* The watch over packet buffers. */
#include "biplane/counters/general.h"
#include "tests/unit/dataplane/monitoring/fault_rig.h"

static void look_with(uint32_t free)
{
	readings.pool[0].free = free;
	check_after(S);
}

static void low_mbufs_are_logged(void **state)
{
	struct bp_fault_record t;

	(void)state;
	look_with(50); /* 5 % are not less than 5 % */
	assert_no_more_events();
	look_with(49);
	assert_event(BP_LOG_WARNING, "free mbufs are below monitoring.mbuf_low_percent; ",
		"pool=mbufs-0 free=49 size=1000");
	look_with(12);
	look_with(50);
	look_with(62); /* not yet: a quarter more than the mark must be free */
	assert_no_more_events();
	t = shown(BP_FAULT_MBUFS_LOW, "mbufs-0");
	assert_int_equal(t.active, 1);
	assert_int_equal(t.worst, 12);
	assert_true(t.total == 3 * S);
	look_with(63);
	assert_event(BP_LOG_INFO, "free mbufs are above monitoring.mbuf_low_percent again",
		"pool=mbufs-0 free=63 size=1000 min_free=12 duration_ms=4000 ");
	assert_no_more_events();
	assert_int_equal(counters.v[BP_C_MBUFS_LOW], 1);
	/* the fewest of this time, not of ever */
	look_with(30);
	look_with(900);
	assert_event(BP_LOG_WARNING, "free mbufs are below monitoring.mbuf_low_percent; ",
		"pool=mbufs-0 free=30 size=1000");
	assert_event(BP_LOG_INFO, "free mbufs are above monitoring.mbuf_low_percent again",
		"pool=mbufs-0 free=900 size=1000 min_free=30 duration_ms=1000 ");
	assert_int_equal(shown(BP_FAULT_MBUFS_LOW, "mbufs-0").worst, 12);
	assert_int_equal(shown(BP_FAULT_MBUFS_LOW, "mbufs-0").spells, 2);
	assert_int_equal(counters.v[BP_C_MBUFS_LOW], 2);
}

static void fewest_free_buffers_are_recorded_without_fault(void **state)
{
	(void)state;
	look_with(700);
	look_with(400);
	look_with(900);
	assert_int_equal(shown(BP_FAULT_MBUFS_LOW, "mbufs-0").worst, 400);
	assert_no_more_events();
}

/* Within a second, again and again. */
static void flapping_fault_is_logged_every_ten_seconds(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 40; i++)
		look_with(i % 2 ? 500 : 20);
	look_with(20);
	assert_int_equal(counters.v[BP_C_MBUFS_LOW], 21);
	n_read = 4;
	assert_event(BP_LOG_WARNING, "free mbufs are below monitoring.mbuf_low_percent; ",
		"pool=mbufs-0");
	assert_int_equal(n_logged, 4 + 4);
}

/* The mark may be so high that a quarter more is more than there is. */
static void high_threshold_has_hysteresis(void **state)
{
	struct bp_config_monitoring high = watch.sink.settings;

	(void)state;
	high.mbuf_low_percent = 90;
	start_with(&high);
	look_with(899);
	look_with(949);
	assert_event(BP_LOG_WARNING, "free mbufs are below monitoring.mbuf_low_percent; ",
		"pool=mbufs-0 free=899 size=1000");
	assert_no_more_events();
	look_with(950);
	assert_event(BP_LOG_INFO, "free mbufs are above monitoring.mbuf_low_percent again",
		"pool=mbufs-0 free=950 size=1000 ");
}

static void off_disables_the_check(void **state)
{
	struct bp_config_monitoring off = watch.sink.settings;

	(void)state;
	off.mbuf_low_percent = 0;
	start_with(&off);
	look_with(0);
	assert_no_more_events();
	assert_int_equal(counters.v[BP_C_MBUFS_LOW], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(low_mbufs_are_logged, start),
		cmocka_unit_test_setup(fewest_free_buffers_are_recorded_without_fault, start),
		cmocka_unit_test_setup(flapping_fault_is_logged_every_ten_seconds, start),
		cmocka_unit_test_setup(high_threshold_has_hysteresis, start),
		cmocka_unit_test_setup(off_disables_the_check, start),
	};

	return cmocka_run_group_tests_name("fault_mbufs", tests, NULL, NULL);
}
