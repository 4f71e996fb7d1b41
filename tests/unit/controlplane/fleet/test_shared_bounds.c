/* SPDX-License-Identifier: BSD-3-Clause */
/* Bounds of what clients of a gateway store in Redis as shared states, and hostile values there. */
#define SETTINGS ", max_alarm_states: 32, max_alarm_states_per_client: 8"
#include "tests/unit/controlplane/fleet/shared_steps.h"

#include "controlplane/mqtt/client_shares.h"

#define CLIENT_MAX 8u
#define GATEWAY_MAX 32u
#define RAISED_N(f) atoi(test_redis_cli(&(f)->redis, "hlen biplane:plant:alarms:raised"))
#define CLEARED_N(f) atoi(test_redis_cli(&(f)->redis, "hlen biplane:plant:alarms:cleared"))

/* An alarm of a client of g, as its worker writes it. */
static void put(
	struct gateway *g, uint8_t client, enum bp_alarm_state state, const char *topic, uint64_t n)
{
	struct bp_alarm *a = calloc(1, BP_ALARM_HEAD + 1 + strlen(topic));

	a->state = (uint8_t)state;
	a->rule_len = 1;
	a->text[0] = 'r';
	a->client_ip[3] = client;
	a->topic_len = (uint16_t)strlen(topic);
	memcpy(a->text + 1, topic, a->topic_len);
	bp_alarm_set_transition(a, n);
	bp_shared_states_alarm(g->states, a);
	free(a);
}

static void raise_topics(struct gateway *g, uint8_t client, unsigned from, unsigned n)
{
	char topic[32];

	for (unsigned i = from; i < from + n; i++) {
		snprintf(topic, sizeof(topic), "t/%u", i);
		put(g, client, BP_ALARM_RAISED, topic, 1 + i);
	}
}

/* A device that raises alarms on ever new topics. */
static void states_of_a_client_are_bounded(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0];

	both_up(f);
	raise_topics(a, 1, 0, CLIENT_MAX + 3);
	RUN(f, RAISED_N(f) == CLIENT_MAX);
	assert_int_equal(number(a, "client_full"), 3);
	/* also if it clears what the fleet does not have */
	put(a, 1, BP_ALARM_CLEARED, "t/9", 10);
	assert_int_equal(number(a, "client_full"), 4);
	/* others have their shares */
	raise_topics(a, 2, 100, 1);
	RUN(f, RAISED_N(f) == CLIENT_MAX + 1);
	/* and what is shared continues: a topic changes as often as it does */
	put(a, 1, BP_ALARM_CLEARED, "t/0", 1);
	RUN(f, rig_count(&two, BP_C_FLEET_STATE_CLEARED) >= 1);
	put(a, 1, BP_ALARM_RAISED, "t/0", 1000);
	RUN(f, RAISED_N(f) == CLIENT_MAX + 1);
	assert_int_equal(number(a, "client_full"), 4);
	assert_int_equal(CLEARED_N(f), 1);
}

/* A cleared state counts until others have read it: a device that clears each alarm is bounded,
 * too. */
static void clears_of_a_client_are_bounded(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0];
	char topic[32];

	both_up(f);
	for (unsigned i = 0; i < 2 * CLIENT_MAX; i++) {
		snprintf(topic, sizeof(topic), "t/%u", i);
		put(a, 1, BP_ALARM_RAISED, topic, 1 + i);
		put(a, 1, BP_ALARM_CLEARED, topic, 1 + i);
	}
	RUN(f, CLEARED_N(f) == CLIENT_MAX && !bp_shared_states_behind(a->states));
	assert_int_equal(RAISED_N(f), 0);
	assert_int_equal(number(a, "client_full"), 2 * CLIENT_MAX);
}

static void states_of_a_gateway_are_bounded(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];

	both_up(f);
	for (unsigned i = 0; i < 5; i++)
		raise_topics(a, (uint8_t)(1 + i), 100 * i, CLIENT_MAX);
	RUN(f, RAISED_N(f) == GATEWAY_MAX);
	assert_int_equal(number(a, "client_full"), 0);
	assert_int_equal(number(a, "full"), CLIENT_MAX);
	/* another gateway has a share of its own */
	raise_topics(b, 1, 1000, 1);
	RUN(f, RAISED_N(f) == GATEWAY_MAX + 1);
}

