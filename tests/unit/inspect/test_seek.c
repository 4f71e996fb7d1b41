/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections met in the middle and bytes lost for good: nothing is judged before a boundary is
 * proven, everything after.
 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"

static struct rig rig;

static void open_rig(void)
{
	rig_defaults(&rig);
	rig_open(&rig);
	rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "t/#", BP_COND_GT, 80)}, 1);
}

static const char *told(void)
{
	return rig_told_values(&rig);
}

static void publish(struct peer *c, uint8_t version, uint8_t qos, uint16_t id, const char *value)
{
	rig_publish(&rig, c, CLIENT,
		&(struct mq_publish){.version = version,
			.qos = qos,
			.id = id,
			.topic = "t/x",
			.payload = value});
}

static void answer(struct peer *c, uint8_t first, uint16_t id)
{
	struct bytes b = {0};

	if (first == MQ_PINGRESP)
		mq_empty(&b, first);
	else
		mq_ack(&b, first, id);
	rig_send_bytes(&rig, c, BROKER, &b);
}

static void ping(struct peer *c)
{
	struct bytes b = {0};

	mq_empty(&b, MQ_PINGREQ);
	rig_send_bytes(&rig, c, CLIENT, &b);
}

/* Somewhere in a connection that is long under way. */
static void midway(struct peer *c, uint32_t number)
{
	peer_init(c, number & 1, number, 0xffffff80u + number, 0xfffffff0u);
}

/* 3.1.1: a PUBLISH whose payload begins like no property length of version 5 tells them apart. */
static void proven_by_puback(void **state)
{
	struct peer c;

	(void)state;
	open_rig();
	midway(&c, 1);
	publish(&c, 4, 1, 5, "81");
	assert_string_equal(told(), ""); /* nothing is judged from a guess */
	answer(&c, MQ_PUBACK, 5);
	assert_int_equal(rig_count(&rig, BP_C_SEEK_PROVEN), 2); /* both directions */
	publish(&c, 4, 0, 0, "82");
	publish(&c, 4, 1, 6, "83");
	assert_string_equal(told(), "82 83");
	assert_int_equal(rig_count(&rig, BP_C_FLOW_MIDWAY), 1);
	assert_int_equal(rig_count(&rig, BP_C_SEEK_ENTERED), 2);
	rig_close(&rig);
}

static void proven_by_others(void **state)
{
	struct peer c;
	struct bytes b = {0};

	(void)state;
	open_rig();
	/* PINGREQ tells no version; the PUBLISH before it does */
	midway(&c, 2);
	publish(&c, 4, 0, 0, "81");
	ping(&c);
	answer(&c, MQ_PINGRESP, 0);
	publish(&c, 4, 0, 0, "82");
	assert_string_equal(told(), "82");
	/* SUBSCRIBE of 5.0 with its property length */
	midway(&c, 3);
	mq_subscribe(&b, 5, 9, "a/b");
	rig_send_bytes(&rig, &c, CLIENT, &b);
	mq_suback(&b, 5, 9, 0);
	rig_send_bytes(&rig, &c, BROKER, &b);
	publish(&c, 5, 0, 0, "83");
	assert_string_equal(told(), "83");
	/* QoS 2 */
	midway(&c, 4);
	publish(&c, 4, 2, 7, "1");
	answer(&c, MQ_PUBREC, 7);
	answer(&c, MQ_PUBREC, 8); /* a stray one does no harm */
	publish(&c, 4, 2, 8, "84");
	assert_string_equal(told(), "84");
	/* the broker's PUBLISH, the client's PUBACK */
	midway(&c, 5);
	rig_publish(&rig, &c, BROKER,
		&(struct mq_publish){
			.version = 4, .qos = 1, .id = 3, .topic = "t/down", .payload = "9"});
	mq_ack(&b, MQ_PUBACK, 3);
	rig_send_bytes(&rig, &c, CLIENT, &b);
	publish(&c, 4, 0, 0, "85");
	assert_string_equal(told(), "85");
	rig_close(&rig);
}

