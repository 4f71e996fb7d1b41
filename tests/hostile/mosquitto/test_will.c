/* SPDX-License-Identifier: BSD-3-Clause */
#include "test.h"

#include <string.h>

#include "rig.h"

/*
 * A device whose alarm is its will: it says in CONNECT what the broker is to publish when the
 * connection dies, and dies. And a client that would raise an alarm by a will that no broker
 * publishes: discarded by DISCONNECT, or of a connection that was refused.
 */

static struct rig rig;

static void open_rig(uint8_t strictness)
{
	rig_defaults(&rig);
	rig.config.mqtt.strictness = strictness;
	rig_open(&rig);
	rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "w/#", BP_COND_GT, 80)}, 1);
}

static void string(struct bytes *b, const void *s, size_t n)
{
	bytes_be16(b, (uint16_t)n);
	bytes_add(b, s, n);
}

struct will {
	uint8_t version;
	uint16_t keep_alive;
	uint32_t delay;
	const char *topic;
	const char *payload;
	size_t payload_len; /* 0: a string */
};

static void connect_packet(struct bytes *out, const struct will *w)
{
	struct bytes b = {0};

	string(&b, "MQTT", 4);
	bytes_u8(&b, w->version);
	bytes_u8(&b, 0x06); /* clean, with a will */
	bytes_be16(&b, w->keep_alive);
	if (w->version == 5)
		bytes_u8(&b, 0);
	string(&b, "dev", 3);
	if (w->version == 5) {
		bytes_u8(&b, w->delay != 0 ? 5 : 0);
		if (w->delay != 0) {
			bytes_u8(&b, 0x18);
			bytes_be16(&b, (uint16_t)(w->delay >> 16));
			bytes_be16(&b, (uint16_t)w->delay);
		}
	}
	string(&b, w->topic, strlen(w->topic));
	string(&b, w->payload, w->payload_len != 0 ? w->payload_len : strlen(w->payload));
	mq_raw(out, 0x10, b.p, b.n);
	bytes_free(&b);
}

static void connect_with(struct peer *c, uint32_t number, const struct will *w, uint8_t code)
{
	struct bytes b = {0};

	peer_init(c, false, number, 100, 200);
	rig_handshake(&rig, c);
	connect_packet(&b, w);
	rig_send_bytes(&rig, c, CLIENT, &b);
	mq_connack(&b, w->version, code, 0, NULL);
	rig_send_bytes(&rig, c, BROKER, &b);
	rig_ack(&rig, c, CLIENT);
}

static void reset(struct peer *c, unsigned from)
{
	rig_segment(&rig, c, from, TH_RST | TH_ACK, c->seq[from], c->seq[!from], NULL, 0);
}

static void fin(struct peer *c, unsigned from)
{
	rig_segment(&rig, c, from, TH_FIN | TH_ACK, c->seq[from]++, c->seq[!from], NULL, 0);
}

/* However the connection dies: once, at its end, and not before. */
static void published_at_the_end(void **state)
{
	(void)state;
	for (unsigned how = 0; how < 6; how++) {
		struct will w = {.version = how & 1 ? 5 : 4, .topic = "w/dev", .payload = "91"};
		struct peer c;

		open_rig(BP_STRICTNESS_MOSQUITTO);
		connect_with(&c, 1, &w, 0);
		rig_publish(&rig, &c, CLIENT,
			&(struct mq_publish){
				.version = w.version, .topic = "w/x", .payload = "85"});
		assert_string_equal(rig_told_values(&rig), "85");
		if (how < 2)
			fin(&c, how == 0 ? CLIENT : BROKER);
		else if (how < 4)
			reset(&c, how == 2 ? CLIENT : BROKER);
		else if (how == 4) /* the broker closes it for a fault */
			rig_send(&rig, &c, CLIENT, "\x36\0", 2), fin(&c, BROKER);
		else
			rig_fin_both(&rig, &c);
		assert_string_equal(rig_told_values(&rig), "91");
		if (how < 2)
			reset(&c, CLIENT);
		assert_int_equal(rig_count(&rig, BP_C_WILL_EVALUATED), 1);
		assert_string_equal(rig_told_values(&rig), "");
		rig_close(&rig);
	}
}

static void topic_and_client_of_the_alarm(void **state)
{
	struct will w = {.version = 4, .topic = "w/dev", .payload = "91"};
	struct told_list told;
	struct peer c;

	(void)state;
	open_rig(BP_STRICTNESS_MOSQUITTO);
	connect_with(&c, 1, &w, 0);
	fin(&c, CLIENT);
	told = rig_told(&rig);
	assert_int_equal(told.n, 1);
	assert_string_equal(told.a[0].topic, "w/dev");
	assert_string_equal(told.a[0].client, "dev");
	assert_string_equal((char *)told.a[0].payload, "91");
	told_free(&told);
	rig_close(&rig);
}

/* A new connection on the same addresses: the old one ended unseen. */
static void superseded(void **state)
{
	struct will w = {.version = 4, .topic = "w/dev", .payload = "91"};
	struct peer c;

	(void)state;
	open_rig(BP_STRICTNESS_MOSQUITTO);
	connect_with(&c, 1, &w, 0);
	peer_init(&c, false, 1, 70000000, 90000000);
	rig_handshake(&rig, &c);
	assert_string_equal(rig_told_values(&rig), "91");
	rig_close(&rig);
}

