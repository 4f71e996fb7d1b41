/* SPDX-License-Identifier: BSD-3-Clause */
/* Resynchronisation after a loss on a connection without answers: sufficient conditions. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <string.h>

#include "resync_steps.h"

static void comes_back(void **state)
{
	struct peer c;

	(void)state;
	for (unsigned fast = 0; fast < 2; fast++) {
		open_with(PUSHES, BP_DIRECTIONS_TO_BROKER, fast);
		start(&c, 1);
		lose(&c, 333);
		come_back(&c);
		publish(&c, "82");
		publish(&c, "79");
		publish(&c, "83");
		assert_string_equal(told(), "82 83");
		/* and again */
		lose(&c, 20);
		come_back(&c);
		publish(&c, "84");
		assert_string_equal(told(), "84");
		assert_int_equal(rig_count(&rig, BP_C_RESYNC_CONFIRMED), 0);
		assert_int_equal(rig_count(&rig, BP_C_RESYNC_REVERTED), 0);
		rig_close(&rig);
	}
}

/* The acknowledgement may arrive at any later time; packets before it are not evaluated. */
static void acknowledged_late(void **state)
{
	struct peer c;

	(void)state;
	open_rig();
	start(&c, 1);
	lose(&c, 333);
	pushes(&c, 30, "t/x");
	assert_false(back());
	rig_ack(&rig, &c, BROKER);
	assert_true(back());
	publish(&c, "85");
	assert_string_equal(told(), "85");
	rig_close(&rig);
}

static void as_configured(void **state)
{
	struct peer c;

	(void)state;
	for (uint32_t want = 1; want <= 64; want += 21) {
		open_with(want, BP_DIRECTIONS_TO_BROKER, false);
		start(&c, 1);
		lose(&c, 333);
		for (uint32_t i = 0; i < want; i++) {
			publish(&c, "90");
			rig_ack(&rig, &c, BROKER);
		}
		assert_false(back());
		publish(&c, "90");
		rig_ack(&rig, &c, BROKER);
		assert_true(back());
		assert_string_equal(told(), "");
		rig_close(&rig);
	}
	open_with(0, BP_DIRECTIONS_TO_BROKER, false);
	start(&c, 1);
	lose(&c, 333);
	for (unsigned i = 0; i < 300; i++) {
		publish(&c, "90");
		rig_ack(&rig, &c, BROKER);
	}
	assert_false(back());
	assert_string_equal(told(), "");
	rig_close(&rig);
}

/* Deliveries of a broker with QoS 0, if that direction is evaluated; the TCP stack of the
 * subscriber acknowledges. */
static void from_broker(void **state)
{
	struct mq_publish p = {.version = 4, .topic = "t/x", .payload = "86"};
	struct peer c;

	(void)state;
	open_with(PUSHES, BP_DIRECTIONS_FROM_BROKER, false);
	peer_init(&c, true, 1, 7, 0xffffffe0u);
	rig_connect(&rig, &c, 4, "sub");
	rig_publish(&rig, &c, BROKER, &p);
	assert_string_equal(told(), "86");
	c.seq[BROKER] += 100;
	rig_ack(&rig, &c, CLIENT);
	for (unsigned i = 0; i < 1 + PUSHES; i++)
		rig_publish(&rig, &c, BROKER, &p);
	assert_string_equal(told(), "");
	rig_ack(&rig, &c, CLIENT);
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_UNCONFIRMED), 1);
	rig_publish(&rig, &c, BROKER, &p);
	assert_string_equal(told(), "86");
	/* the other direction is not evaluated, and not brought back so */
	publish(&c, "90");
	lose(&c, 50);
	pushes(&c, 50, "t/x");
	rig_ack(&rig, &c, BROKER);
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_UNCONFIRMED), 1);
	rig_close(&rig);
}

