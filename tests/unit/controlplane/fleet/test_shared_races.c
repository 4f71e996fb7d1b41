/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared states of combinations, and states that change at two gateways at the same time. */
#include "tests/unit/controlplane/fleet/shared_steps.h"

#include "services/mqtt/fleet_adopt.h"
#include "shm/rules/combination.h"

/* Temperature above 80 and pressure below 2, in one cell. A part has the name of the combination,
 * as in the image of the rules. */
static void use_combination(struct fixture *f)
{
	const struct bp_rule_spec part[] = {
		rig_rule("dry", "plant/{cell}/temperature", BP_COND_GT, 80),
		rig_rule("dry", "plant/{cell}/pressure", BP_COND_LT, 2)};
	struct bp_rule_spec r = rig_rule("dry", "", BP_COND_GT, 0);
	struct bp_combination_spec *c = calloc(1, sizeof(*c) + sizeof(part));

	assert_non_null(c);
	memcpy(c->part, part, sizeof(part));
	c->n_parts = 2;
	c->program = (struct bp_program){.len = 3, .step = {BP_STEP_ALL | 2, 0, 1}};
	r.combination = c;
	r.repeat = BP_REPEAT_ON_CHANGE;
	snprintf(r.to, sizeof(r.to), "alarm/{rule}/{cell}");
	both_up(f);
	use_rule(&one, r);
	use_rule(&two, r);
	free(c);
}

#define TEMPERATURE "plant/c1/temperature"
#define PRESSURE "plant/c1/pressure"

/* Raised by the second part, cleared by the first one: the state is that of the key, whichever
 * topic was published. */
static void combination_continues_there(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];
	struct result raise, clear;

	use_combination(f);
	assert_int_equal(publish_at(a, TEMPERATURE, "81").state, 0);
	raise = publish_at(a, PRESSURE, "1");
	assert_int_equal(raise.state, BP_ALARM_RAISED);
	RUN(f, rig_count(&two, BP_C_FLEET_STATE_RAISED) >= 1);
	/* no second raise */
	assert_int_equal(publish_at(b, PRESSURE, "1").state, 0);
	assert_int_equal(publish_at(b, TEMPERATURE, "82").state, 0);
	/* the clear has the number of the raise, and all gateways have it */
	clear = publish_at(b, TEMPERATURE, "70");
	assert_int_equal(clear.state, BP_ALARM_CLEARED);
	assert_int_equal(clear.transition, raise.transition);
	RUN(f, rig_count(&one, BP_C_FLEET_STATE_CLEARED) >= 1);
	RUN(f, strcmp(test_redis_cli(&f->redis, "hlen biplane:plant:alarms:raised"), "0") == 0);
	assert_int_equal(publish_at(a, PRESSURE, "1").state, BP_ALARM_RAISED);
}

/* The state of a window's result is that of the topic, though its values are not shared. */
static void window_continues_there(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];
	struct bp_rule_spec r = rule("r", BP_REPEAT_ON_CHANGE);
	struct result raise, clear;

	r.window = (struct bp_window_spec){.given = true, .function = BP_WINDOW_MEAN, .values = 2};
	both_up(f);
	use_rule(&one, r);
	use_rule(&two, r);
	assert_int_equal(publish(a, "81").state, 0);
	raise = publish(a, "83");
	assert_int_equal(raise.state, BP_ALARM_RAISED);
	RUN(f, rig_count(&two, BP_C_FLEET_STATE_RAISED) >= 1);
	assert_int_equal(publish(b, "81").state, 0);
	assert_int_equal(publish(b, "81").state, 0);
	clear = publish(b, "60");
	assert_int_equal(clear.state, BP_ALARM_CLEARED);
	assert_int_equal(clear.transition, raise.transition);
}

