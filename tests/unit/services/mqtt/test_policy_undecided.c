/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets without a decision: one event of a connection for each cause. */
#include "biplane/counters/mqtt.h"
#include "services/mqtt/mqtt_worker.h"
#include "test.h"

#include <string.h>

#include "policy_ends.h"

static struct bp_event_cursor cursor;

static void begin(uint8_t fail, uint8_t action)
{
	open_rig(fail);
	rule(action, BP_POLICY_PUBLISH, "t/secret");
	load();
	bp_event_cursor_open(
		&cursor, rig.in->events.slot, sizeof(*rig.in->events.slot), rig.in->events.size, 0);
}

/* The number of new events of the policy; *last: the last one. */
static unsigned events(struct bp_event *last)
{
	struct bp_event e;
	uint64_t lost = 0;
	unsigned n = 0;

	while (bp_event_cursor_read(&cursor, &e, &lost) == BP_EVENT_GOT_RECORD) {
		if (e.type != BP_EVENT_POLICY)
			continue;
		n++;
		*last = e;
	}
	return n;
}

/* Met mid-stream: a policy that observes asks for who the client is, and one that refuses packets
 * also for where it is in its stream. */
static void unknown_clients(void **state)
{
	(void)state;
	for (unsigned action = BP_POLICY_OBSERVE; action <= BP_POLICY_CLOSE; action++) {
		struct bp_event e;
		struct peer c;

		begin(BP_POLICY_FAIL_OPEN, (uint8_t)action);
		snprintf(rules[0].client, sizeof(rules[0].client), "pump-1");
		load();
		c = connected(4);
		publish(&c, 4, "t/x");
		for (uint64_t i = 0; i < (uint64_t)rig.in->table.groups * BP_FLOW_WAYS; i++) {
			rig.in->table.flow[i].session |= BP_SESSION_NO_ID;
			rig.in->table.flow[i].client_id_len = 0;
		}
		for (unsigned i = 0; i < 3; i++)
			publish(&c, 4, "t/secret");
		assert_int_equal(rig_count(&rig, BP_C_POLICY_UNDECIDED), 3);
		assert_int_equal(events(&e), 1);
		assert_int_equal(e.cause, BP_EVENT_POLICY_UNDECIDED);
		assert_int_equal(e.action, BP_POLICY_PUBLISH);
		assert_int_equal(e.reason, BP_POLICY_UNDECIDED);
		assert_int_equal(e.number[0], 2);
		assert_memory_equal(e.text + e.text_len[0], "r1t/secret", 10);
		rig_close(&rig);
	}
}

static void met_midstream(void **state)
{
	(void)state;
	for (unsigned fail = BP_POLICY_FAIL_OPEN; fail <= BP_POLICY_FAIL_CLOSED; fail++) {
		struct bp_event e;
		struct peer c;

		begin((uint8_t)fail, BP_POLICY_CLOSE);
		c = open_peer();
		c.seq[CLIENT]++;
		c.seq[BROKER]++;
		for (unsigned i = 0; i < 3; i++)
			publish(&c, 4, "t/x");
		assert_int_equal(events(&e), 1);
		assert_int_equal(e.cause, BP_EVENT_POLICY_NOT_INSPECTED);
		assert_int_equal(e.action, BP_POLICY_ANY);
		assert_int_equal(e.reason,
			fail == BP_POLICY_FAIL_OPEN ? BP_POLICY_UNDECIDED : BP_POLICY_CLOSE);
		rig_close(&rig);
	}
}

/* A value that is not read, since its packet is too large to wait for: each such packet counts. */
static void too_large(void **state)
{
	struct bp_rule_spec payload = {.raise = {.op = BP_COND_GT, .a = 80}};
	static uint8_t p[4000] = "\x30\x9c\x1f\0\3t/x";
	struct bp_event e;
	struct peer c;

	(void)state;
	rig_defaults(&rig);
	rig.config.monitoring.event_queue_size = 64;
	rig.mqtt.reassembly_per_connection = 1024;
	rig.mqtt.policy.given = true;
	rig.mqtt.policy.rules = rules;
	rig.mqtt.policy.n_rules = 0;
	rig_open(&rig);
	rule(BP_POLICY_OBSERVE, BP_POLICY_PUBLISH, "t/#")->payload = &payload;
	load();
	bp_event_cursor_open(
		&cursor, rig.in->events.slot, sizeof(*rig.in->events.slot), rig.in->events.size, 0);
	c = connected(4);
	for (unsigned i = 0; i < 2; i++) {
		rig_send(&rig, &c, CLIENT, p, 1000);
		rig_send(&rig, &c, CLIENT, p + 1000, sizeof(p) - 1001);
	}
	assert_int_equal(rig_count(&rig, BP_C_POLICY_NOT_EVALUATED), 2);
	assert_int_equal(events(&e), 1);
	assert_int_equal(e.cause, BP_EVENT_POLICY_NOT_EVALUATED);
	assert_int_equal(e.reason, BP_POLICY_UNDECIDED);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_clients),
		cmocka_unit_test(met_midstream),
		cmocka_unit_test(too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