static void long_topics_count_as_several(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0];
	char topic[1200] = "t/";

	both_up(f);
	memset(topic + 2, 'x', 1100);
	put(a, 1, BP_ALARM_RAISED, topic, 1);
	topic[2] = 'y';
	put(a, 1, BP_ALARM_RAISED, topic, 2);
	RUN(f, RAISED_N(f) == 1);
	assert_int_equal(number(a, "client_full"), 1);
	raise_topics(a, 1, 0, CLIENT_MAX - 5);
	RUN(f, RAISED_N(f) == CLIENT_MAX - 4);
	assert_int_equal(number(a, "client_full"), 1);
}

/* Without its clear it would stay in Redis. */
static void clear_of_another_gateways_raise_needs_no_share(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];
	struct result raise;

	both_up(f);
	raise = publish(b, "81");
	RUN(f, rig_count(&one, BP_C_FLEET_STATE_RAISED) >= 1);
	raise_topics(a, 1, 0, CLIENT_MAX);
	RUN(f, RAISED_N(f) == CLIENT_MAX + 1);
	put(a, 1, BP_ALARM_CLEARED, "t/x", raise.transition);
	RUN(f, RAISED_N(f) == CLIENT_MAX);
	assert_int_equal(number(a, "client_full"), 0);
}

#define EVAL(f, lua) (void)test_redis_cli(&(f)->redis, "eval \"" lua "\" 0")

/* The oldest clear goes first; one that is too old goes, too. */
static void clears_in_redis_are_bounded(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0];

	both_up(f);
	EVAL(f, "local now = redis.call('TIME')[1] * 1000 for i = 1, 65536 do "
		"local u = string.format('%032x', i) "
		"redis.call('HSET', 'biplane:plant:alarms:cleared', u, '0000000000000001') "
		"redis.call('ZADD', 'biplane:plant:alarms:clears', now - 3600000 + i, u) end");
	put(a, 1, BP_ALARM_RAISED, "t/1", 1);
	put(a, 1, BP_ALARM_CLEARED, "t/1", 1);
	RUN(f, !bp_shared_states_behind(a->states));
	assert_int_equal(CLEARED_N(f), 65536);
	assert_string_equal(
		test_redis_cli(&f->redis, "zcard biplane:plant:alarms:clears"), "65536");
	assert_string_equal(test_redis_cli(&f->redis, "hexists biplane:plant:alarms:cleared "
						      "00000000000000000000000000000001"),
		"0");
	assert_string_equal(test_redis_cli(&f->redis, "hexists biplane:plant:alarms:cleared "
						      "00000000000000000000000000000002"),
		"1");
	EVAL(f, "for i = 2, 101 do local u = string.format('%032x', i) "
		"redis.call('ZADD', 'biplane:plant:alarms:clears', i, u) end "
		"redis.call('ZREMRANGEBYRANK', 'biplane:plant:alarms:clears', -2, -1)");
	put(a, 1, BP_ALARM_RAISED, "t/2", 2);
	put(a, 1, BP_ALARM_CLEARED, "t/2", 2);
	RUN(f, !bp_shared_states_behind(a->states));
	assert_string_equal(
		test_redis_cli(&f->redis, "zcard biplane:plant:alarms:clears"), "65527");
	assert_int_not_equal(
		atoi(test_redis_cli(&f->redis, "pttl biplane:plant:alarms:cleared")), -1);
	assert_int_not_equal(
		atoi(test_redis_cli(&f->redis, "pttl biplane:plant:alarms:clears")), -1);
}

