/* SPDX-License-Identifier: BSD-3-Clause */
/* Action blank: the SUBACK reports refused topic filters as refused. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <string.h>

#include "policy_ends.h"

#define REFUSED "t/secret"

static struct peer subscriber(uint8_t version)
{
	open_rig(BP_POLICY_FAIL_CLOSED);
	rule(BP_POLICY_BLANK, BP_POLICY_SUBSCRIBE, REFUSED);
	load();
	return connected(version);
}

/* `n` filters, of which bit i of `refused` refuses filter i. */
static void subscribe(struct peer *c, uint8_t version, uint16_t id, unsigned n, uint64_t refused)
{
	struct bytes body = {0}, b = {0};

	bytes_be16(&body, id);
	if (version == 5)
		bytes_u8(&body, 0);
	for (unsigned i = 0; i < n; i++) {
		const bool is_refused = i >= 64 || (refused >> i & 1);
		const char *filter = is_refused ? (i % 2 == 0 ? "#" : REFUSED) : "t/x";

		bytes_be16(&body, (uint16_t)strlen(filter));
		bytes_add(&body, filter, strlen(filter));
		bytes_u8(&body, 1);
	}
	mq_raw(&b, 0x82, body.p, body.n);
	bytes_free(&body);
	rig_send_bytes(&rig, c, CLIENT, &b);
}

static void suback(struct bytes *b, uint8_t version, uint16_t id, const void *codes, size_t n)
{
	static const char properties[] = "\x05\x1f\0\2hi";
	struct bytes body = {0};

	bytes_be16(&body, id);
	if (version == 5)
		bytes_add(&body, properties, sizeof(properties) - 1);
	bytes_add(&body, codes, n);
	mq_raw(b, 0x90, body.p, body.n);
	bytes_free(&body);
}

static uint8_t refused_code(uint8_t version)
{
	return version == 5 ? 0x87 : 0x80;
}

static void assert_counts(uint64_t refused, uint64_t unchanged)
{
	assert_int_equal(rig_count(&rig, BP_C_POLICY_SUBACK_REFUSED), refused);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_SUBACK_UNCHANGED), unchanged);
}

/* From byte `at` on, the client has received exactly these. */
static void assert_received(uint32_t at, const struct bytes *b)
{
	assert_int_equal(received(&client), at + b->n);
	assert_memory_equal(client.byte + at, b->p, b->n);
}

/* ---- cuts ---- */

struct streams {
	struct bytes sent, expected;
};

static void add_suback(struct streams *s, uint8_t version, uint16_t id, const uint8_t *sent,
	const uint8_t *expected, size_t n)
{
	suback(&s->sent, version, id, sent, n);
	suback(&s->expected, version, id, expected, n);
}

static void add_publish(struct streams *s, uint8_t version, const struct bytes *payload)
{
	const struct mq_publish p = {
		.version = version, .topic = "t", .payload = payload->p, .payload_len = payload->n};

	mq_publish(&s->sent, &p);
	mq_publish(&s->expected, &p);
}

/* Answers to subscriptions 7, 8 and 9, and a message that looks like one. */
static struct streams answers(uint8_t version)
{
	const uint8_t no = refused_code(version);
	const uint8_t codes[] = {1, 2, 0, 0x80, 1}, to_client[] = {no, 2, no, 0x80, no};
	struct streams s = {{0}, {0}};
	struct bytes like = {0};

	suback(&like, version, 7, codes, sizeof(codes));
	add_publish(&s, version, &like);
	add_suback(&s, version, 7, codes, to_client, sizeof(codes));
	add_suback(&s, version, 8, codes, codes, 1);
	add_publish(&s, version, &like);
	add_suback(&s, version, 9, codes, &no, 1);
	bytes_free(&like);
	return s;
}

