/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams that are wrong: each is counted once by its reason, and not read any further. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "rig.h"

static struct rig rig;

static void open_rig(void)
{
	rig_defaults(&rig);
	rig.mqtt.strictness = BP_STRICTNESS_STANDARD;
	rig_open(&rig);
	rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "#", BP_COND_GT, 80)}, 1);
}

static uint64_t opaque_total(void)
{
	uint64_t n = 0;

	for (unsigned r = BP_C_NOT_INSPECTED_NOT_MQTT; r <= BP_C_NOT_INSPECTED_LAST; r++)
		n += rig_count(&rig, r);
	return n;
}

/* Sends `p` in segments of `size` bytes. */
static void send_cut(struct peer *c, unsigned from, const uint8_t *p, size_t n, size_t size)
{
	for (size_t at = 0; at < n; at += size)
		rig_send(&rig, c, from, p + at, n - at < size ? n - at : size);
}

struct fault {
	const char *name;
	uint8_t version;
	unsigned from;
	bp_counter_t reason;
	uint8_t n;
	uint8_t bytes[40];
};

#define BYTES(...)                                                                                 \
	sizeof((uint8_t[]){__VA_ARGS__}),                                                          \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

static const struct fault faults[] = {
	{"five bytes of length", 4, CLIENT, BP_C_NOT_INSPECTED_LENGTH,
		BYTES(0x30, 0xff, 0xff, 0xff, 0xff, 1)},
	{"type 0", 4, CLIENT, BP_C_NOT_INSPECTED_TYPE, BYTES(0x00, 0)},
	{"AUTH in 3.1.1", 4, CLIENT, BP_C_NOT_INSPECTED_TYPE, BYTES(0xf0, 0)},
	{"CONNACK from a client", 4, CLIENT, BP_C_NOT_INSPECTED_TYPE, BYTES(0x20, 2, 0, 0)},
	{"SUBACK from a client", 4, CLIENT, BP_C_NOT_INSPECTED_TYPE, BYTES(0x90, 3, 0, 1, 0)},
	{"SUBSCRIBE from a broker", 4, BROKER, BP_C_NOT_INSPECTED_TYPE,
		BYTES(0x82, 6, 0, 1, 0, 1, 'a', 0)},
	{"PINGREQ from a broker", 4, BROKER, BP_C_NOT_INSPECTED_TYPE, BYTES(0xc0, 0)},
	{"PUBREL without its flag", 4, CLIENT, BP_C_NOT_INSPECTED_FLAGS, BYTES(0x60, 2, 0, 1)},
	{"PUBACK with a flag", 4, BROKER, BP_C_NOT_INSPECTED_FLAGS, BYTES(0x41, 2, 0, 1)},
	{"QoS 3", 4, CLIENT, BP_C_NOT_INSPECTED_QOS, BYTES(0x36, 5, 0, 1, 't', 0, 1)},
	{"packet identifier 0", 4, CLIENT, BP_C_NOT_INSPECTED_PACKET_ID,
		BYTES(0x32, 5, 0, 1, 't', 0, 0)},
	{"PUBACK of 0", 4, BROKER, BP_C_NOT_INSPECTED_PACKET_ID, BYTES(0x40, 2, 0, 0)},
	{"topic not UTF-8", 4, CLIENT, BP_C_NOT_INSPECTED_TOPIC_UTF8,
		BYTES(0x30, 4, 0, 2, 0xc0, 0x80)},
	{"a surrogate", 4, CLIENT, BP_C_NOT_INSPECTED_TOPIC_UTF8,
		BYTES(0x30, 5, 0, 3, 0xed, 0xa0, 0x80)},
	{"NUL in the topic", 4, CLIENT, BP_C_NOT_INSPECTED_TOPIC_UTF8,
		BYTES(0x30, 5, 0, 3, 'a', 0, 'b')},
	{"a wildcard", 4, CLIENT, BP_C_NOT_INSPECTED_TOPIC_WILDCARD,
		BYTES(0x30, 5, 0, 3, 'a', '/', '+')},
	{"another wildcard", 4, CLIENT, BP_C_NOT_INSPECTED_TOPIC_WILDCARD,
		BYTES(0x30, 5, 0, 3, '#', 'a', 'b')},
	{"no topic", 4, CLIENT, BP_C_NOT_INSPECTED_TOPIC_EMPTY, BYTES(0x30, 3, 0, 0, '9')},
	{"no topic, no alias", 5, CLIENT, BP_C_NOT_INSPECTED_TOPIC_EMPTY,
		BYTES(0x30, 4, 0, 0, 0, '9')},
	{"topic beyond the packet", 4, CLIENT, BP_C_NOT_INSPECTED_TRUNCATED,
		BYTES(0x30, 3, 0, 2, 'a')},
	{"no room for a topic", 4, CLIENT, BP_C_NOT_INSPECTED_TRUNCATED, BYTES(0x30, 1, 0)},
	{"no room for an identifier", 4, CLIENT, BP_C_NOT_INSPECTED_TRUNCATED,
		BYTES(0x32, 4, 0, 1, 'a', 0)},
	{"PUBACK of one byte", 4, BROKER, BP_C_NOT_INSPECTED_TRUNCATED, BYTES(0x40, 1, 0)},
	{"PINGRESP with a body", 4, BROKER, BP_C_NOT_INSPECTED_TRUNCATED, BYTES(0xd0, 1, 0)},
	{"properties beyond the packet", 5, CLIENT, BP_C_NOT_INSPECTED_PROPERTY,
		BYTES(0x30, 5, 0, 1, 't', 9, 1)},
	{"a property beyond the properties", 5, CLIENT, BP_C_NOT_INSPECTED_PROPERTY,
		BYTES(0x30, 9, 0, 1, 't', 3, 0x03, 0, 5, 'a', 'b')},
	{"an unknown property", 5, CLIENT, BP_C_NOT_INSPECTED_PROPERTY,
		BYTES(0x30, 7, 0, 1, 't', 2, 0x7f, 0, '9')},
	{"a property of another packet", 5, CLIENT, BP_C_NOT_INSPECTED_PROPERTY,
		BYTES(0x30, 7, 0, 1, 't', 3, 0x21, 0, 5)},
	{"a property twice", 5, CLIENT, BP_C_NOT_INSPECTED_PROPERTY,
		BYTES(0x30, 8, 0, 1, 't', 4, 0x01, 0, 0x01, 0)},
	{"alias 0", 5, CLIENT, BP_C_NOT_INSPECTED_ALIAS, BYTES(0x30, 7, 0, 1, 't', 3, 0x23, 0, 0)},
	{"alias above the maximum", 5, CLIENT, BP_C_NOT_INSPECTED_ALIAS,
		BYTES(0x30, 7, 0, 1, 't', 3, 0x23, 0, 8)},
	{"a second CONNECT", 4, CLIENT, BP_C_NOT_INSPECTED_PROTOCOL,
		BYTES(0x10, 13, 0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 60, 0, 1, 'x')},
	{"a second CONNACK", 4, BROKER, BP_C_NOT_INSPECTED_PROTOCOL, BYTES(0x20, 2, 0, 0)},
};

