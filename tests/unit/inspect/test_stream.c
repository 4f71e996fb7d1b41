/* SPDX-License-Identifier: BSD-3-Clause */
/* TCP under the packets: cuts, retransmissions, reordering, wrap, beginnings and ends. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"

static struct rig rig;

static void open_rig(void)
{
	struct bp_rule_spec rule = rig_rule("overheat", "plant/+/temperature", BP_COND_GT, 80);

	rig_defaults(&rig);
	rig_open(&rig);
	rig_rules(&rig, &rule, 1);
}

static void hot(struct bytes *b, const char *value)
{
	mq_publish(b, &(struct mq_publish){
			      .version = 4, .topic = "plant/oven0/temperature", .payload = value});
}

/* The values of the alarms, in order, as "81 82". */
static const char *told(void)
{
	return rig_told_values(&rig);
}

/* Bytes [from, to) of a stream that begins at the connection's position. */
static void piece(const struct peer *c, const struct bytes *b, size_t from, size_t to)
{
	rig_segment(&rig, c, CLIENT, TH_ACK, c->seq[CLIENT] + (uint32_t)from, c->seq[BROKER],
		b->p + from, to - from);
}

static void close_at_end(struct peer *c)
{
	rig_fin_both(&rig, c);
	assert_int_equal(bp_inspector_carried(rig.in), 0);
}

/* CONNECT and three PUBLISH, cut in two at every byte; with IPv4, IPv6, tags and near the wrap. */
static void cut_in_two(void **state)
{
	struct bytes b = {0};
	uint32_t number = 0;

	(void)state;
	open_rig();
	mq_connect(&b, 4, "cutter", 0);
	hot(&b, "81");
	hot(&b, "79");
	hot(&b, "82.5");
	for (unsigned kind = 0; kind < 4; kind++) {
		for (size_t cut = 0; cut <= b.n; cut++) {
			struct peer c;

			peer_init(&c, kind & 1, ++number, 0xffffffffu - (uint32_t)cut, 5);
			c.n_vlan = kind / 2;
			c.vlan[0] = 42;
			rig_handshake(&rig, &c);
			piece(&c, &b, 0, cut);
			piece(&c, &b, cut, b.n);
			c.seq[CLIENT] += (uint32_t)b.n;
			assert_string_equal(told(), "81 82.5");
			close_at_end(&c);
		}
	}
	assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH), 3 * number);
	assert_int_equal(rig_count(&rig, BP_C_FLOW_FIN), number);
	assert_int_equal(rig_count(&rig, BP_C_SEG_DUPLICATE), 0);
	assert_int_equal(rig_count(&rig, BP_C_SEEK_ENTERED), 0);
	bytes_free(&b);
	rig_close(&rig);
}

/* The same with segments of one size, 1 byte and up, and payloads that lie in chains of buffers. */
static void segments_of_one_size(void **state)
{
	struct bytes b = {0};
	uint32_t number = 0;

	(void)state;
	open_rig();
	mq_connect(&b, 5, "slicer", 0);
	for (unsigned i = 0; i < 4; i++) {
		mq_publish(&b, &(struct mq_publish){.version = 5,
				       .qos = (uint8_t)(i % 3),
				       .id = 9,
				       .topic = "plant/x/temperature",
				       .payload = i % 2 ? "90" : "1"});
		mq_empty(&b, MQ_PINGREQ);
		mq_subscribe(&b, 5, 77, "a/#");
	}
	for (size_t size = 1; size <= b.n; size++) {
		for (rig.pieces = 0; rig.pieces < 12; rig.pieces += 5) {
			struct peer c;

			peer_init(&c, false, ++number, 1000, 5);
			rig_handshake(&rig, &c);
			for (size_t at = 0; at < b.n; at += size)
				piece(&c, &b, at, at + size < b.n ? at + size : b.n);
			c.seq[CLIENT] += (uint32_t)b.n;
			assert_string_equal(told(), "90 90");
			close_at_end(&c);
		}
	}
	assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH), 4 * number);
	assert_int_equal(rig_count(&rig, BP_C_MQTT_PACKETS), 13 * number);
	bytes_free(&b);
	rig_close(&rig);
}