static void send_cut(const struct streams *s, uint8_t version, size_t a, size_t b)
{
	const size_t to[] = {a, b, s->sent.n};
	const bool restart = (a + b) % 5 == 0;
	struct peer c = subscriber(version);
	const uint32_t at = received(&client);
	uint32_t first;

	subscribe(&c, version, 7, 5, 0x1d);
	subscribe(&c, version, 8, 1, 0);
	subscribe(&c, version, 9, 1, 1);
	first = c.seq[BROKER];
	for (size_t i = 0, from = 0; i < 3; from = to[i++]) {
		if (to[i] == from)
			continue;
		if (restart)
			rig_restart(&rig);
		client.deaf = (a + i) % 2;
		rig_send(&rig, &c, BROKER, s->sent.p + from, to[i] - from);
	}
	client.deaf = false;
	rig_segment(&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT], first, NULL, 0); /* it has nothing */
	/* sent again: from the beginning, and byte by byte */
	if (b % 2 == 0)
		rig_segment(&rig, &c, BROKER, TH_ACK, first, c.seq[CLIENT], s->sent.p, s->sent.n);
	for (uint32_t i = 0; i < s->sent.n; i++)
		rig_segment(&rig, &c, BROKER, TH_ACK, first + i, c.seq[CLIENT], s->sent.p + i, 1);
	assert_received(at, &s->expected);
	/* the broker itself has refused one */
	assert_counts(4, 0);
	/* nothing is kept when the client has all */
	rig_ack(&rig, &c, CLIENT);
	memset(client.has, 0, sizeof(client.has));
	rig_segment(&rig, &c, BROKER, TH_ACK, first, c.seq[CLIENT], s->sent.p, s->sent.n);
	assert_memory_equal(client.byte + at, s->sent.p, s->sent.n);
	rig_close(&rig);
}

static void any_cut(void **state)
{
	(void)state;
	for (uint8_t version = 4; version <= 5; version++) {
		struct streams s = answers(version);

		for (size_t a = 0; a <= s.sent.n; a++)
			for (size_t b = a; b <= s.sent.n; b += b < a + 3 ? 1 : 13)
				send_cut(&s, version, a, b);
		bytes_free(&s.sent);
		bytes_free(&s.expected);
	}
}

/* ---- bounds ---- */

/* Codes from the 65th on stay, in one segment or in many. */
static void many_filters(void **state)
{
	uint8_t codes[70] = {0}, expected[70] = {0};

	(void)state;
	memset(expected, 0x87, 64);
	for (unsigned i = 0; i < 2; i++) {
		struct streams s = {{0}, {0}};
		struct peer c = subscriber(5);
		const uint32_t at = received(&client);

		subscribe(&c, 5, 7, sizeof(codes), UINT64_MAX);
		add_suback(&s, 5, 7, codes, expected, sizeof(codes));
		for (uint32_t k = 0; i == 1 && k < s.sent.n; k++)
			rig_send(&rig, &c, BROKER, s.sent.p + k, 1);
		if (i == 0)
			rig_send(&rig, &c, BROKER, s.sent.p, s.sent.n);
		assert_received(at, &s.expected);
		assert_counts(64, 6);
		bytes_free(&s.sent);
		bytes_free(&s.expected);
		rig_close(&rig);
	}
}

/* The 33rd that waits is not known when its answer comes. */
static void many_awaited(void **state)
{
	const uint8_t yes = 0, no = 0x80;
	struct streams s = {{0}, {0}};
	struct peer c = subscriber(4);
	const uint32_t at = received(&client);

	(void)state;
	for (uint16_t id = 1; id <= 33; id++) {
		subscribe(&c, 4, id, 1, 1);
		add_suback(&s, 4, id, &yes, id <= 32 ? &no : &yes, 1);
	}
	rig_send(&rig, &c, BROKER, s.sent.p, s.sent.n);
	assert_received(at, &s.expected);
	assert_counts(32, 1);
	bytes_free(&s.sent);
	bytes_free(&s.expected);
	rig_close(&rig);
}

/* A client that acknowledges nothing: of codes far from each other, 32 are kept. */
static void many_written(void **state)
{
	const uint8_t yes = 0, no = 0x80;
	struct bytes filler = {0};
	struct peer c = subscriber(4);
	const uint32_t at = received(&client), acked = c.seq[BROKER];
	struct streams all = {{0}, {0}};

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		bytes_u8(&filler, 'x');
	for (uint16_t id = 1; id <= 33; id++) {
		struct bytes b = {0};
		struct streams s = {{0}, {0}};

		mq_subscribe(&b, 4, id, REFUSED);
		rig_segment(&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT], acked, b.p, b.n);
		c.seq[CLIENT] += (uint32_t)b.n;
		bytes_free(&b);
		add_publish(&s, 4, &filler);
		add_suback(&s, 4, id, &yes, id <= 32 ? &no : &yes, 1);
		rig_send(&rig, &c, BROKER, s.sent.p, s.sent.n);
		bytes_add(&all.sent, s.sent.p, s.sent.n);
		bytes_add(&all.expected, s.expected.p, s.expected.n);
		bytes_free(&s.sent);
		bytes_free(&s.expected);
	}
	assert_received(at, &all.expected);
	assert_counts(32, 1);
	bytes_free(&filler);
	bytes_free(&all.sent);
	bytes_free(&all.expected);
	rig_close(&rig);
}

