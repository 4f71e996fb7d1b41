/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inspection begins in the middle of connections, or misses the first segments of some: it is read
 * on where both ends prove the position, and an attacker's frames prove nothing.
 */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include "stream_steps.h"

enum missed { MISSED_ALL, MISSED_SYN, MISSED_SYN_ACK, MISSED_NOTHING, MISSED };

/* The handshake, of which inspection misses a part. */
static void begin_missing(struct peer *c, uint32_t number, enum missed missed)
{
	peer_init(c, number & 1, number, 0xffffffe0u + number, 0x7ffffff0u);
	if (missed != MISSED_ALL && missed != MISSED_SYN)
		rig_segment(&rig, c, CLIENT, TH_SYN, c->seq[CLIENT], 0, NULL, 0);
	c->seq[CLIENT]++;
	if (missed != MISSED_ALL && missed != MISSED_SYN_ACK)
		rig_segment(
			&rig, c, BROKER, TH_SYN | TH_ACK, c->seq[BROKER], c->seq[CLIENT], NULL, 0);
	c->seq[BROKER]++;
	if (missed != MISSED_ALL)
		rig_ack(&rig, c, CLIENT);
}

static void publish(struct peer *c, uint8_t version, uint8_t qos, const char *value)
{
	rig_publish(&rig, c, CLIENT,
		&(struct mq_publish){.version = version,
			.qos = qos,
			.id = 77,
			.topic = "plant/oven0/temperature",
			.payload = value});
}

/* CONNECT and CONNACK prove both positions and the version, whatever of the handshake was missed.
 */
static void connect_and_connack(void **state)
{
	static const uint8_t versions[] = {3, 4, 5};
	uint32_t number = 0;

	(void)state;
	open_rig();
	for (unsigned missed = 0; missed < MISSED; missed++) {
		for (unsigned v = 0; v < 3; v++) {
			struct bytes b = {0};
			struct peer c;

			begin_missing(&c, ++number, missed);
			mq_connect(&b, versions[v], "x", 0);
			rig_send_bytes(&rig, &c, CLIENT, &b);
			assert_int_equal(rig_count(&rig, BP_C_CONN_ESTABLISHED), number - 1);
			rig_accept(&rig, &c, versions[v]);
			assert_int_equal(rig_count(&rig, BP_C_CONN_ESTABLISHED), number);
			publish(&c, versions[v], 0, "81");
			assert_string_equal(told(), "81");
			rig_fin_both(&rig, &c);
		}
	}
	assert_int_equal(rig_count(&rig, BP_C_CONN_FIN), number);
	rig_close(&rig);
}

/* The broker refuses, or another host answers: the connection stays unproven. */
static void refused_connection_stays_unproven(void **state)
{
	struct bytes b = {0};
	struct peer c, attacker;

	(void)state;
	open_rig();
	for (unsigned how = 0; how < 4; how++) {
		uint64_t proven = rig_count(&rig, BP_C_CONN_ESTABLISHED);

		begin_missing(&c, 10 + how, how % 2 ? MISSED_ALL : MISSED_SYN_ACK);
		mq_connect(&b, 4, "x", 0);
		rig_send_bytes(&rig, &c, CLIENT, &b);
		attacker = c;
		if (how >= 2) { /* an answer to something else: it acknowledges other bytes */
			attacker.seq[CLIENT] += how == 2 ? 1000 : -1000u;
			rig_accept(&rig, &attacker, 4);
		} else {
			mq_connack(&b, 4, 5, 0, NULL);
			rig_send_bytes(&rig, &attacker, BROKER, &b);
		}
		publish(&c, 4, 0, "99");
		assert_string_equal(told(), "");
		assert_int_equal(rig_count(&rig, BP_C_CONN_ESTABLISHED), proven);
	}
	rig_close(&rig);
}

/* Any exact request and answer prove a connection that was met later. */
static void request_and_answer(void **state)
{
	uint32_t number = 0;

	(void)state;
	open_rig();
	for (unsigned kind = 0; kind < 4; kind++) {
		struct bytes b = {0};
		struct peer c;

		peer_init(&c, false, ++number, 1000, 9);
		if (kind == 0)
			mq_subscribe(&b, 4, 5, "a/b");
		else if (kind == 3)
			mq_empty(&b, MQ_PINGREQ);
		else
			publish(&c, 4, (uint8_t)kind, "99");
		if (b.n != 0)
			rig_send_bytes(&rig, &c, CLIENT, &b);
		if (kind == 0)
			mq_suback(&b, 4, 5, 1);
		else if (kind == 3)
			mq_empty(&b, MQ_PINGRESP);
		else
			mq_ack(&b, kind == 1 ? MQ_PUBACK : MQ_PUBREC, 77);
		rig_send_bytes(&rig, &c, BROKER, &b);
		assert_string_equal(told(), "");
		if (kind != 3)
			publish(&c, 4, 0, "81");
		assert_string_equal(told(), kind != 3 ? "81" : "");
	}
	/* a PINGREQ alone does not show the version */
	assert_int_equal(rig_count(&rig, BP_C_CONN_ESTABLISHED), 3);
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_NO_VERSION), 1);
	rig_close(&rig);
}

/* A client publishes behind a DISCONNECT that a search came across: no one reads that. */
static void disconnect_in_a_search(void **state)
{
	struct bytes b = {0};
	struct peer c;

	(void)state;
	open_rig();
	peer_init(&c, false, 1, 1000, 9);
	publish(&c, 4, 1, "81");
	mq_empty(&b, MQ_DISCONNECT);
	rig_send_bytes(&rig, &c, CLIENT, &b);
	mq_ack(&b, MQ_PUBACK, 77);
	rig_send_bytes(&rig, &c, BROKER, &b);
	assert_int_equal(rig_count(&rig, BP_C_CONN_ESTABLISHED), 1);
	publish(&c, 4, 0, "99");
	assert_string_equal(told(), "");
	assert_int_equal(rig_count(&rig, BP_C_AFTER_DISCONNECT), 1);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connect_and_connack),
		cmocka_unit_test(refused_connection_stays_unproven),
		cmocka_unit_test(request_and_answer),
		cmocka_unit_test(disconnect_in_a_search),
	};

	return cmocka_run_group_tests_name("midstream", tests, NULL, NULL);
}
