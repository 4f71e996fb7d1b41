/* SPDX-License-Identifier: BSD-3-Clause */
/* Two gateways share holds in a real Redis: inspection of both, and this part of their control
 * planes, in one process. */
#include "tests/unit/controlplane/fleet/shared_steps.h"

static void use_hold(struct fixture *f, uint8_t kind, uint8_t repeat, bool has_clear)
{
	struct bp_rule_spec r = rule("r", repeat);

	r.has_clear = has_clear;
	r.hold = kind;
	r.hold_count = 3;
	r.hold_ns = 10000000000ull;
	both_up(f);
	one.now_ns = two.now_ns = bp_unix_ns(); /* old holds are not adopted */
	use_rule(&one, r);
	use_rule(&two, r);
}

/* New rules are active: what is known is offered twice, so counters of the worker have no exact
 * value here. Two values pass one gateway, the third one the other: the count continues. */
static void hold_continues_there(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];

	use_hold(f, BP_HOLD_COUNT, BP_REPEAT_ON_CHANGE, true);
	assert_int_equal(hold(a, "81").state, 0);
	assert_int_equal(hold(a, "82").state, 0);
	RUN(f, rig_count(&two, BP_C_FLEET_HOLD) >= 1);
	assert_int_equal(number(a, "holds"), 1); /* the first one was replaced by the second */
	assert_int_equal(number(b, "holds_adopted"), 1);
	assert_int_equal(hold(b, "83").state, BP_ALARM_RAISED);
	/* the raise ends it here, too; what this gateway has sent is not adopted */
	RUN(f, rig_count(&one, BP_C_FLEET_STATE_RAISED) >= 1);
	assert_int_equal(hold(a, "84").state, 0);
	assert_int_equal(hold(a, "70").state, BP_ALARM_CLEARED);
	RUN(f, rig_count(&two, BP_C_FLEET_STATE_CLEARED) >= 1 &&
			number(a, "holds") + number(a, "holds_adopted") >= 2);
	/* none is left over */
	assert_int_equal(hold(a, "81").state, 0);
	assert_int_equal(hold(a, "81").state, 0);
	assert_int_equal(hold(b, "70").state, 0);
}

static void ended_hold_has_ended_there(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];

	use_hold(f, BP_HOLD_COUNT, BP_REPEAT_ON_CHANGE, true);
	hold(a, "81");
	hold(a, "82");
	RUN(f, rig_count(&two, BP_C_FLEET_HOLD) >= 1);
	assert_int_equal(hold(b, "70").state, 0);
	RUN(f, rig_count(&one, BP_C_FLEET_HOLD) >= 1);
	assert_int_equal(hold(a, "83").state, 0);
	assert_int_equal(hold(a, "84").state, 0);
	assert_int_equal(hold(a, "85").state, BP_ALARM_RAISED);
}

static void time_of_a_hold_continues_there(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];

	use_hold(f, BP_HOLD_TIME, BP_REPEAT_ON_CHANGE, true);
	/* the hold is 9.9 s old when it is adopted, by Unix time; the worker itself did not pause
	 */
	two.now_ns += 9900000000ull;
	rig_advance(&two, 1);
	assert_int_equal(publish(a, "81").state, 0);
	take_reports(a);
	RUN(f, rig_count(&two, BP_C_FLEET_HOLD) >= 1);
	assert_int_equal(hold(b, "82").state, 0);
	rig_advance(&two, 150000000ull);
	assert_int_equal(hold(b, "83").state, BP_ALARM_RAISED);
}

/* Such a rule has no raise that is shared: a complete hold is. */
static void complete_hold_without_a_clear(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];

	use_hold(f, BP_HOLD_COUNT, BP_REPEAT_EVERY, false);
	hold(a, "81");
	hold(a, "82");
	assert_int_equal(hold(a, "83").state, BP_ALARM_RAISED);
	RUN(f, rig_count(&two, BP_C_FLEET_HOLD) >= 1);
	assert_int_equal(hold(b, "84").state, BP_ALARM_RAISED);
	assert_int_equal(hold(b, "70").state, 0);
	RUN(f, rig_count(&one, BP_C_FLEET_HOLD) >= 1 && number(b, "holds") >= 1);
	RUN(f, hold(a, "85").state == 0);
}

