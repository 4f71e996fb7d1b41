/* SPDX-License-Identifier: BSD-3-Clause */
/* Action close: what is forwarded of a client's stream, and how a connection ends. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "policy_ends.h"

/* ---- the end ---- */

static void refused_publication(void **state)
{
	struct peer c;
	uint32_t before;

	(void)state;
	open_rig(BP_POLICY_FAIL_OPEN);
	rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/secret");
	load();
	c = connected(4);
	publish(&c, 4, "t/x");
	before = c.seq[CLIENT];
	assert_int_equal(received(&broker), before - broker.first);
	publish(&c, 4, "t/secret");
	assert_int_equal(received(&broker), before - broker.first);
	assert_int_equal(broker.resets, 1);
	assert_int_equal(broker.reset_at, before);
	assert_int_equal(client.resets, 1);
	assert_int_equal(client.reset_at, c.seq[BROKER]);
	assert_string_equal(rig_told_values(&rig), "81");
	assert_int_equal(rig_count(&rig, BP_C_POLICY_CLOSED), 1);
	assert_int_equal(rig_count(&rig, BP_C_DROP_POLICY_REFUSED), 1);
	/* what follows of both ends is answered with the number that they expect */
	publish(&c, 4, "t/x");
	assert_int_equal(received(&broker), before - broker.first);
	assert_int_equal(client.resets, 2);
	assert_int_equal(client.reset_at, c.seq[BROKER]);
	assert_int_equal(broker.resets, 2);
	assert_int_equal(broker.reset_at, before);
	rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER], before, NULL, 0);
	assert_int_equal(broker.resets, 3);
	assert_int_equal(broker.reset_at, before);
	assert_string_equal(rig_told_values(&rig), "");
	/* the next connection of the same ports is another one */
	c = open_peer();
	c.first[CLIENT] = c.seq[CLIENT] = 900000;
	c.first[BROKER] = c.seq[BROKER] = 700000;
	broker.first = 900001;
	client.first = 700001;
	rig_connect(&rig, &c, 4, "pump-1");
	publish(&c, 4, "t/x");
	assert_int_equal(received(&broker), c.seq[CLIENT] - broker.first);
	rig_close(&rig);
}

/* The broker never has the whole packet, wherever it is cut: what is decided by its value is
 * decided before its last byte is forwarded. */
static void refused_value(void **state)
{
	struct bp_rule_spec payload = {.raise = {.op = BP_COND_GT, .a = 80}};
	static const struct mq_publish low = {.version = 4, .topic = "s/x", .payload = "79"},
				       high = {.version = 4, .topic = "s/x", .payload = "81"};
	struct bytes b = {0};
	size_t whole;

	(void)state;
	mq_publish(&b, &low);
	whole = b.n;
	mq_publish(&b, &high);
	for (size_t piece = 1; piece <= b.n; piece++) {
		struct peer c;
		uint32_t before;

		open_rig(BP_POLICY_FAIL_OPEN);
		rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "s/#")->payload = &payload;
		load();
		c = connected(4);
		before = received(&broker);
		for (size_t at = 0; at < b.n; at += piece)
			rig_send(&rig, &c, CLIENT, b.p + at, b.n - at < piece ? b.n - at : piece);
		assert_true(received(&broker) >= before + whole);
		assert_true(received(&broker) < before + b.n);
		assert_true(broker.resets >= 1);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_CLOSED), 1);
		rig_close(&rig);
	}
	bytes_free(&b);
}

static void version_5_is_told_why(void **state)
{
	struct peer c;
	uint32_t n;

	(void)state;
	open_rig(BP_POLICY_FAIL_OPEN);
	rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/secret");
	load();
	c = connected(5);
	n = received(&client);
	publish(&c, 5, "t/secret");
	assert_int_equal(received(&client), n + 3);
	assert_memory_equal(client.byte + n, "\xe0\x01\x87", 3);
	assert_int_equal(client.fins, 1);
	assert_int_equal(client.resets, 0);
	assert_int_equal(broker.resets, 1);
	rig_close(&rig);
}

