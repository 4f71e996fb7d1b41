/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection of which bytes are missing: in a packet, over its end, in the CONNECT; and found
 * again. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <string.h>

#include "midstream_steps.h"

static void start(struct peer *c, uint32_t number, uint8_t version)
{
	peer_init(c, false, number, 0xfffffd00u, 0xffffff00u);
	if (version == 5)
		rig_connect_alias(&rig, c, "gap", 20, 20);
	else
		rig_connect(&rig, c, version, "gap");
}

/* The broker acknowledges what never came by. */
static void gap_inside(void **state)
{
	static char payload[5000];
	struct peer c;
	struct bytes b = {0};

	(void)state;
	open_rig();
	memset(payload, '1', sizeof(payload));
	for (unsigned wanted = 0; wanted < 2; wanted++) {
		const char *topic = wanted ? "t/big" : "other/big";

		start(&c, 1 + wanted, 4);
		mq_publish(&b, &(struct mq_publish){.version = 4,
				       .topic = topic,
				       .payload = payload,
				       .payload_len = sizeof(payload)});
		rig_send(&rig, &c, CLIENT, b.p, 1000);
		c.seq[CLIENT] += 1500;
		rig_send(&rig, &c, CLIENT, b.p + 2500, b.n - 2500); /* waits */
		publish(&c, 4, 0, 0, "85");                         /* waits too */
		assert_string_equal(told(), "");
		rig_ack(&rig, &c, BROKER);
		assert_int_equal(rig_count(&rig, BP_C_GAP_LOST), 1500 * (1 + wanted));
		assert_int_equal(rig_count(&rig, BP_C_GAP_IN_PACKET), 1 + wanted);
		assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH_INCOMPLETE), wanted);
		assert_string_equal(told(), "85");
		publish(&c, 4, 0, 0, "86");
		assert_string_equal(told(), "86");
		bytes_free(&b);
	}
	/* exactly to the packet's end, and nothing waiting */
	start(&c, 3, 4);
	mq_publish(&b, &(struct mq_publish){.version = 4,
			       .topic = "t/big",
			       .payload = payload,
			       .payload_len = sizeof(payload)});
	rig_send(&rig, &c, CLIENT, b.p, 100);
	c.seq[CLIENT] += (uint32_t)b.n - 100;
	rig_ack(&rig, &c, BROKER);
	publish(&c, 4, 0, 0, "87");
	assert_string_equal(told(), "87");
	assert_int_equal(rig_count(&rig, BP_C_GAP_IN_PACKET), 3);
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_STARTED), 0);
	bytes_free(&b);
	/* two gaps in one packet, acknowledged at once */
	start(&c, 4, 4);
	mq_publish(&b, &(struct mq_publish){.version = 4,
			       .topic = "t/big",
			       .payload = payload,
			       .payload_len = sizeof(payload)});
	rig_send(&rig, &c, CLIENT, b.p, 100);
	c.seq[CLIENT] += 900;
	rig_send(&rig, &c, CLIENT, b.p + 1000, 1000);
	c.seq[CLIENT] += 1000;
	rig_send(&rig, &c, CLIENT, b.p + 3000, b.n - 3000);
	publish(&c, 4, 0, 0, "88");
	rig_ack(&rig, &c, BROKER);
	assert_string_equal(told(), "88");
	assert_int_equal(rig_count(&rig, BP_C_GAP_IN_PACKET), 5);
	bytes_free(&b);
	rig_close(&rig);
}

/* Over a boundary: searched, and found by the next exchange; the version is known already. */
static void gap_over_boundary(void **state)
{
	struct peer c;
	struct bytes b = {0};

	(void)state;
	open_rig();
	start(&c, 1, 4);
	publish(&c, 4, 0, 0, "81");
	c.seq[CLIENT] += 333;
	publish(&c, 4, 0, 0, "82");
	rig_ack(&rig, &c, BROKER);
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_STARTED), 1);
	publish(&c, 4, 0, 0, "83");
	assert_string_equal(told(), "81");
	ping(&c);
	answer(&c, MQ_PINGRESP, 0);
	publish(&c, 4, 0, 0, "84");
	assert_string_equal(told(), "84");
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_CONFIRMED), 1);
	/* inside a fixed header */
	start(&c, 2, 4);
	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = "85"});
	rig_send(&rig, &c, CLIENT, b.p, 1);
	c.seq[CLIENT] += (uint32_t)b.n - 1;
	rig_ack_all(&rig, &c, CLIENT);
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_STARTED), 2);
	assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH_INCOMPLETE), 1);
	publish(&c, 4, 1, 9, "86");
	answer(&c, MQ_PUBACK, 9);
	publish(&c, 4, 0, 0, "87");
	assert_string_equal(told(), "87");
	bytes_free(&b);
	/* beyond the packet under way */
	start(&c, 3, 4);
	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = "85"});
	rig_send(&rig, &c, CLIENT, b.p, b.n - 1);
	c.seq[CLIENT] += 2;
	rig_ack_all(&rig, &c, CLIENT);
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_STARTED), 3);
	assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH_INCOMPLETE), 2);
	bytes_free(&b);
	rig_close(&rig);
}