static void discarded(void **state)
{
	static const struct {
		uint8_t version, n;
		uint8_t bytes[8];
		bool published;
	} disconnect[] = {
		{4, 2, {0xe0, 0}, false},
		{5, 2, {0xe0, 0}, false},
		{5, 3, {0xe0, 1, 0}, false},
		{5, 4, {0xe0, 2, 0, 0}, false},
		{5, 3, {0xe0, 1, 0x04}, true}, /* with will message */
		{5, 4, {0xe0, 2, 0x04, 0}, true},
		/* an expiry interval after a CONNECT with none is a fault */
		{5, 8, {0xe0, 7, 0, 5, 0x11, 0, 0, 0}, true},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(disconnect) / sizeof(disconnect[0]); i++) {
		struct will w = {
			.version = disconnect[i].version, .topic = "w/dev", .payload = "91"};
		struct peer c;

		open_rig(BP_STRICTNESS_MOSQUITTO);
		connect_with(&c, 1, &w, 0);
		rig_send(&rig, &c, CLIENT, disconnect[i].bytes, disconnect[i].n);
		if (disconnect[i].n == 8)
			rig_send(&rig, &c, CLIENT, "\x09", 1);
		rig_fin_both(&rig, &c);
		assert_string_equal(rig_told_values(&rig), disconnect[i].published ? "91" : "");
		assert_int_equal(
			rig_count(&rig, BP_C_WILL_DISCARDED), disconnect[i].published ? 0 : 1);
		rig_close(&rig);
	}
}

/* CONNACK 5, and a handshake that never completes: nothing is published. */
static void refused_or_unproven(void **state)
{
	struct will w = {.version = 4, .topic = "w/dev", .payload = "91"};
	struct bytes b = {0};
	struct peer c;

	(void)state;
	open_rig(BP_STRICTNESS_MOSQUITTO);
	connect_with(&c, 1, &w, 5);
	rig_fin_both(&rig, &c);
	peer_init(&c, false, 2, 100, 200);
	connect_packet(&b, &w);
	rig_segment(&rig, &c, CLIENT, TH_SYN, c.seq[CLIENT]++, 0, NULL, 0);
	rig_send_bytes(&rig, &c, CLIENT, &b);
	fin(&c, CLIENT);
	reset(&c, CLIENT);
	assert_string_equal(rig_told_values(&rig), "");
	rig_close(&rig);
}

/* The broker publishes it later, unless the client is back by then. */
static void delayed_is_counted(void **state)
{
	struct will w = {.version = 5, .topic = "w/dev", .payload = "91", .delay = 5};

	(void)state;
	for (uint8_t view = 0; view < 2; view++) {
		struct peer c;

		open_rig(view);
		connect_with(&c, 1, &w, 0);
		rig_fin_both(&rig, &c);
		/* by the standard the session's end, here at once, is its end too */
		assert_string_equal(
			rig_told_values(&rig), view == BP_STRICTNESS_STANDARD ? "91" : "");
		assert_int_equal(rig_count(&rig, BP_C_WILL_DELAYED), 1 - view);
		rig_close(&rig);
	}
}

/* Lost bytes before the end may have been the DISCONNECT. */
static void unclear_end(void **state)
{
	struct will w = {.version = 4, .topic = "w/dev", .payload = "91"};
	struct peer c;

	(void)state;
	open_rig(BP_STRICTNESS_MOSQUITTO);
	connect_with(&c, 1, &w, 0);
	c.seq[CLIENT] += 2;
	rig_ack(&rig, &c, BROKER);
	rig_fin_both(&rig, &c);
	assert_string_equal(rig_told_values(&rig), "");
	assert_int_equal(rig_count(&rig, BP_C_WILL_UNCLEAR), 1);
	rig_close(&rig);
}

/* Silent for over one and a half times the keep alive: closed by the broker, whoever saw it. */
static void keep_alive(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct will w = {.version = 4,
			.topic = "w/dev",
			.payload = "91",
			.keep_alive = i == 0 ? 10 : 0};
		struct peer c;

		open_rig(BP_STRICTNESS_MOSQUITTO);
		connect_with(&c, 1, &w, 0);
		rig_expire_all(&rig);
		assert_string_equal(rig_told_values(&rig), i == 0 ? "91" : "");
		assert_int_equal(rig_count(&rig, BP_C_WILL_FORGOTTEN), i);
		rig_close(&rig);
	}
}

/* What does not fit the bounds is counted, and costs the connection nothing else. */
static void bounded(void **state)
{
	static char payload[65000];
	struct will w = {
		.version = 4, .topic = "w/dev", .payload = payload, .payload_len = sizeof(payload)};
	struct peer c;

	(void)state;
	rig_defaults(&rig);
	rig.config.mqtt.carry_per_flow = 32 * 1024;
	rig_open(&rig);
	rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "w/#", BP_COND_GT, 80)}, 1);
	connect_with(&c, 1, &w, 0);
	assert_int_equal(rig_count(&rig, BP_C_WILL_NO_MEMORY), 1);
	rig_publish_text(&rig, &c, "w/x", "85");
	assert_string_equal(rig_told_values(&rig), "85");
	rig_close(&rig);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_at_the_end),
		cmocka_unit_test(topic_and_client_of_the_alarm),
		cmocka_unit_test(superseded),
		cmocka_unit_test(discarded),
		cmocka_unit_test(refused_or_unproven),
		cmocka_unit_test(delayed_is_counted),
		cmocka_unit_test(unclear_end),
		cmocka_unit_test(keep_alive),
		cmocka_unit_test(bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