/* Any two cuts, and the three parts in any order, with parts sent again in between. */
static void three_parts_any_order(void **state)
{
	static const uint8_t orders[][5] = {
		{0, 1, 2, 0, 1},
		{0, 2, 1, 2, 0},
		{1, 0, 2, 1, 0},
		{1, 2, 0, 1, 2},
		{2, 0, 1, 2, 0},
		{2, 1, 0, 2, 1},
		{1, 1, 2, 2, 0},
		{2, 2, 0, 0, 1},
		{1, 0, 0, 1, 2},
	};
	struct bytes b = {0};
	uint32_t number = 0;

	(void)state;
	open_rig();
	mq_connect(&b, 4, "p", 0);
	hot(&b, "81");
	hot(&b, "82");
	for (unsigned o = 0; o < sizeof(orders) / sizeof(orders[0]); o++) {
		for (size_t x = 1; x + 1 < b.n; x += 3) {
			for (size_t y = x + 1; y < b.n; y += 3) {
				size_t from[] = {0, x, y}, to[] = {x, y, b.n};
				struct peer c;

				peer_init(&c, false, ++number, 0xfffffff0u, 5);
				rig_handshake(&rig, &c);
				for (unsigned i = 0; i < 5; i++)
					piece(&c, &b, from[orders[o][i]], to[orders[o][i]]);
				c.seq[CLIENT] += (uint32_t)b.n;
				assert_string_equal(told(), "81 82");
				close_at_end(&c);
			}
		}
	}
	assert_true(rig_count(&rig, BP_C_SEG_DUPLICATE) >= 2 * number);
	assert_true(rig_count(&rig, BP_C_SEG_OUT_OF_ORDER) > number);
	assert_int_equal(rig_count(&rig, BP_C_GAP_LOST), 0);
	bytes_free(&b);
	rig_close(&rig);
}

static void begin(struct peer *c, uint32_t number, struct bytes *b)
{
	peer_init(c, false, number, 0xffffff00u, 0xfffffff0u);
	rig_connect(&rig, c, 4, "x");
	memset(b, 0, sizeof(*b));
	hot(b, "81");
	hot(b, "82");
	hot(b, "83");
}

static void retransmission(void **state)
{
	struct peer c;
	struct bytes b;
	size_t one;

	(void)state;
	open_rig();
	/* exact, long afterwards too */
	begin(&c, 1, &b);
	one = b.n / 3;
	piece(&c, &b, 0, b.n);
	piece(&c, &b, 0, b.n);
	piece(&c, &b, one, 2 * one);
	assert_int_equal(rig_count(&rig, BP_C_SEG_DUPLICATE), 2);
	rig_advance(&rig, 5000000000ull);
	piece(&c, &b, 0, one);
	assert_int_equal(rig_count(&rig, BP_C_SEG_DUPLICATE), 3);
	assert_string_equal(told(), "81 82 83");
	bytes_free(&b);
	/* overlapping what was read: the new part counts, whatever the old part says now */
	begin(&c, 2, &b);
	piece(&c, &b, 0, one + 5);
	b.p[one + 2] ^= 0xff;
	piece(&c, &b, one - 7, 3 * one);
	assert_string_equal(told(), "81 82 83");
	assert_int_equal(rig_count(&rig, BP_C_SEG_OVERLAP), 1);
	bytes_free(&b);
	/* overlapping what is held, before, behind and all of it */
	begin(&c, 3, &b);
	piece(&c, &b, one, 2 * one);
	piece(&c, &b, one - 3, one + 9);
	piece(&c, &b, 2 * one - 9, 2 * one + 9);
	piece(&c, &b, one + 1, 2 * one - 1);
	piece(&c, &b, one - 1, 2 * one + 1);
	assert_string_equal(told(), "");
	piece(&c, &b, 0, one - 2);
	assert_string_equal(told(), "81 82");
	piece(&c, &b, 2 * one - 1, 3 * one);
	assert_string_equal(told(), "83");
	assert_int_equal(bp_inspector_carried(rig.in), 3 * 128); /* the client identifiers */
	bytes_free(&b);
	/* a keep-alive probe: the last byte again, or none */
	begin(&c, 4, &b);
	piece(&c, &b, 0, one);
	rig_segment(
		&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT] + (uint32_t)one - 1, c.seq[BROKER], "?", 1);
	rig_segment(
		&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT] + (uint32_t)one - 1, c.seq[BROKER], "", 0);
	piece(&c, &b, one, 2 * one);
	assert_string_equal(told(), "81 82");
	bytes_free(&b);
	rig_close(&rig);
}

