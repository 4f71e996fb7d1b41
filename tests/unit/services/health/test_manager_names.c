/* SPDX-License-Identifier: BSD-3-Clause */
/* Instances are named by the time of association: no two associations of one device have the same.
 */
#include "manager_rig.h"

#define ABORTED "e60000020000"

static struct rig rig, *const r = &rig;

/* Of a new association of the oximeter, from there. */
static uint32_t associated(unsigned device)
{
	uint32_t slot;

	rig_send(r, device, rig_aarq(OXIMETER, 400));
	slot = rig_slot(r, device);
	assert_int_not_equal(slot, UINT32_MAX);
	return r->x.t->sessions[slot].associated_s;
}

static void within_a_second(void **state)
{
	uint32_t last = 0;

	rig_open(r, *state, 64, 16);
	for (unsigned n = 0; n < 40; n++) {
		/* by UDP and TCP, from ports of its own and from one that it had */
		const unsigned device = n % 4 < 2 ? 1 + n % 30 : 100 + n % 30;
		const uint32_t now = associated(device);

		assert_true(now > last);
		last = now;
		if (n % 3 != 0) /* else it is taken over */
			rig_send(r, device, ABORTED);
	}
	rig_close(r);
}

/* The slot keeps the time of a session that ended before a restart. */
static void over_a_restart(void **state)
{
	uint32_t first, second;

	rig_open(r, *state, 64, 16);
	first = associated(1);
	rig_send(r, 1, ABORTED);
	rig_restart(r);
	second = associated(2);
	assert_true(second > first);
	rig_restart(r);
	assert_true(associated(3) > second);
	rig_close(r);
}

static void clock_set_back(void **state)
{
	uint32_t first;

	rig_open(r, *state, 64, 16);
	rig_wait(r, 3600000);
	first = associated(1);
	rig_send(r, 1, ABORTED);
	r->set_back_ms = 3600000;
	assert_true(associated(2) > first);
	rig_close(r);
}

/* Others keep the clock's. */
static void other_sessions_keep_their_times(void **state)
{
	uint32_t first;

	rig_open(r, *state, 64, 16);
	first = associated(1);
	rig_send(r, 2, rig_aarq(ACTIVITY, 400));
	assert_int_equal(r->x.t->sessions[rig_slot(r, 2)].associated_s, first);
	rig_wait(r, 5000);
	assert_int_equal(associated(3), first + 5);
	rig_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(within_a_second),
		cmocka_unit_test(over_a_restart),
		cmocka_unit_test(clock_set_back),
		cmocka_unit_test(other_sessions_keep_their_times),
	};

	return cmocka_run_group_tests(tests, vectors_setup, vectors_teardown);
}
