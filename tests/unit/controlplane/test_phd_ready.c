/* SPDX-License-Identifier: BSD-3-Clause */
/* When sessions are marked ready: with real tables, and a provisioner that does what the test says.
 */
#include "tests/unit/shm/phd_rig.h"

#include <string.h>

#include "controlplane/phd/ready.h"

/* ---- the provisioner ---- */

static struct bp_provision_ops ops;
static void *ops_arg;
static unsigned kicks;
static struct bp_provision_counts counts;

struct bp_provision *bp_provision_new(struct event_base *base, const struct bp_cse *cse,
	const struct bp_provision_settings *settings, const struct bp_provision_ops *o, void *arg)
{
	(void)base;
	(void)cse;
	(void)settings;
	ops = *o;
	ops_arg = arg;
	return (struct bp_provision *)&counts;
}

void bp_provision_free(struct bp_provision *p)
{
	(void)p;
}

void bp_provision_kick(struct bp_provision *p)
{
	(void)p;
	kicks++;
}

const struct bp_provision_counts *bp_provision_counts(const struct bp_provision *p)
{
	(void)p;
	return &counts;
}

/* ---- */

struct rig {
	struct phd_rig x;
	struct bp_ready *ready;
	bool busy;
	uint32_t asked; /* the slot that it was asked of */
};

static bool is_busy(void *arg, uint32_t slot)
{
	struct rig *r = arg;

	r->asked = slot;
	return r->busy;
}

static uint32_t open_session(struct rig *r, uint32_t device)
{
	struct bp_phd_session_spec spec = phd_device(device);
	static struct {
		_Alignas(64) uint8_t space[BP_PHD_LAYOUT_SIZE];
	} memory;
	struct bp_phd_layout *l = (struct bp_phd_layout *)memory.space;
	int layout;
	uint32_t slot;

	phd_layout_fill(l, 1, 64);
	r->x.t->control->plan.hash = l->plan;
	layout = bp_phd_layout_get(r->x.w, l);
	assert_true(layout >= 0);
	spec.layout = (uint16_t)layout;
	assert_int_equal(bp_phd_session_open(r->x.w, &spec, &slot), 0);
	return slot;
}

static void start(struct rig *r)
{
	static struct bp_config_phd config;

	memset(r, 0, sizeof(*r));
	phd_open(&r->x, 64, 16, 1);
	r->x.t->control->plan.per_report = 1; /* one container, whatever the layout says */
	r->ready = bp_ready_new(NULL, r->x.t, r->x.w, NULL, &config, "gw");
	assert_non_null(r->ready);
	bp_ready_hold(r->ready, is_busy, r);
}

static void stop(struct rig *r)
{
	bp_ready_free(r->ready);
	phd_close(&r->x);
}

/* The next that is to be provisioned is done. */
static void provisioned(void)
{
	struct bp_provision_target target;

	assert_true(ops.next(ops_arg, &target));
	ops.done(ops_arg, target.cookie, true);
}

static bool none_left(void)
{
	struct bp_provision_target target;

	return !ops.next(ops_arg, &target);
}

static void ready_at_once(void **state)
{
	struct rig r;
	uint32_t slot;

	(void)state;
	start(&r);
	slot = open_session(&r, 1);
	assert_false(bp_ready_is(r.ready, slot));
	bp_ready_want(r.ready, slot);
	provisioned();
	assert_int_equal(r.asked, slot);
	assert_true(bp_ready_is(r.ready, slot));
	stop(&r);
}

/* The CSE lost its tree while a report was on its way: what was made again counts when that has
 * ended, and not before. */
static void not_while_busy(void **state)
{
	struct rig r;
	uint32_t slot, other;

	(void)state;
	start(&r);
	slot = open_session(&r, 1);
	other = open_session(&r, 2);
	r.busy = true;
	bp_ready_want(r.ready, slot);
	provisioned();
	assert_false(bp_ready_is(r.ready, slot));
	bp_ready_idle(r.ready, other); /* another's */
	assert_false(bp_ready_is(r.ready, other));
	assert_false(bp_ready_is(r.ready, slot));
	bp_ready_idle(r.ready, slot);
	assert_true(bp_ready_is(r.ready, slot));
	bp_ready_idle(r.ready, slot);
	assert_true(bp_ready_is(r.ready, slot));
	assert_true(none_left());
	stop(&r);
}

/* It is wanted again while it is held: the end of the report does not make it ready. */
static void wanted_again(void **state)
{
	struct rig r;
	uint32_t slot;

	(void)state;
	start(&r);
	slot = open_session(&r, 1);
	r.busy = true;
	bp_ready_want(r.ready, slot);
	provisioned();
	bp_ready_want(r.ready, slot);
	bp_ready_idle(r.ready, slot);
	assert_false(bp_ready_is(r.ready, slot));
	r.busy = false;
	provisioned();
	assert_true(bp_ready_is(r.ready, slot));
	stop(&r);
}

/* Another control plane finds one that was held: it is provisioned once more, and ready then. */
static void held_over_a_restart(void **state)
{
	static struct bp_config_phd config;
	struct rig r;
	uint32_t slot;

	(void)state;
	start(&r);
	slot = open_session(&r, 1);
	r.busy = true;
	bp_ready_want(r.ready, slot);
	provisioned();
	bp_ready_free(r.ready);
	r.ready = bp_ready_new(NULL, r.x.t, r.x.w, NULL, &config, "gw");
	assert_non_null(r.ready);
	assert_false(bp_ready_is(r.ready, slot));
	provisioned();
	assert_true(bp_ready_is(r.ready, slot));
	stop(&r);
}

/* Devices that associate again and again while the CSE is away push nobody out of the queue. */
static void many_come_and_go(void **state)
{
	struct bp_provision_target target;
	unsigned given = 0;
	struct rig r;
	uint32_t first;

	(void)state;
	start(&r);
	first = open_session(&r, 1);
	bp_ready_want(r.ready, first);
	for (unsigned n = 0; n < 1000; n++) {
		const uint32_t slot = open_session(&r, 2);

		bp_ready_want(r.ready, slot);
		assert_true(bp_ready_waiting(r.ready) <= r.x.t->n_slots);
		bp_phd_session_close(r.x.w, slot);
		bp_phd_writer_settle(r.x.w);
	}
	while (ops.next(ops_arg, &target)) {
		ops.done(ops_arg, target.cookie, true);
		given++;
	}
	assert_int_equal(given, 1);
	assert_true(bp_ready_is(r.ready, first));
	stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ready_at_once),
		cmocka_unit_test(not_while_busy),
		cmocka_unit_test(wanted_again),
		cmocka_unit_test(held_over_a_restart),
		cmocka_unit_test(many_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