/* A topic that is silent at one gateway is published at the other one. */
static void absence_ends_there(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];
	struct bp_rule_spec r = rig_rule("r", "t/+", BP_COND_GE, 30);
	struct result raise, clear;

	r.absent_ns = 30000000000ull;
	r.repeat = BP_REPEAT_ON_CHANGE;
	r.payload = BP_PAYLOAD_ENVELOPE;
	both_up(f);
	use_rule(&one, r);
	use_rule(&two, r);
	assert_int_equal(publish(a, "1").state, 0);
	for (unsigned i = 0; i < 35; i++) {
		rig_advance(&one, 1000000000);
		bp_mqtt_worker_tick(one.in, one.mono_ns);
	}
	raise = take_alarm(a);
	assert_int_equal(raise.state, BP_ALARM_RAISED);
	RUN(f, rig_count(&two, BP_C_FLEET_STATE_RAISED) >= 1);
	clear = publish(b, "1");
	assert_int_equal(clear.state, BP_ALARM_CLEARED);
	assert_int_equal(clear.transition, raise.transition);
	RUN(f, rig_count(&one, BP_C_FLEET_STATE_CLEARED) >= 1);
}

/* ---- an offer that the worker reads after a change of its own ---- */

/* Only the control plane of g continues, until it has offered something. */
static void until_offered(struct fixture *f, struct gateway *g)
{
	const uint64_t end = test_now_ns() + TEST_DEADLINE_NS;

	while (bp_ring_used(&g->rig->shm.adopt_offers[0]) == 0) {
		assert_true(test_now_ns() < end);
		for (unsigned i = 0; i < 2; i++)
			bp_shared_states_tick(f->gateway[i].states, f->gateway[i].store);
		event_base_loop(f->base, EVLOOP_NONBLOCK);
		test_nap();
	}
}

static void settle(struct fixture *f)
{
	RUN(f, bp_ring_used(&one.shm.adopt_offers[0]) == 0 &&
			bp_ring_used(&two.shm.adopt_offers[0]) == 0);
	for (unsigned i = 0; i < 4; i++)
		run_once(f);
}

/* The control plane reads no alarm until later. */
static void publish_unread(struct gateway *g, const char *value)
{
	rig_advance(g->rig, 1000000);
	rig_publish_text(g->rig, &g->client, "t/x", value);
	rig_flush(g->rig);
}

static void take_alarms(struct gateway *g)
{
	struct bp_ring *ring = bp_shm_ring(&g->rig->shm, 0);
	uint64_t cursor = bp_ring_tail(ring);
	const struct bp_alarm *a;
	uint32_t size;

	while ((a = bp_ring_peek(ring, &cursor, &size)) != NULL)
		bp_shared_states_alarm(g->states, a);
	bp_ring_release(ring, cursor);
}

/* The worker has raised and cleared, with a higher number, before it reads the raise of the other
 * gateway. */
static void offer_of_a_raise_before_an_own_clear(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];
	struct result other, next;

	both_up(f);
	other = publish(b, "81");
	assert_int_equal(other.state, BP_ALARM_RAISED);
	until_offered(f, a);
	rig_advance(&one, 50000000);
	publish_unread(a, "82");
	publish_unread(a, "70");
	bp_mqtt_worker_tick(one.in, one.mono_ns);
	assert_int_equal(rig_count(&one, BP_C_FLEET_STATE_OUTDATED), 1);
	assert_int_equal(rig_count(&one, BP_C_FLEET_STATE_RAISED), 0);
	/* before the control plane knows */
	publish_unread(a, "83");
	take_alarms(a);
	settle(f);
	next = publish(a, "70");
	assert_int_equal(next.state, BP_ALARM_CLEARED);
	assert_true(next.transition > other.transition);
}

static void forget_clears(struct gateway *g)
{
	char topic[32];

	for (unsigned i = 0; i < 65536; i++)
		bp_fleet_state_cleared(g->rig->in, bp_ruleset_rule(g->rig->rules, 0),
			(const uint8_t *)topic, (uint32_t)snprintf(topic, sizeof(topic), "t/%u", i),
			1);
}

