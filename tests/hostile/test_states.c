/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client with a true connection makes up topics under a wildcard: it wants the table of alarm
 * states, so that alarms of others are forgotten, raised twice or never cleared.
 */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "rig.h"
#include "tests/unit/times.h"

#define SECOND 1000000000ull
#define TRUE_CLIENTS 1000
#define MADE_UP (TEST_SANITIZED ? 250000u : 1000000u)

static struct rig rig;

static struct bp_rule_spec stateful(const char *name, const char *filter, uint32_t hold)
{
	struct bp_rule_spec rule = rig_rule(name, filter, BP_COND_GT, 80);

	rule.has_clear = true;
	rule.clear.op = BP_COND_LT;
	rule.clear.a = 40;
	rule.repeat = BP_REPEAT_ON_CHANGE;
	if (hold != 0) {
		rule.hold = BP_HOLD_COUNT;
		rule.hold_count = hold;
	}
	return rule;
}

static void open_default(uint32_t states)
{
	rig_defaults(&rig);
	rig.mqtt.max_connections = 65536;
	rig.mqtt.max_alarm_states = states;
	rig.mqtt.alarm_queue_size = 64 * 1024 * 1024;
	rig_open(&rig);
	rig_rules(&rig,
		(struct bp_rule_spec[]){
			stateful("r", "plant/+/temperature", 0), stateful("h", "plant/+/level", 3)},
		2);
}

/* Two topics a client. */
static void publish_all(struct peer *c, const char *what, const char *value)
{
	for (unsigned i = 0; i < TRUE_CLIENTS; i++) {
		char topic[64];

		snprintf(topic, sizeof(topic), "plant/%u/%s", i, what);
		rig_publish_text(&rig, &c[i], topic, value);
	}
}

static void make_up(struct peer *c, unsigned n, uint32_t first, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		char topic[64];

		snprintf(topic, sizeof(topic), "plant/made-up-%u/%s", first + i,
			i & 1 ? "temperature" : "level");
		rig_publish_text(&rig, &c[i % n], topic, "99");
		if (i % 1024 == 0)
			rig_advance(&rig, SECOND / 1000);
		if (i % 65536 == 0)
			(void)rig_told_count(&rig);
	}
	(void)rig_told_count(&rig);
}

static void connect_all(struct peer *c)
{
	for (unsigned i = 0; i < TRUE_CLIENTS; i++) {
		peer_init(&c[i], i % 4 == 0, i, i * 977, i * 31);
		rig_connect(&rig, &c[i], 4, "true");
	}
}

/* No attacker: sensors that are numbered, whose names are beginnings and ends of each other. Each
 * has a state of its own, whatever the key. */
static void numbered_topics_share_no_state(void **state)
{
	static struct peer c[TRUE_CLIENTS];

	(void)state;
	open_default(65536);
	connect_all(c);
	publish_all(c, "level", "81");
	publish_all(c, "level", "81");
	assert_int_equal(rig_told_count(&rig), 0);
	publish_all(c, "level", "81");
	assert_int_equal(rig_told_count(&rig), TRUE_CLIENTS);
	rig_close(&rig);
}

/* Attacker: one client address with ten connections, a million topics, default sizes. Raised alarms
 * stay raised, holds keep their progress, and new alarms of others are kept too. */
static void invented_topics_evict_only_their_client(void **state)
{
	static struct peer c[TRUE_CLIENTS], a[10];
	uint64_t evicted;

	(void)state;
	open_default(65536);
	connect_all(c);
	for (unsigned i = 0; i < 10; i++) {
		peer_init(&a[i], false, 2000000, i, i);
		a[i].client_port = (uint16_t)(1024 + i);
		rig_connect(&rig, &a[i], 4, "attacker");
	}
	publish_all(c, "temperature", "81"); /* raised */
	assert_int_equal(rig_told_count(&rig), TRUE_CLIENTS);
	publish_all(c, "level", "81"); /* two of three */
	publish_all(c, "level", "81");
	assert_int_equal(rig_told_count(&rig), 0);
	make_up(a, 10, 0, MADE_UP);
	evicted = rig_count(&rig, BP_C_STATE_EVICTED) + rig_count(&rig, BP_C_STATE_EVICTED_RAISED);
	assert_true(evicted > MADE_UP / 3);  /* far more than fit */
	publish_all(c, "temperature", "82"); /* still raised: no news */
	assert_int_equal(rig_told_count(&rig), 0);
	publish_all(c, "level", "81"); /* the third */
	assert_int_equal(rig_told_count(&rig), TRUE_CLIENTS);
	/* all clear, and raised once more among what was made up, which by now is all of the table
	 */
	publish_all(c, "temperature", "1");
	assert_int_equal(rig_told_count(&rig), TRUE_CLIENTS);
	make_up(a, 10, MADE_UP, 200000);
	publish_all(c, "temperature", "81");
	assert_int_equal(rig_told_count(&rig), TRUE_CLIENTS);
	make_up(a, 10, 2 * MADE_UP, 200000);
	publish_all(c, "temperature", "1");
	assert_int_equal(rig_told_count(&rig), TRUE_CLIENTS);
	assert_int_equal(rig_count(&rig, BP_C_STATE_NOT_STORED), 0);
	printf("# %llu made-up states evicted\n", (unsigned long long)evicted);
	rig_close(&rig);
}

/* Attackers: fifty client addresses, and a table that they fill. They evict no state of others;
 * states without an entry are counted. */
static void several_attackers_evict_no_entry(void **state)
{
	static struct peer c[TRUE_CLIENTS], a[50];

	(void)state;
	open_default(16384);
	connect_all(c);
	for (unsigned i = 0; i < 50; i++) {
		peer_init(&a[i], i & 1, 2000000 + 1000 * i, i, i);
		a[i].client_ip[7] = (uint8_t)i; /* a /64 of its own */
		rig_connect(&rig, &a[i], 4, "attacker");
	}
	publish_all(c, "temperature", "81");
	assert_int_equal(rig_told_count(&rig), TRUE_CLIENTS);
	make_up(a, 50, 0, 100000);
	assert_true(rig_count(&rig, BP_C_STATE_NOT_STORED) > 1000);
	publish_all(c, "temperature", "82");
	assert_int_equal(rig_told_count(&rig), 0);
	publish_all(c, "temperature", "1");
	assert_int_equal(rig_told_count(&rig), TRUE_CLIENTS);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbered_topics_share_no_state),
		cmocka_unit_test(invented_topics_evict_only_their_client),
		cmocka_unit_test(several_attackers_evict_no_entry),
	};

	return cmocka_run_group_tests_name("states", tests, NULL, NULL);
}
