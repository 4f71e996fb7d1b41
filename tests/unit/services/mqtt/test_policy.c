/* SPDX-License-Identifier: BSD-3-Clause */
/* The policy: which packets of a connection it decides about, and once. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <string.h>

#include "rig.h"
#include "services/mqtt/mqtt_worker.h"
#include "shm/hash.h"
#include "shm/rules/policy.h"
#include "shm/events/event_ring.h"

static struct rig rig;
static struct bp_policy_rule_spec rules[8];
static struct bp_event_cursor cursor;

static struct bp_policy_rule_spec *rule(uint8_t action, uint8_t packet, const char *topic)
{
	struct bp_policy_rule_spec *r = &rules[rig.mqtt.policy.n_rules++];

	*r = (struct bp_policy_rule_spec){.action = action, .packet = packet};
	snprintf(r->name, sizeof(r->name), "r%u", rig.mqtt.policy.n_rules);
	snprintf(r->topic, sizeof(r->topic), "%s", topic);
	return r;
}

static void open_rig(void)
{
	struct bp_event_ring events;

	rig_defaults(&rig);
	rig.config.monitoring.event_queue_size = 64;
	rig.mqtt.policy.given = true;
	rig.mqtt.policy.rules = rules;
	rig_open(&rig);
	events = bp_shm_events(&rig.shm, 0);
	bp_event_cursor_open(&cursor, events.slot, sizeof(*events.slot), events.size, 0);
}

static void load(void)
{
	struct bp_rule_spec alarm = rig_rule("alarm", "t/x", BP_COND_GT, 80);

	rig_rules(&rig, &alarm, 1);
}

/* By the number of a rule, from 1; 0: the default. */
static uint64_t decisions(unsigned r)
{
	const uint32_t slot = r == 0 ? 0 : bp_policy_rule(rig.rules, r - 1)->slot;

	return atomic_load(&rig.shm.policy_stats[slot].matched);
}

static uint64_t observed(void)
{
	return rig_count(&rig, BP_C_POLICY_OBSERVED);
}

static struct peer connected(const char *client_id)
{
	struct peer c;

	peer_init(&c, false, 1, 1000, 2000);
	rig_connect(&rig, &c, 4, client_id);
	return c;
}

/* A CONNECT with everything; user NULL: none. */
static void add_connect(struct bytes *b, const char *id, const char *user, const char *will)
{
	struct bytes body = {0};

	bytes_be16(&body, 4);
	bytes_add(&body, "MQTT\x04", 5);
	bytes_u8(&body, (uint8_t)(0x02 | (user != NULL ? 0x80 : 0) | (will != NULL ? 0x0c : 0)));
	bytes_be16(&body, 60);
	bytes_be16(&body, (uint16_t)strlen(id));
	bytes_add(&body, id, strlen(id));
	if (will != NULL) {
		bytes_be16(&body, (uint16_t)strlen(will));
		bytes_add(&body, will, strlen(will));
		bytes_be16(&body, 3);
		bytes_add(&body, "off", 3);
	}
	if (user != NULL) {
		bytes_be16(&body, (uint16_t)strlen(user));
		bytes_add(&body, user, strlen(user));
	}
	mq_raw(b, 0x10, body.p, body.n);
	bytes_free(&body);
}

static struct peer nth_connected(
	bool ip6, unsigned n, const char *id, const char *user, const char *will)
{
	struct bytes b = {0};
	struct peer c;

	peer_init(&c, ip6, n, 1000, 2000);
	rig_handshake(&rig, &c);
	add_connect(&b, id, user, will);
	rig_send_bytes(&rig, &c, CLIENT, &b);
	rig_accept(&rig, &c, 4);
	return c;
}

static struct peer connected_as(const char *id, const char *user, const char *will)
{
	return nth_connected(false, 1, id, user, will);
}

static void no_policy(void **state)
{
	struct peer c;

	(void)state;
	open_rig();
	rule(BP_POLICY_OBSERVE, BP_POLICY_ANY, "#");
	rig.mqtt.policy.given = false;
	load();
	c = connected("pump-1");
	rig_publish_text(&rig, &c, "t/x", "81");
	assert_int_equal(observed(), 0);
	assert_string_equal(rig_told_values(&rig), "81");
	rig_close(&rig);
}