static void report(struct gateway *g, unsigned client, const char *topic, uint64_t unix_ns)
{
	uint8_t bytes[sizeof(struct bp_hold_report) + 64];
	struct bp_hold_report r = {.rule_uid = 7,
		.unix_ns = unix_ns,
		.hold = 1,
		.client_ip = {10, 0, 0, (uint8_t)client},
		.topic_len = (uint16_t)strlen(topic)};

	memcpy(bytes, &r, sizeof(r));
	memcpy(bytes + sizeof(r), topic, r.topic_len);
	bp_shared_holds_report(
		bp_shared_states_holds(g->states), bytes, (uint32_t)sizeof(r) + r.topic_len, 0);
}

/* A device that publishes on ever new topics has its share of the holds; others have theirs. */
static void holds_of_a_client_are_bounded(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0];
	const unsigned more = 100;
	char topic[32];

	both_up(f);
	for (unsigned i = 0; i < BP_HOLDS_CLIENT_MAX + more; i++) {
		snprintf(topic, sizeof(topic), "t/%u", i);
		report(a, 1, topic, bp_unix_ns());
	}
	assert_int_equal(number(a, "hold_pairs"), BP_HOLDS_CLIENT_MAX);
	assert_int_equal(number(a, "client_full"), more);
	report(a, 2, "t/other", bp_unix_ns());
	assert_int_equal(number(a, "hold_pairs"), BP_HOLDS_CLIENT_MAX + 1);
	RUN(f, number(a, "holds") == BP_HOLDS_CLIENT_MAX + 1);
	RUN(f, number(&f->gateway[1], "holds_adopted") == BP_HOLDS_CLIENT_MAX + 1);
}

/* All gateways together: the pair that changed first is forgotten. */
static void holds_are_bounded(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0];
	const uint64_t first = (bp_unix_ns() >> BP_TRANSITION_SHIFT) - BP_HOLDS_MAX;
	char text[112];

	both_up(f);
	for (unsigned i = 0; i < BP_HOLDS_MAX + 100; i++) {
		const int n =
			snprintf(text, sizeof(text), "p%016" PRIx64 "%016x%016x%016x%016x%016xt/%u",
				first + i, 7, 1, 1, 1, 1, i);

		bp_shared_states_state(a->states, text, (size_t)n);
	}
	assert_int_equal(number(a, "hold_pairs"), BP_HOLDS_MAX);
	assert_int_equal(number(a, "holds_adopted"), BP_HOLDS_MAX + 100);
	assert_int_equal(number(a, "full"), 0);
}

#define ONE "0000000000000001"

static void add_hold(
	struct fixture *f, uint64_t unix_ns, uint64_t rule_uid, uint64_t value, const char *topic)
{
	char words[256];

	snprintf(words, sizeof(words),
		"xadd biplane:plant:alarms:holds '*' s "
		"p%016" PRIx64 "%016" PRIx64 "%016" PRIx64 ONE ONE ONE "%s",
		unix_ns >> BP_TRANSITION_SHIFT, rule_uid, value, topic);
	(void)test_redis_cli(&f->redis, words);
}

#define FIVE ONE ONE ONE ONE ONE

