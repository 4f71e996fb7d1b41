/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Back in step after a loss on a connection where nothing is answered: what brings it back, what of
 * a payload or of a stranger does not, and what is judged then.
 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"

#define PUSHES 4
#define SECOND 1000000000ull

static struct rig rig;

static void open_with(uint32_t pushes, uint8_t judge, bool fast)
{
	rig_defaults(&rig);
	rig.config.mqtt.resync_pushes = pushes;
	rig.config.mqtt.judge = judge;
	rig_open(&rig);
	rig.fast = fast;
	rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "t/#", BP_COND_GT, 80)}, 1);
}

static void open_rig(void)
{
	open_with(PUSHES, BP_JUDGE_TO_BROKER, false);
}

static const char *told(void)
{
	return rig_told_values(&rig);
}

static void publish_on(struct peer *c, const char *topic, const char *value)
{
	rig_publish_text(&rig, c, topic, value);
}

static void publish(struct peer *c, const char *value)
{
	publish_on(c, "t/x", value);
}

/* Connected, and a first publication is read. */
static void start(struct peer *c, uint32_t number)
{
	peer_init(c, false, number, 0xfffffd00u, 0xffffff00u);
	rig_connect(&rig, c, 4, "resync");
	publish(c, "81");
	assert_string_equal(told(), "81");
	rig_ack(&rig, c, BROKER);
}

/* `n` bytes of the client pass by unseen, and the broker has them. */
static void lose(struct peer *c, uint32_t n)
{
	uint64_t before = rig_count(&rig, BP_C_SEEK_ENTERED);

	c->seq[CLIENT] += n;
	rig_ack(&rig, c, BROKER);
	assert_int_equal(rig_count(&rig, BP_C_SEEK_ENTERED), before + 1);
}

static void pushes(struct peer *c, unsigned n, const char *topic)
{
	for (unsigned i = 0; i < n; i++)
		publish_on(c, topic, "90");
}

/* As many as are needed: the one behind which a push is known to begin, and these. */
static void come_back(struct peer *c)
{
	uint64_t before = rig_count(&rig, BP_C_SEEK_PUSHED);

	pushes(c, 1 + PUSHES, "t/x");
	assert_int_equal(rig_count(&rig, BP_C_SEEK_PUSHED), before);
	rig_ack(&rig, c, BROKER);
	assert_int_equal(rig_count(&rig, BP_C_SEEK_PUSHED), before + 1);
	assert_string_equal(told(), "");
}

static bool back(void)
{
	return rig_count(&rig, BP_C_SEEK_PUSHED) != 0;
}

static void comes_back(void **state)
{
	struct peer c;

	(void)state;
	for (unsigned fast = 0; fast < 2; fast++) {
		open_with(PUSHES, BP_JUDGE_TO_BROKER, fast);
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
		assert_int_equal(rig_count(&rig, BP_C_SEEK_PROVEN), 0);
		assert_int_equal(rig_count(&rig, BP_C_SEEK_REFUTED), 0);
		rig_close(&rig);
	}
}

/* The acknowledgement may come at any time after; what comes before it is not judged. */
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
		open_with(want, BP_JUDGE_TO_BROKER, false);
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
	open_with(0, BP_JUDGE_TO_BROKER, false);
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

/* What a broker delivers by QoS 0, where that is judged; its subscriber acknowledges. */
static void from_broker(void **state)
{
	struct mq_publish p = {.version = 4, .topic = "t/x", .payload = "86"};
	struct peer c;

	(void)state;
	open_with(PUSHES, BP_JUDGE_FROM_BROKER, false);
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
	assert_int_equal(rig_count(&rig, BP_C_SEEK_PUSHED), 1);
	rig_publish(&rig, &c, BROKER, &p);
	assert_string_equal(told(), "86");
	/* the other direction is not judged, and not brought back so */
	publish(&c, "90");
	lose(&c, 50);
	pushes(&c, 50, "t/x");
	rig_ack(&rig, &c, BROKER);
	assert_int_equal(rig_count(&rig, BP_C_SEEK_PUSHED), 1);
	rig_close(&rig);
}

/* Version 5: what a topic alias stands for is unknown until it is mapped anew. */
static void aliases(void **state)
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

