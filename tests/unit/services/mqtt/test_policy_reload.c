/* SPDX-License-Identifier: BSD-3-Clause */
/* mqtt.policy.on_reload: connections whose CONNECT a changed policy refuses. */
#include "biplane/counters/mqtt.h"
#include "services/mqtt/mqtt_worker.h"
#include "test.h"

#include <string.h>

#include "policy_ends.h"

static struct bp_event_cursor cursor;

static void begin(uint8_t on_reload)
{
	open_rig(BP_POLICY_FAIL_OPEN);
	rig.mqtt.policy.on_reload = on_reload;
	rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/secret");
	load();
	bp_event_cursor_open(
		&cursor, rig.in->events.slot, sizeof(*rig.in->events.slot), rig.in->events.size, 0);
}

/* Ticks until all connections are marked. */
static void mark_all(void)
{
	const uint64_t slots = (uint64_t)rig.in->table.groups * BP_FLOW_WAYS;

	for (uint64_t i = 0; i <= slots; i += 64)
		bp_mqtt_worker_tick(rig.in, rig.mono_ns);
}

static void reload(void)
{
	load();
	mark_all();
}

static void refuse_client(const char *pattern)
{
	struct bp_policy_rule_spec *r = rule(BP_POLICY_CLOSE, BP_POLICY_CONNECT, "");

	snprintf(r->client, sizeof(r->client), "%s", pattern);
}

/* The next event of the policy. */
static struct bp_event next_event(void)
{
	struct bp_event e;
	uint64_t lost = 0;

	do
		assert_int_equal(bp_event_cursor_read(&cursor, &e, &lost), BP_EVENT_GOT_RECORD);
	while (e.type != BP_EVENT_POLICY);
	return e;
}

static void leaves(void **state)
{
	struct peer c;

	(void)state;
	begin(BP_POLICY_ON_RELOAD_LEAVE);
	c = connected(4);
	publish(&c, 4, "t/x");
	refuse_client("pump-*");
	reload();
	publish(&c, 4, "t/x");
	assert_int_equal(received(&broker), c.seq[CLIENT] - broker.first);
	publish(&c, 4, "t/secret");
	assert_int_equal(broker.resets, 1);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_RELOAD_CLOSED), 0);
	rig_close(&rig);
}

/* With its next segment, on the path of single frames and on that of bursts. */
static void closes_with_the_next_segment_of_the_client(void **state)
{
	(void)state;
	for (unsigned bursts = 0; bursts < 2; bursts++) {
		struct peer c;
		struct bp_event e;
		uint32_t before;

		begin(BP_POLICY_ON_RELOAD_CLOSE);
		rig.bursts = bursts;
		c = connected(5);
		for (unsigned i = 0; i < 4; i++)
			publish(&c, 5, "t/x");
		rig_flush(&rig);
		refuse_client("pump-*");
		load();
		publish(&c, 5, "t/x"); /* before it is marked */
		rig_flush(&rig);
		assert_int_equal(received(&broker), c.seq[CLIENT] - broker.first);
		before = c.seq[CLIENT];
		mark_all();
		publish(&c, 5, "t/x");
		rig_flush(&rig);
		assert_int_equal(received(&broker), before - broker.first);
		assert_int_equal(broker.resets, 1);
		assert_int_equal(broker.reset_at, before);
		assert_memory_equal(client.byte + received(&client) - 3, "\xe0\x01\x87", 3);
		assert_int_equal(client.fins, 1);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_RELOAD_CLOSED), 1);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_CLOSED), 1);
		assert_int_equal(rig_count(&rig, BP_C_DROP_POLICY_REFUSED), 1);
		e = next_event();
		assert_int_equal(e.action, BP_POLICY_CONNECT);
		assert_int_equal(e.reason, BP_POLICY_CLOSE);
		assert_int_equal(e.cause, BP_EVENT_POLICY_RELOAD);
		assert_memory_equal(e.text + e.text_len[0], "r2", 2);
		publish(&c, 5, "t/x");
		rig_flush(&rig);
		assert_int_equal(received(&broker), before - broker.first);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_RELOAD_CLOSED), 1);
		rig_close(&rig);
	}
}

static void closes_with_the_next_segment_of_the_broker(void **state)
{
	struct peer c;
	uint32_t before;

	(void)state;
	begin(BP_POLICY_ON_RELOAD_CLOSE);
	c = connected(4);
	publish(&c, 4, "t/x");
	before = received(&client);
	refuse_client("pump-1");
	reload();
	rig_send(&rig, &c, BROKER, "\xd0\0", 2);
	assert_int_equal(received(&client), before);
	assert_int_equal(client.resets, 1);
	assert_int_equal(client.reset_at, client.first + before);
	assert_int_equal(broker.resets, 1);
	assert_int_equal(broker.reset_at, c.seq[CLIENT]);
	rig_close(&rig);
}

