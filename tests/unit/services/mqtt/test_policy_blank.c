/* SPDX-License-Identifier: BSD-3-Clause */
/* Action blank: the broker receives a refused topic as another one, and the connection continues.
 */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "policy_ends.h"

#define SECRET "t/secret" /* the refused topic of most tests, in the filter of the alarm */

/* What becomes of a topic of `n` bytes, 2 at least. */
static const char *quarantine(unsigned n)
{
	static char text[1000];

	memset(text, '-', sizeof(text));
	memcpy(text, "$refused/", 9);
	text[n] = '\0';
	return text;
}

static void open_blank(const char *topic)
{
	open_rig(BP_POLICY_FAIL_CLOSED);
	rule(BP_POLICY_BLANK, BP_POLICY_ANY, topic);
	load();
}

static void send_publish(struct peer *c, const struct mq_publish *p)
{
	struct bytes b = {0};

	mq_publish(&b, p);
	rig_send_bytes(&rig, c, CLIENT, &b);
}

/* From byte `at` on, the broker has received exactly this packet. */
static void assert_publish(uint32_t at, const struct mq_publish *p)
{
	struct bytes b = {0};

	mq_publish(&b, p);
	assert_int_equal(received(&broker), at + b.n);
	assert_memory_equal(broker.byte + at, b.p, b.n);
	bytes_free(&b);
}

/* The connection lives: another publication reaches the broker and the alarms. */
static void assert_alive(struct peer *c, uint8_t version)
{
	const uint32_t at = received(&broker);
	const struct mq_publish p = {.version = version, .topic = "t/x", .payload = "82"};

	assert_int_equal(broker.resets + client.resets + client.fins, 0);
	send_publish(c, &p);
	assert_publish(at, &p);
	assert_string_equal(rig_told_values(&rig), "82");
}

static void each_length_of_topic(void **state)
{
	char topic[301];
	unsigned n_blanked = 0;
	struct peer c;

	(void)state;
	open_blank("+");
	c = connected(4);
	for (unsigned n = 2; n <= 300; n++) {
		struct mq_publish p = {.version = 4,
			.qos = (uint8_t)(n % 3),
			.id = n % 3 != 0 ? (uint16_t)n : 0,
			.retain = n % 2,
			.dup = n % 3 != 0 && n % 7 == 0,
			.topic = topic,
			.payload = "81"};
		const uint32_t at = received(&broker);

		memset(topic, 'x', n);
		topic[n] = '\0';
		send_publish(&c, &p);
		p.topic = quarantine(n);
		p.retain = false;
		assert_publish(at, &p);
		rig_ack(&rig, &c, BROKER);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_BLANKED), ++n_blanked);
	}
	assert_string_equal(rig_told_values(&rig), "");
	assert_alive(&c, 4);
	rig_close(&rig);
}

/* It would be the filter of a client that may not subscribe to #. */
static void topic_of_one_byte(void **state)
{
	(void)state;
	for (unsigned fallback = 0; fallback <= BP_POLICY_FALLBACK_PASS; fallback++) {
		struct peer c;
		uint32_t at;

		open_rig(BP_POLICY_FAIL_CLOSED);
		rig.mqtt.policy.fallback = fallback;
		rule(BP_POLICY_BLANK, BP_POLICY_PUBLISH, "x");
		load();
		c = connected(4);
		at = received(&broker);
		publish(&c, 4, "x");
		assert_int_equal(received(&broker) != at, fallback == BP_POLICY_FALLBACK_PASS);
		assert_int_equal(broker.resets, fallback == BP_POLICY_FALLBACK_CLOSE);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_BLANK_FALLBACK), 1);
		assert_int_equal(
			rig_count(&rig, BP_C_POLICY_OBSERVED), fallback == BP_POLICY_FALLBACK_PASS);
		rig_close(&rig);
	}
}