/* One segment of several packets is as good as one of one. What took more than a segment breaks the
 * row, although its end is a good beginning for the next. */
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

/* A SYN with options: what stands before the MSS is stepped over. */
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

/* The longest segment that counts is three quarters of the smaller MSS that was announced. */
static void announced(void **state)
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
		assert_int_equal(rig_count(&rig, BP_C_SEEK_PUSHED), !(i & 1));
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

/* A segment that lies in several buffers ends its push once. */
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

/* ---- what does not count ---- */

/* The count begins anew, at a push that is known to begin with a packet when `aligned`. */
static void begins_anew(struct peer *c, bool aligned)
{
	pushes(c, aligned ? PUSHES - 1 : PUSHES, "t/x");
	rig_ack(&rig, c, BROKER);
	assert_false(back());
	pushes(c, 1, "t/x");
	rig_ack(&rig, c, BROKER);
	assert_true(back());
	assert_string_equal(told(), "");
	rig_close(&rig);
}

/* A search that has seen all pushes but one. */
static void nearly(struct peer *c)
{
	open_rig();
	start(c, 1);
	lose(c, 333);
	pushes(c, PUSHES, "t/x");
	rig_ack(&rig, c, BROKER);
	assert_false(back());
}

static void broken_by_hole(void **state)
{
	struct peer c;

	(void)state;
	nearly(&c);
	c.seq[CLIENT] += 9;
	begins_anew(&c, false);
}

static void broken_by_repetition(void **state)
{
	struct peer c;

	(void)state;
	nearly(&c);
	c.seq[CLIENT] -= 9;
	publish(&c, "90");
	begins_anew(&c, false);
}

static void broken_by_overlap(void **state)
{
	struct peer c;
	struct bytes b = {0};

	(void)state;
	nearly(&c);
	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = "90"});
	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = "90"});
	c.seq[CLIENT] -= 9;
	rig_send_bytes(&rig, &c, CLIENT, &b);
	begins_anew(&c, true);
}

static void broken_by_topic(void **state)
{
	struct peer c;

	(void)state;
	nearly(&c);
	publish_on(&c, "t/never", "90");
	begins_anew(&c, true);
}

/* A push that ends inside a packet; the one that ends it does not begin with one. */
static void broken_by_cut_push(void **state)
{
	struct peer c;
	struct bytes b = {0};

	(void)state;
	nearly(&c);
	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = "90"});
	rig_send(&rig, &c, CLIENT, b.p, 7);
	rig_send(&rig, &c, CLIENT, b.p + 7, b.n - 7);
	bytes_free(&b);
	begins_anew(&c, true);
}

static void broken_by_contradiction(void **state)
{
	struct peer c;

	(void)state;
	nearly(&c);
	rig_send(&rig, &c, CLIENT, "\xff\xff", 2);
	begins_anew(&c, false);
}

/* Packets without a topic say too little: they neither count nor break. */
static void others_in_between(void **state)
{
	struct peer c;
	struct bytes b = {0};

	(void)state;
	nearly(&c);
	for (unsigned i = 0; i < 20; i++) {
		mq_empty(&b, MQ_PINGREQ);
		rig_send_bytes(&rig, &c, CLIENT, &b);
		rig_ack(&rig, &c, BROKER);
	}
	assert_false(back());
	pushes(&c, 1, "t/x");
	rig_ack(&rig, &c, BROKER);
	assert_true(back());
	rig_close(&rig);
}

/* The acknowledgement must cover the last push, and no more than was seen, from the true broker. */
static void acknowledgements(void **state)
{
	struct peer c;
	uint32_t end;

	(void)state;
	open_rig();
	start(&c, 1);
	lose(&c, 333);
	pushes(&c, 1 + PUSHES, "t/x");
	end = c.seq[CLIENT];
	rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER], end - 1, NULL, 0);
	assert_false(back());
	/* a stranger does not know the broker's position */
	rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER] + 1, end, NULL, 0);
	rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER] - 1, end, NULL, 0);
	rig_segment(&rig, &c, BROKER, TH_SYN | TH_ACK, c.seq[BROKER], end, NULL, 0);
	assert_false(back());
	/* bytes went by unseen: anything may have been in them */
	rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER], end + 5, NULL, 0);
	rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER], end, NULL, 0);
	assert_false(back());
	c.seq[CLIENT] += 5;
	begins_anew(&c, false);
}