/* It is forwarded, and the rules of alarms evaluate it. */
static void observed_publication(void **state)
{
	struct peer c;

	(void)state;
	open_rig();
	rule(BP_POLICY_OBSERVE, BP_POLICY_PUBLISH, "t/x");
	load();
	c = connected("pump-1");
	for (unsigned i = 0; i < 5; i++)
		rig_publish_text(&rig, &c, "t/x", "81");
	rig_publish_text(&rig, &c, "t/y", "81");
	assert_int_equal(observed(), 5);
	assert_int_equal(decisions(1), 5);
	assert_int_equal(decisions(0), 2); /* the CONNECT, and t/y */
	assert_string_equal(rig_told_values(&rig), "81 81 81 81 81");
	rig_close(&rig);
}

/* An allowed topic is decided about once: then the memo of the flow has it, also on the burst path.
 * A reload decides again. */
static void allowed_topic(void **state)
{
	struct peer c;

	(void)state;
	open_rig();
	rig.bursts = true;
	rule(BP_POLICY_ALLOW, BP_POLICY_PUBLISH, "t/x");
	rig.mqtt.policy.preset = BP_POLICY_OBSERVE;
	load();
	c = connected("pump-1");
	for (unsigned i = 0; i < 50; i++)
		rig_publish_text(&rig, &c, "t/x", "81");
	rig_flush(&rig);
	assert_int_equal(decisions(1), 1);
	assert_true(rig.n_in_bursts - rig.n_general >= 45);
	rules[0].topic[2] = 'y';
	load();
	for (unsigned i = 0; i < 10; i++)
		rig_publish_text(&rig, &c, "t/x", "81");
	rig_flush(&rig);
	assert_int_equal(observed(), 11); /* with the CONNECT */
	rig_close(&rig);
}

/* A rule that looks at the message itself is asked each time. */
static void messages_that_differ(void **state)
{
	struct bp_policy_rule_spec *r;
	struct peer c;

	(void)state;
	open_rig();
	rig.bursts = true;
	r = rule(BP_POLICY_OBSERVE, BP_POLICY_PUBLISH, "t/#");
	r->has_size = true;
	r->larger_than = 2;
	load();
	c = connected("pump-1");
	for (unsigned i = 0; i < 20; i++)
		rig_publish_text(&rig, &c, "t/x", i % 4 == 0 ? "100" : "81");
	rig_flush(&rig);
	assert_int_equal(observed(), 5);
	assert_int_equal(rig_told_count(&rig), 20);
	rig_close(&rig);
}

/* The decisions of topics in turn are those of each client, though they are not searched again;
 * each is counted. A reload decides again. */
static void topics_in_turn(void **state)
{
	static const char *const topic[] = {
		"plant/pump-1/a", "plant/pump-2/a", "plant/pump-1/b", "x"};
	struct peer c[2];

	(void)state;
	open_rig();
	rule(BP_POLICY_ALLOW, BP_POLICY_PUBLISH, "plant/{client}/#");
	rule(BP_POLICY_OBSERVE, BP_POLICY_PUBLISH, "plant/#");
	load();
	for (unsigned i = 0; i < 2; i++) {
		peer_init(&c[i], false, 1 + i, 1000, 2000);
		rig_connect(&rig, &c[i], 4, i == 0 ? "pump-1" : "pump-2");
	}
	for (unsigned round = 1; round <= 10; round++) {
		for (unsigned t = 0; t < 4; t++)
			for (unsigned i = 0; i < 2; i++)
				rig_publish_text(&rig, &c[i], topic[t], "1");
		assert_int_equal(decisions(1), 3 * round);
		assert_int_equal(decisions(2), 3 * round);
		assert_int_equal(decisions(0), 2 + 2 * round);
		assert_int_equal(observed(), 3 * round);
	}
	rules[0].action = BP_POLICY_OBSERVE;
	load();
	for (unsigned t = 0; t < 4; t++)
		rig_publish_text(&rig, &c[0], topic[t], "1");
	assert_int_equal(observed(), 33);
	rig_close(&rig);
}

/* A decision of another client, or user, with the same addresses and ports is not that of this one.
 */
static void topics_of_another_client(void **state)
{
	static const struct {
		const char *id, *user;
		unsigned observed;
	} client[] = {{"pump-1", "anna", 0}, {"pump-2", "anna", 2}, {"pump-1", "bert", 2},
		{"pump-1", NULL, 2}, {"pump-1", "anna", 0}, {"pump-2", "bert", 4}};
	unsigned all = 0;

	(void)state;
	open_rig();
	rule(BP_POLICY_ALLOW, BP_POLICY_PUBLISH, "plant/{client}/#");
	rule(BP_POLICY_ALLOW, BP_POLICY_PUBLISH, "plant/{user}/#");
	rule(BP_POLICY_OBSERVE, BP_POLICY_PUBLISH, "plant/#");
	load();
	for (unsigned i = 0; i < sizeof(client) / sizeof(client[0]); i++) {
		struct peer c = connected_as(client[i].id, client[i].user, NULL);

		for (unsigned k = 0; k < 4; k++)
			rig_publish_text(
				&rig, &c, k % 2 == 0 ? "plant/pump-1/a" : "plant/anna/a", "1");
		all += client[i].observed;
		assert_int_equal(observed(), all);
		rig_expire_all(&rig);
	}
	rig_close(&rig);
}

