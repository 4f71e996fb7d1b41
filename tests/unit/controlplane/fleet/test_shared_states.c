/* SPDX-License-Identifier: BSD-3-Clause */
/* Two gateways share raised states in a real Redis: inspection of both, and this part of their
 * control planes, in one process. */
#include "tests/unit/controlplane/fleet/shared_steps.h"

#include "controlplane/mqtt/state_text.h"

static void raised_here_is_raised_there(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];
	struct result raise, clear, next;

	both_up(f);
	raise = publish(a, "81");
	assert_int_equal(raise.state, BP_ALARM_RAISED);
	RUN(f, rig_count(&two, BP_C_FLEET_STATE_RAISED) == 1);
	assert_int_equal(publish(b, "82").state, 0);
	clear = publish(b, "70");
	assert_int_equal(clear.state, BP_ALARM_CLEARED);
	assert_int_equal(clear.transition, raise.transition);
	RUN(f, rig_count(&one, BP_C_FLEET_STATE_CLEARED) == 1);
	assert_int_equal(publish(a, "70").state, 0);
	next = publish(a, "81");
	assert_int_equal(next.state, BP_ALARM_RAISED);
	assert_true(next.transition > raise.transition);
	RUN(f, rig_count(&two, BP_C_FLEET_STATE_RAISED) == 2);
	assert_int_equal(publish(b, "82").state, 0);
	assert_string_equal(test_redis_cli(&f->redis, "hlen biplane:plant:alarms:raised"), "1");
}

static void later_gateway_reads_all_states(void **state)
{
	struct fixture *f = *state;
	const struct result raise = publish(&f->gateway[0], "81");
	struct result clear;

	RUN(f, strcmp(test_redis_cli(&f->redis, "hlen biplane:plant:alarms:raised"), "1") == 0);
	finish(&f->gateway[0]);
	start(f, 1);
	RUN(f, rig_count(&two, BP_C_FLEET_STATE_RAISED) == 1);
	clear = publish(&f->gateway[1], "70");
	assert_int_equal(clear.state, BP_ALARM_CLEARED);
	assert_int_equal(clear.transition, raise.transition);
	RUN(f, strcmp(test_redis_cli(&f->redis, "hlen biplane:plant:alarms:raised"), "0") == 0);
}

/* Another gateway clears while this one's control plane does not run: the raise is no longer in the
 * list. */
static void cleared_while_the_control_plane_is_away(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];
	struct result raise, next;

	both_up(f);
	raise = publish(a, "81");
	RUN(f, rig_count(&two, BP_C_FLEET_STATE_RAISED) == 1);
	stop_control(a);
	assert_int_equal(publish(b, "70").state, BP_ALARM_CLEARED);
	RUN(f, strcmp(test_redis_cli(&f->redis, "hlen biplane:plant:alarms:raised"), "0") == 0);
	start_control(f, 0);
	RUN(f, rig_count(&one, BP_C_FLEET_STATE_CLEARED) == 1);
	next = publish(a, "81");
	assert_int_equal(next.state, BP_ALARM_RAISED);
	assert_true(next.transition > raise.transition);
}

/* Both raise before either knows of the other; then both have the lower number. */
static void raised_twice(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];
	struct result first, second, clear, same;

	both_up(f);
	first = publish(a, "81");
	rig_advance(&two, 5000000);
	second = publish(b, "82");
	assert_int_equal(second.state, BP_ALARM_RAISED);
	assert_true(first.transition < second.transition);
	RUN(f, rig_count(&two, BP_C_FLEET_STATE_RAISED) == 1);
	assert_int_equal(number(b, "conflicts"), 1);
	/* both clear before either knows: the same identity */
	clear = publish(a, "70");
	same = publish(b, "70");
	assert_int_equal(clear.state, BP_ALARM_CLEARED);
	assert_int_equal(same.state, BP_ALARM_CLEARED);
	assert_string_equal(clear.uid, same.uid);
}

static void later_raise_has_the_lower_number(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];
	struct result first, second;

	both_up(f);
	second = publish(b, "82");
	rig_advance(&one, 50000000);
	first = publish(a, "81");
	assert_true(second.transition < first.transition);
	RUN(f, rig_count(&one, BP_C_FLEET_STATE_RAISED) == 1);
	assert_int_equal(publish(a, "70").transition, second.transition);
}

/* A gateway that was without Redis repeats the raise that it had read before. */
static void raise_of_before_the_clear_is_ignored(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0];
	const struct result first = publish(a, "81");
	struct result second;
	char text[64];

	assert_int_equal(publish(a, "70").transition, first.transition);
	second = publish(a, "81");
	assert_true(first.transition < second.transition);
	snprintf(text, sizeof(text), "r%016" PRIx64 "%016" PRIx64 "t/x", first.transition,
		bp_ruleset_rule(
			bp_shm_rules(&a->rig->shm, atomic_load(&a->rig->shm.control->rules_active)),
			0)
			->uid);
	bp_shared_states_state(a->states, text, strlen(text));
	assert_int_equal(number(a, "invalid"), 0);
	run_once(f);
	run_once(f);
	assert_int_equal(publish(a, "70").transition, second.transition);
}