/* The alarms see no publication that was blanked, also not one that was acknowledged. */
static void no_alarm(void **state)
{
	const struct mq_publish refused = {
		.version = 4, .topic = SECRET, .payload = "81", .qos = 2, .id = 7, .retain = true};
	struct bytes b = {0};
	struct peer c;

	(void)state;
	open_blank(SECRET);
	c = connected(4);
	send_publish(&c, &refused);
	mq_ack(&b, MQ_PUBREC, 7);
	rig_send_bytes(&rig, &c, BROKER, &b);
	mq_ack(&b, MQ_PUBREL, 7);
	rig_send_bytes(&rig, &c, CLIENT, &b);
	mq_ack(&b, MQ_PUBCOMP, 7);
	rig_send_bytes(&rig, &c, BROKER, &b);
	assert_string_equal(rig_told_values(&rig), "");
	assert_alive(&c, 4);
	rig_close(&rig);
}

/* A retransmission, also after a restart, has the bytes that were forwarded first. */
static void retransmission(void **state)
{
	struct mq_publish p = {.version = 4, .topic = SECRET, .payload = "81", .retain = true};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct bytes b = {0};
		struct peer c;
		uint32_t at, seq;

		open_blank(SECRET);
		c = connected(4);
		at = received(&broker);
		seq = c.seq[CLIENT];
		p.topic = SECRET;
		p.retain = true;
		mq_publish(&b, &p);
		broker.deaf = true;
		rig_send(&rig, &c, CLIENT, b.p, b.n);
		broker.deaf = false;
		if (i & 1)
			rig_restart(&rig);
		if (i & 2) /* byte by byte */
			for (size_t k = 0; k < b.n; k++)
				rig_segment(&rig, &c, CLIENT, TH_ACK | TH_PSH, seq + (uint32_t)k,
					c.seq[BROKER], b.p + k, 1);
		else
			rig_segment(
				&rig, &c, CLIENT, TH_ACK | TH_PSH, seq, c.seq[BROKER], b.p, b.n);
		p.topic = quarantine(strlen(SECRET));
		p.retain = false;
		assert_publish(at, &p);
		assert_alive(&c, 4);
		bytes_free(&b);
		rig_close(&rig);
	}
}

/* ---- cuts ---- */

struct cuts {
	struct bytes bytes;
	size_t packet, topic, end; /* of the refused publication, and of its topic */
	bool retain;
};

static struct cuts stream_with_secret(bool retain)
{
	struct mq_publish p = {.version = 4, .topic = "t/x", .payload = "1"};
	struct cuts s = {.retain = retain};

	mq_publish(&s.bytes, &p);
	s.packet = s.bytes.n;
	s.topic = s.packet + 4;
	p.topic = SECRET;
	s.end = s.topic + strlen(SECRET);
	p.retain = retain;
	mq_publish(&s.bytes, &p);
	p.topic = "t/x";
	p.retain = false;
	p.payload = "82";
	mq_publish(&s.bytes, &p);
	return s;
}

/* Whether a segment ends where the bytes to be overwritten are in two segments. */
static bool divides(const struct cuts *s, size_t cut)
{
	return cut > (s->retain ? s->packet : s->topic) && cut < s->end;
}

static void send_cut(const struct cuts *s, size_t a, size_t b, uint8_t fallback)
{
	const bool blank = !divides(s, a) && !divides(s, b);
	const size_t to[] = {a, b, s->bytes.n};
	struct peer c;
	uint32_t at;

	open_rig(BP_POLICY_FAIL_CLOSED);
	rig.mqtt.policy.fallback = fallback;
	rule(BP_POLICY_BLANK, BP_POLICY_PUBLISH, SECRET);
	load();
	c = connected(4);
	at = received(&broker);
	for (size_t i = 0, from = 0; i < 3; from = to[i++])
		if (to[i] > from)
			rig_send(&rig, &c, CLIENT, s->bytes.p + from, to[i] - from);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_BLANKED), blank);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_BLANK_FALLBACK), !blank);
	if (blank) {
		const char *to_broker = quarantine(strlen(SECRET));

		assert_int_equal(received(&broker), at + s->bytes.n);
		assert_memory_equal(broker.byte + at + s->topic, to_broker, strlen(to_broker));
		assert_int_equal(broker.byte[at + s->packet], 0x30);
		assert_string_equal(rig_told_values(&rig), "82");
	} else if (fallback == BP_POLICY_FALLBACK_CLOSE) {
		assert_true(received(&broker) < at + s->end);
		assert_true(broker.resets >= 1); /* one more for each later segment */
	} else {
		assert_int_equal(received(&broker), at + s->bytes.n);
		assert_memory_equal(broker.byte + at, s->bytes.p, s->bytes.n);
	}
	rig_close(&rig);
}

