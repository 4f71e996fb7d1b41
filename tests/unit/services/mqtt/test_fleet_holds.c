/* SPDX-License-Identifier: BSD-3-Clause */
/* The holds of an answer of the fleet, at a gateway whose other connections have changed them. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#include "fleet_steps.h"
#include "shm/rules/rule_state.h"

#define TOPIC "t/x"

/* The third value in a row above 80 raises. */
static void use_hold(struct rig *r)
{
	struct bp_rule_spec spec = rig_rule("r", "t/#", BP_COND_GT, 80);

	spec.hold = BP_HOLD_COUNT;
	spec.hold_count = 3;
	spec.repeat = BP_REPEAT_ON_CHANGE;
	rig_rules(r, &spec, 1);
}

/* What the worker of `two` has reported since the last call. */
static struct {
	unsigned requests, reports;
	struct bp_connection_key key; /* of the last request */
	struct bp_hold_report last;
} seen;

static void take_reports(void)
{
	struct bp_ring *ring = &two.shm.adopt_requests[0];
	uint64_t cursor = bp_ring_tail(ring);
	uint32_t size;
	const void *p;

	memset(&seen, 0, sizeof(seen));
	while ((p = bp_ring_peek(ring, &cursor, &size)) != NULL) {
		if (size == sizeof(seen.key)) {
			memcpy(&seen.key, p, sizeof(seen.key));
			seen.requests++;
		} else {
			assert_int_equal(size, sizeof(seen.last) + strlen(TOPIC));
			memcpy(&seen.last, p, sizeof(seen.last));
			seen.reports++;
		}
	}
	bp_ring_release(ring, cursor);
}

static uint64_t number_now(void)
{
	return two.now_ns >> BP_TRANSITION_SHIFT;
}

/* The client of `one` sends its third value through `two`, which asks for it; meanwhile another
 * client of `two` publishes these values of the topic. */
static void begin(struct peer *c, const char *const *value)
{
	struct peer other;

	open_fleet();
	use_hold(&one);
	use_hold(&two);
	connect_alias(c, 1);
	peer_init(&other, false, 2, 1, 2);
	rig_connect(&two, &other, 4, "other");
	publish_alias(&two, c, "", 3, "83");
	rig_advance(&two, 1000000);
	for (; *value != NULL; value++)
		rig_publish_text(&two, &other, TOPIC, *value);
	rig_flush(&two);
	take_reports();
	assert_int_equal(seen.requests, 1);
	assert_true(bp_connection_key_equal(&seen.key, &stored.key));
}

/* The record, and that the client had published two values before its position. */
static void answer_with_hold(uint64_t transition)
{
	const struct bp_rule *rule = bp_ruleset_rule(two.rules, 0);
	struct {
		struct bp_state_offer o;
		char topic[sizeof(TOPIC) - 1];
	} hold = {.o = {.rule_uid = rule->uid,
			  .transition = transition,
			  .hold = 2,
			  .state = BP_OFFER_HOLD,
			  .topic_len = sizeof(hold.topic),
			  .seq = stored.ref.next[CLIENT] - 1,
			  .dir = CLIENT}};

	memcpy(hold.topic, TOPIC, sizeof(hold.topic));
	for (unsigned n = 0; n < 3 && rig_count(&two, BP_C_FLEET_ADOPTED) == 0; n++) {
		if (n != 0)
			rig_advance(&two, 60000000);
		offer_holds(BP_ADOPT_FOUND, &seen.key, &hold,
			offsetof(__typeof__(hold), topic) + sizeof(hold.topic), stored.p, stored.n);
	}
	assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 1);
	take_reports();
}

static void hold_continues(void **state)
{
	struct peer c;

	(void)state;
	begin(&c, (const char *const[]){NULL});
	answer_with_hold(number_now() - 1);
	assert_string_equal(rig_told_values(&two), "83");
	assert_int_equal(rig_count(&two, BP_C_FLEET_HOLD_ENDED), 0);
	close_fleet();
}

/* The other client has ended the hold, and this gateway has read it after Redis was: the values of
 * before do not continue, and the fleet gets that they have ended. */
static void hold_that_ended_here_does_not_continue(void **state)
{
	struct peer c;

	(void)state;
	begin(&c, (const char *const[]){"81", "70", NULL});
	assert_int_equal(seen.reports, 2);
	assert_int_equal(seen.last.hold, 0);
	answer_with_hold(number_now() - 1);
	assert_string_equal(rig_told_values(&two), "");
	assert_int_equal(rig_count(&two, BP_C_FLEET_HOLD_ENDED), 1);
	/* the end, and then the value of the client */
	assert_int_equal(seen.reports, 2);
	assert_int_equal(seen.last.hold, 1);
	publish_alias(&two, &c, "", 3, "84");
	assert_string_equal(rig_told_values(&two), "");
	publish_alias(&two, &c, "", 3, "85");
	assert_string_equal(rig_told_values(&two), "85");
	close_fleet();
}

/* The change that this gateway has reported itself is no later one. */
static void hold_of_the_same_change_continues(void **state)
{
	struct peer c;

	(void)state;
	begin(&c, (const char *const[]){"81", "82", NULL});
	assert_int_equal(seen.last.hold, 2);
	answer_with_hold(number_now());
	assert_string_equal(rig_told_values(&two), "83");
	assert_int_equal(rig_count(&two, BP_C_FLEET_HOLD_ENDED), 0);
	close_fleet();
}

/* The other gateway has read one more value, which ended the hold, and has ended before it stored
 * the position: this gateway sees a gap, and cannot know that the bytes will not be repeated. */
static void hold_does_not_continue_over_a_gap(void **state)
{
	struct peer c;

	(void)state;
	open_fleet();
	use_hold(&one);
	use_hold(&two);
	connect_alias(&c, 1);
	publish_alias(&one, &c, "", 3, "70");
	rig_publish(&two, &c, CLIENT,
		&(struct mq_publish){.version = 5, .topic = "", .alias = 3, .payload = "83"});
	rig_flush(&two);
	take_reports();
	assert_int_equal(seen.requests, 1);
	answer_with_hold(number_now() - 1);
	assert_int_equal(rig_count(&two, BP_C_FLEET_HOLD_ENDED), 1);
	assert_int_equal(seen.last.hold, 0);
	/* the broker has all of it */
	rig_ack(&two, &c, BROKER);
	for (unsigned i = 0; i < 2; i++)
		publish_alias(&two, &c, "t/x", 3, "84");
	assert_string_equal(rig_told_values(&two), "");
	close_fleet();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hold_continues),
		cmocka_unit_test(hold_that_ended_here_does_not_continue),
		cmocka_unit_test(hold_of_the_same_change_continues),
		cmocka_unit_test(hold_does_not_continue_over_a_gap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