/* The raise of this gateway is offered again after a reload, and the worker clears it before it
 * reads the offer. */
static void cleared_before_the_offer_is_read(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0];

	assert_int_equal(publish(a, "81").state, BP_ALARM_RAISED);
	bp_shared_states_tick(a->states, a->store);
	assert_true(bp_ring_used(&one.shm.adopt_offers[0]) != 0);
	assert_int_equal(publish(a, "70").state, BP_ALARM_CLEARED);
	/* the next time, not after a second as all states */
	run_once(f);
	assert_int_equal(rig_count(&one, BP_C_FLEET_STATE_OUTDATED), 1);
	assert_int_equal(rig_count(&one, BP_C_FLEET_STATE_CLEARED), 1);
	assert_int_equal(publish(a, "81").state, BP_ALARM_RAISED);
}

/* A connection of the second worker may continue when the first one, to which states are offered,
 * has read them. */
static void other_workers_wait_for_the_states(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];

	both_up(f);
	assert_int_equal(publish(a, "81").state, BP_ALARM_RAISED);
	while (bp_ring_used(&two.shm.adopt_offers[0]) == 0) {
		bp_shared_states_tick(a->states, a->store);
		bp_shared_states_tick(b->states, b->store);
		event_base_loop(f->base, EVLOOP_NONBLOCK);
	}
	assert_true(bp_shared_states_known(b->states)); /* of the same ring */
	two.shm.workers = 2;
	assert_false(bp_shared_states_known(b->states));
	/* a control plane that was restarted does not know what it has offered */
	stop_control(b);
	two.shm.workers = 1;
	start_control(f, 1);
	two.shm.workers = 2;
	assert_false(bp_shared_states_known(b->states));
	two.shm.workers = 1;
	bp_mqtt_worker_tick(b->rig->in, b->rig->mono_ns);
	assert_int_equal(rig_count(&two, BP_C_FLEET_STATE_RAISED), 1);
	two.shm.workers = 2;
	assert_true(bp_shared_states_known(b->states));
	two.shm.workers = 1;
}

static void repeats_are_no_raises(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];
	struct result raise, repeat;

	both_up(f);
	use_rule(&one, rule("r", BP_REPEAT_EVERY));
	use_rule(&two, rule("r", BP_REPEAT_EVERY));
	rig_advance(&one, 90000000);
	raise = publish(a, "81");
	assert_int_equal(raise.flags & BP_ALARM_F_REPEAT, 0);
	RUN(f, rig_count(&two, BP_C_FLEET_STATE_RAISED) == 1);
	repeat = publish(b, "82");
	assert_int_equal(repeat.state, BP_ALARM_RAISED);
	assert_int_equal(repeat.flags & BP_ALARM_F_REPEAT, BP_ALARM_F_REPEAT);
	assert_int_equal(repeat.transition, raise.transition);
	assert_string_not_equal(repeat.uid, raise.uid);
}

static void unknown_rule_until_a_reload(void **state)
{
	struct fixture *f = *state;

	both_up(f);
	use_rule(&two, rule("other", BP_REPEAT_ON_CHANGE));
	publish(&f->gateway[0], "81");
	RUN(f, rig_count(&two, BP_C_FLEET_STATE_NO_RULE) == 1);
	use_rule(&two, rule("r", BP_REPEAT_ON_CHANGE));
	RUN(f, rig_count(&two, BP_C_FLEET_STATE_RAISED) == 1);
	assert_int_equal(publish(&f->gateway[1], "82").state, 0);
}

/* The rule of an alarm among many, at another index at each gateway. */
static void rule_is_found_by_its_name(void **state)
{
	struct fixture *f = *state;
	struct bp_rule_spec spec[64];
	char name[16];

	both_up(f);
	for (unsigned i = 0; i < 64; i++) {
		snprintf(name, sizeof(name), "other%u", i);
		spec[i] = rule(name, BP_REPEAT_ON_CHANGE);
		snprintf(spec[i].filter, sizeof(spec[i].filter), "u/%u", i);
	}
	spec[40] = rule("r", BP_REPEAT_ON_CHANGE);
	use_rules(&one, spec, 64);
	use_rules(&two, spec + 40, 24);
	assert_int_equal(publish(&f->gateway[0], "81").state, BP_ALARM_RAISED);
	RUN(f, rig_count(&two, BP_C_FLEET_STATE_RAISED) == 1);
	assert_int_equal(publish(&f->gateway[1], "82").state, 0);
}