/* A wrong checksum, a lie in a header, a fragment: the segment did not happen. */
static void bad_frames(void **state)
{
	struct peer c;
	struct bytes b;
	size_t n, one;

	(void)state;
	open_rig();
	begin(&c, 1, &b);
	one = b.n / 3;
	n = peer_frame(&c, CLIENT, TH_ACK, c.seq[CLIENT], c.seq[BROKER], b.p, one, rig.frame);
	rig.frame[n - 2] ^= 1; /* "81" reads "91" */
	rig_frame(&rig, rig.frame, n);
	assert_int_equal(rig_count(&rig, BP_C_SEG_BAD_CHECKSUM), 1);
	rig.frame[n - 2] ^= 1;
	rig.frame[17] = 200;
	rig_frame(&rig, rig.frame, n);
	assert_int_equal(rig_count(&rig, BP_C_SEG_BAD_HEADER), 1);
	rig.frame[17] = (uint8_t)(n - 14);
	rig.frame[20] = 0x20;
	rig_frame(&rig, rig.frame, n);
	assert_int_equal(rig_count(&rig, BP_C_SEG_FRAGMENT), 1);
	assert_string_equal(told(), "");
	rig.frame[20] = 0x40;
	rig_frame(&rig, rig.frame, n);
	assert_string_equal(told(), "81");
	bytes_free(&b);
	rig_close(&rig);
}

/* Ahead of the stream: up to reorder_bytes, then counted; what is lost for good becomes a gap. */
static void reorder_bound(void **state)
{
	enum { TAIL = 4000 };
	struct peer c;
	struct bytes b = {0};
	char value[1200];
	size_t ends[100], n = 0;
	uint64_t most;

	(void)state;
	rig_defaults(&rig);
	rig.config.mqtt.reorder_bytes = 8192;
	rig_open(&rig);
	rig_rules(&rig,
		(struct bp_rule_spec[]){rig_rule("r", "plant/+/temperature", BP_COND_GT, 80)}, 1);
	peer_init(&c, false, 1, 0xfffffe00u, 9);
	rig_connect(&rig, &c, 4, "x");
	for (unsigned i = 0; i < 12; i++) {
		memset(value, ' ', sizeof(value));
		snprintf(value, sizeof(value), "%u", 100 + i);
		value[3] = ' ';
		value[1000] = 0;
		hot(&b, value);
		ends[n++] = b.n;
	}
	for (unsigned i = 1; i < 12; i++)
		piece(&c, &b, ends[i - 1], ends[i]);
	/* eleven of about 1.1 KiB do not fit 8 KiB */
	assert_in_range(rig_count(&rig, BP_C_SEG_REORDER_FULL), 3, 6);
	assert_int_equal(
		rig_count(&rig, BP_C_SEG_REORDER_FULL) + rig_count(&rig, BP_C_SEG_OUT_OF_ORDER),
		11);
	most = bp_inspector_carried(rig.in);
	assert_true(most <= 8 * 2048 + 128);
	assert_string_equal(told(), "");
	piece(&c, &b, 0, ends[0]);
	n = 1 + rig_count(&rig, BP_C_SEG_OUT_OF_ORDER);
	assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH), n);
	assert_int_equal(rig_told_count(&rig), n);
	/* the others come again, as TCP sees to */
	for (unsigned i = 1; i < 12; i++)
		piece(&c, &b, ends[i - 1], ends[i]);
	assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH), 12);
	assert_int_equal(rig_told_count(&rig), 12 - n);
	bytes_free(&b);
	/* one byte at a time: the list is bounded too */
	peer_init(&c, false, 2, 100, 9);
	rig_connect(&rig, &c, 4, "y");
	for (unsigned i = 0; i < TAIL; i++)
		rig_segment(&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT] + 10 + 2 * i, c.seq[BROKER],
			"x", 1);
	assert_true(bp_inspector_carried(rig.in) <= 8192 + 2 * 128);
	rig_close(&rig);
}