/* Version 5: the topic of an alias is unknown until it is mapped again. */
static void alias_is_unknown_after_a_gap(void **state)
{
	struct mq_publish map = {.version = 5, .alias = 1, .topic = "t/x", .payload = "1"};
	struct mq_publish by_alias = {.version = 5, .alias = 1, .topic = "", .payload = "87"};
	struct mq_publish plain = {.version = 5, .topic = "t/x", .payload = "88"};
	struct peer c;

	(void)state;
	open_rig();
	peer_init(&c, false, 1, 5, 6);
	rig_connect_alias(&rig, &c, "alias", 5, 5);
	rig_publish(&rig, &c, CLIENT, &map);
	rig_publish(&rig, &c, CLIENT, &by_alias);
	assert_string_equal(told(), "87");
	rig_ack(&rig, &c, BROKER);
	lose(&c, 30);
	for (unsigned i = 0; i < 20; i++)
		rig_publish(&rig, &c, CLIENT, &by_alias);
	rig_ack(&rig, &c, BROKER);
	assert_false(back());
	for (unsigned i = 0; i < PUSHES; i++)
		rig_publish(&rig, &c, CLIENT, &plain);
	rig_ack(&rig, &c, BROKER);
	assert_true(back());
	rig_publish(&rig, &c, CLIENT, &by_alias);
	assert_int_equal(rig_count(&rig, BP_C_ALIAS_UNMAPPED), 1);
	assert_string_equal(told(), "");
	rig_publish(&rig, &c, CLIENT, &map);
	rig_publish(&rig, &c, CLIENT, &by_alias);
	assert_string_equal(told(), "87");
	rig_close(&rig);
}

/* `n` packets of 9 bytes, written at once, in segments of `mss`. */
static void write_many(struct peer *c, unsigned n, uint32_t mss)
{
	struct bytes b = {0};

	while (n-- != 0)
		mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = "91"});
	for (size_t at = 0; at < b.n; at += mss) {
		bool last = b.n - at <= mss;
		uint32_t len = last ? (uint32_t)(b.n - at) : mss;

		rig_segment(&rig, c, CLIENT, last ? TH_ACK | TH_PSH : TH_ACK, c->seq[CLIENT],
			c->seq[BROKER], b.p + at, len);
		c->seq[CLIENT] += len;
	}
	rig_ack(&rig, c, BROKER);
	bytes_free(&b);
}

/* A segment with several packets counts like one with one packet. A packet over more than a segment
 * interrupts the sequence, although its end is a valid start of the next one. */
static void long_pushes(void **state)
{
	struct peer c;

	(void)state;
	open_rig();
	start(&c, 1);
	lose(&c, 333);
	for (unsigned i = 0; i < 30; i++)
		write_many(&c, 12, 40);
	for (unsigned i = 0; i < PUSHES - 1; i++)
		write_many(&c, 12, 400);
	write_many(&c, 12, 54);
	for (unsigned i = 0; i < PUSHES - 1; i++)
		write_many(&c, 12, 400);
	assert_false(back());
	write_many(&c, 12, 400);
	assert_true(back());
	assert_string_equal(told(), "");
	publish(&c, "92");
	assert_string_equal(told(), "92");
	rig_close(&rig);
}

/* A SYN with options: those before the MSS are skipped. */
static void syn(struct peer *c, unsigned from, const char *options, size_t n)
{
	size_t l4 = peer_l4(c), len;

	len = peer_frame(c, from, from == CLIENT ? TH_SYN : TH_SYN | TH_ACK, c->seq[from],
		from == CLIENT ? 0 : c->seq[CLIENT], options, n, rig.frame);
	rig.frame[l4 + 12] = (uint8_t)((20 + n) / 4 << 4);
	peer_checksums(c, rig.frame, len);
	rig_frame(&rig, rig.frame, len);
	c->seq[from]++;
}