static void no_proof(void **state)
{
	struct peer c;

	(void)state;
	open_rig();
	/* another identifier */
	midway(&c, 1);
	publish(&c, 4, 1, 5, "81");
	answer(&c, MQ_PUBACK, 6);
	publish(&c, 4, 0, 0, "82");
	assert_string_equal(told(), "");
	/* an answer that does not acknowledge the question */
	midway(&c, 2);
	publish(&c, 4, 1, 5, "81");
	c.seq[CLIENT]--;
	answer(&c, MQ_PUBACK, 5);
	c.seq[CLIENT]++;
	publish(&c, 4, 0, 0, "82");
	assert_string_equal(told(), "");
	/* another type of answer */
	midway(&c, 3);
	publish(&c, 4, 1, 5, "81");
	answer(&c, MQ_PUBREC, 5);
	publish(&c, 4, 0, 0, "82");
	assert_string_equal(told(), "");
	/* an answer before the question */
	midway(&c, 4);
	answer(&c, MQ_PUBACK, 5);
	publish(&c, 4, 1, 5, "81");
	publish(&c, 4, 0, 0, "82");
	assert_string_equal(told(), "");
	assert_int_equal(rig_count(&rig, BP_C_SEEK_PROVEN), 0);
	/* QoS 0 alone is never proven */
	midway(&c, 5);
	for (unsigned i = 0; i < 50; i++)
		publish(&c, 4, 0, 0, "99");
	assert_string_equal(told(), "");
	rig_close(&rig);
}

/* What both versions allow proves a boundary, but is not read. */
static void version_unknown(void **state)
{
	struct peer c;
	static const uint8_t either[] = {
		0, '9', '9'}; /* 5.0: no properties and "99"; 3.1.1: NUL... */

	(void)state;
	open_rig();
	midway(&c, 1);
	ping(&c);
	answer(&c, MQ_PINGRESP, 0);
	assert_int_equal(rig_count(&rig, BP_C_SEEK_NO_VERSION), 1);
	rig_publish(&rig, &c, CLIENT,
		&(struct mq_publish){.version = 4,
			.qos = 1,
			.id = 1,
			.topic = "t/x",
			.payload = either,
			.payload_len = 3});
	answer(&c, MQ_PUBACK, 1);
	assert_int_equal(rig_count(&rig, BP_C_SEEK_NO_VERSION), 2);
	publish(&c, 5, 0, 0, "98");
	assert_string_equal(told(), "");
	assert_int_equal(rig_count(&rig, BP_C_SEEK_PROVEN), 0);
	/* properties settle it: with them this is no 3.1.1... and an alias is 5.0 for sure */
	rig_publish(&rig, &c, CLIENT,
		&(struct mq_publish){
			.version = 5, .qos = 1, .id = 2, .alias = 3, .topic = "", .payload = "97"});
	answer(&c, MQ_PUBACK, 2);
	assert_int_equal(rig_count(&rig, BP_C_SEEK_PROVEN), 2);
	assert_string_equal(told(), "");
	publish(&c, 5, 0, 0, "96");
	assert_string_equal(told(), "96");
	/* the alias was mapped before we came */
	rig_publish(&rig, &c, CLIENT,
		&(struct mq_publish){.version = 5, .alias = 3, .topic = "", .payload = "95"});
	assert_string_equal(told(), "");
	assert_int_equal(rig_count(&rig, BP_C_ALIAS_UNMAPPED), 1);
	rig_close(&rig);
}

/* Two directions whose guesses need different versions can't both be right. */
static void versions_contradict(void **state)
{
	struct peer c;
	struct bytes b = {0};

	(void)state;
	open_rig();
	midway(&c, 1);
	publish(&c, 4, 1, 5, "81"); /* 3.1.1 only */
	rig_publish(&rig, &c, BROKER,
		&(struct mq_publish){.version = 5,
			.qos = 1,
			.id = 2,
			.alias = 1,
			.topic = "",
			.payload = "1"}); /* 5.0 only */
	answer(&c, MQ_PUBACK, 5);
	assert_int_equal(rig_count(&rig, BP_C_SEEK_PROVEN), 0);
	publish(&c, 4, 0, 0, "82");
	assert_string_equal(told(), "");
	/* both begin again */
	publish(&c, 4, 1, 6, "83");
	mq_ack(&b, MQ_PUBACK, 6);
	rig_send_bytes(&rig, &c, BROKER, &b);
	assert_int_equal(rig_count(&rig, BP_C_SEEK_PROVEN), 2);
	publish(&c, 4, 0, 0, "84");
	assert_string_equal(told(), "84");
	rig_close(&rig);
}