/* A connection met in the middle has no topics of before; nor has one that published nothing. */
static void nothing_known(void **state)
{
	struct peer c;

	(void)state;
	open_rig();
	peer_init(&c, false, 1, 7, 9);
	for (unsigned i = 0; i < 50; i++) {
		publish(&c, "99");
		rig_ack(&rig, &c, BROKER);
	}
	peer_init(&c, false, 2, 7, 9);
	rig_connect(&rig, &c, 4, "new");
	lose(&c, 100);
	for (unsigned i = 0; i < 50; i++) {
		publish(&c, "99");
		rig_ack(&rig, &c, BROKER);
	}
	assert_false(back());
	assert_string_equal(told(), "");
	rig_close(&rig);
}

/* What an earlier connection of the same addresses published is forgotten. */
static void forgotten_with_the_connection(void **state)
{
	struct peer c;

	(void)state;
	open_rig();
	start(&c, 1);
	rig_fin_both(&rig, &c);
	c.seq[CLIENT] += 100000;
	c.seq[BROKER] += 100000;
	rig_connect(&rig, &c, 4, "again");
	assert_int_equal(rig_count(&rig, BP_C_FLOW_REOPENED), 1);
	lose(&c, 100);
	pushes(&c, 20, "t/x");
	rig_ack(&rig, &c, BROKER);
	assert_false(back());
	rig_close(&rig);
}

/* ---- hostile payloads ---- */

/*
 * A payload that is all PUBLISH packets on a known topic, in segments that begin with one each and
 * consist of whole ones. One write, so that its segments are not pushed; or some are, when half of
 * the window is full; or each is, by a small stack that knows no better.
 */
static void one_write(void **state)
{
	struct bytes fake = {0};
	struct peer c;

	(void)state;
	while (fake.n + 9 <= 536)
		mq_publish(
			&fake, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = "99"});
	for (unsigned every = 1; every <= 1000; every *= 10) {
		open_rig();
		start(&c, 1);
		/* its head is lost; the payload is seen from its first byte */
		lose(&c, 20);
		for (unsigned i = 1; i <= 200; i++) {
			rig_segment(&rig, &c, CLIENT, i % every == 0 ? TH_ACK | TH_PSH : TH_ACK,
				c.seq[CLIENT], c.seq[BROKER], fake.p, fake.n);
			c.seq[CLIENT] += (uint32_t)fake.n;
			rig_ack(&rig, &c, BROKER);
		}
		/* its end is short, and pushed: one that counts, behind a push. The guess is right
		 * now */
		rig_send(&rig, &c, CLIENT, fake.p, 27);
		assert_string_equal(told(), "");
		for (unsigned i = every > 200 ? 0 : 1; i < PUSHES; i++) {
			rig_ack(&rig, &c, BROKER);
			assert_false(back());
			pushes(&c, 1, "t/x");
		}
		rig_ack(&rig, &c, BROKER);
		assert_true(back());
		assert_string_equal(told(), "");
		publish(&c, "82");
		assert_string_equal(told(), "82");
		rig_close(&rig);
	}
	bytes_free(&fake);
}

/* Heads and payloads written apart: every second push looks like a packet of its own. */
static void head_and_payload_apart(void **state)
{
	struct peer c;
	struct bytes b = {0}, fake = {0};
	size_t head;

	(void)state;
	open_rig();
	start(&c, 1);
	mq_publish(&fake, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = "99"});
	mq_publish(&b,
		&(struct mq_publish){
			.version = 4, .topic = "t/x", .payload = fake.p, .payload_len = fake.n});
	head = b.n - fake.n;
	lose(&c, 50 + (uint32_t)head);
	rig_send(&rig, &c, CLIENT, fake.p, fake.n);
	for (unsigned i = 0; i < 50; i++) {
		rig_send(&rig, &c, CLIENT, b.p, head);
		rig_ack(&rig, &c, BROKER);
		rig_send(&rig, &c, CLIENT, fake.p, fake.n);
		rig_ack(&rig, &c, BROKER);
	}
	assert_false(back());
	assert_string_equal(told(), "");
	bytes_free(&b);
	bytes_free(&fake);
	rig_close(&rig);
}