/* ---- what stays ---- */

/* One answer, which the client receives as it is. */
static void assert_stays(struct peer *c, uint8_t version, const void *codes, size_t n)
{
	const uint32_t at = received(&client);
	struct bytes b = {0};

	suback(&b, version, 7, codes, n);
	rig_send(&rig, c, BROKER, b.p, b.n);
	assert_received(at, &b);
	bytes_free(&b);
}

/* MQTT 3.1 has no code for it. */
static void version_31(void **state)
{
	struct peer c = subscriber(3);

	(void)state;
	subscribe(&c, 3, 7, 1, 1);
	assert_stays(&c, 3, "\0", 1);
	assert_counts(0, 1);
	rig_close(&rig);
}

/* A client that uses a packet identifier before it was answered. */
static void identifier_twice(void **state)
{
	struct peer c = subscriber(5);

	(void)state;
	subscribe(&c, 5, 7, 2, 3);
	subscribe(&c, 5, 7, 1, 0);
	assert_stays(&c, 5, "\0", 1);
	assert_counts(0, 2);
	rig_close(&rig);
}

/* The broker answers twice, with fewer codes, or with more. */
static void other_answers(void **state)
{
	static const uint8_t codes[] = {0, 0, 0, 0}, expected[] = {0x87, 0x87, 0, 0};
	const uint8_t to_client = 0x87;
	struct streams s = {{0}, {0}};
	struct peer c = subscriber(5);
	uint32_t at;

	(void)state;
	subscribe(&c, 5, 7, 2, 3);
	at = received(&client);
	add_suback(&s, 5, 7, codes, expected, sizeof(codes));
	rig_send(&rig, &c, BROKER, s.sent.p, s.sent.n);
	assert_received(at, &s.expected);
	assert_counts(2, 0);
	assert_stays(&c, 5, codes, sizeof(codes));
	bytes_free(&s.sent);
	bytes_free(&s.expected);
	/* one code for two filters */
	subscribe(&c, 5, 7, 2, 3);
	at = received(&client);
	add_suback(&s, 5, 7, codes, &to_client, 1);
	rig_send(&rig, &c, BROKER, s.sent.p, s.sent.n);
	assert_received(at, &s.expected);
	assert_counts(3, 1);
	bytes_free(&s.sent);
	bytes_free(&s.expected);
	rig_close(&rig);
}

/* A segment ahead of its stream was forwarded before it is read. */
static void out_of_order(void **state)
{
	struct bytes b = {0}, ping = {0};
	struct peer c = subscriber(5);
	const uint32_t at = received(&client), first = c.seq[BROKER];

	(void)state;
	subscribe(&c, 5, 7, 1, 1);
	mq_empty(&ping, MQ_PINGRESP);
	suback(&b, 5, 7, "\0", 1);
	rig_segment(&rig, &c, BROKER, TH_ACK, first + (uint32_t)ping.n, c.seq[CLIENT], b.p, b.n);
	assert_counts(0, 0);
	rig_segment(&rig, &c, BROKER, TH_ACK, first, c.seq[CLIENT], ping.p, ping.n);
	assert_counts(0, 1);
	assert_memory_equal(client.byte + at + ping.n, b.p, b.n);
	bytes_free(&ping);
	bytes_free(&b);
	rig_close(&rig);
}

/* A frame in several buffers is not written. */
static void in_pieces(void **state)
{
	struct peer c = subscriber(5);

	(void)state;
	subscribe(&c, 5, 7, 1, 1);
	rig.no_payload = true;
	assert_stays(&c, 5, "\0", 1);
	assert_counts(0, 1);
	rig_close(&rig);
}

/* The connection ends before the answer. */
static void no_answer(void **state)
{
	struct peer c = subscriber(5);

	(void)state;
	subscribe(&c, 5, 7, 2, 3);
	rig_fin_both(&rig, &c);
	rig_expire_all(&rig);
	assert_counts(0, 2);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_cut),
		cmocka_unit_test(many_filters),
		cmocka_unit_test(many_awaited),
		cmocka_unit_test(many_written),
		cmocka_unit_test(version_31),
		cmocka_unit_test(identifier_twice),
		cmocka_unit_test(other_answers),
		cmocka_unit_test(out_of_order),
		cmocka_unit_test(in_pieces),
		cmocka_unit_test(no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