/* More topics than the worker remembers decisions of. */
static void more_topics_than_are_remembered(void **state)
{
	struct peer c;

	(void)state;
	open_rig();
	rule(BP_POLICY_OBSERVE, BP_POLICY_PUBLISH, "t/+/1");
	load();
	c = connected("pump-1");
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 40000; i++) {
			char topic[32];

			snprintf(topic, sizeof(topic), "t/%u/%u", i, i % 10);
			rig_publish_text(&rig, &c, topic, "1");
		}
	}
	assert_int_equal(observed(), 8000);
	rig_close(&rig);
}

static void connects_and_wills(void **state)
{
	struct bp_policy_rule_spec *r;

	(void)state;
	open_rig();
	r = rule(BP_POLICY_OBSERVE, BP_POLICY_CONNECT, "");
	snprintf(r->user, sizeof(r->user), "eve");
	rule(BP_POLICY_ALLOW, BP_POLICY_WILL, "state/{client}");
	rule(BP_POLICY_OBSERVE, BP_POLICY_WILL, "#");
	load();
	connected_as("a", "anna", "state/a");
	assert_int_equal(observed(), 0);
	rig_expire_all(&rig);
	connected_as("b", "anna", "state/a");
	assert_int_equal(observed(), 1);
	rig_expire_all(&rig);
	connected_as("c", "eve", "state/c");
	assert_int_equal(observed(), 2);
	assert_int_equal(decisions(1), 1);
	assert_int_equal(decisions(2), 2);
	assert_int_equal(decisions(3), 1);
	rig_close(&rig);
}

/* Those of the packets, which have a keep-alive of 60 s. */
static void keep_alives_and_sizes(void **state)
{
	struct bp_policy_rule_spec *r;
	struct peer c;

	(void)state;
	open_rig();
	r = rule(BP_POLICY_OBSERVE, BP_POLICY_ANY, "");
	r->has_keep_alive = r->has_keep_above = true;
	r->keep_above = 60;
	r = rule(BP_POLICY_OBSERVE, BP_POLICY_ANY, "");
	r->has_keep_alive = r->has_keep_above = true;
	r->keep_above = 59;
	r = rule(BP_POLICY_OBSERVE, BP_POLICY_ANY, "");
	r->has_packet_size = true;
	r->packet_larger_than = 7;
	load();
	c = connected_as("a", NULL, "state/a");
	assert_int_equal(decisions(1), 0);
	assert_int_equal(decisions(2), 1);
	assert_int_equal(decisions(3), 0);       /* the will is no packet */
	rig_publish_text(&rig, &c, "t/x", "81"); /* 2 + 3 + 2 bytes */
	assert_int_equal(decisions(3), 0);
	rig_publish_text(&rig, &c, "t/x", "811");
	rig_publish_text(&rig, &c, "t/x", "81");
	assert_int_equal(decisions(3), 1);
	rig_close(&rig);
	open_rig();
	r = rule(BP_POLICY_OBSERVE, BP_POLICY_CONNECT, "");
	r->has_packet_size = true;
	r->packet_larger_than = 13; /* 10 + 2 + 1 */
	load();
	connected_as("a", NULL, NULL);
	assert_int_equal(decisions(1), 0);
	rig_expire_all(&rig);
	connected_as("ab", NULL, NULL);
	assert_int_equal(decisions(1), 1);
	rig_close(&rig);
}

/* Also of messages that share a burst, and after a restart of the process. */
static void rates(void **state)
{
	struct bp_policy_rule_spec *r;
	struct peer c;

	(void)state;
	open_rig();
	rig.bursts = true;
	r = rule(BP_POLICY_OBSERVE, BP_POLICY_PUBLISH, "t/#");
	r->has_rate = true;
	r->rate_per = BP_POLICY_PER_CLIENT;
	r->rate = (struct bp_policy_rate){6, 3600};
	load();
	c = connected("pump-1");
	for (unsigned i = 0; i < 10; i++)
		rig_publish_text(&rig, &c, i % 2 == 0 ? "t/x" : "t/y", "81");
	rig_publish_text(&rig, &c, "u", "81");
	rig_flush(&rig);
	assert_int_equal(observed(), 4);
	assert_int_equal(rig_told_count(&rig), 5);
	rig_restart(&rig);
	rig_publish_text(&rig, &c, "t/x", "81");
	rig_flush(&rig);
	assert_int_equal(observed(), 5);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_BUCKET_EVICTED), 0);
	rig_close(&rig);
}