/* Small segments share blocks: what waits takes little more than its bytes. */
static void reorder_small(void **state)
{
	struct peer c;
	struct bytes b = {0};
	uint64_t before;

	(void)state;
	rig_defaults(&rig); /* 64 KiB may wait */
	rig.config.mqtt.carry_per_flow = 128 * 1024;
	rig_open(&rig);
	rig_rules(&rig,
		(struct bp_rule_spec[]){rig_rule("r", "plant/+/temperature", BP_COND_GT, 80)}, 1);
	peer_init(&c, false, 1, 0xffffe000u, 9);
	rig_connect(&rig, &c, 4, "small");
	before = bp_inspector_carried(rig.in);
	for (unsigned i = 0; i < 1900; i++)
		hot(&b, "81");
	assert_in_range(b.n, 50000, 60000);
	piece(&c, &b, b.n / 2 + 3, b.n); /* from where they are joined: the others go before */
	for (size_t at = 30; at < b.n / 2 + 3; at += 30)
		piece(&c, &b, at, at + 30 < b.n / 2 + 3 ? at + 30 : b.n / 2 + 3);
	assert_int_equal(rig_count(&rig, BP_C_SEG_REORDER_FULL), 0);
	assert_true(bp_inspector_carried(rig.in) - before <= 64 * 1024);
	piece(&c, &b, 0, 30);
	assert_int_equal(rig_told_count(&rig), 1900);
	assert_int_equal(bp_inspector_carried(rig.in), before);
	bytes_free(&b);
	rig_close(&rig);
}

/* Backwards, with holes, each twice, overlapping: all of it comes out once and in order. */
static void reorder_odd(void **state)
{
	struct peer c;
	struct bytes b = {0};
	char value[16];

	(void)state;
	open_rig();
	begin(&c, 1, &b);
	bytes_free(&b);
	for (unsigned i = 0; i < 60; i++) {
		snprintf(value, sizeof(value), "%u", 100 + i);
		hot(&b, value);
	}
	for (size_t at = b.n; at > 40; at -= 40) {
		piece(&c, &b, at - 40, at);
		piece(&c, &b, at - 40, at);
		piece(&c, &b, at - 40, at - 10);
		if (at + 10 <= b.n)
			piece(&c, &b, at - 20, at + 10);
	}
	assert_true(rig_count(&rig, BP_C_SEG_DUPLICATE) >= 2 * (b.n / 40 - 1));
	assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH), 0);
	piece(&c, &b, 0, 40);
	assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH), 60);
	assert_int_equal(rig_told_count(&rig), 60);
	bytes_free(&b);
	rig_close(&rig);
}

/* More holes than are looked through: what is last still waits, and all is well when they close. */
static void reorder_holes(void **state)
{
	enum { BETWEEN = 200 };
	struct peer c;
	struct bytes b = {0};
	uint64_t full;

	(void)state;
	open_rig();
	begin(&c, 1, &b);
	bytes_free(&b);
	while (b.n < 100 * BETWEEN)
		hot(&b, "81");
	for (size_t at = BETWEEN; at + BETWEEN < b.n; at += BETWEEN)
		piece(&c, &b, at, at + 1);
	assert_int_equal(rig_count(&rig, BP_C_SEG_REORDER_FULL), 0);
	/* near the front, and too far from either end */
	piece(&c, &b, 10 * BETWEEN + 50, 10 * BETWEEN + 60);
	assert_int_equal(rig_count(&rig, BP_C_SEG_REORDER_FULL), 0);
	piece(&c, &b, 90 * BETWEEN + 50, 90 * BETWEEN + 60);
	full = rig_count(&rig, BP_C_SEG_REORDER_FULL);
	assert_int_equal(full, 1);
	piece(&c, &b, 0, b.n);
	assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH), rig_told_count(&rig));
	assert_int_equal(rig_count(&rig, BP_C_SEEK_ENTERED), 0);
	bytes_free(&b);
	rig_close(&rig);
}