/* Another tenant of Redis: nothing is read outside of a text, and no time of the future counts. */
static void holds_are_not_believed(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];
	static const struct {
		const char *number; /* NULL: of the present */
		const char *rest;
	} value[] = {{"", ""}, {NULL, ""}, {NULL, ONE ONE ONE "t/x"}, {NULL, FIVE},
		{"0000000000000000", FIVE "t/x"}, {ONE, FIVE "t/x"},
		{"ffffffffffffffff", FIVE "t/x"}, {NULL, "000000000000000g" ONE ONE ONE ONE "t/x"},
		{NULL, ONE ONE ONE ONE "000000000000000gt/x"}, {NULL, FIVE "t/#"},
		{NULL, ONE ONE ONE ONE "0000000200000001t/x"}};
	const uint64_t now = bp_unix_ns();
	char words[256], text[17];
	uint64_t uid;

	use_hold(f, BP_HOLD_COUNT, BP_REPEAT_ON_CHANGE, true);
	uid = bp_ruleset_rule(one.rules, 0)->uid;
	snprintf(text, sizeof(text), "%016" PRIx64, now >> BP_TRANSITION_SHIFT);
	for (unsigned i = 0; i < sizeof(value) / sizeof(value[0]); i++) {
		snprintf(words, sizeof(words), "xadd biplane:plant:alarms:holds '*' s 'p%s%s'",
			value[i].number != NULL ? value[i].number : text, value[i].rest);
		(void)test_redis_cli(&f->redis, words);
	}
	RUN(f, number(b, "invalid") == sizeof(value) / sizeof(value[0]));
	/* a rule that is not here, and a hold that the rule cannot have: as one that is complete */
	add_hold(f, now, 1, UINT64_MAX, "t/x");
	RUN(f, rig_count(&two, BP_C_FLEET_STATE_NO_RULE) >= 1);
	add_hold(f, now, uid, UINT64_MAX, "t/x");
	RUN(f, rig_count(&two, BP_C_FLEET_HOLD) >= 1);
	assert_int_equal(publish(b, "81").state, BP_ALARM_RAISED);
	/* a raised state stays raised */
	add_hold(f, now + 1000000, uid, 0, "t/x");
	RUN(f, number(b, "holds_adopted") == 3);
	assert_int_equal(publish(b, "82").state, 0);
	/* two fields: not written by a gateway. The connection does not end */
	(void)test_redis_cli(&f->redis, "xadd biplane:plant:alarms:holds '*' a b c d");
	RUN(f, number(b, "invalid") == sizeof(value) / sizeof(value[0]) + 1);
	assert_true(a->up && b->up);
}

/* A damaged data plane. */
static void reports_are_not_believed(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0];
	struct bp_shared_holds *holds = bp_shared_states_holds(a->states);
	struct bp_hold_report r[2] = {{.hold = 1, .topic_len = 64}};

	bp_shared_holds_report(holds, r, 8, 0);
	bp_shared_holds_report(holds, r, sizeof(r[0]), 0);
	bp_shared_holds_report(holds, r, sizeof(r[0]) + 8, 0); /* another length */
	report(a, 1, "t/#", 1);
	report(a, 1, "t/x", UINT64_MAX);
	assert_int_equal(number(a, "invalid"), 5);
	assert_int_equal(number(a, "hold_pairs"), 0);
}

/* A gateway that was stopped reports a hold of before: it does not replace the newer one. */
static void late_report_changes_nothing(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];
	const uint64_t now = bp_unix_ns();

	both_up(f);
	report(b, 1, "t/x", now);
	RUN(f, number(a, "holds_adopted") == 1);
	report(a, 1, "t/x", now - 1000000000);
	report(a, 1, "t/y", now);
	RUN(f, number(b, "holds_adopted") == 1);
	assert_int_equal(number(a, "holds"), 1);
}

/* The first values of a pair pass gateway a; its control plane is restarted, and the next value,
 * which ends the hold, arrives meanwhile. */
static void restart_while_a_hold_ends(struct fixture *f)
{
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];

	use_hold(f, BP_HOLD_COUNT, BP_REPEAT_ON_CHANGE, true);
	assert_int_equal(hold(a, "81").state, 0);
	assert_int_equal(hold(a, "82").state, 0);
	RUN(f, number(b, "holds_adopted") == 1);
	report(b, 2, "t/last", bp_unix_ns()); /* the last change in Redis */
	RUN(f, number(b, "holds") == 1);
	stop_control(a);
	assert_int_equal(publish(a, "70").state, 0);
	start_control(f, 0);
}

static void stream_is_read(struct fixture *f)
{
	RUN(f, number(&f->gateway[0], "hold_pairs") == 2);
	for (unsigned i = 0; i < 4; i++)
		run_once(f);
	RUN(f, bp_ring_used(&one.shm.adopt_offers[0]) == 0);
}

static void ended_hold_has_ended_after_a_restart(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];

	restart_while_a_hold_ends(f);
	take_reports(a);
	stream_is_read(f);
	assert_int_equal(hold(a, "83").state, 0);
	assert_int_equal(hold(a, "84").state, 0);
	/* others get the end, too */
	RUN(f, number(b, "holds_adopted") >= 2);
	assert_int_equal(hold(a, "85").state, BP_ALARM_RAISED);
}