static void refused_connect(void **state)
{
	static const struct {
		uint8_t version, n;
		const char *connack;
	} with[] = {{4, 4, "\x20\x02\x00\x05"}, {5, 5, "\x20\x03\x00\x87\x00"}};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct bp_policy_rule_spec *r;
		struct bytes b = {0};
		struct peer c;

		open_rig(BP_POLICY_FAIL_OPEN);
		r = rule(BP_POLICY_CLOSE, BP_POLICY_CONNECT, "");
		snprintf(r->client, sizeof(r->client), "pump-*");
		load();
		c = open_peer();
		rig_handshake(&rig, &c);
		mq_connect(&b, with[i].version, "pump-1", 0);
		rig_send_bytes(&rig, &c, CLIENT, &b);
		assert_int_equal(received(&broker), 0);
		assert_int_equal(broker.resets, 1);
		assert_int_equal(received(&client), with[i].n);
		assert_memory_equal(client.byte, with[i].connack, with[i].n);
		rig_close(&rig);
	}
}

static void refused_subscription(void **state)
{
	struct bytes b = {0};
	struct peer c;
	uint32_t n;

	(void)state;
	open_rig(BP_POLICY_FAIL_OPEN);
	rule(BP_POLICY_CLOSE, BP_POLICY_SUBSCRIBE, "t/secret");
	load();
	c = connected(4);
	n = received(&broker);
	mq_subscribe(&b, 4, 1, "t/x");
	mq_subscribe(&b, 4, 2, "#");
	rig_send(&rig, &c, CLIENT, b.p, b.n);
	/* the first one has left */
	assert_int_equal(received(&broker), n + b.n / 2 + 1);
	assert_int_equal(broker.resets, 1);
	assert_int_equal(broker.reset_at, broker.first + received(&broker));
	bytes_free(&b);
	rig_close(&rig);
}

/* ---- only what was judged is forwarded ---- */

/* A retransmission with other bytes has the first ones, until they are acknowledged. */
static void other_bytes_in_a_retransmission(void **state)
{
	struct bytes good = {0}, bad = {0};
	struct mq_publish p = {.version = 4, .topic = "t/x12345", .payload = "81"};
	struct peer c;
	uint32_t at;

	(void)state;
	open_rig(BP_POLICY_FAIL_CLOSED);
	rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/secret");
	load();
	c = connected(4);
	mq_publish(&good, &p);
	p.topic = "t/secret";
	mq_publish(&bad, &p);
	at = c.seq[CLIENT];
	broker.deaf = true; /* it gets lost behind biplane */
	rig_send(&rig, &c, CLIENT, good.p, good.n);
	broker.deaf = false;
	rig_segment(&rig, &c, CLIENT, TH_ACK | TH_PSH, at, c.seq[BROKER], bad.p, bad.n);
	assert_memory_equal(broker.byte + (at - broker.first), good.p, good.n);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_RESTORED), 1);
	/* in parts, and with more */
	rig_segment(&rig, &c, CLIENT, TH_ACK | TH_PSH, at + 3, c.seq[BROKER], bad.p + 3, 4);
	bytes_add(&bad, good.p, good.n);
	rig_segment(&rig, &c, CLIENT, TH_ACK | TH_PSH, at, c.seq[BROKER], bad.p, bad.n);
	c.seq[CLIENT] += (uint32_t)good.n;
	assert_int_equal(received(&broker), c.seq[CLIENT] - broker.first);
	assert_memory_equal(broker.byte + (at - broker.first) + good.n, good.p, good.n);
	rig_ack(&rig, &c, BROKER);
	broker.acked = received(&broker);
	rig_segment(&rig, &c, CLIENT, TH_ACK | TH_PSH, at, c.seq[BROKER], bad.p, good.n);
	assert_int_equal(broker.resets, 0);
	bytes_free(&good);
	bytes_free(&bad);
	rig_close(&rig);
}

static void ahead_of_the_stream(void **state)
{
	struct bytes b = {0};
	struct peer c;
	uint32_t at;

	(void)state;
	open_rig(BP_POLICY_FAIL_OPEN);
	rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/secret");
	load();
	c = connected(4);
	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "t/secret", .payload = "81"});
	at = c.seq[CLIENT];
	rig_segment(&rig, &c, CLIENT, TH_ACK, at + 5, c.seq[BROKER], b.p + 5, b.n - 5);
	assert_int_equal(rig_count(&rig, BP_C_DROP_POLICY_AHEAD), 1);
	rig_segment(&rig, &c, CLIENT, TH_ACK, at, c.seq[BROKER], b.p, 5);
	assert_int_equal(received(&broker), at + 5 - broker.first);
	assert_int_equal(broker.resets, 0);
	rig_segment(&rig, &c, CLIENT, TH_ACK, at + 5, c.seq[BROKER], b.p + 5, b.n - 5);
	assert_int_equal(received(&broker), at + 5 - broker.first);
	assert_int_equal(broker.resets, 1);
	bytes_free(&b);
	rig_close(&rig);
}