/* Holes take at most half of what all have: the cut packets of others find room. */
static void reorder_leaves_room(void **state)
{
	static char filler[1400];
	struct peer c;
	struct bytes b = {0};

	(void)state;
	rig_defaults(&rig);
	rig.config.mqtt.carry_total = 256 * 1024;
	rig_open(&rig);
	rig_rules(&rig,
		(struct bp_rule_spec[]){rig_rule("r", "plant/+/temperature", BP_COND_GT, 80)}, 1);
	for (uint32_t i = 0; i < 12; i++) {
		peer_init(&c, false, 2 + i, 100, 9);
		rig_connect(&rig, &c, 4, "greedy");
		c.seq[CLIENT] += 1;
		for (unsigned k = 0; k < 60; k++)
			rig_send(&rig, &c, CLIENT, filler, sizeof(filler));
	}
	assert_true(rig_count(&rig, BP_C_SEG_REORDER_TOTAL) > 300);
	/* one block more than half at most */
	assert_in_range(bp_inspector_carried(rig.in), 128 * 1024 - 2048, 128 * 1024 + 8192);
	begin(&c, 1, &b);
	bytes_free(&b);
	hot(&b, "81");
	piece(&c, &b, 0, 10);
	piece(&c, &b, 10, b.n);
	assert_int_equal(rig_told_count(&rig), 1);
	assert_int_equal(rig_count(&rig, BP_C_CARRY_TOTAL_LIMIT), 0);
	bytes_free(&b);
	rig_close(&rig);
}

static void outside(void **state)
{
	struct peer c;
	struct bytes b;

	(void)state;
	open_rig();
	begin(&c, 1, &b);
	rig_segment(&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT] + 0x50000000u, c.seq[BROKER], b.p, b.n);
	rig_segment(&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT] - 0x50000000u, c.seq[BROKER], b.p, b.n);
	assert_int_equal(rig_count(&rig, BP_C_SEG_OUTSIDE), 2);
	/* an acknowledgement from nowhere loses nothing */
	rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER], c.seq[CLIENT] + 0x60000000u, NULL, 0);
	assert_int_equal(rig_count(&rig, BP_C_GAP_LOST), 0);
	piece(&c, &b, 0, b.n);
	assert_string_equal(told(), "81 82 83");
	bytes_free(&b);
	rig_close(&rig);
}

/* 5 GiB of skipped payload: sequence numbers go round, the position stays right. */
static void wraps_in_a_long_packet(void **state)
{
	static uint8_t chunk[60000];
	struct peer c;
	struct bytes b = {0};

	(void)state;
	open_rig();
	peer_init(&c, false, 1, 12345, 9);
	rig_connect(&rig, &c, 4, "long");
	rig.trust_checksums = true; /* summing takes longer than all the rest */
	for (unsigned round = 0; round < 18; round++) {
		uint32_t left = 250 * 1000 * 1000;
		uint8_t head[] = {0x30, 0, 0, 0, 0, 0, 2, 'n', 'o'};

		head[1] = (uint8_t)(left + 4) | 0x80;
		head[2] = (uint8_t)((left + 4) >> 7) | 0x80;
		head[3] = (uint8_t)((left + 4) >> 14) | 0x80;
		head[4] = (uint8_t)((left + 4) >> 21);
		rig_send(&rig, &c, CLIENT, head, sizeof(head));
		while (left != 0) {
			uint32_t n = left < sizeof(chunk) ? left : (uint32_t)sizeof(chunk);
			struct bp_frame f = {.data = chunk,
				.contiguous = n,
				.payload_len = n,
				.sport = c.client_port,
				.dport = 1883,
				.tcp_flags = TH_ACK,
				.to_broker = true,
				.seq = c.seq[CLIENT],
				.ack = c.seq[BROKER]};
			uint8_t headers[64];

			peer_frame(&c, CLIENT, TH_ACK, 0, 0, NULL, 0, headers);
			/* headers and payload apart: a frame of two buffers, not copied for each */
			struct bp_piece more = {chunk, n};

			f.data = headers;
			f.l3 = 14;
			f.l4 = 34;
			f.payload = 54;
			f.contiguous = 54;
			f.more = &more;
			f.n_more = 1;
			bp_inspect_one(rig.in, &f);
			c.seq[CLIENT] += n;
			left -= n;
		}
	}
	hot(&b, "99");
	rig_send_bytes(&rig, &c, CLIENT, &b);
	assert_string_equal(told(), "99");
	assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH), 19);
	rig_close(&rig);
}