/* Changes with topics of 4,096 bytes would need 256 MiB. */
static void long_topics_shorten_the_stream(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0];
	char topic[1200] = "t/";

	both_up(f);
	EVAL(f, "for i = 1, 20000 do "
		"redis.call('XADD', 'biplane:plant:alarms:changes', '*', 's', 'x') end");
	raise_topics(a, 1, 0, 1);
	RUN(f, RAISED_N(f) == 1);
	assert_true(atoi(test_redis_cli(&f->redis, "xlen biplane:plant:alarms:changes")) > 20000);
	/* Redis trims at most 10,000 entries at once */
	memset(topic + 2, 'x', 1100);
	for (uint8_t i = 2; i < 4; i++) {
		topic[2] = (char)('a' + i);
		put(a, i, BP_ALARM_RAISED, topic, 1);
	}
	RUN(f, RAISED_N(f) == 3);
	assert_true(
		atoi(test_redis_cli(&f->redis, "xlen biplane:plant:alarms:changes")) < 8192 + 200);
}

/* A clear is stored though Redis has no free memory: else the state would stay raised. */
static void clear_without_free_memory(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];

	both_up(f);
	assert_int_equal(publish(a, "81").state, BP_ALARM_RAISED);
	RUN(f, rig_count(&two, BP_C_FLEET_STATE_RAISED) >= 1);
	(void)test_redis_cli(&f->redis, "config set maxmemory 1");
	assert_int_equal(publish(b, "70").state, BP_ALARM_CLEARED);
	RUN(f, rig_count(&one, BP_C_FLEET_STATE_CLEARED) >= 1);
	assert_int_equal(RAISED_N(f), 0);
	assert_int_equal(number(b, "full"), 0);
	assert_true(a->up && b->up);
}

/* ---- hostile values ---- */

static uint64_t rule_uid(void)
{
	return bp_ruleset_rule(one.rules, 0)->uid;
}

static void store(struct fixture *f, const char *where, const char *uid, char kind, uint64_t n)
{
	char words[256];

	snprintf(words, sizeof(words),
		"hset biplane:plant:alarms:%s %s %c%016" PRIx64 "%016" PRIx64 "t/x", where, uid,
		kind, n, rule_uid());
	(void)test_redis_cli(&f->redis, words);
	snprintf(words, sizeof(words),
		"xadd biplane:plant:alarms:changes '*' s %c%016" PRIx64 "%016" PRIx64 "t/x", kind,
		n, rule_uid());
	(void)test_redis_cli(&f->redis, words);
}

/* The identity of t/x, from what a gateway stores. */
static const char *uid_of(struct fixture *f)
{
	static char uid[BP_ALARM_UID_LEN + 1];

	assert_int_equal(publish(&f->gateway[0], "81").state, BP_ALARM_RAISED);
	RUN(f, RAISED_N(f) == 1);
	snprintf(uid, sizeof(uid), "%s",
		test_redis_cli(&f->redis, "hkeys biplane:plant:alarms:raised"));
	assert_int_equal(publish(&f->gateway[0], "70").state, BP_ALARM_CLEARED);
	RUN(f, RAISED_N(f) == 0);
	return uid;
}

/* A number of the year 2116 or beyond all times would hide each real transition until then: of the
 * gateway, and of all that Redis gets. */
static void number_of_the_future(void **state)
{
	static const uint64_t far[] = {((uint64_t)1 << BP_TRANSITION_BITS) - 1, UINT64_MAX};
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];
	const char *uid;
	char words[256];

	both_up(f);
	uid = uid_of(f);
	for (unsigned i = 0; i < 2; i++) {
		const uint64_t raised = rig_count(&two, BP_C_FLEET_STATE_RAISED),
			       invalid = number(b, "invalid");

		store(f, "raised", uid, 'r', far[i]);
		RUN(f, number(b, "invalid") > invalid);
		assert_int_equal(rig_count(&two, BP_C_FLEET_STATE_RAISED), raised);
		/* as the clear of a gateway, too */
		snprintf(words, sizeof(words), "hset biplane:plant:alarms:cleared %s %016" PRIx64,
			uid, far[i]);
		(void)test_redis_cli(&f->redis, words);
		rig_advance(&one, 50000000);
		assert_int_equal(publish(a, "82").state, BP_ALARM_RAISED);
		RUN(f, rig_count(&two, BP_C_FLEET_STATE_RAISED) > raised);
		store(f, "raised", uid, 'r', far[i]);
		assert_int_equal(publish(b, "70").state, BP_ALARM_CLEARED);
		RUN(f, RAISED_N(f) == 0 && !bp_shared_states_behind(b->states));
		rig_advance(&one, 50000000);
	}
	assert_int_equal(number(a, "full"), 0);
}