/* The maximum length of a counted segment is three quarters of the smaller announced MSS. */
static void segment_limit_follows_the_mss(void **state)
{
	static const struct {
		const char *client, *broker;
		size_t n_client, n_broker;
		uint32_t most;
	} with[] = {
		{"\2\4\5\xb4", "\2\4\0\x80", 4, 4, 96},
		{"\1\1\4\2\2\4\0\x80", "\2\4\5\xb4", 8, 4, 96},
		{"\2\4\x05\xb4", "\2\4\x05\xa0", 4, 4, 1080}, {"", "\2\4\5\xb4", 0, 4, 402},
		{"\2\4\x05\xb4", "\0\0\2\4\x05\xb4\0\0", 4, 8, 402},     /* behind the end */
		{"\3\0\2\4\0\x80\0\0", "\3\1\2\4\0\x80\0\0", 8, 8, 402}, /* no lengths */
	};
	static char spaces[1500];

	(void)state;
	memset(spaces, ' ', sizeof(spaces));
	for (size_t i = 0; i < 2 * sizeof(with) / sizeof(with[0]); i++) {
		uint32_t len = with[i / 2].most + (i & 1), head = len > 129 ? 8 : 7;
		struct bytes b = {0};
		struct peer c;

		open_rig();
		peer_init(&c, i & 1, 1, 5, 6);
		syn(&c, CLIENT, with[i / 2].client, with[i / 2].n_client);
		syn(&c, BROKER, with[i / 2].broker, with[i / 2].n_broker);
		rig_ack(&rig, &c, CLIENT);
		mq_connect(&b, 4, "mss", 0);
		rig_send_bytes(&rig, &c, CLIENT, &b);
		mq_connack(&b, 4, 0, 0, NULL);
		rig_send_bytes(&rig, &c, BROKER, &b);
		publish(&c, "81");
		assert_string_equal(told(), "81");
		lose(&c, 333);
		for (unsigned k = 0; k < 20; k++) {
			mq_publish(&b, &(struct mq_publish){.version = 4,
					       .topic = "t/x",
					       .payload = spaces,
					       .payload_len = len - head});
			assert_int_equal(b.n, len);
			rig_send_bytes(&rig, &c, CLIENT, &b);
			rig_ack(&rig, &c, BROKER);
		}
		assert_int_equal(rig_count(&rig, BP_C_RESYNC_UNCONFIRMED), !(i & 1));
		rig_close(&rig);
	}
}

/*
 * Where only one end's announcement was seen, or is known to be of this connection, no more than
 * 536 is assumed: the other end's may be less.
 */
static void announced_by_one(void **state)
{
	static char spaces[500];

	(void)state;
	memset(spaces, ' ', sizeof(spaces));
	for (unsigned again = 0; again < 2; again++) {
		struct bytes b = {0};
		struct peer c;

		open_rig();
		if (again) { /* restarted without a FIN, it connects from the same port */
			start(&c, 1);
			c.seq[CLIENT] += 1000000;
			c.seq[BROKER] += 1000000;
			syn(&c, CLIENT, "\2\4\1\0", 4);
		} else {
			peer_init(&c, false, 1, 5, 6);
		}
		syn(&c, BROKER, "\2\4\5\xb4", 4);
		mq_connect(&b, 4, "mss", 0);
		rig_send_bytes(&rig, &c, CLIENT, &b);
		mq_connack(&b, 4, 0, 0, NULL);
		rig_send_bytes(&rig, &c, BROKER, &b);
		publish(&c, "81");
		assert_string_equal(told(), "81");
		lose(&c, 333);
		for (unsigned k = 0; k < 20; k++) {
			mq_publish(&b, &(struct mq_publish){.version = 4,
					       .topic = "t/x",
					       .payload = spaces,
					       .payload_len = 403 - 8});
			assert_int_equal(b.n, 403);
			rig_send_bytes(&rig, &c, CLIENT, &b);
			rig_ack(&rig, &c, BROKER);
		}
		assert_false(back());
		rig_close(&rig);
	}
}

/* A TCP segment in several buffers ends its push once. */
static void in_pieces(void **state)
{
	struct peer c;

	(void)state;
	open_rig();
	start(&c, 1);
	lose(&c, 333);
	rig.pieces = 8; /* the head in one */
	come_back(&c);
	publish(&c, "93");
	assert_string_equal(told(), "93");
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back),
		cmocka_unit_test(acknowledged_late),
		cmocka_unit_test(as_configured),
		cmocka_unit_test(from_broker),
		cmocka_unit_test(alias_is_unknown_after_a_gap),
		cmocka_unit_test(long_pushes),
		cmocka_unit_test(segment_limit_follows_the_mss),
		cmocka_unit_test(announced_by_one),
		cmocka_unit_test(in_pieces),
	};

	return cmocka_run_group_tests_name("resync", tests, NULL, NULL);
}
