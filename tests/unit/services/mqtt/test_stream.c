/* SPDX-License-Identifier: BSD-3-Clause */
/* TCP under the packets: cuts, retransmissions, bad frames, wrap. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include "stream_steps.h"

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
			assert_string_equal(told(), "");
			rig_accept(&rig, &c, 4);
			assert_string_equal(told(), "81 82.5");
			close_at_end(&c);
		}
	}
	assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH), 3 * number);
	assert_int_equal(rig_count(&rig, BP_C_CONN_FIN), number);
	assert_int_equal(rig_count(&rig, BP_C_SEG_DUPLICATE), 0);
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_STARTED), 0);
	bytes_free(&b);
	rig_close(&rig);
}

/* The same with segments of one size, 1 byte and up, and payloads in chains of buffers. */
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
			rig_accept(&rig, &c, 5);
			assert_string_equal(told(), "90 90");
			close_at_end(&c);
		}
	}
	assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH), 4 * number);
	assert_int_equal(rig_count(&rig, BP_C_MQTT_PACKETS), 14 * number);
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
				rig_accept(&rig, &c, 4);
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

static void retransmission_is_not_read_again(void **state)
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
	assert_int_equal(bp_mqtt_worker_carried(rig.in), 3 * 128); /* the client identifiers */
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

/* A wrong checksum, an invalid header, a fragment: the segment is ignored. */
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

static void segments_outside_the_window_are_ignored(void **state)
{
	struct peer c;
	struct bytes b;

	(void)state;
	open_rig();
	begin(&c, 1, &b);
	rig_segment(&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT] + 0x50000000u, c.seq[BROKER], b.p, b.n);
	rig_segment(&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT] - 0x50000000u, c.seq[BROKER], b.p, b.n);
	assert_int_equal(rig_count(&rig, BP_C_SEG_OUT_OF_WINDOW), 2);
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
			/* headers and payload separate: a frame of two buffers, not copied for each
			 */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_in_two),
		cmocka_unit_test(segments_of_one_size),
		cmocka_unit_test(three_parts_any_order),
		cmocka_unit_test(retransmission_is_not_read_again),
		cmocka_unit_test(bad_frames),
		cmocka_unit_test(segments_outside_the_window_are_ignored),
		cmocka_unit_test(wraps_in_a_long_packet),
	};

	return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
