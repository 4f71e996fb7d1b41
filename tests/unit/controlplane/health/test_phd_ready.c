/* SPDX-License-Identifier: BSD-3-Clause */
/* When sessions are marked ready: with real tables, and a provisioner that does what the test says.
 */
#include "tests/unit/shm/health/phd_rig.h"

#include <string.h>

#include "controlplane/health/ready.h"

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

static void finish(struct rig *r)
{
	bp_ready_free(r->ready);
	phd_close(&r->x);
}

/* ---- what the owner remembers ---- */

#define DEVICES 8u

static uint64_t remembered[DEVICES]; /* by the system-id's last byte */

static uint64_t get_made(void *arg, const uint8_t system_id[8], uint16_t config_id)
{
	(void)arg;
	(void)config_id;
	return remembered[system_id[7] % DEVICES];
}

static void set_created(void *arg, const uint8_t system_id[8], uint16_t config_id, uint64_t made)
{
	(void)arg;
	(void)config_id;
	remembered[system_id[7] % DEVICES] = made;
}

static const struct bp_ready_memory memory = {.made = get_made, .set_created = set_created};

/* The session ends, and the device comes again. */
static uint32_t retry(struct rig *r, uint32_t device, uint32_t slot)
{
	bp_phd_session_close(r->x.w, slot);
	return open_session(r, device);
}

/* Another control plane, with another configuration or the same. */
static void restart(struct rig *r, const struct bp_config_phd *c)
{
	bp_ready_free(r->ready);
	r->ready = bp_ready_new(NULL, r->x.t, r->x.w, NULL, c, "gw");
	assert_non_null(r->ready);
	bp_ready_hold(r->ready, is_busy, r);
	bp_ready_set_memory(r->ready, &memory, r);
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
	bp_ready_request(r.ready, slot);
	provisioned();
	assert_int_equal(r.asked, slot);
	assert_true(bp_ready_is(r.ready, slot));
	finish(&r);
}

/* The CSE lost its tree while a report was in flight: created containers count only after that
 * report has ended. */
static void not_while_busy(void **state)
{
	struct rig r;
	uint32_t slot, other;

	(void)state;
	start(&r);
	slot = open_session(&r, 1);
	other = open_session(&r, 2);
	r.busy = true;
	bp_ready_request(r.ready, slot);
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
	finish(&r);
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
	bp_ready_request(r.ready, slot);
	provisioned();
	bp_ready_request(r.ready, slot);
	bp_ready_idle(r.ready, slot);
	assert_false(bp_ready_is(r.ready, slot));
	r.busy = false;
	provisioned();
	assert_true(bp_ready_is(r.ready, slot));
	finish(&r);
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
	bp_ready_request(r.ready, slot);
	provisioned();
	bp_ready_free(r.ready);
	r.ready = bp_ready_new(NULL, r.x.t, r.x.w, NULL, &config, "gw");
	assert_non_null(r.ready);
	assert_false(bp_ready_is(r.ready, slot));
	provisioned();
	assert_true(bp_ready_is(r.ready, slot));
	finish(&r);
}

static struct bp_config_phd default_settings(void)
{
	struct bp_config_phd c = {.cse = {.coap_port = 5683,
					  .coap_address = {.family = 4, .bytes = {10, 1, 0, 20}},
					  .path = "cse-in/{system_id}/{object}",
					  .originator = "Cbiplane"}};

	return c;
}

/* Starts with what is remembered of device 1 by that configuration. */
static uint32_t remember_one(struct rig *r, const struct bp_config_phd *c)
{
	uint32_t slot;

	memset(remembered, 0, sizeof(remembered));
	start(r);
	restart(r, c);
	slot = open_session(r, 1);
	bp_ready_request(r->ready, slot);
	assert_false(bp_ready_is(r->ready, slot));
	provisioned();
	assert_true(bp_ready_is(r->ready, slot));
	assert_int_equal(bp_ready_spared(r->ready), 0);
	return slot;
}

static void same_device_reconnects(void **state)
{
	const struct bp_config_phd c = default_settings();
	struct rig r;
	uint32_t slot, other;

	(void)state;
	slot = remember_one(&r, &c);
	for (unsigned i = 1; i <= 3; i++) {
		slot = retry(&r, 1, slot);
		assert_false(bp_ready_is(r.ready, slot));
		bp_ready_request(r.ready, slot);
		assert_true(bp_ready_is(r.ready, slot));
		assert_int_equal(bp_ready_spared(r.ready), i);
		assert_int_equal(r.x.t->control->unready, 0);
	}
	other = open_session(&r, 2); /* no state of it remains */
	bp_ready_request(r.ready, other);
	assert_false(bp_ready_is(r.ready, other));
	provisioned();
	assert_true(none_left());
	finish(&r);
}