/* Before the broker has accepted the client, nothing behind the CONNECT leaves. */
static void behind_the_connect(void **state)
{
	struct bytes b = {0};
	struct peer c;
	size_t connect;

	(void)state;
	open_rig(BP_POLICY_FAIL_OPEN);
	rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/secret");
	load();
	c = open_peer();
	rig_handshake(&rig, &c);
	mq_connect(&b, 4, "pump-1", 0);
	connect = b.n;
	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = "81"});
	rig_segment(&rig, &c, CLIENT, TH_ACK | TH_PSH, c.seq[CLIENT], c.seq[BROKER], b.p, b.n);
	assert_int_equal(received(&broker), connect);
	rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER], c.seq[CLIENT] + (uint32_t)connect,
		NULL, 0);
	c.seq[CLIENT] += (uint32_t)connect;
	rig_accept(&rig, &c, 4);
	rig_send(&rig, &c, CLIENT, b.p + connect, b.n - connect);
	assert_int_equal(received(&broker), b.n);
	assert_string_equal(rig_told_values(&rig), "81");
	bytes_free(&b);
	rig_close(&rig);
}

/* Frames of the broker that arrive where the client is are the client's. */
static void broker_at_the_port_of_the_client(void **state)
{
	struct bytes b = {0};
	struct peer c;
	uint32_t at;

	(void)state;
	open_rig(BP_POLICY_FAIL_OPEN);
	rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/secret");
	load();
	c = open_peer();
	rig.port = 1;
	rig_segment(&rig, &c, CLIENT, TH_SYN, c.seq[CLIENT]++, 0, NULL, 0);
	rig.port = 2;
	rig_segment(&rig, &c, BROKER, TH_SYN | TH_ACK, c.seq[BROKER]++, c.seq[CLIENT], NULL, 0);
	rig.port = 1;
	rig_ack(&rig, &c, CLIENT);
	mq_connect(&b, 4, "pump-1", 0);
	rig_send_bytes(&rig, &c, CLIENT, &b);
	rig.port = 2;
	rig_accept(&rig, &c, 4);
	rig.port = 1;
	publish(&c, 4, "t/x");
	at = received(&client);
	mq_empty(&b, MQ_DISCONNECT);
	rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER], c.seq[CLIENT], b.p, b.n);
	bytes_free(&b);
	assert_int_equal(rig_count(&rig, BP_C_DROP_POLICY_SPOOFED), 1);
	assert_int_equal(received(&client), at);
	at = received(&broker);
	publish(&c, 4, "t/secret");
	assert_int_equal(received(&broker), at);
	rig_close(&rig);
}

static void urgent_data(void **state)
{
	struct peer c;

	(void)state;
	open_rig(BP_POLICY_FAIL_OPEN);
	rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/secret");
	load();
	c = connected(4);
	rig_segment(&rig, &c, CLIENT, TH_ACK | 0x20, c.seq[CLIENT], c.seq[BROKER], "x", 1);
	rig_segment(&rig, &c, CLIENT, TH_ACK | 0x20, c.seq[CLIENT], c.seq[BROKER], NULL, 0);
	assert_int_equal(rig_count(&rig, BP_C_DROP_POLICY_URGENT), 2);
	publish(&c, 4, "t/x");
	assert_int_equal(received(&broker), c.seq[CLIENT] - broker.first);
	rig_close(&rig);
}

/* The byte `ahead` bytes ahead of the stream is urgent: its receiver removes it. */
static void announce_urgent(struct peer *c, uint16_t ahead)
{
	const size_t n = peer_frame(c, CLIENT, TH_ACK | 0x20, c->seq[CLIENT], c->seq[BROKER], NULL,
			     0, rig.frame),
		     at = peer_l4(c) + 18;

	rig.frame[at] = (uint8_t)((ahead + 1) >> 8);
	rig.frame[at + 1] = (uint8_t)(ahead + 1);
	peer_checksums(c, rig.frame, n);
	rig_frame(&rig, rig.frame, n);
}