static void own_hold_is_not_offered_after_a_restart(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0];

	restart_while_a_hold_ends(f);
	stream_is_read(f);
	assert_int_equal(hold(a, "83").state, 0);
	assert_int_equal(hold(a, "84").state, 0);
	assert_int_equal(hold(a, "85").state, BP_ALARM_RAISED);
}

/* Of a gateway that was stopped since. */
static void old_hold_does_not_continue(void **state)
{
	struct fixture *f = *state;
	struct gateway *b = &f->gateway[1];
	const uint64_t now = bp_unix_ns(), old = now - 86400000000000ull;
	uint64_t uid;

	use_hold(f, BP_HOLD_TIME, BP_REPEAT_ON_CHANGE, true);
	uid = bp_ruleset_rule(one.rules, 0)->uid;
	rig_advance(&two, 60000000000ull); /* the worker has run for longer than the hold */
	add_hold(f, old, uid, old, "t/x");
	add_hold(f, now, uid, now, "t/last");
	RUN(f, number(b, "holds_adopted") >= 1);
	for (unsigned i = 0; i < 4; i++)
		run_once(f);
	RUN(f, bp_ring_used(&two.shm.adopt_offers[0]) == 0);
	assert_int_equal(publish(b, "81").state, 0);
	assert_int_equal(number(b, "holds_adopted"), 1);
	assert_int_equal(number(b, "invalid"), 1);
}

/* The stream has more than one page: a hold that ended in a later one is not offered before. */
static void all_changes_are_read_before_an_offer(void **state)
{
	struct fixture *f = *state;
	const uint64_t now = bp_unix_ns() - 1000000000;
	struct gateway *b = &f->gateway[1];
	char words[512];
	uint64_t uid, end;

	use_hold(f, BP_HOLD_COUNT, BP_REPEAT_ON_CHANGE, true);
	uid = bp_ruleset_rule(one.rules, 0)->uid;
	stop_control(b);
	add_hold(f, now, uid, 2, "t/x");
	snprintf(words, sizeof(words),
		"eval \"for i = 1, 300 do redis.call('XADD', 'biplane:plant:alarms:holds', '*', "
		"'s', 'p%016" PRIx64 FIVE "t/' .. i) end\" 0",
		now >> BP_TRANSITION_SHIFT);
	(void)test_redis_cli(&f->redis, words);
	start_control(f, 1);
	end = test_now_ns() + TEST_DEADLINE_NS;
	while (number(b, "hold_pairs") < 301) {
		assert_true(test_now_ns() < end);
		bp_shared_states_tick(b->states, b->store);
		if (!bp_alarm_store_holds_read(b->store))
			assert_true(bp_ring_used(&two.shm.adopt_offers[0]) == 0);
		event_base_loop(f->base, EVLOOP_NONBLOCK | EVLOOP_ONCE);
	}
	add_hold(f, now + 1000000, uid, 0, "t/x");
	RUN(f, number(b, "holds_adopted") == 302);
	RUN(f, bp_ring_used(&two.shm.adopt_offers[0]) == 0);
}

/* Redis without free memory: the connection remains, and the next change is sent. */
static void hold_that_redis_refuses(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];

	both_up(f);
	(void)test_redis_cli(&f->redis, "config set maxmemory 1");
	report(a, 1, "t/x", bp_unix_ns());
	RUN(f, number(a, "holds") == 1);
	(void)test_redis_cli(&f->redis, "config set maxmemory 0");
	report(a, 1, "t/y", bp_unix_ns());
	RUN(f, number(b, "holds_adopted") == 1);
	assert_true(a->up);
}

#define CONNECTION 77u

static void report_of_connection(struct gateway *g, uint64_t value)
{
	struct {
		struct bp_hold_report r;
		char topic[3];
	} x = {.r = {.rule_uid = 7,
		       .unix_ns = bp_unix_ns(),
		       .hold = value,
		       .client_ip = {10, 0, 0, 1},
		       .place = {.slot = UINT32_MAX},
		       .topic_len = 3},
		.topic = "t/x"};

	bp_shared_holds_report(bp_shared_states_holds(g->states), &x,
		(uint32_t)offsetof(__typeof__(x), topic) + 3, CONNECTION);
}