/*
 * What remains: a client that writes one payload in pieces, each pushed, which whoever chose the
 * payload has filled with whole packets, on a topic of this very client. The stream is taken for
 * one in step; a topic of before is judged, no other, and the contradiction at the payload's end
 * sends it back.
 */
static void pushed_pieces(void **state)
{
	struct peer c;
	struct bytes fake = {0};

	(void)state;
	open_rig();
	start(&c, 1);
	lose(&c, 20);
	pushes(&c, 100, "t/other"); /* not a topic of this client */
	rig_ack(&rig, &c, BROKER);
	assert_false(back());
	pushes(&c, 1 + PUSHES, "t/x");
	rig_ack(&rig, &c, BROKER);
	assert_true(back());
	publish_on(&c, "t/other", "99");
	publish_on(&c, "t/door", "98");
	assert_string_equal(told(), "");
	assert_int_equal(rig_count(&rig, BP_C_TOPIC_UNPROVEN), 2);
	mq_publish(&fake, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = "97"});
	/* the payload ends inside a fake packet, and the next true packet is inside it too */
	rig_send(&rig, &c, CLIENT, fake.p, 5);
	bytes_free(&fake);
	publish(&c, "78");
	assert_int_equal(rig_count(&rig, BP_C_SEEK_REFUTED), 1);
	assert_string_equal(told(), "");
	for (unsigned r = BP_C_OPAQUE_NOT_MQTT; r <= BP_C_OPAQUE_REFUSED; r++)
		assert_int_equal(rig_count(&rig, (enum bp_counter)r), 0);
	/* and it comes back once more */
	come_back(&c);
	publish(&c, "82");
	assert_string_equal(told(), "82");
	rig_close(&rig);
}

/*
 * A stranger who knows the addresses sends segments of its own, somewhere ahead of the stream: the
 * broker drops them, and must never be taken to have acknowledged them.
 */
static void injected(void **state)
{
	struct peer c, stranger;

	(void)state;
	open_rig();
	for (uint32_t ahead = 1; ahead < 400; ahead += 7) {
		start(&c, ahead);
		lose(&c, 20);
		stranger = c;
		stranger.seq[CLIENT] += ahead;
		pushes(&stranger, 1 + PUSHES, "t/x");
		/* the true stream goes on, past the stranger's */
		for (unsigned i = 0; i < 60; i++) {
			rig_publish_text(&rig, &c, "q", "1");
			rig_ack(&rig, &c, BROKER);
			if (i % 3 == 0)
				publish(&stranger, "99");
		}
		assert_false(back());
		assert_string_equal(told(), "");
	}
	rig_close(&rig);
}

/* ---- from then on ---- */

/* Topics that are new are judged once an answer has proven the stream. */
static void proven_later(void **state)
{
	struct peer c;
	struct bytes b = {0};

	(void)state;
	for (unsigned by_ping = 0; by_ping < 2; by_ping++) {
		open_rig();
		start(&c, 1);
		lose(&c, 333);
		come_back(&c);
		publish_on(&c, "t/new", "91");
		assert_string_equal(told(), "");
		/* an answer to nothing */
		mq_ack(&b, MQ_PUBACK, 7);
		rig_send_bytes(&rig, &c, BROKER, &b);
		publish_on(&c, "t/new", "91");
		assert_string_equal(told(), "");
		if (by_ping) {
			mq_empty(&b, MQ_PINGREQ);
			rig_send_bytes(&rig, &c, CLIENT, &b);
			mq_empty(&b, MQ_PINGRESP);
		} else {
			rig_publish(&rig, &c, CLIENT,
				&(struct mq_publish){.version = 4,
					.qos = 1,
					.id = 7,
					.topic = "t/x",
					.payload = "1"});
			mq_ack(&b, MQ_PUBACK, 7);
		}
		publish_on(&c, "t/new", "92");
		assert_string_equal(told(), "");
		rig_send_bytes(&rig, &c, BROKER, &b);
		assert_int_equal(rig_count(&rig, BP_C_SEEK_PROVEN), 1);
		publish_on(&c, "t/new", "93");
		assert_string_equal(told(), "93");
		/* a contradiction is one now */
		rig_send(&rig, &c, CLIENT, "\xff\xff", 2);
		assert_int_equal(rig_count(&rig, BP_C_OPAQUE_FLAGS), 1);
		rig_close(&rig);
	}
}