/* Announced before the policy was active: what the broker reads behind it is not known. */
static void urgent_byte_of_before(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		const bool open = i & 1, is_read = i & 2;
		struct peer c;

		open_rig(open ? BP_POLICY_FAIL_OPEN : BP_POLICY_FAIL_CLOSED);
		rule(BP_POLICY_OBSERVE, BP_POLICY_PUBLISH, "t/secret");
		load();
		c = connected(4);
		announce_urgent(&c, is_read ? 0 : 3);
		assert_int_equal(rig_count(&rig, BP_C_SEG_URGENT), 1);
		if (is_read)
			rig_send(&rig, &c, CLIENT, "x", 1);
		rules[0].action = BP_POLICY_CLOSE;
		load();
		broker.first = c.seq[CLIENT];
		publish(&c, 4, "t/x");
		assert_int_equal(rig_count(&rig, BP_C_POLICY_FAILED_CLOSED), !open && !is_read);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_FAILED_OPEN), open && !is_read);
		assert_int_equal(broker.resets, !open && !is_read);
		assert_int_equal(
			received(&broker), open || is_read ? c.seq[CLIENT] - broker.first : 0);
		rig_close(&rig);
	}
}

/* Publications that the burst path reads are judged as well. */
static void bursts(void **state)
{
	struct bytes good = {0}, bad = {0};
	struct mq_publish p = {.version = 4, .topic = "t/x12345", .payload = "81"};
	struct peer c;
	uint32_t at;

	(void)state;
	open_rig(BP_POLICY_FAIL_CLOSED);
	rig.bursts = true;
	rig.burst_size = 4;
	rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/secret");
	load();
	c = connected(4);
	mq_publish(&good, &p);
	p.topic = "t/secret";
	mq_publish(&bad, &p);
	for (unsigned i = 0; i < 200; i++) {
		rig_send(&rig, &c, CLIENT, good.p, good.n);
		if (i % 64 == 63)
			rig_ack(&rig, &c, BROKER);
	}
	rig_flush(&rig);
	assert_true(rig.n_in_bursts - rig.n_general >= 150);
	assert_int_equal(received(&broker), c.seq[CLIENT] - broker.first);
	/* one of those that are not acknowledged */
	at = c.seq[CLIENT] - 3 * (uint32_t)good.n;
	rig_segment(&rig, &c, CLIENT, TH_ACK | TH_PSH, at, c.seq[BROKER], bad.p, bad.n);
	rig_flush(&rig);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_RESTORED), 1);
	/* in one burst: some on the burst path, the refused one, and what follows it */
	rig_send(&rig, &c, CLIENT, good.p, good.n);
	at = c.seq[CLIENT];
	rig_send(&rig, &c, CLIENT, bad.p, bad.n);
	rig_send(&rig, &c, CLIENT, good.p, good.n);
	rig_flush(&rig);
	assert_int_equal(received(&broker), at - broker.first);
	assert_int_equal(broker.resets, 2);
	bytes_free(&good);
	bytes_free(&bad);
	rig_close(&rig);
}

/* A reload brings the policy into force for a connection that exists, and ends it. */
static void reload(void **state)
{
	struct peer c;
	uint32_t n;

	(void)state;
	open_rig(BP_POLICY_FAIL_OPEN);
	rule(BP_POLICY_OBSERVE, BP_POLICY_PUBLISH, "t/secret");
	load();
	c = connected(4);
	publish(&c, 4, "t/secret");
	rules[0].action = BP_POLICY_CLOSE;
	load();
	publish(&c, 4, "t/x");
	n = received(&broker);
	publish(&c, 4, "t/secret");
	assert_int_equal(received(&broker), n);
	assert_int_equal(broker.resets, 1);
	rules[0].action = BP_POLICY_OBSERVE;
	load();
	rig_close(&rig);
}

/* ---- any sender ---- */

struct packets {
	struct bytes bytes;
	size_t refused; /* where the first refused packet begins; SIZE_MAX: there is none */
};