/* A client identifier for each connection exhausts the table of rates, which is counted, and does
 * not evade the rate of its address, which is a /64 here. */
static void invented_clients(void **state)
{
	struct bp_policy_rule_spec *r;

	(void)state;
	rig_defaults(&rig);
	rig.mqtt.max_policy_rates = 4;
	rig.mqtt.policy.given = true;
	rig.mqtt.policy.rules = rules;
	rig_open(&rig);
	r = rule(BP_POLICY_OBSERVE, BP_POLICY_CONNECT, "");
	r->has_rate = true;
	r->rate_per = BP_POLICY_PER_ADDRESS;
	r->rate = (struct bp_policy_rate){10, 3600};
	r = rule(BP_POLICY_OBSERVE, BP_POLICY_CONNECT, "");
	r->has_rate = true;
	r->rate_per = BP_POLICY_PER_CLIENT;
	r->rate = (struct bp_policy_rate){1, 3600};
	load();
	for (unsigned n = 0; n < 26; n++)
		nth_connected(true, n + 1, (const char[]){(char)('a' + n), '\0'}, NULL, NULL);
	assert_int_equal(decisions(1), 16);
	assert_int_equal(decisions(2), 0);
	assert_true(rig_count(&rig, BP_C_POLICY_BUCKET_EVICTED) >= 7);
	rig_close(&rig);
}

/* The user name is that of the connection, also after a restart of the process. */
static void user_names(void **state)
{
	struct peer c;

	(void)state;
	open_rig();
	rule(BP_POLICY_ALLOW, BP_POLICY_PUBLISH, "{user}/#");
	rule(BP_POLICY_OBSERVE, BP_POLICY_PUBLISH, "#");
	load();
	c = connected_as("", "anna", NULL);
	rig_publish_text(&rig, &c, "anna/1", "1");
	assert_int_equal(observed(), 0);
	rig_publish_text(&rig, &c, "bert/1", "1");
	assert_int_equal(observed(), 1);
	rig_restart(&rig);
	rig_publish_text(&rig, &c, "anna/2", "1");
	assert_int_equal(observed(), 1);
	rig_publish_text(&rig, &c, "bert/2", "1");
	assert_int_equal(observed(), 2);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_UNDECIDED), 0);
	rig_close(&rig);
}

/* Also if the CONNECT is nearly as long as the memory of a connection, and the broker assigns the
 * client identifier. */
static void user_of_a_long_connect(void **state)
{
	static uint8_t properties[65000];
	struct bp_policy_rule_spec *r;
	struct bytes b = {0}, body = {0};
	struct peer c;

	(void)state;
	open_rig();
	r = rule(BP_POLICY_OBSERVE, BP_POLICY_PUBLISH, "t/#");
	snprintf(r->user, sizeof(r->user), "eve");
	load();
	for (size_t at = 0; at < sizeof(properties); at += 10)
		memcpy(properties + at, "\x26\0\1k\0\4abcd", 10);
	peer_init(&c, false, 1, 1000, 2000);
	rig_handshake(&rig, &c);
	bytes_be16(&body, 4);
	bytes_add(&body, "MQTT\x05\x82", 6);
	bytes_be16(&body, 60);
	bytes_varint(&body, sizeof(properties));
	bytes_add(&body, properties, sizeof(properties));
	bytes_be16(&body, 0);
	bytes_be16(&body, 3);
	bytes_add(&body, "eve", 3);
	mq_raw(&b, 0x10, body.p, body.n);
	for (size_t at = 0; at < b.n; at += 1000)
		rig_send(&rig, &c, CLIENT, b.p + at, b.n - at < 1000 ? b.n - at : 1000);
	bytes_free(&b);
	bytes_free(&body);
	mq_connack(&b, 5, 0, 0, "assigned");
	rig_send_bytes(&rig, &c, BROKER, &b);
	mq_publish(&b, &(struct mq_publish){.version = 5, .topic = "t/x", .payload = "1"});
	rig_send_bytes(&rig, &c, CLIENT, &b);
	assert_int_equal(observed() + rig_count(&rig, BP_C_POLICY_UNDECIDED), 1);
	assert_int_equal(observed(), 1);
	rig_close(&rig);
}

