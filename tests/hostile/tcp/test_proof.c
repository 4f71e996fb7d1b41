/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attack: an off-path attacker forges the frames of a client, a client is refused by the broker,
 * and a client retransmits. Only bytes that a broker would have read raise an alarm, exactly once.
 */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <string.h>

#include "stream_steps.h"

static void connect_bytes(struct bytes *b, uint8_t version)
{
	memset(b, 0, sizeof(*b));
	mq_connect(b, version, "x", 0);
}

static void nothing_told(void)
{
	assert_string_equal(told(), "");
	assert_int_equal(rig_count(&rig, BP_C_ALARM_RAISED), 0);
}

/* An off-path attacker sends a SYN that carries CONNECT and PUBLISH: no one answers it. */
static void spoofed_syn_with_data(void **state)
{
	struct bytes b;
	struct peer c;

	(void)state;
	open_rig();
	peer_init(&c, false, 1, 7000, 9);
	connect_bytes(&b, 4);
	hot(&b, "99");
	rig_segment(&rig, &c, CLIENT, TH_SYN, 7000, 0, b.p, b.n);
	nothing_told();
	rig_expire_all(&rig);
	assert_int_equal(rig_count(&rig, BP_C_UNESTABLISHED_BYTES_DISCARDED), b.n);
	/* the broker answers, and takes none of the data; the spoofed host resets */
	rig_segment(&rig, &c, CLIENT, TH_SYN, 7000, 0, b.p, b.n);
	rig_segment(&rig, &c, BROKER, TH_SYN | TH_ACK, 9, 7001, NULL, 0);
	assert_int_equal(rig_count(&rig, BP_C_UNESTABLISHED_BYTES_DISCARDED), 2 * b.n);
	rig_segment(&rig, &c, CLIENT, TH_RST, 7001, 0, NULL, 0);
	nothing_told();
	bytes_free(&b);
	rig_close(&rig);
}

/* The same attacker continues, without having seen the broker's number: with any number but the
 * true.
 */
static void spoofed_handshake(void **state)
{
	struct bytes b;
	struct peer c;

	(void)state;
	open_rig();
	peer_init(&c, false, 1, 7000, 0x12345678);
	connect_bytes(&b, 4);
	hot(&b, "99");
	rig_segment(&rig, &c, CLIENT, TH_SYN, 7000, 0, NULL, 0);
	rig_segment(&rig, &c, BROKER, TH_SYN | TH_ACK, 0x12345678, 7001, NULL, 0);
	for (uint32_t k = 0; k < 32; k++) {
		rig_segment(&rig, &c, CLIENT, TH_ACK, 7001, 0x12345679 + (1u << k), b.p, b.n);
		rig_segment(&rig, &c, CLIENT, TH_ACK, 7001, 0x12345679 - (1u << k), b.p, b.n);
	}
	assert_int_equal(rig_count(&rig, BP_C_SEG_ACK_INVALID), 64);
	/* nor does a CONNACK of his own help */
	c.seq[CLIENT] = 7001 + (uint32_t)b.n;
	c.seq[BROKER] = 0x12345679;
	rig_accept(&rig, &c, 4);
	nothing_told();
	bytes_free(&b);
	/* the true client comes through all the same */
	c.seq[CLIENT] = 7001;
	c.seq[BROKER] = 0x12345679;
	connect_bytes(&b, 4);
	rig_send_bytes(&rig, &c, CLIENT, &b);
	rig_accept(&rig, &c, 4);
	rig_publish_text(&rig, &c, "plant/oven0/temperature", "81");
	assert_int_equal(rig_count(&rig, BP_C_NOT_INSPECTED_NOT_MQTT), 0);
	rig_close(&rig);
}

