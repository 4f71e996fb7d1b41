/* SPDX-License-Identifier: BSD-3-Clause */
/* Timeouts, in virtual time. */
#include "manager_rig.h"

static struct rig rig, *const r = &rig;

static void forget(void)
{
	r->n = 0;
	r->log[0] = '\0';
}

static uint64_t next_ms(void)
{
	const uint64_t next = bp_phd_manager_tick(r->m, r->now_ms * 1000000);

	return next == UINT64_MAX ? next : next / 1000000;
}

/* Rule 6.4. */
static void the_configuration(void **state)
{
	rig_open(r, *state, 16, 16);
	assert_int_equal(next_ms(), UINT64_MAX);
	rig_send(r, 1, "A04");
	said(r, "1 " AARE3);
	assert_int_equal(next_ms(), r->now_ms + 10000);
	rig_wait(r, 9999);
	said(r, "");
	rig_wait(r, 1);
	said(r, "1 " ABRT("0003")); /* it was not operating: no callback */
	assert_int_equal(rig_state(r, 1), BP_PHD_FREE);
	assert_int_equal(r->counts.timeout_config, 1);
	assert_int_equal(next_ms(), UINT64_MAX);
	/* a refused configuration restarts the timer for another one */
	rig_send(r, 1, rig_aarq(ACTIVITY, 0x4001));
	forget();
	rig_wait(r, 9000);
	rig_send(r, 1, "M25");
	said(r, "1 " CONFIG_RSP("0008", "4003", "0001"));
	rig_wait(r, 9999);
	said(r, "");
	rig_wait(r, 1);
	said(r, "1 " ABRT("0003"));
	/* a retransmission does not extend it */
	rig_send(r, 1, "A04");
	rig_wait(r, 9000);
	rig_send(r, 1, "A04");
	forget();
	rig_wait(r, 1000);
	said(r, "1 " ABRT("0003"));
	rig_close(r);
}

/* Rule 9.4. */
static void the_release(void **state)
{
	uint8_t id[8];

	rig_open(r, *state, 16, 16);
	rig_id(OXIMETER, id);
	rig_send(r, 1, "A01");
	forget();
	assert_int_equal(bp_phd_manager_release(r->m, id, r->now_ms * 1000000), 0);
	assert_int_equal(next_ms(), r->now_ms + 3000);
	rig_wait(r, 2000);
	rig_send(r, 1, "S02"); /* 9.21 */
	said(r, "1 " RLRQ);
	rig_wait(r, 999);
	said(r, "");
	rig_wait(r, 1);
	said(r, "closed " OXIMETER " timeout\n1 " ABRT("0000"));
	assert_int_equal(r->counts.timeout_release, 1);
	rig_close(r);
}

static void idle_sessions(void **state)
{
	rig_open(r, *state, 16, 16);
	rig_send(r, 1, "A01");
	forget();
	rig_wait(r, 1000000000); /* never, as it is */
	said(r, "");
	r->c.idle_timeout_ns = 60000000000; /* as a reload makes it: from the last report on */
	rig_wait(r, 1);
	said(r, "closed " OXIMETER " idle\n1 " ABRT("0000"));
	rig_send(r, 1, "A01");
	rig_send(r, 2, rig_aarq("0000000000000002", 400));
	rig_send(r, 3, rig_aarq("0000000000000003", 400));
	forget();
	r->taken = BP_PHD_TAKEN;
	for (unsigned i = 0; i < 100; i++) {
		rig_wait(r, 20000);
		/* a worker converts what one measures, the other's reports come the slow way */
		atomic_fetch_add(&r->x.t->sessions[rig_slot(r, 1)].reports, 1);
		rig_send(r, 2, "S03");
	}
	assert_int_equal(rig_state(r, 1), BP_PHD_OPERATING);
	assert_int_equal(rig_state(r, 2), BP_PHD_OPERATING);
	assert_int_equal(rig_state(r, 3), BP_PHD_FREE);
	assert_int_equal(r->counts.timeout_idle, 2);
	forget();
	rig_wait(r, 59000);
	assert_int_equal(rig_state(r, 1), BP_PHD_OPERATING);
	assert_int_equal(rig_state(r, 2), BP_PHD_OPERATING);
	rig_wait(r, 17000); /* at most a quarter too late */
	assert_int_equal(r->x.t->control->sessions, 0);
	rig_close(r);
}

static void reload_changes_running_entries(void **state)
{
	rig_open(r, *state, 16, 16);
	rig_send(r, 1, "A04");
	forget();
	rig_wait(r, 2000);
	r->c.timeouts.config_ns = 2500000000;
	assert_int_equal(next_ms(), r->now_ms + 500);
	rig_wait(r, 500);
	said(r, "1 " ABRT("0003"));
	rig_close(r);
}

/* Many at the same time, each when it is due; a bounded number per call. */
static void many_timers_expire_in_bounded_steps(void **state)
{
	const unsigned n = 9000;
	unsigned gone = 0, turns = 0;

	rig_open(r, *state, 16384, 16);
	for (unsigned i = 0; i < n; i++) {
		char id[17];

		snprintf(id, sizeof(id), "%016x", i + 1);
		rig_send(r, 1000 + i, rig_aarq(id, 0x4000));
		r->now_ms += i % 3 == 0;
		forget();
	}
	assert_int_equal(r->x.t->control->sessions, n);
	/* half of them end before it is time */
	for (unsigned i = 0; i < n; i += 2) {
		rig_send(r, 1000 + i, "R03");
		gone++;
	}
	r->now_ms += 5000;
	assert_int_equal(next_ms(), 1000000 + 1 + 10000); /* the second one's */
	r->now_ms = 1000000 + n / 3 + 10000;
	while (bp_phd_manager_tick(r->m, r->now_ms * 1000000) != UINT64_MAX) {
		turns++;
		forget();
	}
	assert_in_range(turns, 1, 10); /* not all in one */
	assert_int_equal(r->x.t->control->sessions, 0);
	assert_int_equal(r->counts.timeout_config, n - gone);
	forget();
	rig_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_configuration),
		cmocka_unit_test(the_release),
		cmocka_unit_test(idle_sessions),
		cmocka_unit_test(reload_changes_running_entries),
		cmocka_unit_test(many_timers_expire_in_bounded_steps),
	};

	return cmocka_run_group_tests(tests, vectors_setup, vectors_teardown);
}