static void any_cut(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct cuts s = stream_with_secret(i & 1);

		for (size_t a = 0; a <= s.bytes.n; a++)
			for (size_t b = a; b <= s.bytes.n; b += b < a + 3 ? 1 : 13)
				send_cut(&s, a, b, i >> 1);
		bytes_free(&s.bytes);
	}
}

/* ---- topic aliases ---- */

static struct peer connected_with_aliases(void)
{
	struct peer c = open_peer();

	rig_connect_alias(&rig, &c, "pump-1", 10, 10);
	return c;
}

static void alias(void **state)
{
	struct mq_publish p = {
		.version = 5, .topic = SECRET, .alias = 3, .payload = "81", .retain = true};
	struct peer c;
	uint32_t at;

	(void)state;
	open_blank(SECRET);
	c = connected_with_aliases();
	at = received(&broker);
	send_publish(&c, &p);
	p.topic = quarantine(strlen(SECRET));
	p.retain = false;
	assert_publish(at, &p);
	/* by the alias alone */
	at = received(&broker);
	p.topic = "";
	p.retain = true;
	send_publish(&c, &p);
	p.retain = false;
	assert_publish(at, &p);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_BLANKED), 2);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_BLANK_FALLBACK), 0);
	/* the broker does not know more of it after a reload, or a restart */
	snprintf(rules[0].topic, sizeof(rules[0].topic), "other");
	load();
	rig_restart(&rig);
	at = received(&broker);
	send_publish(&c, &p);
	assert_publish(at, &p);
	assert_string_equal(rig_told_values(&rig), "");
	publish(&c, 5, SECRET);
	send_publish(&c, &p);
	assert_string_equal(rig_told_values(&rig), "81");
	/* until it is defined again */
	p.topic = SECRET;
	send_publish(&c, &p);
	p.topic = "";
	send_publish(&c, &p);
	assert_string_equal(rig_told_values(&rig), "81 81");
	assert_alive(&c, 5);
	rig_close(&rig);
}

/* The retain flag of a publication with such an alias has left before the alias arrives. */
static void alias_behind_the_retain_flag(void **state)
{
	struct mq_publish p = {.version = 5, .topic = SECRET, .alias = 3, .payload = "81"};
	struct bytes b = {0};
	struct peer c;
	uint32_t at;

	(void)state;
	open_blank(SECRET);
	c = connected_with_aliases();
	send_publish(&c, &p);
	p.topic = "";
	p.retain = true;
	mq_publish(&b, &p);
	at = received(&broker);
	rig_send(&rig, &c, CLIENT, b.p, 1);
	rig_send(&rig, &c, CLIENT, b.p + 1, b.n - 1);
	assert_true(received(&broker) < at + b.n);
	assert_int_equal(broker.resets, 1);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_BLANK_FALLBACK), 1);
	bytes_free(&b);
	rig_close(&rig);
}

/* An alias of a topic that was allowed when it was defined. */
static void alias_before_the_rule(void **state)
{
	struct mq_publish p = {.version = 5, .topic = SECRET, .alias = 3, .payload = "81"};
	struct peer c;
	uint32_t at;

	(void)state;
	open_blank("other");
	c = connected_with_aliases();
	send_publish(&c, &p);
	snprintf(rules[0].topic, sizeof(rules[0].topic), SECRET);
	load();
	at = received(&broker);
	p.topic = "";
	send_publish(&c, &p);
	assert_int_equal(received(&broker), at);
	assert_int_equal(broker.resets, 1);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_BLANK_FALLBACK), 1);
	rig_close(&rig);
}