static void client_met_midstream(void **state)
{
	struct bp_policy_rule_spec *r;
	struct peer c;

	(void)state;
	open_rig();
	r = rule(BP_POLICY_ALLOW, BP_POLICY_PUBLISH, "t/#");
	snprintf(r->client, sizeof(r->client), "pump-*");
	load();
	peer_init(&c, false, 1, 1000, 2000);
	for (unsigned i = 0; i < 4; i++) {
		struct bytes b = {0};

		rig_publish_text(&rig, &c, "t/x", "81");
		mq_empty(&b, MQ_PINGREQ);
		rig_send_bytes(&rig, &c, CLIENT, &b);
		mq_empty(&b, MQ_PINGRESP);
		rig_send_bytes(&rig, &c, BROKER, &b);
	}
	assert_true(rig_count(&rig, BP_C_POLICY_UNDECIDED) >= 1);
	assert_int_equal(observed(), 0);
	rig_close(&rig);
}

/* A search finds a CONNECT, and does not keep its will. */
static void connect_of_a_search(void **state)
{
	static const char *const will[] = {NULL, "state/a"};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct bytes b = {0};
		struct peer c;

		open_rig();
		rule(BP_POLICY_OBSERVE, BP_POLICY_ANY, "");
		load();
		peer_init(&c, false, 1, 1000, 2000);
		add_connect(&b, "a", "anna", will[i]);
		rig_send_bytes(&rig, &c, CLIENT, &b); /* without a handshake */
		assert_int_equal(observed(), 0);
		rig_accept(&rig, &c, 4);
		assert_int_equal(observed(), 1);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_NOT_EVALUATED), will[i] != NULL);
		rig_close(&rig);
	}
}

static void add_filters(struct bytes *b, const char *const *filter, unsigned n)
{
	struct bytes body = {0};

	bytes_be16(&body, 7);
	for (unsigned i = 0; i < n; i++) {
		bytes_be16(&body, (uint16_t)strlen(filter[i]));
		bytes_add(&body, filter[i], strlen(filter[i]));
		bytes_u8(&body, 1);
	}
	mq_raw(b, 0x82, body.p, body.n);
	bytes_free(&body);
}

static void subscriptions(void **state)
{
	static const char *const filter[] = {
		"plant/#", "office/x", "$share/group/plant/a", "$share/group/office", "plant"};
	struct bytes b = {0};
	struct peer c;

	(void)state;
	open_rig();
	rule(BP_POLICY_ALLOW, BP_POLICY_SUBSCRIBE, "plant/#");
	rule(BP_POLICY_OBSERVE, BP_POLICY_SUBSCRIBE, "#");
	load();
	c = connected("pump-1");
	add_filters(&b, filter, 5);
	rig_send_bytes(&rig, &c, CLIENT, &b);
	assert_int_equal(decisions(1), 3);
	assert_int_equal(observed(), 2);
	rig_close(&rig);
}

/* Each packet is decided about once, wherever the stream is cut. */
static void every_split(void **state)
{
	static const char *const filter[] = {"a", "b"};
	const struct mq_publish publish = {
		.version = 4, .topic = "t/x", .payload = "81 and more", .qos = 0};
	struct bytes b = {0};

	(void)state;
	add_connect(&b, "pump-1", "anna", "will/topic");
	mq_publish(&b, &publish);
	add_filters(&b, filter, 2);
	mq_publish(&b, &publish);
	for (size_t cut = 1; cut < b.n; cut++) {
		struct peer c;

		open_rig();
		rule(BP_POLICY_OBSERVE, BP_POLICY_ANY, "");
		load();
		peer_init(&c, false, 1, 1000, 2000);
		rig_handshake(&rig, &c);
		rig_send(&rig, &c, CLIENT, b.p, cut);
		rig_send(&rig, &c, CLIENT, b.p + cut, b.n - cut);
		rig_accept(&rig, &c, 4);
		assert_int_equal(observed(), 6);
		rig_close(&rig);
	}
	for (unsigned piece = 1; piece < 8; piece++) {
		struct peer c;

		open_rig();
		rule(BP_POLICY_OBSERVE, BP_POLICY_ANY, "");
		load();
		peer_init(&c, false, 1, 1000, 2000);
		rig_handshake(&rig, &c);
		for (size_t at = 0; at < b.n; at += piece)
			rig_send(&rig, &c, CLIENT, b.p + at, b.n - at < piece ? b.n - at : piece);
		rig_accept(&rig, &c, 4);
		assert_int_equal(observed(), 6);
		rig_close(&rig);
	}
	bytes_free(&b);
}