static void random_packets(struct packets *p, unsigned n, unsigned refused_in)
{
	mq_connect(&p->bytes, 4, "pump-1", 0);
	p->refused = SIZE_MAX;
	for (unsigned i = 0; i < n; i++) {
		struct mq_publish m = {.version = 4,
			.topic = "t/fine-x",
			.payload = "some payload",
			.payload_len = (size_t)(rand() % 12 + 1)};

		if (rand() % refused_in == 0) {
			m.topic = "t/secret";
			if (p->refused == SIZE_MAX)
				p->refused = p->bytes.n;
		}
		if (rand() % 8 == 0)
			mq_empty(&p->bytes, MQ_PINGREQ);
		else
			mq_publish(&p->bytes, &m);
		if (p->refused != SIZE_MAX && p->bytes.n == p->refused + 2)
			p->refused = SIZE_MAX; /* it became a PINGREQ */
	}
}

/* Whether these bytes, from their first on, have a complete PUBLISH on the refused topic. */
static bool has_refused(const uint8_t *p, uint32_t n)
{
	while (n >= 2 && p[1] < 128 && n >= p[1] + 2u) {
		if (p[0] >> 4 == 3 && p[1] >= 10 && memcmp(p + 2, "\0\x08t/secret", 10) == 0)
			return true;
		n -= p[1] + 2u;
		p += p[1] + 2u;
	}
	return false;
}

/* Segments of any position and length, some with other bytes, some lost behind biplane. */
static void random_sender(bool hostile, bool complete)
{
	struct packets p = {0};
	struct peer c = open_peer();
	uint32_t first;

	rig_handshake(&rig, &c);
	random_packets(&p, 20, hostile ? 4 : 15);
	first = c.seq[CLIENT];
	for (unsigned i = 0; i < 600 && client.resets == 0; i++) {
		const uint32_t have = received(&broker);
		uint32_t from, n = (uint32_t)(rand() % 40 + 1);
		uint8_t other[64];

		from = complete && rand() % 2 == 0 ? have : (uint32_t)rand() % (uint32_t)p.bytes.n;
		if (from >= p.bytes.n)
			break;
		if (n > p.bytes.n - from)
			n = (uint32_t)(p.bytes.n - from);
		memcpy(other, p.bytes.p + from, n);
		if (hostile && rand() % 4 == 0)
			other[rand() % (int)n] ^= (uint8_t)(1 << rand() % 8);
		if (hostile && rand() % 4 == 0 && n >= 12)
			memcpy(other, "\x30\x0a\x00\x08t/secret", 12);
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
		if (c.seq[BROKER] == 2001 && received(&broker) >= p.bytes.p[1] + 2u) {
			broker.acked = received(&broker);
			c.seq[CLIENT] = first + broker.acked;
			rig_accept(&rig, &c, 4);
		}
	}
	if (complete && !hostile) {
		/* what was lost is not sent again by a client whose connection has ended */
		if (p.refused == SIZE_MAX)
			assert_int_equal(received(&broker), p.bytes.n);
		assert_memory_equal(broker.byte, p.bytes.p, received(&broker));
		assert_int_equal(client.resets != 0, p.refused != SIZE_MAX);
	}
	bytes_free(&p.bytes);
}

static void any_sender(void **state)
{
	const char *seed = getenv("SEED");

	(void)state;
	srand(seed != NULL ? (unsigned)atoi(seed) : 29);
	for (unsigned i = 0; i < 1500; i++) {
		open_rig(i % 2 == 0 ? BP_POLICY_FAIL_OPEN : BP_POLICY_FAIL_CLOSED);
		rig.bursts = i / 2 % 2 == 0;
		rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/secret");
		load();
		random_sender(i % 3 == 0, i % 3 != 1);
		rig_close(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused_publication),
		cmocka_unit_test(refused_value),
		cmocka_unit_test(version_5_is_told_why),
		cmocka_unit_test(refused_connect),
		cmocka_unit_test(refused_subscription),
		cmocka_unit_test(other_bytes_in_a_retransmission),
		cmocka_unit_test(ahead_of_the_stream),
		cmocka_unit_test(behind_the_connect),
		cmocka_unit_test(broker_at_the_port_of_the_client),
		cmocka_unit_test(urgent_data),
		cmocka_unit_test(urgent_byte_of_before),
		cmocka_unit_test(bursts),
		cmocka_unit_test(reload),
		cmocka_unit_test(any_sender),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