/* ---- other packets ---- */

static void subscriptions(void **state)
{
	static const struct {
		const char *filter, *to_broker;
	} with[] = {
		{"#", "$"},
		{"+/secret", "$-------"},
		{SECRET, "$-------"},
		{"$share/group/" SECRET, "$share/group/$-------"},
		{"t/#", "$--"},
		{"t/x", "t/x"},
	};

	(void)state;
	for (uint8_t version = 4; version <= 5; version++) {
		struct bytes sent = {0}, expected = {0};
		struct peer c;
		uint32_t at;

		open_blank(SECRET);
		c = connected(version);
		at = received(&broker);
		for (unsigned i = 0; i < sizeof(with) / sizeof(with[0]); i++) {
			mq_subscribe(&sent, version, (uint16_t)(i + 1), with[i].filter);
			mq_subscribe(&expected, version, (uint16_t)(i + 1), with[i].to_broker);
		}
		rig_send(&rig, &c, CLIENT, sent.p, sent.n);
		assert_int_equal(received(&broker), at + expected.n);
		assert_memory_equal(broker.byte + at, expected.p, expected.n);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_BLANKED), 5);
		assert_alive(&c, version);
		bytes_free(&sent);
		bytes_free(&expected);
		rig_close(&rig);
	}
}

/* Each filter of a packet for itself. */
static void some_filters(void **state)
{
	static const char body[] = "\0\7\0\1#\0\0\3t/x\0\0\10t/secret\1",
			  blanked[] = "\0\7\0\1$\0\0\3t/x\0\0\10$-------\1";
	struct bytes b = {0};
	struct peer c;
	uint32_t at;

	(void)state;
	open_blank(SECRET);
	c = connected(4);
	at = received(&broker);
	mq_raw(&b, 0x82, body, sizeof(body) - 1);
	rig_send_bytes(&rig, &c, CLIENT, &b);
	assert_int_equal(received(&broker), at + 2 + sizeof(blanked) - 1);
	assert_memory_equal(broker.byte + at + 2, blanked, sizeof(blanked) - 1);
	assert_alive(&c, 4);
	rig_close(&rig);
}

static void refused_connect(void **state)
{
	struct bytes b = {0};
	struct peer c;

	(void)state;
	open_rig(BP_POLICY_FAIL_CLOSED);
	rig.mqtt.policy.preset = BP_POLICY_BLANK;
	load();
	c = open_peer();
	rig_handshake(&rig, &c);
	mq_connect(&b, 4, "pump-1", 0);
	rig_send_bytes(&rig, &c, CLIENT, &b);
	assert_int_equal(received(&broker), 0);
	assert_int_equal(broker.resets, 1);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_BLANK_FALLBACK), 0);
	rig_close(&rig);
}

/* A packet that ends inspection, behind a refused one in its segment. */
static void inspection_ends(void **state)
{
	struct bytes b = {0};
	struct peer c;
	uint32_t at;

	(void)state;
	open_rig(BP_POLICY_FAIL_OPEN);
	rule(BP_POLICY_BLANK, BP_POLICY_PUBLISH, SECRET);
	load();
	c = connected(4);
	at = received(&broker);
	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = SECRET, .payload = "81"});
	bytes_add(&b, "\xff\xff\xff\xff\xff\xff", 6);
	rig_send(&rig, &c, CLIENT, b.p, b.n);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_FAILED_OPEN), 1);
	assert_int_equal(received(&broker), at + b.n);
	assert_memory_equal(broker.byte + at + 4, quarantine(strlen(SECRET)), strlen(SECRET));
	bytes_free(&b);
	rig_close(&rig);
}

/* ---- any sender ---- */

/* A stream, and the one that the broker receives of it. */
struct streams {
	struct bytes sent, expected;
};