/* Segments that begin inside a payload, and packets that segments cut. */
static void from_inside(void **state)
{
	static char payload[3000];
	struct peer c;
	struct bytes b = {0};

	(void)state;
	open_rig();
	memset(payload, 'x', sizeof(payload));
	midway(&c, 1);
	rig_send(&rig, &c, CLIENT, payload, 1000);
	rig_send(&rig, &c, CLIENT, payload, 500);
	publish(&c, 4, 0, 0, "90"); /* a boundary: the guess begins here */
	/* cut over three segments, the head in the first */
	mq_publish(&b, &(struct mq_publish){.version = 4,
			       .qos = 1,
			       .id = 2,
			       .topic = "t/long",
			       .payload = payload,
			       .payload_len = sizeof(payload)});
	rig_send(&rig, &c, CLIENT, b.p, 700);
	rig_send(&rig, &c, CLIENT, b.p + 700, 1400);
	/* the acknowledgement must cover all of it */
	answer(&c, MQ_PUBACK, 2);
	assert_int_equal(rig_count(&rig, BP_C_SEEK_PROVEN), 0);
	rig_send(&rig, &c, CLIENT, b.p + 2100, b.n - 2100);
	answer(&c, MQ_PUBACK, 2);
	assert_int_equal(rig_count(&rig, BP_C_SEEK_PROVEN), 2);
	publish(&c, 4, 0, 0, "91");
	assert_string_equal(told(), "91");
	/* proven in the middle of a packet: its rest is skipped by its length */
	midway(&c, 2);
	publish(&c, 4, 1, 7, "1");
	rig_send(&rig, &c, CLIENT, b.p, 1000);
	answer(&c, MQ_PUBACK, 7);
	rig_send(&rig, &c, CLIENT, b.p + 1000, b.n - 1000);
	publish(&c, 4, 0, 0, "92");
	assert_string_equal(told(), "92");
	bytes_free(&b);
	rig_close(&rig);
}