/* Another tenant has keys of other types in the place of these: the connection ends, and there is
 * no damage when they are gone. */
static void keys_of_another_type(void **state)
{
	static const char *const key[] = {"raised", "changes", "cleared", "clears"};
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0];
	char words[128];

	both_up(f);
	for (unsigned i = 0; i < sizeof(key) / sizeof(key[0]); i++) {
		(void)test_redis_cli(&f->redis, "flushall");
		snprintf(words, sizeof(words), "set biplane:plant:alarms:%s x", key[i]);
		(void)test_redis_cli(&f->redis, words);
		put(a, 1, BP_ALARM_RAISED, "t/1", 2 * i + 1);
		put(a, 1, BP_ALARM_CLEARED, "t/1", 2 * i + 1);
		RUN(f, !a->up);
		(void)test_redis_cli(&f->redis, "flushall");
		RUN(f, a->up && !bp_shared_states_behind(a->states));
	}
	rig_advance(&one, 50000000);
	assert_int_equal(publish(a, "81").state, BP_ALARM_RAISED);
	RUN(f, RAISED_N(f) == 1);
}

/* What was recorded of Redis earlier is added once more: old transitions change nothing. */
static void replayed_changes(void **state)
{
	struct fixture *f = *state;
	struct gateway *a = &f->gateway[0], *b = &f->gateway[1];
	struct result first, second;
	char words[256];

	both_up(f);
	first = publish(a, "81");
	assert_int_equal(publish(a, "70").state, BP_ALARM_CLEARED);
	rig_advance(&one, 50000000);
	second = publish(a, "81");
	RUN(f, rig_count(&two, BP_C_FLEET_STATE_RAISED) >= 1 && RAISED_N(f) == 1);
	for (unsigned i = 0; i < 2; i++) {
		snprintf(words, sizeof(words),
			"xadd biplane:plant:alarms:changes '*' s %c%016" PRIx64 "%016" PRIx64 "t/x",
			i == 0 ? 'r' : 'c', first.transition, rule_uid());
		(void)test_redis_cli(&f->redis, words);
	}
	put(b, 1, BP_ALARM_RAISED, "t/last", 1);
	RUN(f, number(a, "adopted") >= 1);
	for (unsigned i = 0; i < 4; i++)
		run_once(f);
	assert_int_equal(publish(b, "82").state, 0);
	assert_int_equal(publish(b, "70").transition, second.transition);
}

/* Addresses that meet in one share with one key do not with another one: nobody can choose them. */
static void shares_depend_on_a_secret(void **state)
{
	struct bp_client_shares one_key = {.key = 1}, other_key = {.key = 2};
	const uint8_t victim[16] = {0x20, 1};
	uint8_t ip[16] = {0x20, 1};
	unsigned found = 0, same = 0;

	(void)state;
	for (unsigned i = 1; i < 65536; i++) {
		ip[4] = (uint8_t)(i >> 8);
		ip[5] = (uint8_t)i;
		if (bp_client_share(&one_key, ip, true) != bp_client_share(&one_key, victim, true))
			continue;
		found++;
		same += bp_client_share(&other_key, ip, true) ==
			bp_client_share(&other_key, victim, true);
	}
	assert_true(found > 4);
	assert_true(same < found / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(states_of_a_client_are_bounded),
		CASE(clears_of_a_client_are_bounded),
		CASE(states_of_a_gateway_are_bounded),
		CASE(long_topics_count_as_several),
		CASE(clear_of_another_gateways_raise_needs_no_share),
		CASE(clears_in_redis_are_bounded),
		CASE(long_topics_shorten_the_stream),
		CASE(clear_without_free_memory),
		CASE(number_of_the_future),
		CASE(keys_of_another_type),
		CASE(replayed_changes),
		cmocka_unit_test(shares_depend_on_a_secret),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