/* Of the clock, also after it was set, and for a topic that was decided about before. */
static void hours(void **state)
{
	const uint64_t day = 86400000000000ull, hour = day / 24;
	struct bp_policy_rule_spec *r;
	struct peer c;

	(void)state;
	open_rig();
	r = rule(BP_POLICY_OBSERVE, BP_POLICY_PUBLISH, "t/#");
	r->has_hours = true;
	r->from = 12 * 60;
	r->to = 13 * 60;
	load();
	c = connected("pump-1");
	for (unsigned i = 0; i < 3; i++) {
		static const unsigned at[] = {11, 12, 13};
		const unsigned before = (unsigned)observed();

		/* forwards, backwards and by a day */
		rig.now_ns = (20000 + i) * day + at[i] * hour;
		rig_advance(&rig, 0);
		rig_publish_text(&rig, &c, "t/x", "81");
		rig.now_ns = 20000 * day + 12 * hour + 59 * 60000000000ull;
		rig_advance(&rig, 0);
		rig_publish_text(&rig, &c, "t/x", "81");
		rig_advance(&rig, 60000000000ull);
		rig_publish_text(&rig, &c, "t/x", "81");
		assert_int_equal(observed() - before, at[i] == 12 ? 2 : 1);
	}
	rig_close(&rig);
}

/* Open connections of this peer's address. */
static uint32_t connections(const struct peer *c)
{
	return bp_policy_connections_count(&rig.shm.policy_connections,
		bp_hash_bytes(rig.shm.global->hash_key, c->client_ip, c->ip6 ? 8 : 4));
}

/* A connection is one of its address from its CONNECT to its end, in whatever way it ends. */
static void connections_of_an_address(void **state)
{
	static const char id[] = "abcdef";
	struct bp_policy_rule_spec *r;
	struct peer c[6], other, spoofed;
	struct bytes b = {0};

	(void)state;
	open_rig();
	r = rule(BP_POLICY_OBSERVE, BP_POLICY_CONNECT, "");
	r->has_connections = true;
	r->connections = 3;
	load();
	/* without a handshake the address may be that of another one */
	peer_init(&spoofed, true, 100, 1000, 2000);
	rig_segment(&rig, &spoofed, CLIENT, TH_SYN, 1000, 0, NULL, 0);
	rig_segment(&rig, &spoofed, BROKER, TH_SYN | TH_ACK, 2000, 1001, NULL, 0);
	spoofed.seq[CLIENT] = 1001;
	spoofed.seq[BROKER] = 1500; /* the sender has not seen it */
	add_connect(&b, "x", NULL, NULL);
	rig_send_bytes(&rig, &spoofed, CLIENT, &b);
	assert_int_equal(connections(&spoofed), 0);
	for (unsigned i = 0; i < 5; i++) {
		c[i] = nth_connected(true, i + 1, (const char[]){id[i], '\0'}, NULL, NULL);
		assert_int_equal(connections(&c[i]), i + 1);
	}
	assert_int_equal(decisions(1), 2);
	other = nth_connected(false, 1, "o", NULL, NULL);
	assert_int_equal(connections(&other), 1);
	assert_int_equal(connections(&c[0]), 5);
	/* the process restarts */
	rig_restart(&rig);
	assert_int_equal(connections(&c[0]), 5);
	assert_int_equal(connections(&other), 1);
	/* FIN, RST, and another connection with the same ports */
	rig_fin_both(&rig, &c[0]);
	assert_int_equal(connections(&c[1]), 4);
	rig_segment(&rig, &c[1], CLIENT, TH_RST, c[1].seq[CLIENT], 0, NULL, 0);
	assert_int_equal(connections(&c[2]), 3);
	peer_init(&c[2], true, 3, 500000, 600000);
	rig_handshake(&rig, &c[2]);
	assert_int_equal(connections(&c[2]), 2);
	add_connect(&b, "c", NULL, NULL);
	rig_send_bytes(&rig, &c[2], CLIENT, &b);
	assert_int_equal(connections(&c[2]), 3);
	rig_accept(&rig, &c[2], 4);
	c[5] = nth_connected(true, 6, "f", NULL, NULL);
	assert_int_equal(decisions(1), 3);
	assert_int_equal(connections(&c[5]), 4);
	/* silence */
	rig_expire_all(&rig);
	for (uint64_t i = 0; i < rig.shm.policy_connections.len; i++)
		assert_int_equal(rig.shm.policy_connections.word[i], 0);
	rig_close(&rig);
}