/* The same for an older raise of which the worker has forgotten its clear: the control plane
 * repeats that. */
static void raise_that_was_adopted_late_is_cleared(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];
	uint64_t raised, cleared;

	both_up(f);
	assert_int_equal(publish(a, "81").state, BP_ALARM_RAISED);
	assert_int_equal(publish(a, "70").state, BP_ALARM_CLEARED);
	/* all states are offered a second time after the start */
	RUN(f, rig_count(&one, BP_C_FLEET_STATE_CLEARED) >= 1 &&
			rig_count(&two, BP_C_FLEET_STATE_CLEARED) >= 1);
	settle(f);
	cleared = rig_count(&one, BP_C_FLEET_STATE_CLEARED);
	rig_advance(&two, 50000000);
	assert_int_equal(publish(b, "81").state, BP_ALARM_RAISED);
	until_offered(f, a);
	rig_advance(&one, 100000000);
	publish_unread(a, "82");
	publish_unread(a, "70");
	/* other clears take the place of this one in the worker's memory */
	forget_clears(a);
	raised = rig_count(&one, BP_C_FLEET_STATE_RAISED);
	bp_mqtt_worker_tick(one.in, one.mono_ns);
	assert_int_equal(rig_count(&one, BP_C_FLEET_STATE_RAISED), raised + 1);
	take_alarms(a);
	RUN(f, rig_count(&one, BP_C_FLEET_STATE_CLEARED) > cleared);
	settle(f);
	assert_int_equal(publish(a, "83").state, BP_ALARM_RAISED);
}

static void use_hold(struct fixture *f)
{
	struct bp_rule_spec r = rule("r", BP_REPEAT_ON_CHANGE);

	r.hold = BP_HOLD_COUNT;
	r.hold_count = 3;
	both_up(f);
	one.now_ns = two.now_ns = bp_unix_ns(); /* old holds are not adopted */
	use_rule(&one, r);
	use_rule(&two, r);
	settle(f);
}

/* Two values of a hold pass the other gateway, and then the third and fourth one this one, before
 * the worker has read of the first two: they count, as they are the newer ones. */
static void offer_of_a_hold_before_an_own_value(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];

	use_hold(f);
	assert_int_equal(hold(b, "81").state, 0);
	until_offered(f, a);
	rig_advance(&one, two.now_ns - one.now_ns + 1000000);
	publish_unread(a, "82");
	publish_unread(a, "83");
	bp_mqtt_worker_tick(one.in, one.mono_ns);
	assert_int_equal(rig_count(&one, BP_C_FLEET_STATE_OUTDATED), 1);
	take_reports(a);
	settle(f);
	assert_int_equal(hold(a, "84").state, BP_ALARM_RAISED);
}

/* A hold that ended here does not continue with the older values of another gateway. */
static void offer_of_a_hold_before_an_own_end(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];

	use_hold(f);
	assert_int_equal(hold(a, "81").state, 0);
	assert_int_equal(hold(b, "81").state, 0);
	assert_int_equal(hold(b, "81").state, 0);
	until_offered(f, a);
	rig_advance(&one, two.now_ns - one.now_ns + 1000000);
	publish_unread(a, "70");
	bp_mqtt_worker_tick(one.in, one.mono_ns);
	assert_int_equal(rig_count(&one, BP_C_FLEET_STATE_OUTDATED), 1);
	take_reports(a);
	settle(f);
	assert_int_equal(hold(a, "84").state, 0);
	assert_int_equal(hold(a, "84").state, 0);
	assert_int_equal(hold(a, "84").state, BP_ALARM_RAISED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(combination_continues_there),
		CASE(window_continues_there),
		CASE(absence_ends_there),
		CASE(offer_of_a_raise_before_an_own_clear),
		CASE(raise_that_was_adopted_late_is_cleared),
		CASE(offer_of_a_hold_before_an_own_value),
		CASE(offer_of_a_hold_before_an_own_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