/* A client that keeps several publications on their way asks before it is answered. */
static void pipelined(void **state)
{
	struct peer c;

	(void)state;
	open_rig();
	midway(&c, 1);
	for (uint16_t id = 1; id <= 20; id++)
		publish(&c, 4, 1, id, "81");
	for (uint16_t id = 1; id <= 20; id++) {
		answer(&c, MQ_PUBACK, id);
		publish(&c, 4, 1, (uint16_t)(id + 20), "82");
	}
	assert_int_equal(rig_count(&rig, BP_C_SEEK_PROVEN), 2);
	assert_string_equal(told(), "82 82 82 82 82 82 82 82 82 82 82 82 82 82 82 82 82 82 82 82");
	/* a question whose answer was missed does not stand in the way for ever */
	midway(&c, 2);
	publish(&c, 4, 1, 1, "81");
	for (uint16_t id = 2; id < 14; id++) {
		rig_advance(&rig, 1500000000ull);
		publish(&c, 4, 1, id, "83");
		answer(&c, MQ_PUBACK, id);
	}
	assert_int_equal(rig_count(&rig, BP_C_SEEK_PROVEN), 4);
	assert_true(rig_told_count(&rig) >= 1);
	rig_close(&rig);
}

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
		assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH_LOST), wanted);
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
	assert_int_equal(rig_count(&rig, BP_C_SEEK_ENTERED), 0);
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
	assert_int_equal(rig_count(&rig, BP_C_SEEK_ENTERED), 1);
	publish(&c, 4, 0, 0, "83");
	assert_string_equal(told(), "81");
	ping(&c);
	answer(&c, MQ_PINGRESP, 0);
	publish(&c, 4, 0, 0, "84");
	assert_string_equal(told(), "84");
	assert_int_equal(rig_count(&rig, BP_C_SEEK_PROVEN), 1);
	/* inside a fixed header */
	start(&c, 2, 4);
	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = "85"});
	rig_send(&rig, &c, CLIENT, b.p, 1);
	c.seq[CLIENT] += (uint32_t)b.n - 1;
	rig_ack(&rig, &c, BROKER);
	assert_int_equal(rig_count(&rig, BP_C_SEEK_ENTERED), 2);
	assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH_LOST), 1);
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
	rig_ack(&rig, &c, BROKER);
	assert_int_equal(rig_count(&rig, BP_C_SEEK_ENTERED), 3);
	assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH_LOST), 2);
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
	assert_int_equal(rig_count(&rig, BP_C_SEEK_ENTERED), 2);
	publish(&c, 4, 1, 3, "81");
	answer(&c, MQ_PUBACK, 3);
	publish(&c, 4, 0, 0, "82");
	assert_string_equal(told(), "82");
	for (unsigned r = BP_C_OPAQUE_NOT_MQTT; r <= BP_C_OPAQUE_REFUSED; r++)
		assert_int_equal(rig_count(&rig, (enum bp_counter)r), 0);
	/* lost after the CONNECT, before the CONNACK: this one is still due */
	peer_init(&c, false, 2, 5, 6);
	rig_handshake(&rig, &c);
	mq_connect(&b, 4, "hasty", 0);
	rig_send_bytes(&rig, &c, CLIENT, &b);
	c.seq[CLIENT] += 100;
	mq_connack(&b, 4, 0, 0, NULL);
	rig_send_bytes(&rig, &c, BROKER, &b);
	assert_int_equal(rig_count(&rig, BP_C_SEEK_ENTERED), 3);
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
	assert_string_equal(told(), "85 86");
	for (unsigned r = BP_C_OPAQUE_NOT_MQTT; r <= BP_C_OPAQUE_REFUSED; r++)
		assert_int_equal(rig_count(&rig, (enum bp_counter)r), 0);
	rig_close(&rig);
}

/* What was judged before a loss is sent again after it: it must not be judged again. */
static void retransmission_while_seeking(void **state)
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
	rig_ack(&rig, &c, BROKER);
	assert_int_equal(rig_count(&rig, BP_C_SEEK_ENTERED), 1);
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

/* Aliases: a lost packet may have mapped them anew. */
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
	rig_ack(&rig, &c, BROKER);
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

/* What waits is read because of the other side's ACK: that frame's numbers prove nothing. */
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
	assert_int_equal(rig_count(&rig, BP_C_SEEK_PROVEN), 0);
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

/* Random bytes at random places on both sides: never an alarm, never a leak. */
static void noise_midway(void **state)
{
	uint64_t s = 7;

	(void)state;
	open_rig();
	for (unsigned round = 0; round < 300; round++) {
		struct peer c;
		uint8_t noise[300];

		midway(&c, 1000 + round);
		for (unsigned i = 0; i < 60; i++) {
			uint32_t n = 1 + test_below(&s, sizeof(noise));

			for (uint32_t k = 0; k < n; k++)
				noise[k] = (uint8_t)test_random(&s);
			rig_send(&rig, &c, test_below(&s, 2), noise, n);
		}
	}
	assert_int_equal(rig_count(&rig, BP_C_SEEK_PROVEN), 0);
	assert_string_equal(told(), "");
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(proven_by_puback),
		cmocka_unit_test(proven_by_others),
		cmocka_unit_test(no_proof),
		cmocka_unit_test(version_unknown),
		cmocka_unit_test(versions_contradict),
		cmocka_unit_test(from_inside),
		cmocka_unit_test(pipelined),
		cmocka_unit_test(gap_inside),
		cmocka_unit_test(gap_over_boundary),
		cmocka_unit_test(gap_in_connect),
		cmocka_unit_test(retransmission_while_seeking),
		cmocka_unit_test(aliases_after_a_gap),
		cmocka_unit_test(held_and_gap_in_both),
		cmocka_unit_test(noise_midway),
	};

	return cmocka_run_group_tests_name("seek", tests, NULL, NULL);
}