/* A host that does not know the numbers, or is at another port, ends nothing, and gets no answer.
 */
static void forged_segments(void **state)
{
	struct peer c;

	(void)state;
	begin(BP_POLICY_ON_RELOAD_CLOSE);
	c = connected(4);
	refuse_client("pump-1");
	reload();
	rig_segment(&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT] + 100000, c.seq[BROKER], "\xc0\0", 2);
	rig_segment(&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT], c.seq[BROKER] + 100000, "\xc0\0", 2);
	rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER] + 100000, c.seq[CLIENT], "", 0);
	assert_int_equal(broker.resets + client.resets, 0);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_RELOAD_CLOSED), 0);
	publish(&c, 4, "t/x");
	assert_int_equal(rig_count(&rig, BP_C_POLICY_RELOAD_CLOSED), 1);
	rig_close(&rig);
}

/* Back to the policy before, which refused it, while connections are still marked for another one.
 */
static void policy_that_comes_back(void **state)
{
	struct peer c;

	(void)state;
	begin(BP_POLICY_ON_RELOAD_CLOSE);
	refuse_client("pump-1");
	reload();
	rig.mqtt.policy.n_rules--; /* it may connect */
	load();
	c = connected(4);
	refuse_client("pump-1");
	reload();
	publish(&c, 4, "t/x");
	assert_int_equal(rig_count(&rig, BP_C_POLICY_RELOAD_CLOSED), 1);
	rig_close(&rig);
}

static void other_clients_continue(void **state)
{
	struct peer c;

	(void)state;
	begin(BP_POLICY_ON_RELOAD_CLOSE);
	c = connected(4);
	refuse_client("oven-*");
	reload();
	publish(&c, 4, "t/x");
	publish(&c, 4, "t/x");
	assert_int_equal(received(&broker), c.seq[CLIENT] - broker.first);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_RELOAD_UNDECIDED), 0);
	/* the next reload does not change the policy */
	reload();
	publish(&c, 4, "t/x");
	assert_int_equal(received(&broker), c.seq[CLIENT] - broker.first);
	rig_close(&rig);
}

/* A rule needs what is not kept of the CONNECT: it counts as one that may match. */
static void unknown_facts(void **state)
{
	static const struct {
		bool last_refuses, closes;
	} with[] = {{false, false}, {true, true}};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct bp_policy_rule_spec *r;
		struct peer c;

		begin(BP_POLICY_ON_RELOAD_CLOSE);
		c = connected(4);
		r = rule(BP_POLICY_CLOSE, BP_POLICY_CONNECT, "");
		r->has_keep_alive = r->has_keep_above = true;
		r->keep_above = 10;
		r = rule(BP_POLICY_CLOSE, BP_POLICY_CONNECT, "");
		r->rate = (struct bp_policy_rate){.packets = 1, .interval_s = 1};
		r->has_rate = true;
		r->rate_burst = 1;
		if (with[i].last_refuses)
			refuse_client("pump-1");
		reload();
		publish(&c, 4, "t/x");
		assert_int_equal(broker.resets, with[i].closes);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_RELOAD_CLOSED), with[i].closes);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_RELOAD_UNDECIDED), !with[i].closes);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_UNDECIDED), 0);
		rig_close(&rig);
	}
}

static void met_midstream(void **state)
{
	struct bytes b = {0};
	struct peer c;

	(void)state;
	begin(BP_POLICY_ON_RELOAD_CLOSE);
	c = open_peer();
	c.seq[CLIENT]++;
	c.seq[BROKER]++;
	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = "81"});
	rig_send(&rig, &c, CLIENT, b.p, b.n);
	refuse_client("pump-1");
	reload();
	rig_send(&rig, &c, CLIENT, b.p, b.n);
	assert_int_equal(broker.resets, 0);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_RELOAD_UNDECIDED), 1);
	/* its address is known */
	rules[rig.mqtt.policy.n_rules - 1].client[0] = '\0';
	reload();
	rig_send(&rig, &c, CLIENT, b.p, b.n);
	assert_int_equal(broker.resets, 1);
	assert_int_equal(broker.reset_at, c.seq[CLIENT] - b.n);
	bytes_free(&b);
	rig_close(&rig);
}

