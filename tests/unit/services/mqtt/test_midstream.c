/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection that was met in the middle: where its packets begin, and which version it has, by
 * what is answered. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <string.h>

#include "midstream_steps.h"

/* Somewhere in a connection that is long under way. */
static void midway(struct peer *c, uint32_t number)
{
	peer_init(c, number & 1, number, 0xffffff80u + number, 0xfffffff0u);
}

/* 3.1.1: a PUBLISH whose payload does not begin like a property length of version 5 distinguishes
 * them. */
static void proven_by_puback(void **state)
{
	struct peer c;

	(void)state;
	open_rig();
	midway(&c, 1);
	publish(&c, 4, 1, 5, "81");
	assert_string_equal(told(), ""); /* no evaluation by a guess */
	answer(&c, MQ_PUBACK, 5);
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_CONFIRMED), 2); /* both directions */
	publish(&c, 4, 0, 0, "82");
	publish(&c, 4, 1, 6, "83");
	assert_string_equal(told(), "82 83");
	assert_int_equal(rig_count(&rig, BP_C_CONN_MIDSTREAM), 1);
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_STARTED), 2);
	rig_close(&rig);
}

static void proven_by_others(void **state)
{
	struct peer c;
	struct bytes b = {0};

	(void)state;
	open_rig();
	/* PINGREQ does not show the version; the PUBLISH before it does */
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
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_CONFIRMED), 0);
	/* QoS 0 alone is never proven */
	midway(&c, 5);
	for (unsigned i = 0; i < 50; i++)
		publish(&c, 4, 0, 0, "99");
	assert_string_equal(told(), "");
	rig_close(&rig);
}

/* A packet that is valid in both versions proves a boundary, but is not read. */
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
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_NO_VERSION), 1);
	rig_publish(&rig, &c, CLIENT,
		&(struct mq_publish){.version = 4,
			.qos = 1,
			.id = 1,
			.topic = "t/x",
			.payload = either,
			.payload_len = 3});
	answer(&c, MQ_PUBACK, 1);
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_NO_VERSION), 2);
	publish(&c, 5, 0, 0, "98");
	assert_string_equal(told(), "");
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_CONFIRMED), 0);
	/* properties settle it: with them this is no 3.1.1... and an alias is 5.0 for sure */
	rig_publish(&rig, &c, CLIENT,
		&(struct mq_publish){
			.version = 5, .qos = 1, .id = 2, .alias = 3, .topic = "", .payload = "97"});
	answer(&c, MQ_PUBACK, 2);
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_CONFIRMED), 2);
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

/* Two directions whose guesses need different versions cannot both be right. */
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
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_CONFIRMED), 0);
	publish(&c, 4, 0, 0, "82");
	assert_string_equal(told(), "");
	/* both begin again */
	publish(&c, 4, 1, 6, "83");
	mq_ack(&b, MQ_PUBACK, 6);
	rig_send_bytes(&rig, &c, BROKER, &b);
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_CONFIRMED), 2);
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
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_CONFIRMED), 0);
	rig_send(&rig, &c, CLIENT, b.p + 2100, b.n - 2100);
	answer(&c, MQ_PUBACK, 2);
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_CONFIRMED), 2);
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

/* A client with several publications in flight sends further ones before the answers. */
static void pipelined_publications_confirm_the_position(void **state)
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
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_CONFIRMED), 2);
	assert_string_equal(told(), "82 82 82 82 82 82 82 82 82 82 82 82 82 82 82 82 82 82 82 82");
	/* a request whose answer was missed does not block later ones */
	midway(&c, 2);
	publish(&c, 4, 1, 1, "81");
	for (uint16_t id = 2; id < 14; id++) {
		rig_advance(&rig, 1500000000ull);
		publish(&c, 4, 1, id, "83");
		answer(&c, MQ_PUBACK, id);
	}
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_CONFIRMED), 4);
	assert_true(rig_told_count(&rig) >= 1);
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
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_CONFIRMED), 0);
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
		cmocka_unit_test(pipelined_publications_confirm_the_position),
		cmocka_unit_test(noise_midway),
	};

	return cmocka_run_group_tests_name("midstream", tests, NULL, NULL);
}