/* While the CSE is away no one is taken from the queue: it is no hindrance, and what is in the
 * queue then is not worked on. */
static void ready_though_it_was_queued(void **state)
{
	const struct bp_config_phd c = default_settings();
	struct rig r;
	uint32_t slot;
	uint64_t made;

	(void)state;
	slot = remember_one(&r, &c);
	made = remembered[1];
	remembered[1] = 0;
	slot = retry(&r, 1, slot);
	bp_ready_request(r.ready, slot);
	remembered[1] = made;
	bp_ready_request(r.ready, slot);
	assert_true(bp_ready_is(r.ready, slot));
	assert_true(none_left());
	bp_ready_lost(r.ready, slot); /* it can wait again */
	provisioned();
	assert_true(bp_ready_is(r.ready, slot));
	finish(&r);
}

static void reports_lost_by_the_cse_are_excluded(void **state)
{
	const struct bp_config_phd c = default_settings();
	struct rig r;
	uint32_t slot;

	(void)state;
	slot = remember_one(&r, &c);
	bp_phd_session_flags(r.x.w, slot, BP_PHD_STALE, 0);
	bp_ready_lost(r.ready, slot);
	assert_false(bp_ready_is(r.ready, slot));
	assert_int_equal(bp_phd_word_flags(r.x.t->sessions[slot].word), 0);
	slot = retry(&r, 1, slot); /* before they were made again */
	bp_ready_request(r.ready, slot);
	assert_false(bp_ready_is(r.ready, slot));
	provisioned();
	assert_true(bp_ready_is(r.ready, slot));
	slot = retry(&r, 1, slot);
	bp_ready_request(r.ready, slot);
	assert_true(bp_ready_is(r.ready, slot));
	finish(&r);
}

/* It is ready once its report of the slow path has ended. */
static void same_device_reconnects_while_busy(void **state)
{
	const struct bp_config_phd c = default_settings();
	struct rig r;
	uint32_t slot;

	(void)state;
	slot = retry(&r, 1, remember_one(&r, &c));
	r.busy = true;
	bp_ready_request(r.ready, slot);
	assert_false(bp_ready_is(r.ready, slot));
	assert_true(none_left());
	bp_ready_idle(r.ready, slot);
	assert_true(bp_ready_is(r.ready, slot));
	finish(&r);
}

/* The settings that containers depend on, one by one: they give other containers. And settings
 * without influence. */
static void another_target(void **state)
{
	const struct bp_config_phd c = default_settings();
	struct bp_config_phd other[6];
	struct rig r;

	(void)state;
	for (unsigned i = 0; i < 6; i++)
		other[i] = c;
	other[0].cse.coap_address.bytes[3] = 21;
	other[1].cse.coap_port = 5684;
	strcpy(other[2].cse.path, "cse-in/{system_id}/x-{object}");
	strcpy(other[3].cse.originator, "Cother");
	strcpy(other[4].cse.path, "cse-in/{type}/{object}");
	other[5].cse.coap_address.family = 6;
	for (unsigned i = 0; i < 6; i++) {
		uint32_t slot = retry(&r, 1, remember_one(&r, &c));

		restart(&r, &other[i]);
		bp_ready_request(r.ready, slot);
		assert_false(bp_ready_is(r.ready, slot));
		provisioned();
		slot = retry(&r, 1, slot);
		bp_ready_request(r.ready, slot);
		assert_true(bp_ready_is(r.ready, slot));
		finish(&r);
	}
}

static void the_same_target(void **state)
{
	const struct bp_config_phd c = default_settings();
	struct bp_config_phd other = c;
	struct rig r;
	uint32_t slot;

	(void)state;
	other.cse.max_instances = 1000;
	other.cse.release = BP_PHD_RELEASE_3;
	other.cse.max_inflight = 1;
	slot = retry(&r, 1, remember_one(&r, &c));
	restart(&r, &other);
	bp_ready_request(r.ready, slot);
	assert_true(bp_ready_is(r.ready, slot));
	finish(&r);
}