/*
 * Both directions are judged, and one of them came back by pushes alone: what the other one reads
 * is judged all the same, whatever the topic, and makes no topic known to the first.
 */
static void other_direction(void **state)
{
	struct mq_publish p = {.version = 4, .topic = "t/x", .payload = "86"};
	struct peer c;

	(void)state;
	open_with(PUSHES, BP_JUDGE_BOTH, false);
	start(&c, 1);
	lose(&c, 333);
	come_back(&c);
	publish_on(&c, "t/new", "91");
	assert_string_equal(told(), "");
	assert_int_equal(rig_count(&rig, BP_C_TOPIC_UNPROVEN), 1);
	p.topic = "t/new";
	p.payload = "92";
	rig_publish(&rig, &c, BROKER, &p);
	p.topic = "t/down";
	p.payload = "93";
	rig_publish(&rig, &c, BROKER, &p);
	assert_string_equal(told(), "92 93");
	publish_on(&c, "t/down", "94");
	publish_on(&c, "t/new", "95");
	assert_string_equal(told(), "");
	assert_int_equal(rig_count(&rig, BP_C_TOPIC_UNPROVEN), 3);
	/* nor does a judgement of before the contradiction last */
	rig_send(&rig, &c, CLIENT, "\xff\xff", 2);
	assert_int_equal(rig_count(&rig, BP_C_SEEK_REFUTED), 1);
	p.topic = "t/new";
	p.payload = "96";
	rig_publish(&rig, &c, BROKER, &p);
	assert_string_equal(told(), "96");
	rig_close(&rig);
}

/* A reload looks topics up again: those of before are still known, others are still not. */
static void reloaded(void **state)
{
	struct peer c;

	(void)state;
	open_rig();
	start(&c, 1);
	publish_on(&c, "u/x", "95");
	lose(&c, 333);
	come_back(&c);
	rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("s", "#", BP_COND_GT, 80)}, 1);
	publish(&c, "82");
	publish_on(&c, "u/x", "83");
	publish_on(&c, "u/y", "84");
	assert_string_equal(told(), "82 83");
	rig_close(&rig);
}

/* A packet that segments cut is carried or left by the same rule. */
static void cut_afterwards(void **state)
{
	static const char *const topic[] = {"t/new", "t/x"};
	struct peer c;

	(void)state;
	open_rig();
	start(&c, 1);
	lose(&c, 333);
	come_back(&c);
	for (unsigned i = 0; i < 2; i++) {
		struct bytes b = {0};

		mq_publish(&b,
			&(struct mq_publish){.version = 4, .topic = topic[i], .payload = "81.5"});
		rig_send(&rig, &c, CLIENT, b.p, 8);
		rig_send(&rig, &c, CLIENT, b.p + 8, b.n - 8);
		assert_string_equal(told(), i == 0 ? "" : "81.5");
		bytes_free(&b);
	}
	rig_close(&rig);
}

/* A contradiction found in what waited, and in what was carried, gives all of it back. */
static void refuted_while_held(void **state)
{
	struct peer c;
	struct bytes b = {0};
	uint32_t at;

	(void)state;
	open_rig();
	start(&c, 1);
	lose(&c, 333);
	come_back(&c);
	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = "82"});
	at = c.seq[CLIENT];
	c.seq[CLIENT] += (uint32_t)b.n;
	rig_send(&rig, &c, CLIENT, "\xff\xff", 2);
	c.seq[CLIENT] += 4;
	publish(&c, "99");
	rig_segment(&rig, &c, CLIENT, TH_ACK, at, c.seq[BROKER], b.p, b.n);
	assert_string_equal(told(), "82");
	assert_int_equal(rig_count(&rig, BP_C_SEEK_REFUTED), 1);
	come_back(&c);
	rig_send(&rig, &c, CLIENT, "\x30\x90", 2);
	rig_send(&rig, &c, CLIENT, "\x90\x90\x90", 3);
	assert_int_equal(rig_count(&rig, BP_C_SEEK_REFUTED), 2);
	come_back(&c);
	publish(&c, "83");
	assert_string_equal(told(), "83");
	bytes_free(&b);
	rig_close(&rig);
}

/* ---- all of it at random ---- */