static void redis_loses_its_data(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];

	both_up(f);
	test_redis_kill(&f->redis);
	RUN(f, !a->up && !b->up);
	assert_int_equal(publish(a, "81").state, BP_ALARM_RAISED);
	test_redis_start(&f->redis);
	RUN(f, rig_count(&two, BP_C_FLEET_STATE_RAISED) == 1);
	test_redis_kill(&f->redis);
	RUN(f, !a->up && !b->up);
	/* cleared while Redis is away; it is cleared whichever of them connects first */
	assert_int_equal(publish(b, "70").state, BP_ALARM_CLEARED);
	test_redis_start(&f->redis);
	RUN(f, rig_count(&one, BP_C_FLEET_STATE_CLEARED) == 1 && a->up && b->up);
	assert_string_equal(test_redis_cli(&f->redis, "hlen biplane:plant:alarms:raised"), "0");
}

static void states_are_not_believed(void **state)
{
	struct fixture *f = *state;
	static const char *const value[] = {"", "x", "r0000000000000000",
		"r000000000000000000000000000000001", "rffffffffffffffff0000000000000001t/x",
		"q00000000000000010000000000000001t/x", "r00000000000000010000000000000001t/#",
		"r0000000000000001000000000000000gt/x"};
	char words[256];

	both_up(f);
	for (unsigned i = 0; i < sizeof(value) / sizeof(value[0]); i++) {
		snprintf(words, sizeof(words), "xadd biplane:plant:alarms:changes '*' s '%s'",
			value[i]);
		(void)test_redis_cli(&f->redis, words);
	}
	RUN(f, number(&f->gateway[1], "invalid") == sizeof(value) / sizeof(value[0]));
	/* two fields: not written by a gateway. The connection ends */
	(void)test_redis_cli(&f->redis, "xadd biplane:plant:alarms:changes '*' a b c d");
	RUN(f, !f->gateway[1].up);
	(void)test_redis_cli(&f->redis, "del biplane:plant:alarms:changes");
	RUN(f, f->gateway[0].up && f->gateway[1].up);
	assert_int_equal(publish(&f->gateway[0], "81").state, BP_ALARM_RAISED);
	RUN(f, rig_count(&two, BP_C_FLEET_STATE_RAISED) == 1);
}

/* Adds again what HDEL has removed, as a failover to a replica that lacks the last writes does. */
static void clear_is_lost(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];
	char uid[64], value[64], words[300];

	publish(a, "81");
	RUN(f, strcmp(test_redis_cli(&f->redis, "hlen biplane:plant:alarms:raised"), "1") == 0);
	snprintf(uid, sizeof(uid), "%s",
		test_redis_cli(&f->redis, "hkeys biplane:plant:alarms:raised"));
	snprintf(value, sizeof(value), "%s",
		test_redis_cli(&f->redis, "hvals biplane:plant:alarms:raised"));
	publish(a, "70");
	RUN(f, strcmp(test_redis_cli(&f->redis, "hlen biplane:plant:alarms:raised"), "0") == 0);
	snprintf(words, sizeof(words), "hset biplane:plant:alarms:raised %s %s", uid, value);
	(void)test_redis_cli(&f->redis, words);
	snprintf(words, sizeof(words), "hdel biplane:plant:alarms:cleared %s", uid);
	(void)test_redis_cli(&f->redis, words);
	(void)test_redis_cli(&f->redis, "client kill type normal");
	RUN(f, !a->up);
	RUN(f, a->up);
	RUN(f, strcmp(test_redis_cli(&f->redis, "hlen biplane:plant:alarms:raised"), "0") == 0);
	start(f, 1);
	RUN(f, b->up);
	assert_int_equal(publish(b, "81").state, BP_ALARM_RAISED);
}

/* A number of the future would refuse the raises of others until then. */
static void clock_is_ahead(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];
	const uint64_t real_ns = one.now_ns;

	both_up(f);
	one.now_ns = bp_unix_ns() + 60000000000ull;
	assert_int_equal(publish(a, "81").state, BP_ALARM_RAISED);
	assert_int_equal(publish(a, "70").state, BP_ALARM_CLEARED);
	RUN(f, number(a, "invalid") == 1 || number(a, "invalid") == 2);
	assert_string_equal(test_redis_cli(&f->redis, "hlen biplane:plant:alarms:raised"), "0");
	one.now_ns = real_ns;
	assert_int_equal(publish(b, "81").state, BP_ALARM_RAISED);
	RUN(f, strcmp(test_redis_cli(&f->redis, "hlen biplane:plant:alarms:raised"), "1") == 0);
}