/* TCP Fast Open: data comes with the SYN, is taken by the broker or not, is sent again. */
static void data_in_syn(void **state)
{
	(void)state;
	open_rig();
	for (unsigned taken = 0; taken < 3; taken++) {
		struct peer c;
		struct bytes b = {0};
		uint32_t isn = 0xfffffff0u;

		peer_init(&c, false, 10 + taken, isn, 77);
		mq_connect(&b, 4, "fast", 0);
		hot(&b, "81");
		rig_segment(&rig, &c, CLIENT, TH_SYN, isn, 0, b.p, b.n);
		if (taken == 2) /* not answered: the SYN again, alone */
			rig_segment(&rig, &c, CLIENT, TH_SYN, isn, 0, NULL, 0);
		c.seq[CLIENT] = isn + 1 + (taken == 0 ? (uint32_t)b.n : 0);
		rig_segment(&rig, &c, BROKER, TH_SYN | TH_ACK, 77, c.seq[CLIENT], NULL, 0);
		c.seq[BROKER] = 78;
		rig_ack(&rig, &c, CLIENT);
		if (taken != 0)
			rig_send(&rig, &c, CLIENT, b.p, b.n);
		b.n = 0;
		mq_connack(&b, 4, 0, 0, NULL);
		rig_send_bytes(&rig, &c, BROKER, &b);
		hot(&b, "82");
		rig_send_bytes(&rig, &c, CLIENT, &b);
		assert_string_equal(told(), "81 82");
		close_at_end(&c);
	}
	assert_int_equal(rig_count(&rig, BP_C_SEEK_ENTERED), 0);
	assert_int_equal(rig_count(&rig, BP_C_FLOW_REOPENED), 0);
	rig_close(&rig);
}

/* A FIN is in sequence or it waits; what follows a closed connection is not read. */
static void fin(void **state)
{
	struct peer c;
	struct bytes b;
	size_t one;

	(void)state;
	open_rig();
	begin(&c, 1, &b);
	one = b.n / 3;
	/* FIN with the last data, ahead of the data before it */
	rig_segment(&rig, &c, CLIENT, TH_ACK | TH_FIN, c.seq[CLIENT] + (uint32_t)one, c.seq[BROKER],
		b.p + one, 2 * one);
	/* the broker closes too: not closed yet, for bytes are on their way */
	rig_segment(&rig, &c, BROKER, TH_ACK | TH_FIN, c.seq[BROKER], c.seq[CLIENT], NULL, 0);
	assert_int_equal(rig_count(&rig, BP_C_FLOW_FIN), 0);
	piece(&c, &b, 0, one);
	assert_string_equal(told(), "81 82 83");
	assert_int_equal(rig_count(&rig, BP_C_FLOW_FIN), 1);
	assert_int_equal(bp_inspector_carried(rig.in), 0);
	/* the acknowledgement of a FIN is no lost byte */
	rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER] + 1, c.seq[CLIENT] + (uint32_t)b.n + 1,
		NULL, 0);
	assert_int_equal(rig_count(&rig, BP_C_GAP_LOST), 0);
	piece(&c, &b, 0, b.n);
	assert_string_equal(told(), "");
	bytes_free(&b);
	/* half closed: the broker's direction is still followed, and FINs come again */
	begin(&c, 2, &b);
	piece(&c, &b, 0, one);
	c.seq[CLIENT] += (uint32_t)one;
	for (unsigned i = 0; i < 3; i++)
		rig_segment(
			&rig, &c, CLIENT, TH_ACK | TH_FIN, c.seq[CLIENT], c.seq[BROKER], NULL, 0);
	rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER], c.seq[CLIENT] + 1, NULL, 0);
	assert_int_equal(rig_count(&rig, BP_C_GAP_LOST), 0);
	assert_int_equal(rig_count(&rig, BP_C_FLOW_FIN), 1);
	bytes_free(&b);
	mq_empty(&b, MQ_PINGRESP);
	rig_send_bytes(&rig, &c, BROKER, &b);
	rig_segment(&rig, &c, BROKER, TH_ACK | TH_FIN, c.seq[BROKER], c.seq[CLIENT] + 1, NULL, 0);
	assert_int_equal(rig_count(&rig, BP_C_FLOW_FIN), 2);
	assert_string_equal(told(), "81");
	rig_close(&rig);
}