static void random_packets(struct streams *s, unsigned n)
{
	mq_connect(&s->sent, 4, "pump-1", 0);
	mq_connect(&s->expected, 4, "pump-1", 0);
	for (unsigned i = 0; i < n; i++) {
		const bool refused = rand() % 4 == 0;
		struct mq_publish m = {.version = 4,
			.topic = refused ? SECRET : "t/fine-x",
			.payload = "some payload",
			.retain = rand() % 4 == 0,
			.payload_len = (size_t)(rand() % 12 + 1)};

		mq_publish(&s->sent, &m);
		if (refused) {
			m.topic = quarantine(strlen(SECRET));
			m.retain = false;
		}
		mq_publish(&s->expected, &m);
	}
}

/* Whether these bytes, from their first on, have a PUBLISH on the refused topic. */
static bool has_refused(const uint8_t *p, uint32_t n)
{
	while (n >= 2 && p[1] < 128 && n >= p[1] + 2u) {
		if (p[0] >> 4 == 3 && p[1] >= 10 && memcmp(p + 2, "\0\x08" SECRET, 10) == 0)
			return true;
		n -= p[1] + 2u;
		p += p[1] + 2u;
	}
	return false;
}

/* Bytes of the packets that end within the first `n` bytes. */
static uint32_t whole_packets(const uint8_t *p, uint32_t n)
{
	uint32_t at = 0;

	while (at + 1 < n && at + 2 + p[at + 1] <= n)
		at += 2u + p[at + 1];
	return at;
}

/* Segments of any position and length, some with other bytes, some lost behind biplane. Returns
 * whether the broker has received all. */
static bool random_sender(bool hostile)
{
	struct streams s = {{0}, {0}};
	struct peer c = open_peer();
	uint32_t first;
	bool all;

	rig_handshake(&rig, &c);
	random_packets(&s, 20);
	first = c.seq[CLIENT];
	for (unsigned i = 0; i < 800 && client.resets == 0; i++) {
		const uint32_t have = received(&broker);
		uint32_t from = rand() % 2 == 0 ? have : (uint32_t)rand() % (uint32_t)s.sent.n;
		uint32_t n = (uint32_t)(rand() % 80 + 1);
		uint8_t other[80];

		if (from >= s.sent.n)
			break;
		if (n > s.sent.n - from)
			n = (uint32_t)(s.sent.n - from);
		memcpy(other, s.sent.p + from, n);
		if (hostile && rand() % 4 == 0)
			other[rand() % (int)n] ^= (uint8_t)(1 << rand() % 8);
		if (hostile && rand() % 4 == 0 && n >= 12)
			memcpy(other, "\x30\x0a\0\x08" SECRET, 12);
		broker.deaf = rand() % 3 == 0;
		rig_segment(
			&rig, &c, CLIENT, TH_ACK | TH_PSH, first + from, c.seq[BROKER], other, n);
		broker.deaf = false;
		/* open: other bytes may be none of MQTT, which is forwarded */
		if (rig_count(&rig, BP_C_POLICY_FAILED_OPEN) == 0)
			assert_false(has_refused(broker.byte, received(&broker)));
		if (rand() % 2 == 0) {
			broker.acked = received(&broker);
			rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER], first + broker.acked,
				NULL, 0);
		}
		if (c.seq[BROKER] == 2001 && received(&broker) >= s.sent.p[1] + 2u) {
			broker.acked = received(&broker);
			c.seq[CLIENT] = first + broker.acked;
			rig_accept(&rig, &c, 4);
		}
	}
	all = received(&broker) == s.sent.n;
	if (!hostile) {
		const uint32_t n = received(&broker), whole = whole_packets(s.expected.p, n);

		assert_memory_equal(broker.byte, s.expected.p, whole);
		/* of the last packet, less than its topic may have left before it was refused */
		assert_true(memcmp(broker.byte + whole, s.expected.p + whole, n - whole) == 0 ||
			    (n - whole < 4 + strlen(SECRET) &&
				    memcmp(broker.byte + whole, s.sent.p + whole, n - whole) == 0));
		assert_int_equal(all, client.resets == 0);
		assert_int_equal(
			client.resets != 0, rig_count(&rig, BP_C_POLICY_BLANK_FALLBACK) != 0);
	}
	bytes_free(&s.sent);
	bytes_free(&s.expected);
	return all;
}