/* Whole, in single bytes, and cut after the first byte; afterwards hot values must be ignored. */
static void each_fault(void **state)
{
	static const size_t sizes[] = {1000, 1, 2, 3};
	uint32_t number = 0;

	(void)state;
	open_rig();
	for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		for (unsigned k = 0; k < 4; k++) {
			const struct fault *f = &faults[i];
			uint64_t reason = rig_count(&rig, f->reason), all = opaque_total();
			uint64_t publishes;
			struct bytes b = {0};
			struct peer c;

			peer_init(&c, false, ++number, 1, 2);
			if (f->version == 5)
				rig_connect_alias(&rig, &c, "wrong", 7, 7);
			else
				rig_connect(&rig, &c, f->version, "wrong");
			assert_int_equal(opaque_total(), all);
			send_cut(&c, f->from, f->bytes, f->n, sizes[k]);
			if (rig_count(&rig, f->reason) != reason + 1 || opaque_total() != all + 1)
				fail_msg("%s, in segments of %zu: not counted as %s", f->name,
					sizes[k], bp_counter_info[f->reason].name);
			publishes = rig_count(&rig, BP_C_MQTT_PUBLISH);
			for (unsigned n = 0; n < 3; n++) {
				mq_publish(&b, &(struct mq_publish){.version = f->version,
						       .topic = "t",
						       .payload = "99"});
				rig_send_bytes(&rig, &c, n & 1, &b);
			}
			assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH), publishes);
			assert_int_equal(opaque_total(), all + 1);
			assert_int_equal(
				bp_mqtt_worker_carried(rig.in), 128 * number); /* the names */
		}
	}
	assert_int_equal(rig_told_count(&rig), 0);
	rig_close(&rig);
}

