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
	/* two fields: not written by a gateway. The connection does not end */
	(void)test_redis_cli(&f->redis, "xadd biplane:plant:alarms:changes '*' a b c d");
	RUN(f, number(&f->gateway[1], "invalid") == sizeof(value) / sizeof(value[0]) + 1);
	assert_true(f->gateway[0].up && f->gateway[1].up);
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

/* 200 entries of the stream that no gateway has written. */
static void add_foreign_entries(struct fixture *f, const char *stream)
{
	char words[512];

	snprintf(words, sizeof(words),
		"eval \"local t = {} for i = 1, 200 do t[i] = 'x' end "
		"for i = 1, 190 do redis.call('XADD', KEYS[1], '*', unpack(t)) end "
		"for i = 1, 10 do redis.call('XADD', KEYS[1], '*', 's', "
		"string.rep('x', 1100000)) end\" 1 biplane:plant:alarms:%s",
		stream);
	(void)test_redis_cli(&f->redis, words);
	snprintf(words, sizeof(words), "xlen biplane:plant:alarms:%s", stream);
	assert_true(strtoul(test_redis_cli(&f->redis, words), NULL, 10) >= 200);
}

/* Their number of fields and their lengths have no bound: the connection stays, also if they are
 * the last ones when a gateway connects. */
static void entries_of_any_shape(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];

	RUN(f, bp_alarm_store_polled_ns(a->store) != 0);
	add_foreign_entries(f, "changes");
	add_foreign_entries(f, "holds");
	RUN(f, number(a, "invalid") >= 400);
	assert_true(a->up);
	start(f, 1);
	RUN(f, bp_alarm_store_polled_ns(b->store) != 0);
	assert_int_equal(publish(b, "81").state, BP_ALARM_RAISED);
	RUN(f, rig_count(&one, BP_C_FLEET_STATE_RAISED) == 1);
	assert_true(a->up && b->up);
	assert_int_equal(a->downs + b->downs, 0);
}

/* The same of the hash of raised states. */
static void raised_states_of_any_length(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];

	assert_int_equal(publish(a, "81").state, BP_ALARM_RAISED);
	RUN(f, strcmp(test_redis_cli(&f->redis, "hlen biplane:plant:alarms:raised"), "1") == 0);
	(void)test_redis_cli(&f->redis,
		"eval \"for i = 1, 100 do redis.call('HSET', KEYS[1], i, string.rep('x', 100000)) "
		"end redis.call('HSET', KEYS[1], 'y', string.rep('x', 3000000)) "
		"redis.call('HSET', KEYS[1], string.rep('z', 3000000), 'x')\" "
		"1 biplane:plant:alarms:raised");
	start(f, 1);
	RUN(f, bp_alarm_store_polled_ns(b->store) != 0);
	RUN(f, rig_count(&two, BP_C_FLEET_STATE_RAISED) == 1);
	assert_int_equal(number(b, "invalid"), 102);
	assert_int_equal(b->downs, 0);
}

/* A large hash is read in many steps, and the changes beside it. */
static void states_are_known_when_all_are_read(void **state)
{
	struct fixture *f = *state;
	struct gateway *b = &f->gateway[1];

	(void)test_redis_cli(&f->redis,
		"eval \"for i = 1, 3000 do redis.call('HSET', 'biplane:plant:alarms:raised', "
		"string.format('%032x', i), 'r00000000000000010000000000000001t/' .. i) end\" 0");
	start(f, 1);
	RUN(f, bp_alarm_store_polled_ns(b->store) != 0);
	assert_int_equal(number(b, "adopted"), 3000);
}

/* The same of the clears from before this process. */
static void states_are_known_when_all_clears_are_read(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];

	both_up(f);
	assert_int_equal(publish(a, "81").state, BP_ALARM_RAISED);
	RUN(f, rig_count(&two, BP_C_FLEET_STATE_RAISED) == 1);
	stop_control(a);
	(void)test_redis_cli(&f->redis,
		"eval \"for i = 1, 3000 do redis.call('XADD', 'biplane:plant:alarms:changes', '*', "
		"'s', 'c00000000000000010000000000000001t/' .. i) end\" 0");
	assert_int_equal(publish(b, "70").state, BP_ALARM_CLEARED);
	RUN(f, strcmp(test_redis_cli(&f->redis, "hlen biplane:plant:alarms:raised"), "0") == 0);
	start_control(f, 0);
	RUN(f, bp_alarm_store_polled_ns(a->store) != 0);
	assert_true(bp_shared_states_known(a->states));
	while (bp_ring_used(&one.shm.adopt_offers[0]) != 0)
		bp_mqtt_worker_tick(a->rig->in, a->rig->mono_ns);
	assert_int_equal(rig_count(&one, BP_C_FLEET_STATE_CLEARED), 1);
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
		CASE(entries_of_any_shape),
		CASE(raised_states_of_any_length),
		CASE(states_are_known_when_all_are_read),
		CASE(states_are_known_when_all_clears_are_read),
		CASE(each_state_has_its_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