/* It is stored when Redis has free memory again. */
static void redis_has_no_memory(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0];

	both_up(f);
	(void)test_redis_cli(&f->redis, "config set maxmemory 1");
	assert_int_equal(publish(a, "81").state, BP_ALARM_RAISED);
	RUN(f, number(a, "full") == 1);
	(void)test_redis_cli(&f->redis, "config set maxmemory 0");
	RUN(f, rig_count(&two, BP_C_FLEET_STATE_RAISED) == 1);
	assert_int_equal(number(a, "full"), 1);
	assert_int_equal(publish(&f->gateway[1], "82").state, 0);
}

static void put_many(struct gateway *g, unsigned n)
{
	struct bp_alarm *a = calloc(1, BP_ALARM_HEAD + 64);

	a->state = BP_ALARM_RAISED;
	a->rule_len = 1;
	a->text[0] = 'r';
	for (unsigned i = 1; i <= n; i++) {
		a->topic_len = (uint16_t)sprintf(a->text + 1, "t/%u", i);
		bp_alarm_set_transition(a, i);
		bp_shared_states_alarm(g->states, a);
	}
	free(a);
}

/* After a connection, all states are stored again: this leaves places for other commands, and a
 * new transition goes first. */
static void repeated_states_leave_places(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];

	both_up(f);
	put_many(a, 5000);
	RUN(f, strcmp(test_redis_cli(&f->redis, "hlen biplane:plant:alarms:raised"), "5000") == 0);
	test_redis_kill(&f->redis);
	RUN(f, !a->up && !b->up);
	test_redis_start(&f->redis);
	RUN(f, a->up && b->up);
	assert_true(bp_alarm_store_ready(a->store));
	assert_int_equal(publish(a, "81").state, BP_ALARM_RAISED);
	RUN(f, strcmp(test_redis_cli(&f->redis, "hlen biplane:plant:alarms:raised"), "5001") == 0);
	/* the order of arrival: others follow */
	assert_null(strstr(
		test_redis_cli(&f->redis, "xrevrange biplane:plant:alarms:changes + - count 10"),
		"t/x"));
}

/* Redis returns a small hash as a whole. */
static void small_hash_is_read(void **state)
{
	struct fixture *f = *state;

	(void)test_redis_cli(&f->redis,
		"eval \"for i = 1, 512 do redis.call('HSET', 'biplane:plant:alarms:raised', "
		"string.format('%032x', i), 'r00000000000000010000000000000001t/' .. i) end\" 0");
	assert_string_equal(
		test_redis_cli(&f->redis, "object encoding biplane:plant:alarms:raised"),
		"listpack");
	start(f, 1);
	RUN(f, number(&f->gateway[1], "adopted") == 512);
	assert_true(f->gateway[1].up);
}

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
	(void)test_redis_cli(&f->redis, "xadd biplane:plant:alarms:holds '*' a b c d");
	RUN(f, !a->up);
	(void)test_redis_cli(&f->redis, "del biplane:plant:alarms:holds");
	RUN(f, a->up && b->up);
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

/* A raise and its clear are on their way: the answer to the raise is none to the clear. */
static void each_state_has_its_answer(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0];
	char uid[BP_ALARM_UID_TEXT];

	RUN(f, a->up);
	bp_state_uid(bp_ruleset_rule(one.rules, 0)->uid, "t/x", 3, uid);
	assert_int_equal(publish(a, "81").state, BP_ALARM_RAISED);
	bp_shared_states_send(a->states, a->store);
	assert_int_equal(publish(a, "70").state, BP_ALARM_CLEARED);
	bp_shared_states_send(a->states, a->store);
	bp_shared_states_put(a->states, uid, BP_ALARM_STATE_STORED);
	assert_true(bp_shared_states_behind(a->states));
	bp_shared_states_put(a->states, uid, BP_ALARM_STATE_STORED);
	assert_false(bp_shared_states_behind(a->states));
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
		CASE(raised_here_is_raised_there),
		CASE(later_gateway_reads_all_states),
		CASE(cleared_while_the_control_plane_is_away),
		CASE(raised_twice),
		CASE(later_raise_has_the_lower_number),
		CASE(raise_of_before_the_clear_is_ignored),
		CASE(other_workers_wait_for_the_states),
		CASE(cleared_before_the_offer_is_read),
		CASE(repeats_are_no_raises),
		CASE(unknown_rule_until_a_reload),
		CASE(rule_is_found_by_its_name),
		CASE(redis_loses_its_data),
		CASE(states_are_not_believed),
		CASE(clear_is_lost),
		CASE(clock_is_ahead),
		CASE(redis_has_no_memory),
		CASE(repeated_states_leave_places),
		CASE(small_hash_is_read),
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
		CASE(each_state_has_its_answer),
		CASE(unknown_hold_ends_for_all),
		CASE(end_is_repeated),
		CASE(nothing_is_known_after_a_gap),
		CASE(hold_that_redis_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