/* A FIN from far behind or far ahead changes nothing for the stream. */
static void stray_fin(void **state)
{
	struct peer c;
	struct bytes b;
	size_t one;

	(void)state;
	open_rig();
	begin(&c, 1, &b);
	one = b.n / 3;
	piece(&c, &b, 0, one);
	rig_segment(&rig, &c, CLIENT, TH_ACK | TH_FIN, c.seq[CLIENT], c.seq[BROKER], NULL, 0);
	rig_segment(&rig, &c, CLIENT, TH_ACK | TH_FIN, c.seq[CLIENT] - 100, c.seq[BROKER], NULL, 0);
	rig_segment(
		&rig, &c, CLIENT, TH_ACK | TH_FIN, c.seq[CLIENT] + 9999, c.seq[BROKER], NULL, 0);
	rig_segment(&rig, &c, BROKER, TH_ACK | TH_FIN, c.seq[BROKER], c.seq[CLIENT], NULL, 0);
	assert_int_equal(rig_count(&rig, BP_C_FLOW_FIN), 0);
	piece(&c, &b, one, b.n);
	assert_string_equal(told(), "81 82 83");
	c.seq[CLIENT] += (uint32_t)b.n;
	rig_segment(&rig, &c, CLIENT, TH_ACK | TH_FIN, c.seq[CLIENT], c.seq[BROKER], NULL, 0);
	assert_int_equal(rig_count(&rig, BP_C_FLOW_FIN), 1);
	bytes_free(&b);
	rig_close(&rig);
}

static void rst(void **state)
{
	struct peer c;
	struct bytes b;

	(void)state;
	open_rig();
	/* not at the next number, be it by one: the receiver ignores it too (RFC 5961) */
	begin(&c, 1, &b);
	rig_segment(&rig, &c, CLIENT, TH_RST, c.seq[CLIENT] - 1, 0, NULL, 0);
	rig_segment(&rig, &c, CLIENT, TH_RST, c.seq[CLIENT] + 1, 0, NULL, 0);
	assert_int_equal(rig_count(&rig, BP_C_FLOW_RST_IGNORED), 2);
	piece(&c, &b, 0, b.n);
	assert_string_equal(told(), "81 82 83");
	/* the right one */
	c.seq[CLIENT] += (uint32_t)b.n;
	rig_segment(&rig, &c, CLIENT, TH_RST, c.seq[CLIENT], 0, NULL, 0);
	assert_int_equal(rig_count(&rig, BP_C_FLOW_RST), 1);
	assert_int_equal(bp_inspector_carried(rig.in), 0);
	piece(&c, &b, 0, b.n);
	assert_string_equal(told(), "");
	bytes_free(&b);
	/* a refused SYN: number 0, the ACK fits */
	peer_init(&c, false, 2, 500, 0);
	rig_segment(&rig, &c, CLIENT, TH_SYN, 500, 0, NULL, 0);
	rig_segment(&rig, &c, BROKER, TH_RST | TH_ACK, 0, 77, NULL, 0);
	assert_int_equal(rig_count(&rig, BP_C_FLOW_RST), 1);
	rig_segment(&rig, &c, BROKER, TH_RST | TH_ACK, 0, 501, NULL, 0);
	assert_int_equal(rig_count(&rig, BP_C_FLOW_RST), 2);
	/* the same ports again at once */
	peer_init(&c, false, 2, 9000, 1);
	rig_connect(&rig, &c, 4, "again");
	rig_publish_text(&rig, &c, "plant/a/temperature", "99");
	assert_string_equal(told(), "99");
	assert_int_equal(rig_count(&rig, BP_C_FLOW_REOPENED), 1);
	rig_close(&rig);
}