static void value_rule(struct bp_rule_spec *payload)
{
	struct bp_policy_rule_spec *r;

	*payload = (struct bp_rule_spec){.raise = {.op = BP_COND_OUTSIDE, .a = 0, .b = 80}};
	r = rule(BP_POLICY_OBSERVE, BP_POLICY_PUBLISH, "t/#");
	r->payload = payload;
	rule(BP_POLICY_OBSERVE, BP_POLICY_WILL, "#")->payload = payload;
}

/* A payload is read when it is whole, wherever it is cut, also without a rule of alarms. */
static void cut_values(void **state)
{
	static const struct mq_publish
		high = {.version = 4, .topic = "t/high", .payload = "81.5", .qos = 1, .id = 7},
		low = {.version = 4, .topic = "t/low", .payload = "79.5", .qos = 0};
	struct bp_rule_spec payload;
	struct bytes b = {0};

	(void)state;
	mq_publish(&b, &high);
	mq_publish(&b, &low);
	for (size_t piece = 1; piece < b.n; piece++) {
		struct peer c;

		open_rig();
		value_rule(&payload);
		load();
		c = connected("pump-1");
		for (size_t at = 0; at < b.n; at += piece)
			rig_send(&rig, &c, CLIENT, b.p + at, b.n - at < piece ? b.n - at : piece);
		assert_int_equal(decisions(1), 1);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_VALUE_MISSING), 0);
		assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH), 2);
		rig_close(&rig);
	}
	bytes_free(&b);
}

/* Publications in bursts, on topics that were decided about before, have values of their own. */
static void values_in_bursts(void **state)
{
	struct bp_rule_spec payload;
	struct peer c;

	(void)state;
	open_rig();
	rig.bursts = true;
	value_rule(&payload);
	load();
	c = connected("pump-1");
	for (unsigned i = 0; i < 20; i++)
		rig_publish_text(&rig, &c, "t/x", i % 4 == 0 ? "100" : "7");
	rig_publish_text(&rig, &c, "t/x", "none");
	rig_flush(&rig);
	assert_int_equal(observed(), 5);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_VALUE_MISSING), 1);
	rig_close(&rig);
	open_rig();
	value_rule(&payload);
	load();
	connected_as("a", NULL, "w"); /* the payload is "off" */
	assert_int_equal(decisions(2), 0);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_VALUE_MISSING), 1);
	rig_close(&rig);
}

/* One that is never whole is counted once, and the packets after it are decided about. */
static void values_that_are_not_whole(void **state)
{
	static char text[100000];
	struct mq_publish large = {.version = 4, .topic = "t/x", .payload = text};
	struct bp_rule_spec payload;
	struct bytes b = {0};
	struct peer c;

	(void)state;
	memset(text, '1', sizeof(text) - 1);
	open_rig();
	value_rule(&payload);
	load();
	c = connected("pump-1");
	mq_publish(&b, &large);
	for (size_t at = 0; at < b.n; at += 1000)
		rig_send(&rig, &c, CLIENT, b.p + at, b.n - at < 1000 ? b.n - at : 1000);
	assert_int_equal(observed(), 0);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_NOT_EVALUATED), 1);
	rig_publish_text(&rig, &c, "t/x", "81");
	assert_int_equal(observed(), 1);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_NOT_EVALUATED), 1);
	bytes_free(&b);
	rig_close(&rig);
}

/* What is not read is counted: heads and packets that are too large, and unknown aliases. */
static void packets_that_are_not_read(void **state)
{
	static uint8_t properties[70000];
	struct mq_publish large = {.version = 5, .topic = "t/x", .payload = "1"};
	struct bytes b = {0};
	struct peer c;

	(void)state;
	open_rig();
	rule(BP_POLICY_OBSERVE, BP_POLICY_PUBLISH, "t/#");
	load();
	peer_init(&c, false, 1, 1000, 2000);
	rig_connect_alias(&rig, &c, "pump-1", 10, 10);
	/* user properties: more than the memory of a connection */
	for (size_t at = 0; at + 10 <= sizeof(properties); at += 10)
		memcpy(properties + at, "\x26\0\1k\0\4abcd", 10);
	large.properties = properties;
	large.properties_len = sizeof(properties);
	mq_publish(&b, &large);
	for (size_t at = 0; at < b.n; at += 1000)
		rig_send(&rig, &c, CLIENT, b.p + at, b.n - at < 1000 ? b.n - at : 1000);
	bytes_free(&b);
	assert_int_equal(observed(), 0);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_NOT_EVALUATED), 1);
	large = (struct mq_publish){.version = 5, .topic = "", .alias = 7, .payload = "1"};
	rig_publish(&rig, &c, CLIENT, &large);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_NOT_EVALUATED), 2);
	rig_close(&rig);
}