/* A client publishes before its CONNACK: counted when the broker accepts, thrown away otherwise. */
static void before_connack(void **state)
{
	enum { ACCEPTED, REFUSED, RESET, TIMEOUT, WAYS };

	(void)state;
	for (unsigned version = 4; version <= 5; version++) {
		for (unsigned way = 0; way < WAYS; way++) {
			struct bytes b;
			struct peer c;

			open_rig();
			peer_init(&c, version & 1, 1, 0xffffff80u, 9);
			rig_handshake(&rig, &c);
			connect_bytes(&b, (uint8_t)version);
			rig_send_bytes(&rig, &c, CLIENT, &b);
			for (unsigned i = 0; i < 5; i++)
				rig_publish(&rig, &c, CLIENT,
					&(struct mq_publish){.version = (uint8_t)version,
						.topic = "plant/oven0/temperature",
						.payload = "81"});
			nothing_told();
			if (way == ACCEPTED)
				rig_accept(&rig, &c, (uint8_t)version);
			if (way == REFUSED) {
				mq_connack(&b, (uint8_t)version, version == 5 ? 0x87 : 5, 0, NULL);
				rig_send_bytes(&rig, &c, BROKER, &b);
			}
			if (way == RESET)
				rig_segment(&rig, &c, BROKER, TH_RST | TH_ACK, c.seq[BROKER],
					c.seq[CLIENT], NULL, 0);
			if (way == TIMEOUT)
				rig_expire_all(&rig);
			assert_int_equal(rig_told_count(&rig), way == ACCEPTED ? 5 : 0);
			assert_int_equal(rig_count(&rig, BP_C_UNESTABLISHED_BYTES_DISCARDED) != 0,
				way != ACCEPTED);
			rig_close(&rig);
		}
	}
}

/* More than may wait: the rest of the connection is searched, and read once it has proven itself.
 */
static void too_much_before_connack(void **state)
{
	struct bytes b;
	struct peer c;

	(void)state;
	rig_defaults(&rig);
	rig.mqtt.reorder_buffer = 4096;
	rig_open(&rig);
	rig_rules(&rig,
		(struct bp_rule_spec[]){rig_rule("r", "plant/+/temperature", BP_COND_GT, 80)}, 1);
	peer_init(&c, false, 1, 100, 9);
	rig_handshake(&rig, &c);
	connect_bytes(&b, 4);
	rig_send_bytes(&rig, &c, CLIENT, &b);
	for (unsigned i = 0; i < 500; i++)
		rig_publish_text(&rig, &c, "plant/oven0/temperature", "81");
	assert_int_equal(rig_count(&rig, BP_C_UNESTABLISHED_BUFFER_FULL), 1);
	assert_true(bp_mqtt_worker_carried(rig.in) < 4096);
	rig_accept(&rig, &c, 4);
	nothing_told();
	mq_empty(&b, MQ_PINGREQ);
	rig_send_bytes(&rig, &c, CLIENT, &b);
	mq_empty(&b, MQ_PINGRESP);
	rig_send_bytes(&rig, &c, BROKER, &b);
	rig_publish_text(&rig, &c, "plant/oven0/temperature", "82");
	assert_string_equal(told(), "82");
	rig_close(&rig);
}

/* Data in a SYN (RFC 7413): of them counts what the SYN-ACK acknowledges. */
static void fast_open(void **state)
{
	(void)state;
	for (unsigned taken = 0; taken < 3; taken++) {
		struct bytes b;
		struct peer c;
		uint32_t n;

		open_rig();
		peer_init(&c, false, 1, 0xfffffff0u, 9);
		connect_bytes(&b, 4);
		n = (uint32_t)(taken == 0 ? 0 : taken == 1 ? 5 : b.n);
		rig_segment(&rig, &c, CLIENT, TH_SYN, c.seq[CLIENT]++, 0, b.p, b.n);
		c.seq[CLIENT] += n;
		rig_segment(
			&rig, &c, BROKER, TH_SYN | TH_ACK, c.seq[BROKER]++, c.seq[CLIENT], NULL, 0);
		rig_ack(&rig, &c, CLIENT);
		if (n < b.n)
			rig_send(&rig, &c, CLIENT, b.p + n, b.n - n);
		bytes_free(&b);
		rig_accept(&rig, &c, 4);
		rig_publish_text(&rig, &c, "plant/oven0/temperature", "81");
		assert_string_equal(told(), "81");
		rig_close(&rig);
	}
}