/* The hold that a gateway continues from the position of the connection. */
static uint64_t hold_of_connection(struct gateway *g, bool exact)
{
	static struct bp_hold_offers out;
	struct bp_state_offer o;

	bp_shared_holds_of(bp_shared_states_holds(g->states), CONNECTION, exact, &out);
	assert_int_equal(out.len, sizeof(o) + 3);
	memcpy(&o, out.bytes, sizeof(o));
	return o.hold;
}

/* A gateway that continues without the values in between ends the hold: also for those that get the
 * connection next. */
static void unknown_hold_ends_for_all(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];

	both_up(f);
	report_of_connection(a, 2);
	RUN(f, number(b, "holds_adopted") == 1);
	assert_int_equal(hold_of_connection(b, true), 2);
	assert_int_equal(hold_of_connection(b, false), 0);
	RUN(f, number(a, "holds_adopted") == 1);
	assert_int_equal(hold_of_connection(a, true), 0);
}

static unsigned changes_of_connection(struct gateway *g, uint64_t *write)
{
	static struct bp_hold_changes out;

	assert_true(bp_shared_holds_changes(bp_shared_states_holds(g->states), CONNECTION, &out));
	*write = out.write;
	return out.n;
}

/* The next server may lack the end; a write of before the repetition is none of it. */
static void end_is_repeated(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0];
	struct bp_shared_holds *h = bp_shared_states_holds(a->states);
	uint64_t write, earlier;

	report_of_connection(a, 2);
	assert_int_equal(changes_of_connection(a, &earlier), 1);
	report_of_connection(a, 0);
	bp_shared_holds_written(h, CONNECTION, earlier, true);
	assert_int_equal(changes_of_connection(a, &write), 1);
	bp_shared_holds_written(h, CONNECTION, write, true);
	assert_int_equal(changes_of_connection(a, &write), 0);
	bp_shared_holds_repeat(h);
	assert_int_equal(changes_of_connection(a, &write), 1);
	bp_shared_holds_repeat(h);
	bp_shared_holds_written(h, CONNECTION, earlier, true);
	assert_int_equal(changes_of_connection(a, &write), 1);
	/* one that fails is made again */
	bp_shared_holds_written(h, CONNECTION, write, false);
	assert_int_equal(changes_of_connection(a, &write), 1);
}

/* Redis has removed changes before they were read: nothing is known until what is left was read. */
static void nothing_is_known_after_a_gap(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];
	uint64_t since;

	both_up(f);
	report_of_connection(a, 2);
	RUN(f, number(b, "holds_adopted") == 1 &&
			bp_shared_holds_read(bp_shared_states_holds(b->states)));
	(void)test_redis_cli(&f->redis, "del biplane:plant:alarms:holds");
	add_hold(f, bp_unix_ns(), 7, 2, "t/last");
	since = bp_mono_ns();
	while (bp_alarm_store_polled_ns(b->store) < since) {
		bp_alarm_store_poll_states(b->store);
		event_base_loop(f->base, EVLOOP_NONBLOCK);
	}
	assert_false(bp_shared_holds_read(bp_shared_states_holds(b->states)));
	bp_shared_states_tick(b->states, b->store);
	assert_true(bp_shared_holds_read(bp_shared_states_holds(b->states)));
	assert_int_equal(hold_of_connection(b, true), 0);
	/* what was behind the gap was read after it */
	assert_int_equal(number(b, "hold_pairs"), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(hold_continues_there),
		CASE(ended_hold_has_ended_there),
		CASE(time_of_a_hold_continues_there),
		CASE(complete_hold_without_a_clear),
		CASE(holds_of_a_client_are_bounded),
		CASE(holds_are_bounded),
		CASE(holds_are_not_believed),
		CASE(reports_are_not_believed),
		CASE(late_report_changes_nothing),
		CASE(ended_hold_has_ended_after_a_restart),
		CASE(own_hold_is_not_offered_after_a_restart),
		CASE(old_hold_does_not_continue),
		CASE(all_changes_are_read_before_an_offer),
		CASE(unknown_hold_ends_for_all),
		CASE(end_is_repeated),
		CASE(nothing_is_known_after_a_gap),
		CASE(hold_that_redis_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