/* The alias of a topic that was overwritten, and is allowed now: nothing is retained at the
 * quarantine topic. */
static void alias_that_is_allowed_now(void **state)
{
	(void)state;
	for (unsigned cut = 0; cut < 2; cut++) {
		struct mq_publish p = {.version = 5, .topic = SECRET, .alias = 3, .payload = "81"};
		struct bytes b = {0};
		struct peer c;
		uint32_t at;

		open_blank(SECRET);
		c = connected_with_aliases();
		send_publish(&c, &p);
		snprintf(rules[0].topic, sizeof(rules[0].topic), "other");
		load();
		p.topic = "";
		p.retain = true;
		mq_publish(&b, &p);
		at = received(&broker);
		rig_send(&rig, &c, CLIENT, b.p, cut == 0 ? b.n : 1);
		if (cut != 0) /* its first byte has left */
			rig_send(&rig, &c, CLIENT, b.p + 1, b.n - 1);
		assert_int_equal(broker.byte[at], cut == 0 ? 0x30 : 0x31);
		assert_int_equal(broker.resets, cut);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_BLANK_FALLBACK), cut);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_BLANKED), 2 - cut);
		bytes_free(&b);
		rig_close(&rig);
	}
}

/* One outcome, of the fallback: the message is not counted as blanked, too. */
static void alias_that_the_fallback_passes(void **state)
{
	struct mq_publish p = {.version = 5, .topic = SECRET, .alias = 3, .payload = "81"};
	struct bytes b = {0};
	struct peer c;

	(void)state;
	open_rig(BP_POLICY_FAIL_CLOSED);
	rig.mqtt.policy.fallback = BP_POLICY_FALLBACK_PASS;
	rule(BP_POLICY_BLANK, BP_POLICY_ANY, SECRET);
	load();
	c = connected_with_aliases();
	send_publish(&c, &p);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_BLANKED), 1);
	p.topic = "";
	p.retain = true;
	mq_publish(&b, &p);
	rig_send(&rig, &c, CLIENT, b.p, 1);
	rig_send(&rig, &c, CLIENT, b.p + 1, b.n - 1);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_BLANK_FALLBACK), 1);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_OBSERVED), 1);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_BLANKED), 1);
	assert_string_equal(rig_told_values(&rig), ""); /* the broker files it: no alarm */
	bytes_free(&b);
	rig_close(&rig);
}

static void any_sender(void **state)
{
	const char *seed = getenv("SEED");
	unsigned whole = 0;

	(void)state;
	srand(seed != NULL ? (unsigned)atoi(seed) : 29);
	for (unsigned i = 0; i < 1000; i++) {
		open_rig(i % 2 == 0 ? BP_POLICY_FAIL_OPEN : BP_POLICY_FAIL_CLOSED);
		rig.bursts = i / 2 % 2 == 0;
		rule(BP_POLICY_BLANK, BP_POLICY_PUBLISH, SECRET);
		load();
		whole += random_sender(i % 3 == 0);
		rig_close(&rig);
	}
	assert_true(whole > 100); /* of those that were not ended by a cut through a topic */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_length_of_topic),
		cmocka_unit_test(topic_of_one_byte),
		cmocka_unit_test(no_alarm),
		cmocka_unit_test(retransmission),
		cmocka_unit_test(any_cut),
		cmocka_unit_test(alias),
		cmocka_unit_test(alias_behind_the_retain_flag),
		cmocka_unit_test(alias_before_the_rule),
		cmocka_unit_test(subscriptions),
		cmocka_unit_test(some_filters),
		cmocka_unit_test(refused_connect),
		cmocka_unit_test(inspection_ends),
		cmocka_unit_test(alias_that_is_allowed_now),
		cmocka_unit_test(alias_that_the_fallback_passes),
		cmocka_unit_test(any_sender),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