/* A stream that does not begin with CONNECT is another protocol, from either peer. */
static void not_mqtt(void **state)
{
	static const char *const first[] = {
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"\x16\x02\x00",
		"SSH-2.0-OpenSSH_9.2\r\n",
		"\x30\x06\x00\x01t99",
		"\xc0",
		"\xff\xff\xff\xff\xff\xff",
	};
	static const uint8_t ping[] = {0xc0, 0x00};

	(void)state;
	for (unsigned from = 0; from < 2; from++) {
		open_rig();
		for (unsigned i = 0; i < 6; i++) {
			struct peer c;
			size_t n = strlen(first[i]);

			if (from == BROKER && i > 2)
				continue;
			peer_init(&c, false, i + 1, 1, 2);
			rig_handshake(&rig, &c);
			if (i == 4)
				rig_send(&rig, &c, from, ping, 2);
			else
				send_cut(&c, from, (const uint8_t *)first[i], n, i % 2 ? 1 : n);
			assert_int_equal(rig_count(&rig, BP_C_NOT_INSPECTED_NOT_MQTT), i + 1);
			assert_int_equal(opaque_total(), i + 1);
			rig_publish_text(&rig, &c, "t", "99");
		}
		assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH), 0);
		assert_int_equal(bp_mqtt_worker_carried(rig.in), 0);
		rig_close(&rig);
	}
}

static void bad_connects(void **state)
{
	static const struct {
		uint8_t n;
		uint8_t bytes[24];
	} bad[] = {
		{BYTES(0x10, 13, 0, 4, 'M', 'Q', 'T', 'X', 4, 2, 0, 60, 0, 1, 'x')}, /* name */
		{BYTES(0x10, 13, 0, 4, 'M', 'Q', 'T', 'T', 6, 2, 0, 60, 0, 1, 'x')}, /* version */
		{BYTES(0x10, 13, 0, 4, 'M', 'Q', 'T', 'T', 4, 3, 0, 60, 0, 1,
			'x')}, /* reserved flag */
		{BYTES(0x10, 13, 0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 60, 0, 9,
			'x')}, /* identifier */
		{BYTES(0x10, 14, 0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 60, 0, 1, 'x', 'y')}, /* more */
		{BYTES(0x10, 2, 0, 4)},
		{BYTES(0x10, 0)},
	};

	(void)state;
	open_rig();
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		for (unsigned size = 1; size < 40; size += 19) {
			uint64_t before = rig_count(&rig, BP_C_NOT_INSPECTED_CONNECT);
			struct peer c;

			peer_init(&c, false, 100 * i + size, 1, 2);
			rig_handshake(&rig, &c);
			send_cut(&c, CLIENT, bad[i].bytes, bad[i].n, size);
			assert_int_equal(rig_count(&rig, BP_C_NOT_INSPECTED_CONNECT), before + 1);
			assert_int_equal(opaque_total(), before + 1);
			rig_publish_text(&rig, &c, "t", "99");
		}
	}
	assert_int_equal(rig_told_count(&rig), 0);
	assert_int_equal(bp_mqtt_worker_carried(rig.in), 0);
	rig_close(&rig);
}

static void refused_connection_is_not_inspected(void **state)
{
	(void)state;
	open_rig();
	for (uint8_t version = 3; version <= 5; version++) {
		struct bytes b = {0};
		struct peer c;

		peer_init(&c, false, version, 1, 2);
		rig_handshake(&rig, &c);
		mq_connect(&b, version, "unwelcome", 0);
		rig_send_bytes(&rig, &c, CLIENT, &b);
		mq_connack(&b, version, version == 5 ? 0x87 : 5, 0, NULL);
		rig_send_bytes(&rig, &c, BROKER, &b);
		assert_int_equal(rig_count(&rig, BP_C_NOT_INSPECTED_REFUSED), version - 2);
		rig_publish(&rig, &c, CLIENT,
			&(struct mq_publish){.version = version, .topic = "t", .payload = "99"});
	}
	assert_int_equal(opaque_total(), 3);
	assert_int_equal(rig_told_count(&rig), 0);
	rig_close(&rig);
}

/* A client need not wait for CONNACK; a broker may ask back (AUTH) before it. */
static void before_connack(void **state)
{
	static const uint8_t auth[] = {0xf0, 0x09, 0x18, 0x07, 0x15, 0, 4, 'S', 'A', 'S', 'L'};
	struct bytes b = {0};
	struct peer c;

	(void)state;
	open_rig();
	peer_init(&c, false, 1, 1, 2);
	rig_handshake(&rig, &c);
	/* with an authentication method, without which AUTH is a fault */
	mq_raw(&b, 0x10, "\0\4MQTT\5\2\0\74\7\25\0\4SASL\0\5eager", 25);
	mq_publish(&b, &(struct mq_publish){.version = 5, .topic = "t", .payload = "81"});
	rig_send_bytes(&rig, &c, CLIENT, &b);
	rig_send(&rig, &c, BROKER, auth, sizeof(auth));
	rig_send(&rig, &c, CLIENT, auth, sizeof(auth));
	mq_connack(&b, 5, 0, 0, NULL);
	rig_send_bytes(&rig, &c, BROKER, &b);
	rig_publish(&rig, &c, CLIENT,
		&(struct mq_publish){.version = 5, .topic = "t", .payload = "82"});
	assert_int_equal(rig_told_count(&rig), 2);
	assert_int_equal(opaque_total(), 0);
	/* but anything else before it is out of turn */
	peer_init(&c, false, 2, 1, 2);
	rig_handshake(&rig, &c);
	mq_connect(&b, 5, "early", 0);
	rig_send_bytes(&rig, &c, CLIENT, &b);
	mq_empty(&b, MQ_PINGRESP);
	rig_send_bytes(&rig, &c, BROKER, &b);
	assert_int_equal(rig_count(&rig, BP_C_NOT_INSPECTED_PROTOCOL), 1);
	rig_close(&rig);
}

