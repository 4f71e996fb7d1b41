/* SPDX-License-Identifier: BSD-3-Clause */
/* A client without an identifier, to which the broker assigns one (MQTT 5.0, 3.1.3.1): the policy
 * knows it from the CONNACK on. */
#include "biplane/counters/mqtt.h"
#include "services/mqtt/mqtt_worker.h"
#include "test.h"

#include <string.h>

#include "policy_ends.h"

static void rule_of(uint8_t packet, const char *client_id, const char *topic)
{
	struct bp_policy_rule_spec *r = rule(BP_POLICY_CLOSE, packet, topic);

	snprintf(r->client, sizeof(r->client), "%s", client_id);
}

/* The broker assigns auto-7. */
static struct peer connected_without_id(uint8_t fail)
{
	struct bytes b = {0};
	struct peer c;

	open_rig(fail);
	rig.mqtt.policy.on_reload = BP_POLICY_ON_RELOAD_CLOSE;
	rule_of(BP_POLICY_PUBLISH, "auto-*", "t/+/secret");
	rule_of(BP_POLICY_PUBLISH, "pump-*", "t/+/other");
	load();
	c = open_peer();
	rig_handshake(&rig, &c);
	mq_connect(&b, 5, "", 0);
	rig_send_bytes(&rig, &c, CLIENT, &b);
	mq_connack(&b, 5, 0, 0, "auto-7");
	rig_send_bytes(&rig, &c, BROKER, &b);
	rig_ack(&rig, &c, CLIENT);
	return c;
}

static void mark_all(void)
{
	const uint64_t slots = (uint64_t)rig.in->table.groups * BP_FLOW_WAYS;

	for (uint64_t i = 0; i <= slots; i += 64)
		bp_mqtt_worker_tick(rig.in, rig.mono_ns);
}

/* By bit: a reload that changes another rule, a restart of the data plane. */
static void after_reload_and_restart(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct peer c = connected_without_id(BP_POLICY_FAIL_CLOSED);
		uint32_t before;

		if (i & 1) {
			rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "x");
			load();
			mark_all();
		}
		if (i & 2)
			rig_restart(&rig);
		publish(&c, 5, "t/a/other");
		before = received(&broker);
		assert_int_equal(before, c.seq[CLIENT] - broker.first);
		publish(&c, 5, "t/a/secret");
		assert_int_equal(received(&broker), before);
		assert_int_equal(broker.resets, 1);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_REFUSED), 1);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_UNDECIDED), 0);
		rig_close(&rig);
	}
}

/* A reload with a rule about its CONNECT, before or behind a restart. */
static void refused_by_a_reload(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct peer c = connected_without_id(BP_POLICY_FAIL_OPEN);

		if (i == 1)
			rig_restart(&rig);
		rule_of(BP_POLICY_CONNECT, "auto-7", "");
		load();
		if (i == 2)
			rig_restart(&rig);
		mark_all();
		publish(&c, 5, "t/x");
		assert_int_equal(rig_count(&rig, BP_C_POLICY_RELOAD_CLOSED), 1);
		assert_int_equal(broker.resets, 1);
		rig_close(&rig);
	}
}

/* Nothing of the CONNACK was read: there is an identifier, and it is not known. */
static void connack_not_read(void **state)
{
	(void)state;
	for (uint8_t version = 4; version <= 5; version++) {
		struct bytes b = {0};
		struct bp_flow *f;
		struct peer c;

		open_rig(BP_POLICY_FAIL_OPEN);
		rule_of(BP_POLICY_PUBLISH, "auto-*", "t/secret");
		load();
		c = open_peer();
		rig_handshake(&rig, &c);
		mq_connect(&b, version, "", 0);
		rig_send_bytes(&rig, &c, CLIENT, &b);
		mq_connack(&b, version, 0, 0, version == 5 ? "auto-7" : NULL);
		c.seq[BROKER] += (uint32_t)b.n;
		bytes_free(&b);
		/* a request and its answer synchronize the stream of the broker */
		for (unsigned i = 0; i < 4; i++) {
			rig_send(&rig, &c, CLIENT, "\xc0\0", 2);
			rig_send(&rig, &c, BROKER, "\xd0\0", 2);
			rig_ack(&rig, &c, CLIENT);
		}
		f = &rig.in->table.flow[0];
		for (uint64_t i = 0; f->proof == 0; i++)
			f = &rig.in->table.flow[i];
		assert_true(f->flags & BP_FLOW_CONNECT);
		publish(&c, version, "t/secret");
		assert_int_equal(rig_count(&rig, BP_C_POLICY_REFUSED), 0);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_UNDECIDED), version == 5);
		rig_close(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(after_reload_and_restart),
		cmocka_unit_test(refused_by_a_reload),
		cmocka_unit_test(connack_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