/* A client publishes behind its DISCONNECT: a broker has closed the connection. */
static void after_disconnect(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < 3; kind++) {
		struct bytes b;
		struct peer c;

		open_rig();
		rig.bursts = kind == 2;
		peer_init(&c, false, 1, 100, 9);
		rig_connect(&rig, &c, kind == 1 ? 5 : 4, "x");
		memset(&b, 0, sizeof(b));
		mq_empty(&b, MQ_DISCONNECT);
		if (kind == 0)
			hot(&b, "99"); /* in the same segment, and in the next ones */
		rig_send_bytes(&rig, &c, kind == 1 ? BROKER : CLIENT, &b);
		rig_publish(&rig, &c, CLIENT,
			&(struct mq_publish){.version = kind == 1 ? 5 : 4,
				.topic = "plant/oven0/temperature",
				.payload = "99"});
		nothing_told();
		assert_true(rig_count(&rig, BP_C_AFTER_DISCONNECT) != 0);
		rig_fin_both(&rig, &c);
		assert_int_equal(rig_count(&rig, BP_C_CONN_FIN), 1);
		rig_close(&rig);
	}
}

static void qos2(struct peer *c, uint16_t id, bool dup, const char *value)
{
	rig_publish(&rig, c, CLIENT,
		&(struct mq_publish){.version = 4,
			.qos = 2,
			.id = id,
			.dup = dup,
			.topic = "plant/oven0/temperature",
			.payload = value});
}

static void ack(struct peer *c, unsigned from, uint8_t first, uint16_t id)
{
	struct bytes b = {0};

	mq_ack(&b, first, id);
	rig_send_bytes(&rig, c, from, &b);
}

/* A client sends a QoS 2 publication again and again, with DUP and without: it counts once. */
static void qos2_counts_once(void **state)
{
	struct peer c;

	(void)state;
	open_rig();
	peer_init(&c, false, 1, 100, 9);
	rig_connect(&rig, &c, 4, "x");
	for (unsigned use = 0; use < 2; use++) { /* the identifier is used again, for another one */
		for (unsigned i = 0; i < 4; i++)
			qos2(&c, 7, i % 2 == 1, use == 0 ? "81" : "82");
		assert_string_equal(told(), use == 0 ? "81" : "82");
		ack(&c, BROKER, MQ_PUBREC, 7);
		qos2(&c, 7, true, "81");
		assert_string_equal(told(), "");
		ack(&c, CLIENT, MQ_PUBREL, 7);
		ack(&c, BROKER, MQ_PUBCOMP, 7);
	}
	assert_int_equal(rig_count(&rig, BP_C_QOS2_DUPLICATE), 8);
	/* all identifiers that there are, and each once more */
	for (unsigned again = 0; again < 2; again++) {
		for (uint32_t id = 1; id <= UINT16_MAX; id++) {
			qos2(&c, (uint16_t)id, again, "83");
			if (id % 1024 == 0)
				rig_told_count(&rig);
		}
	}
	rig_told_count(&rig);
	assert_int_equal(rig_count(&rig, BP_C_QOS2_IDS_FULL), 0);
	assert_int_equal(rig_count(&rig, BP_C_ALARM_RAISED), 2 + UINT16_MAX);
	assert_true(bp_mqtt_worker_carried(rig.in) <= 16384);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spoofed_syn_with_data),
		cmocka_unit_test(spoofed_handshake),
		cmocka_unit_test(before_connack),
		cmocka_unit_test(too_much_before_connack),
		cmocka_unit_test(fast_open),
		cmocka_unit_test(after_disconnect),
		cmocka_unit_test(qos2_counts_once),
	};

	return cmocka_run_group_tests_name("proof", tests, NULL, NULL);
}