/* A connection that was given up holds nothing, and its end is still noticed. */
static void not_inspected_flow_holds_no_memory(void **state)
{
	static const uint8_t wrong[] = {0x36, 2, 0, 0};
	struct bytes b = {0};
	struct peer c;

	(void)state;
	open_rig();
	peer_init(&c, false, 1, 1, 2);
	rig_connect_alias(&rig, &c, "x", 9, 9);
	rig_publish(&rig, &c, CLIENT,
		&(struct mq_publish){.version = 5, .topic = "t", .alias = 1, .payload = "1"});
	/* ahead in both directions, and half a packet from the broker */
	rig_segment(&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT] + 4, c.seq[BROKER], "later", 5);
	mq_publish(&b, &(struct mq_publish){.version = 5, .topic = "t", .payload = "1"});
	rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER] + 50, c.seq[CLIENT], b.p, b.n);
	rig_segment(&rig, &c, BROKER, TH_ACK | TH_FIN, c.seq[BROKER] + 90, c.seq[CLIENT], b.p, b.n);
	bytes_free(&b);
	assert_true(bp_mqtt_worker_carried(rig.in) > 3 * 128);
	rig_send(&rig, &c, CLIENT, wrong, 4);
	assert_int_equal(rig_count(&rig, BP_C_NOT_INSPECTED_QOS), 1);
	assert_int_equal(
		bp_mqtt_worker_carried(rig.in), 128); /* the name, for `show connections` */
	c.seq[CLIENT] += 5;
	rig_segment(&rig, &c, CLIENT, TH_ACK | TH_FIN, c.seq[CLIENT], c.seq[BROKER], NULL, 0);
	rig_ack(&rig, &c, BROKER);
	assert_int_equal(rig_count(&rig, BP_C_CONN_FIN), 1);
	assert_int_equal(bp_mqtt_worker_carried(rig.in), 0);
	rig_close(&rig);
}

/* Damaged streams: no false alarm, and no leak. */
static void damaged_streams_raise_no_false_alarm(void **state)
{
	uint64_t s = 4242;

	(void)state;
	open_rig();
	for (unsigned round = 0; round < 4000; round++) {
		uint8_t version = (uint8_t)(4 + (round & 1));
		struct bytes b = {0};
		struct peer c;

		peer_init(&c, false, 1 + round % 900, (uint32_t)test_random(&s), 2);
		rig_handshake(&rig, &c);
		mq_connect(&b, version, "d", 5);
		for (unsigned i = 0; i < 5; i++)
			mq_publish(&b, &(struct mq_publish){.version = version,
					       .qos = (uint8_t)(i % 3),
					       .id = 3,
					       .alias = (uint16_t)(i % 3),
					       .topic = "abc/def",
					       .payload = "12"});
		for (unsigned i = 1 + test_below(&s, 4); i != 0; i--)
			b.p[test_below(&s, (uint32_t)b.n)] ^= (uint8_t)(1 << test_below(&s, 8));
		send_cut(&c, CLIENT, b.p, b.n, 1 + test_below(&s, (uint32_t)b.n));
		bytes_free(&b);
		mq_connack(&b, version, 0, 3, NULL);
		b.p[test_below(&s, (uint32_t)b.n)] ^= (uint8_t)(1 << test_below(&s, 8));
		rig_send_bytes(&rig, &c, BROKER, &b);
		if (round % 3 == 0)
			rig_segment(&rig, &c, CLIENT, TH_RST, c.seq[CLIENT], 0, NULL, 0);
	}
	assert_true(opaque_total() > 1000);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_fault),
		cmocka_unit_test(not_mqtt),
		cmocka_unit_test(bad_connects),
		cmocka_unit_test(refused_connection_is_not_inspected),
		cmocka_unit_test(before_connack),
		cmocka_unit_test(not_inspected_flow_holds_no_memory),
		cmocka_unit_test(damaged_streams_raise_no_false_alarm),
	};

	return cmocka_run_group_tests_name("malformed", tests, NULL, NULL);
}