/* Names of objects, and the type where the path says it. */
static void another_device(void **state)
{
	struct bp_config_phd c = default_settings();
	struct rig r;
	uint32_t slot;
	struct bp_phd_layout *l;

	(void)state;
	slot = remember_one(&r, &c);
	r.x.t->sessions[slot].spec = 4100; /* the path does not say it */
	bp_ready_request(r.ready, slot);
	assert_true(bp_ready_is(r.ready, slot));
	r.x.t->control->plan.per_report = 0;
	l = (struct bp_phd_layout *)r.x.t->layouts; /* the only one */
	l->n = 2;
	memcpy(l->text, "spo2pulse", 9);
	l->object[0].name = 0;
	l->object[0].name_len = 4;
	l->object[1].name = 4;
	l->object[1].name_len = 5;
	bp_ready_request(r.ready, slot);
	assert_false(bp_ready_is(r.ready, slot));
	provisioned();
	bp_ready_request(r.ready, slot);
	assert_true(bp_ready_is(r.ready, slot));
	l->object[0].name_len = 5; /* as many bytes of the same, but other names */
	l->object[1].name = 5;
	l->object[1].name_len = 4;
	bp_ready_request(r.ready, slot);
	assert_false(bp_ready_is(r.ready, slot));
	finish(&r);

	strcpy(c.cse.path, "cse-in/{type}-{system_id}/{object}");
	slot = remember_one(&r, &c);
	r.x.t->sessions[slot].spec = 4100;
	bp_ready_request(r.ready, slot);
	assert_false(bp_ready_is(r.ready, slot));
	finish(&r);
}

/* The device reports its type while containers are created for another: these do not count. */
static void another_type_meanwhile(void **state)
{
	struct bp_config_phd c = default_settings();
	struct bp_provision_target target;
	struct rig r;
	uint32_t slot;

	(void)state;
	strcpy(c.cse.path, "cse-in/{type}-{system_id}/{object}");
	slot = retry(&r, 1, remember_one(&r, &c));
	remembered[1] = 0;
	bp_ready_request(r.ready, slot);
	assert_true(ops.next(ops_arg, &target));
	assert_string_equal(target.type, "unknown");
	r.x.t->sessions[slot].spec = 4100;
	bp_ready_request(r.ready, slot);
	ops.done(ops_arg, target.cookie, true);
	assert_false(bp_ready_is(r.ready, slot));
	assert_true(ops.next(ops_arg, &target));
	assert_string_equal(target.type, "pulse_oximeter");
	ops.done(ops_arg, target.cookie, true);
	assert_true(bp_ready_is(r.ready, slot));
	assert_true(none_left());
	finish(&r);
}

/* Devices associate repeatedly while the CSE is unreachable: the order of waiting devices is kept.
 */
static void repeated_reconnects_keep_the_order(void **state)
{
	struct bp_provision_target target;
	struct rig r;
	uint32_t first, slot;

	(void)state;
	start(&r);
	first = open_session(&r, 1);
	bp_ready_request(r.ready, first);
	slot = open_session(&r, 2);
	for (unsigned i = 0; i < 1000; i++) {
		bp_ready_request(r.ready, slot);
		bp_phd_session_close(r.x.w, slot);
		bp_phd_writer_settle(r.x.w);
		slot = open_session(&r, 2);
	}
	bp_ready_request(r.ready, slot);
	assert_true(bp_ready_waiting(r.ready) <= r.x.t->n_slots);
	assert_true(ops.next(ops_arg, &target));
	assert_memory_equal(target.system_id, r.x.t->sessions[first].system_id, 8);
	ops.done(ops_arg, target.cookie, true);
	provisioned();
	assert_true(bp_ready_is(r.ready, first));
	assert_true(bp_ready_is(r.ready, slot));
	assert_true(none_left());
	finish(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ready_at_once),
		cmocka_unit_test(not_while_busy),
		cmocka_unit_test(wanted_again),
		cmocka_unit_test(held_over_a_restart),
		cmocka_unit_test(same_device_reconnects),
		cmocka_unit_test(ready_though_it_was_queued),
		cmocka_unit_test(reports_lost_by_the_cse_are_excluded),
		cmocka_unit_test(same_device_reconnects_while_busy),
		cmocka_unit_test(another_target),
		cmocka_unit_test(the_same_target),
		cmocka_unit_test(another_device),
		cmocka_unit_test(another_type_meanwhile),
		cmocka_unit_test(repeated_reconnects_keep_the_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