/* What the client writes next: a measurement, or a payload full of packets that are none. */
static void next_write(struct bytes *b, uint64_t *s, unsigned *value)
{
	struct bytes fake = {0};
	char text[16];

	snprintf(text, sizeof(text), "%u", 100 + (*value)++);
	if (test_below(s, 4) != 0) {
		mq_publish(b, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = text});
		return;
	}
	for (unsigned n = 1 + test_below(s, 60); n != 0; n--)
		mq_publish(&fake,
			&(struct mq_publish){.version = 4, .topic = "t/x", .payload = "1000000"});
	mq_publish(b,
		&(struct mq_publish){
			.version = 4, .topic = "t/file", .payload = fake.p, .payload_len = fake.n});
	bytes_free(&fake);
}

/* Segments of a write pass by or are lost, in MSS-long pieces of which the last one is pushed. The
 * fake packets are 14 bytes, so that many segments consist of whole ones. */
static void losses(void **state)
{
	uint64_t s = 11, told_in_all = 0;
	unsigned resyncs;

	(void)state;
	open_rig();
	for (unsigned round = 0; round < 60; round++) {
		uint32_t mss = round & 1 ? 14 * (1 + test_below(&s, 8)) : 20 + test_below(&s, 100);
		unsigned value = 0;
		struct peer c;

		start(&c, 1 + round);
		publish_on(&c, "t/file", "none");
		for (unsigned i = 0; i < 300; i++) {
			struct bytes b = {0};
			uint32_t n;

			next_write(&b, &s, &value);
			for (size_t at = 0; at < b.n; at += n) {
				bool last = b.n - at <= mss;

				n = last ? (uint32_t)(b.n - at) : mss;
				if (test_below(&s, 100) >= 3)
					rig_segment(&rig, &c, CLIENT,
						last ? TH_ACK | TH_PSH : TH_ACK, c.seq[CLIENT],
						c.seq[BROKER], b.p + at, n);
				c.seq[CLIENT] += n;
				if (test_below(&s, 2) == 0)
					rig_ack(&rig, &c, BROKER);
			}
			bytes_free(&b);
		}
		for (struct told_list l = rig_told(&rig);; l = rig_told(&rig)) {
			size_t n = l.n;

			for (size_t i = 0; i < n; i++) {
				assert_true(l.a[i].value < 1000);
				assert_string_equal(l.a[i].topic, "t/x");
			}
			told_in_all += n;
			told_free(&l);
			if (n == 0)
				break;
		}
	}
	resyncs = (unsigned)rig_count(&rig, BP_C_SEEK_PUSHED);
	/* most connections came back, more than once each; none of it was wrong */
	assert_true(resyncs > 60);
	assert_true(told_in_all > 60 * 300 / 4);
	assert_int_equal(rig_count(&rig, BP_C_SEEK_REFUTED), 0);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back),
		cmocka_unit_test(acknowledged_late),
		cmocka_unit_test(as_configured),
		cmocka_unit_test(from_broker),
		cmocka_unit_test(aliases),
		cmocka_unit_test(long_pushes),
		cmocka_unit_test(announced),
		cmocka_unit_test(announced_by_one),
		cmocka_unit_test(in_pieces),
		cmocka_unit_test(broken_by_hole),
		cmocka_unit_test(broken_by_repetition),
		cmocka_unit_test(broken_by_overlap),
		cmocka_unit_test(broken_by_topic),
		cmocka_unit_test(broken_by_cut_push),
		cmocka_unit_test(broken_by_contradiction),
		cmocka_unit_test(others_in_between),
		cmocka_unit_test(acknowledgements),
		cmocka_unit_test(nothing_known),
		cmocka_unit_test(forgotten_with_the_connection),
		cmocka_unit_test(one_write),
		cmocka_unit_test(head_and_payload_apart),
		cmocka_unit_test(pushed_pieces),
		cmocka_unit_test(injected),
		cmocka_unit_test(proven_later),
		cmocka_unit_test(other_direction),
		cmocka_unit_test(reloaded),
		cmocka_unit_test(cut_afterwards),
		cmocka_unit_test(refuted_while_held),
		cmocka_unit_test(losses),
	};

	return cmocka_run_group_tests_name("resync", tests, NULL, NULL);
}