/* A second SYN on a living connection counts only with the broker's answer. */
static void syn_again(void **state)
{
	struct peer c, fresh;
	struct bytes b;

	(void)state;
	open_rig();
	begin(&c, 1, &b);
	rig_segment(&rig, &c, CLIENT, TH_SYN, 0x12345678, 0, NULL, 0);
	rig_segment(&rig, &c, CLIENT, TH_SYN | TH_ACK, 0x12345678, 0x12345679, NULL, 0);
	rig_segment(&rig, &c, BROKER, TH_SYN | TH_ACK, 7, 0x999, NULL, 0);
	assert_int_equal(rig_count(&rig, BP_C_FLOW_REOPENED), 0);
	piece(&c, &b, 0, b.n / 3);
	assert_string_equal(told(), "81");
	/* now in earnest: the client has lost its memory, the broker agrees */
	peer_init(&fresh, false, 1, 0x87654321, 0xabcdef01);
	rig_connect(&rig, &fresh, 5, "reborn");
	assert_int_equal(rig_count(&rig, BP_C_FLOW_REOPENED), 1);
	rig_publish(&rig, &fresh, CLIENT,
		&(struct mq_publish){
			.version = 5, .topic = "plant/b/temperature", .payload = "85"});
	assert_string_equal(told(), "85");
	bytes_free(&b);
	/* a SYN that is sent again before the broker answers is the same connection */
	peer_init(&c, false, 2, 100, 200);
	for (unsigned i = 0; i < 3; i++)
		rig_segment(&rig, &c, CLIENT, TH_SYN, 100, 0, NULL, 0);
	assert_int_equal(rig_count(&rig, BP_C_FLOW_REOPENED), 1);
	/* without its SYN: known from the answer */
	peer_init(&c, false, 3, 100, 200);
	c.seq[CLIENT]++;
	rig_segment(&rig, &c, BROKER, TH_SYN | TH_ACK, c.seq[BROKER]++, c.seq[CLIENT], NULL, 0);
	memset(&b, 0, sizeof(b));
	mq_connect(&b, 4, "half", 0);
	hot(&b, "86");
	rig_send_bytes(&rig, &c, CLIENT, &b);
	assert_string_equal(told(), "86");
	rig_close(&rig);
}

/* VLAN identifiers and address families keep connections apart. */
static void keys(void **state)
{
	struct peer c[4];

	(void)state;
	open_rig();
	for (unsigned i = 0; i < 4; i++) {
		peer_init(&c[i], i == 3, 1, 1000 * i, 5);
		c[i].n_vlan = i % 3;
		c[i].vlan[0] = 10;
		c[i].vlan[1] = 20;
		rig_connect(&rig, &c[i], 4, "same");
	}
	assert_int_equal(bp_inspector_flows(rig.in), 4);
	for (unsigned i = 0; i < 4; i++)
		rig_publish_text(&rig, &c[i], "plant/x/temperature", "91");
	assert_string_equal(told(), "91 91 91 91");
	rig_close(&rig);
}

static void only_its_ports(void **state)
{
	struct peer c;
	bool to_broker;

	(void)state;
	rig_defaults(&rig);
	rig.config.mqtt.n_ports = 2;
	rig.config.mqtt.ports[1] = 11883;
	rig_open(&rig);
	rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "#", BP_COND_GT, 80)}, 1);
	peer_init(&c, false, 1, 1, 1);
	c.broker_port = 8883;
	rig_connect(&rig, &c, 4, "no");
	assert_int_equal(rig_count(&rig, BP_C_SEG_INSPECTED), 0);
	c.broker_port = 11883;
	peer_init(&c, false, 1, 1, 1);
	c.broker_port = 11883;
	rig_connect(&rig, &c, 4, "yes");
	rig_publish_text(&rig, &c, "t", "81");
	assert_string_equal(told(), "81");
	assert_true(bp_inspector_wants(rig.in, 50000, 1883, &to_broker));
	assert_true(to_broker);
	assert_true(bp_inspector_wants(rig.in, 1883, 50000, &to_broker));
	assert_false(to_broker);
	assert_false(bp_inspector_wants(rig.in, 1884, 50000, &to_broker));
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_in_two),
		cmocka_unit_test(segments_of_one_size),
		cmocka_unit_test(three_parts_any_order),
		cmocka_unit_test(retransmission),
		cmocka_unit_test(bad_frames),
		cmocka_unit_test(reorder_bound),
		cmocka_unit_test(reorder_small),
		cmocka_unit_test(reorder_odd),
		cmocka_unit_test(reorder_holes),
		cmocka_unit_test(reorder_leaves_room),
		cmocka_unit_test(outside),
		cmocka_unit_test(wraps_in_a_long_packet),
		cmocka_unit_test(data_in_syn),
		cmocka_unit_test(fin),
		cmocka_unit_test(stray_fin),
		cmocka_unit_test(rst),
		cmocka_unit_test(syn_again),
		cmocka_unit_test(keys),
		cmocka_unit_test(only_its_ports),
	};

	return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