/* Bytes of the CONNECT are lost: no version, so neither direction is read until one is proven. */
static void gap_in_connect(void **state)
{
	struct peer c;
	struct bytes b = {0};

	(void)state;
	open_rig();
	peer_init(&c, false, 1, 5, 6);
	rig_handshake(&rig, &c);
	mq_connect(&b, 4, "lossy-client", 0);
	rig_send(&rig, &c, CLIENT, b.p, 10);
	c.seq[CLIENT] += (uint32_t)b.n - 10;
	bytes_free(&b);
	mq_connack(&b, 4, 0, 0, NULL);
	rig_send_bytes(&rig, &c, BROKER, &b);
	rig_ack(&rig, &c, CLIENT);
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_STARTED), 2);
	publish(&c, 4, 1, 3, "81");
	answer(&c, MQ_PUBACK, 3);
	publish(&c, 4, 0, 0, "82");
	assert_string_equal(told(), "82");
	for (unsigned r = BP_C_NOT_INSPECTED_NOT_MQTT; r <= BP_C_NOT_INSPECTED_LAST; r++)
		assert_int_equal(rig_count(&rig, r), 0);
	/* lost after the CONNECT, before the CONNACK: this one is still due */
	peer_init(&c, false, 2, 5, 6);
	rig_handshake(&rig, &c);
	mq_connect(&b, 4, "hasty", 0);
	rig_send_bytes(&rig, &c, CLIENT, &b);
	c.seq[CLIENT] += 100;
	mq_connack(&b, 4, 0, 0, NULL);
	rig_send_bytes(&rig, &c, BROKER, &b);
	rig_ack(&rig, &c, CLIENT);
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_STARTED), 3);
	publish(&c, 4, 1, 3, "83");
	answer(&c, MQ_PUBACK, 3);
	publish(&c, 4, 0, 0, "84");
	assert_string_equal(told(), "84");
	/* half of the CONNACK is lost */
	peer_init(&c, false, 3, 5, 6);
	rig_handshake(&rig, &c);
	mq_connect(&b, 5, "deaf", 0);
	rig_send_bytes(&rig, &c, CLIENT, &b);
	mq_connack(&b, 5, 0, 9, NULL);
	rig_send(&rig, &c, BROKER, b.p, 4);
	c.seq[BROKER] += (uint32_t)b.n - 4;
	bytes_free(&b);
	rig_ack(&rig, &c, CLIENT);
	publish(&c, 5, 1, 3, "85");
	answer(&c, MQ_PUBACK, 3);
	publish(&c, 5, 0, 0, "86");
	assert_string_equal(told(), "86");
	for (unsigned r = BP_C_NOT_INSPECTED_NOT_MQTT; r <= BP_C_NOT_INSPECTED_LAST; r++)
		assert_int_equal(rig_count(&rig, r), 0);
	rig_close(&rig);
}

/* Publications evaluated before a loss are retransmitted after it: they must not be evaluated
 * again. */
static void retransmission_while_resyncing(void **state)
{
	struct peer c;
	uint32_t first, second;

	(void)state;
	open_rig();
	start(&c, 1, 4);
	first = c.seq[CLIENT];
	publish(&c, 4, 1, 1, "81");
	second = c.seq[CLIENT];
	publish(&c, 4, 0, 0, "82");
	assert_string_equal(told(), "81 82");
	c.seq[CLIENT] += 50;
	rig_ack_all(&rig, &c, CLIENT);
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_STARTED), 1);
	/* the client knows nothing of the acknowledgement yet and sends both again */
	c.seq[CLIENT] = first;
	publish(&c, 4, 1, 1, "81");
	answer(&c, MQ_PUBACK, 1);
	c.seq[CLIENT] = second;
	publish(&c, 4, 0, 0, "82");
	assert_string_equal(told(), "");
	c.seq[CLIENT] += 50;
	publish(&c, 4, 1, 2, "83");
	answer(&c, MQ_PUBACK, 2);
	publish(&c, 4, 0, 0, "84");
	assert_string_equal(told(), "84");
	rig_close(&rig);
}