/* A client that does much that is observed does not hide events of connections. */
static void events_have_a_limit_of_their_own(void **state)
{
	unsigned policy = 0, ends = 0;
	uint64_t lost = 0;
	struct bp_event e;
	struct peer c;

	(void)state;
	open_rig();
	rule(BP_POLICY_OBSERVE, BP_POLICY_PUBLISH, "#");
	load();
	rig.in->record_mirrored = false; /* as in a gateway */
	c = connected("pump-1");
	for (unsigned i = 0; i < 3000; i++) {
		rig_publish_text(&rig, &c, "t/x", "1");
		while (bp_event_cursor_read(&cursor, &e, &lost) == BP_EVENT_GOT_RECORD)
			policy += e.type == BP_EVENT_POLICY;
	}
	rig_fin_both(&rig, &c);
	while (bp_event_cursor_read(&cursor, &e, &lost) == BP_EVENT_GOT_RECORD)
		ends += e.type == BP_EVENT_CONNECTION && e.action == BP_EVENT_CONNECTION_END;
	assert_int_equal(policy, 500);
	assert_int_equal(ends, 1);
	assert_int_equal(observed(), 3000);
	rig_close(&rig);
}

static void a_replay_has_all_events(void **state)
{
	unsigned policy = 0;
	uint64_t lost = 0;
	struct bp_event e;
	struct peer c;

	(void)state;
	open_rig();
	rule(BP_POLICY_OBSERVE, BP_POLICY_PUBLISH, "#");
	load();
	rig.in->record_mirrored = true;
	c = connected("pump-1");
	for (unsigned i = 0; i < 3000; i++) {
		rig_publish_text(&rig, &c, "t/x", "1");
		while (bp_event_cursor_read(&cursor, &e, &lost) == BP_EVENT_GOT_RECORD)
			policy += e.type == BP_EVENT_POLICY;
	}
	assert_int_equal(policy, 3000);
	rig_close(&rig);
}

static void event_texts(void **state)
{
	struct bp_event e;
	uint64_t lost = 0;
	struct peer c;

	(void)state;
	open_rig();
	rule(BP_POLICY_OBSERVE, BP_POLICY_PUBLISH, "t/#");
	load();
	c = connected("pump-1");
	rig_publish_text(&rig, &c, "t/x", "81");
	do
		assert_int_equal(bp_event_cursor_read(&cursor, &e, &lost), BP_EVENT_GOT_RECORD);
	while (e.type != BP_EVENT_POLICY);
	assert_int_equal(e.action, BP_POLICY_PUBLISH);
	assert_int_equal(e.reason, BP_POLICY_OBSERVE);
	assert_int_equal(e.number[0], 2);
	assert_int_equal(e.number[1], 2);
	assert_int_equal(e.text_len[0], 6);
	assert_int_equal(e.text_len[1], 5);
	assert_memory_equal(e.text, "pump-1r1t/x", 11);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_policy),
		cmocka_unit_test(observed_publication),
		cmocka_unit_test(allowed_topic),
		cmocka_unit_test(messages_that_differ),
		cmocka_unit_test(topics_in_turn),
		cmocka_unit_test(topics_of_another_client),
		cmocka_unit_test(more_topics_than_are_remembered),
		cmocka_unit_test(connects_and_wills),
		cmocka_unit_test(keep_alives_and_sizes),
		cmocka_unit_test(rates),
		cmocka_unit_test(invented_clients),
		cmocka_unit_test(user_names),
		cmocka_unit_test(user_of_a_long_connect),
		cmocka_unit_test(client_met_midstream),
		cmocka_unit_test(connect_of_a_search),
		cmocka_unit_test(subscriptions),
		cmocka_unit_test(every_split),
		cmocka_unit_test(connections_of_an_address),
		cmocka_unit_test(hours),
		cmocka_unit_test(cut_values),
		cmocka_unit_test(values_in_bursts),
		cmocka_unit_test(values_that_are_not_whole),
		cmocka_unit_test(packets_that_are_not_read),
		cmocka_unit_test(events_have_a_limit_of_their_own),
		cmocka_unit_test(a_replay_has_all_events),
		cmocka_unit_test(event_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