/* Its next segment is one of the broker, whose stream has not been read. */
static void met_midstream_by_the_broker(void **state)
{
	struct bytes b = {0};
	struct peer c;
	uint32_t seq;

	(void)state;
	begin(BP_POLICY_ON_RELOAD_CLOSE);
	c = open_peer();
	c.seq[CLIENT]++;
	c.seq[BROKER]++;
	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = "81"});
	rig_send(&rig, &c, CLIENT, b.p, b.n);
	refuse_client("");
	reload();
	seq = c.seq[BROKER];
	rig_send(&rig, &c, BROKER, b.p, b.n);
	assert_int_equal(broker.resets, 1);
	assert_int_equal(client.resets, 1);
	assert_int_equal(client.reset_at, seq);
	bytes_free(&b);
	rig_close(&rig);
}

static void will_of(struct peer *c)
{
	static const uint8_t connect[] = "\x10\x1f\0\4MQTT\4\6\0\x3c\0\6pump-1\0\6t/will\0\1x";
	const size_t n = sizeof(connect) - 1;
	uint8_t packet[sizeof(connect)];

	memcpy(packet, connect, n);
	packet[1] = (uint8_t)(n - 2);
	*c = open_peer();
	rig_handshake(&rig, c);
	rig_send(&rig, c, CLIENT, packet, n);
	rig_accept(&rig, c, 4);
	rig_ack(&rig, c, CLIENT);
}

static void refused_will(void **state)
{
	struct peer c;

	(void)state;
	begin(BP_POLICY_ON_RELOAD_CLOSE);
	will_of(&c);
	rule(BP_POLICY_CLOSE, BP_POLICY_WILL, "t/will");
	reload();
	publish(&c, 4, "t/x");
	assert_int_equal(broker.fins, 1); /* see test_policy_will.c */
	assert_int_equal(next_event().action, BP_POLICY_WILL);
	rig_close(&rig);
}

/* The new policy is one that refuses, and the former one was none. */
static void first_policy(void **state)
{
	struct peer c;

	(void)state;
	open_rig(BP_POLICY_FAIL_OPEN);
	rig.mqtt.policy.given = false;
	rig.mqtt.policy.on_reload = BP_POLICY_ON_RELOAD_CLOSE;
	load();
	c = connected(4);
	publish(&c, 4, "t/x");
	rig.mqtt.policy.given = true;
	refuse_client("pump-1");
	reload();
	rig_ack(&rig, &c, CLIENT);
	assert_int_equal(broker.resets, 1);
	assert_int_equal(broker.reset_at, c.seq[CLIENT]);
	rig_close(&rig);
}

/* A process that is killed before all connections are marked, and a restart with the same policy.
 */
static void restart(void **state)
{
	struct peer c;

	(void)state;
	begin(BP_POLICY_ON_RELOAD_CLOSE);
	mark_all();
	c = connected(4);
	rig_restart(&rig);
	mark_all();
	publish(&c, 4, "t/x");
	assert_int_equal(received(&broker), c.seq[CLIENT] - broker.first);
	refuse_client("pump-1");
	load();
	rig_restart(&rig);
	mark_all();
	publish(&c, 4, "t/x");
	assert_int_equal(broker.resets, 1);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_RELOAD_CLOSED), 1);
	rig_close(&rig);
}

/* What a client ends itself, or begins again with the same ports, is not ended. */
static void ends_by_itself(void **state)
{
	struct peer c;
	uint32_t n;

	(void)state;
	begin(BP_POLICY_ON_RELOAD_CLOSE);
	c = connected(4);
	rig_send(&rig, &c, CLIENT, "\xe0\0", 2);
	n = received(&broker);
	refuse_client("pump-1");
	reload();
	rig_fin_both(&rig, &c);
	assert_int_equal(broker.resets, 0);
	assert_int_equal(broker.fins, 1);
	assert_int_equal(received(&broker), n);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves),
		cmocka_unit_test(closes_with_the_next_segment_of_the_client),
		cmocka_unit_test(closes_with_the_next_segment_of_the_broker),
		cmocka_unit_test(forged_segments),
		cmocka_unit_test(policy_that_comes_back),
		cmocka_unit_test(other_clients_continue),
		cmocka_unit_test(unknown_facts),
		cmocka_unit_test(met_midstream),
		cmocka_unit_test(met_midstream_by_the_broker),
		cmocka_unit_test(refused_will),
		cmocka_unit_test(first_policy),
		cmocka_unit_test(restart),
		cmocka_unit_test(ends_by_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