/* Aliases: a lost packet may have mapped them again. */
static void aliases_after_a_gap(void **state)
{
	struct peer c;
	struct bytes b = {0};
	struct mq_publish by_alias = {.version = 5, .alias = 1, .topic = "", .payload = "81"};
	struct mq_publish map = {.version = 5, .alias = 1, .topic = "t/a", .payload = "1"};
	static char filler[2000];

	(void)state;
	open_rig();
	start(&c, 1, 5);
	rig_publish(&rig, &c, CLIENT, &map);
	rig_publish(&rig, &c, CLIENT, &by_alias);
	assert_string_equal(told(), "81");
	/* a gap whose packet's head was read: the aliases are still right */
	memset(filler, ' ', sizeof(filler));
	mq_publish(&b, &(struct mq_publish){.version = 5,
			       .topic = "t/f",
			       .payload = filler,
			       .payload_len = sizeof(filler)});
	rig_send(&rig, &c, CLIENT, b.p, 100);
	c.seq[CLIENT] += (uint32_t)b.n - 100;
	rig_ack(&rig, &c, BROKER);
	rig_publish(&rig, &c, CLIENT, &by_alias);
	assert_string_equal(told(), "81");
	bytes_free(&b);
	/* a gap in the head itself */
	mq_publish(&b, &(struct mq_publish){
			       .version = 5, .alias = 1, .topic = "else/where", .payload = "1"});
	rig_send(&rig, &c, CLIENT, b.p, 4);
	c.seq[CLIENT] += (uint32_t)b.n - 4;
	rig_ack_all(&rig, &c, CLIENT);
	assert_int_equal(rig_count(&rig, BP_C_GAP_IN_PACKET), 2);
	rig_publish(&rig, &c, CLIENT, &by_alias);
	assert_string_equal(told(), "");
	assert_int_equal(rig_count(&rig, BP_C_ALIAS_UNMAPPED), 1);
	bytes_free(&b);
	/* a search forgets them too */
	rig_publish(&rig, &c, CLIENT, &map);
	c.seq[CLIENT] += 10;
	rig_ack(&rig, &c, BROKER);
	publish(&c, 5, 1, 4, "2");
	answer(&c, MQ_PUBACK, 4);
	rig_publish(&rig, &c, CLIENT, &by_alias);
	assert_string_equal(told(), "");
	assert_int_equal(rig_count(&rig, BP_C_ALIAS_UNMAPPED), 2);
	rig_publish(&rig, &c, CLIENT, &map);
	rig_publish(&rig, &c, CLIENT, &by_alias);
	assert_string_equal(told(), "81");
	rig_close(&rig);
}

/* Waiting data is read because of an ACK of the other side: the numbers of that frame prove
 * nothing. */
static void held_and_gap_in_both(void **state)
{
	static char payload[3000];
	struct peer c;
	struct bytes b = {0};
	uint32_t client_at;

	(void)state;
	open_rig();
	start(&c, 1, 4);
	memset(payload, 'y', sizeof(payload));
	/* the client's direction is lost... */
	c.seq[CLIENT] += 40;
	rig_ack(&rig, &c, BROKER);
	client_at = c.seq[CLIENT];
	/* ...and guessed at: it asks 5, and the guess begins behind what the broker has seen */
	publish(&c, 4, 1, 5, "81");
	/* the broker's answer waits behind a hole, with an acknowledgement from before the question
	 */
	mq_publish(&b, &(struct mq_publish){.version = 4,
			       .topic = "d",
			       .payload = payload,
			       .payload_len = sizeof(payload)});
	rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER], client_at, b.p, 1000);
	c.seq[BROKER] += 2000;
	rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER], client_at, b.p + 2000, b.n - 2000);
	c.seq[BROKER] += (uint32_t)b.n - 2000;
	bytes_free(&b);
	mq_ack(&b, MQ_PUBACK, 5);
	rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER], client_at, b.p, b.n);
	c.seq[BROKER] += (uint32_t)b.n;
	bytes_free(&b);
	rig_ack(&rig, &c, CLIENT); /* the hole is lost: all is read now */
	assert_int_equal(rig_count(&rig, BP_C_GAP_IN_PACKET), 1);
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_CONFIRMED), 0);
	publish(&c, 4, 0, 0, "82");
	assert_string_equal(told(), "");
	ping(&c);
	rig_advance(&rig, 20000000000ull);
	ping(&c);
	answer(&c, MQ_PINGRESP, 0);
	publish(&c, 4, 0, 0, "83");
	assert_string_equal(told(), "83");
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gap_inside),
		cmocka_unit_test(gap_over_boundary),
		cmocka_unit_test(gap_in_connect),
		cmocka_unit_test(retransmission_while_resyncing),
		cmocka_unit_test(aliases_after_a_gap),
		cmocka_unit_test(held_and_gap_in_both),
	};

	return cmocka_run_group_tests_name("resync_gap", tests, NULL, NULL);
}
