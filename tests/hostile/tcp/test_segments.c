/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An off-path attacker, who knows addresses and ports and not the sequence numbers, sends segments
 * into a connection that is read; and a client sends what its receiver does not take. Neither
 * blinds inspection, nor does it read anything that a receiver would not.
 */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "stream_steps.h"

#define TTL_AT 22
#define WINDOW_AT (34 + 14)
#define URGENT_AT (34 + 18)
#define TH_URG 0x20

static void start(struct peer *c)
{
	peer_init(c, false, 1, 0xfffff000u, 0xffffff00u);
	rig_connect(&rig, c, 4, "x");
}

/* The connection is read: the next publication raises, and nothing did before. */
static void still_read(struct peer *c)
{
	assert_string_equal(told(), "");
	rig_publish_text(&rig, c, "plant/oven0/temperature", "81");
	assert_string_equal(told(), "81");
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_STARTED), 0);
}

static uint32_t random32(uint64_t *s)
{
	*s = *s * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*s >> 32);
}

/* Whether a blind segment is in both windows by chance: one in 2^30 is. */
static bool lucky(const struct peer *c, unsigned from, uint32_t seq, uint32_t ack)
{
	return seq - c->seq[from] + 70000 < 140000 && ack - c->seq[!from] + 140000 < 280000;
}

/* The attacker sprays segments of every kind over all sequence numbers, in the name of either end.
 */
static void blind_spray(void **state)
{
	static const uint8_t flags[] = {TH_ACK, TH_ACK | TH_PSH, TH_ACK | TH_FIN, 0, TH_PSH, TH_FIN,
		TH_ACK | TH_RST, TH_RST, TH_SYN, TH_SYN | TH_ACK, TH_SYN | TH_RST,
		TH_SYN | TH_FIN | TH_ACK, TH_ACK | TH_URG, 0x3f};
	struct bytes b = {0};
	uint64_t s = 1;
	struct peer c;

	(void)state;
	open_rig();
	start(&c);
	hot(&b, "99");
	for (uint32_t i = 0; i < 200000; i++) {
		unsigned from = i & 1;
		uint32_t seq = random32(&s), ack = random32(&s);
		uint8_t f = flags[random32(&s) % sizeof(flags)];

		/* half of them with a right acknowledgement number, or a right sequence number */
		if (i % 4 == 2)
			ack = c.seq[!from];
		if (i % 4 == 3 && !(f & TH_RST))
			seq = c.seq[from];
		if (lucky(&c, from, seq, ack))
			continue;
		rig_segment(&rig, &c, from, f, seq, ack, b.p, i % 3 ? b.n : 0);
		if (i % 1000 == 999)
			still_read(&c);
	}
	assert_int_equal(bp_mqtt_worker_carried(rig.in) < 256, 1);
	bytes_free(&b);
	still_read(&c);
	rig_fin_both(&rig, &c);
	assert_int_equal(rig_count(&rig, BP_C_CONN_FIN), 1);
	rig_close(&rig);
}

/* One forged acknowledgement of bytes that were never sent, exact in its sequence number or not. */
static void spoofed_acknowledgement(void **state)
{
	(void)state;
	for (uint32_t ahead = 1; ahead < 0x80000000; ahead = ahead * 3 + 1) {
		for (unsigned from = 0; from < 2; from++) {
			for (unsigned exact = 0; exact < 2; exact++) {
				struct peer c;

				open_rig();
				start(&c);
				rig_segment(&rig, &c, from, TH_ACK, c.seq[from] + (exact ? 0 : 999),
					c.seq[!from] + ahead, NULL, 0);
				for (unsigned i = 0; i < 30; i++) {
					still_read(&c);
					rig_ack(&rig, &c, BROKER);
				}
				rig_close(&rig);
			}
		}
	}
}

/* One forged segment ahead of the stream: without the receiver's numbers it does not even wait. */
static void spoofed_segment_ahead(void **state)
{
	static const uint8_t junk[600] = {0xff};
	struct peer c;

	(void)state;
	open_rig();
	start(&c);
	for (uint32_t i = 0; i < 1000; i++)
		rig_segment(&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT] + 10 + 60 * i,
			c.seq[BROKER] + 0x20000 + i * 4000000, junk, sizeof(junk));
	assert_int_equal(rig_count(&rig, BP_C_SEG_ACK_INVALID), 1000);
	assert_int_equal(rig_count(&rig, BP_C_SEG_OUT_OF_ORDER), 0);
	for (unsigned i = 0; i < 5000; i++)
		still_read(&c);
	rig_close(&rig);
}

/* A client sends segments that no receiver takes: without ACK, behind or beyond its window. */
static void not_taken(void **state)
{
	struct bytes b = {0};
	struct peer c;

	(void)state;
	open_rig();
	start(&c);
	hot(&b, "99");
	rig_segment(&rig, &c, CLIENT, 0, c.seq[CLIENT], c.seq[BROKER], b.p, b.n);
	rig_segment(&rig, &c, CLIENT, TH_PSH, c.seq[CLIENT], c.seq[BROKER], b.p, b.n);
	assert_int_equal(rig_count(&rig, BP_C_SEG_NO_ACK), 2);
	rig_segment(&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT] + 65536, c.seq[BROKER], b.p, b.n);
	rig_segment(&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT] - 200000, c.seq[BROKER], b.p, b.n);
	rig_segment(&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT], c.seq[BROKER] - 200000, b.p, b.n);
	rig_segment(&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT], c.seq[BROKER] + 65536, b.p, b.n);
	assert_int_equal(rig_count(&rig, BP_C_SEG_ACK_INVALID), 2);
	rig_segment(&rig, &c, CLIENT, TH_ACK | TH_RST, c.seq[CLIENT] + 1, c.seq[BROKER], NULL, 0);
	rig_segment(&rig, &c, CLIENT, TH_ACK | TH_FIN, c.seq[CLIENT] - 1, c.seq[BROKER], NULL, 0);
	bytes_free(&b);
	still_read(&c);
	rig_close(&rig);
}

static void urgent(const struct peer *c, uint32_t seq, const void *p, size_t n, uint16_t pointer)
{
	size_t len = peer_frame(
		c, CLIENT, TH_ACK | TH_PSH | TH_URG, seq, c->seq[BROKER], p, n, rig.frame);

	rig.frame[URGENT_AT] = (uint8_t)(pointer >> 8);
	rig.frame[URGENT_AT + 1] = (uint8_t)pointer;
	peer_checksums(c, rig.frame, len);
	rig_frame(&rig, rig.frame, len);
}

/* A client sends a byte with MSG_OOB, anywhere in its stream: the receiver takes it out. */
static void urgent_byte(void **state)
{
	(void)state;
	for (unsigned ahead = 0; ahead < 2; ahead++) {
		struct bytes plain = {0};
		size_t n;

		hot(&plain, "81");
		n = plain.n;
		for (size_t at = 0; at <= n; at++) {
			struct bytes b = {0};
			struct peer c;

			open_rig();
			rig.bursts = at & 1;
			start(&c);
			bytes_add(&b, plain.p, at);
			bytes_u8(&b, '!');
			bytes_add(&b, plain.p + at, n - at);
			if (ahead && at != 0) { /* announced before it comes, and overtaken */
				urgent(&c, c.seq[CLIENT], b.p, 1, (uint16_t)(at + 1));
				piece(&c, &b, at / 2 + 1, b.n);
				piece(&c, &b, 1, at / 2 + 1);
			} else {
				urgent(&c, c.seq[CLIENT], b.p, b.n, (uint16_t)(at + 1));
			}
			c.seq[CLIENT] += (uint32_t)b.n;
			bytes_free(&b);
			assert_string_equal(told(), "81");
			assert_int_equal(rig_count(&rig, BP_C_SEG_URGENT), 1);
			still_read(&c);
			rig_close(&rig);
		}
		bytes_free(&plain);
	}
}

/* A client sends a segment whose TTL ends before the broker, then another in its place. */
static void low_ttl(void **state)
{
	(void)state;
	for (unsigned fast = 0; fast < 2; fast++) {
		struct bytes b = {0};
		struct peer c;
		size_t len;

		rig_defaults(&rig);
		rig.mqtt.min_ttl = 4;
		rig_open(&rig);
		rig.bursts = fast;
		rig_rules(&rig,
			(struct bp_rule_spec[]){
				rig_rule("r", "plant/+/temperature", BP_COND_GT, 80)},
			1);
		start(&c);
		for (unsigned i = 0; i < 8; i++)
			still_read(&c);
		hot(&b, "99");
		for (unsigned i = 0; i < 8; i++) {
			len = peer_frame(&c, CLIENT, TH_ACK, c.seq[CLIENT], c.seq[BROKER], b.p, b.n,
				rig.frame);
			rig.frame[TTL_AT] = 3;
			peer_checksums(&c, rig.frame, len);
			rig_frame(&rig, rig.frame, len);
		}
		assert_int_equal(rig_count(&rig, BP_C_SEG_LOW_TTL), 8);
		bytes_free(&b);
		still_read(&c);
		rig_close(&rig);
	}
}

/* Bytes did go by another way, in both directions at once: both ends agree, and that is believed.
 */
static void loss_in_both_directions(void **state)
{
	struct bytes b = {0};
	struct peer c;

	(void)state;
	open_rig();
	start(&c);
	c.seq[CLIENT] += 300;
	c.seq[BROKER] += 500;
	for (unsigned i = 0; i < 3; i++) {
		mq_empty(&b, MQ_PINGREQ);
		rig_send_bytes(&rig, &c, CLIENT, &b);
		mq_empty(&b, MQ_PINGRESP);
		rig_send_bytes(&rig, &c, BROKER, &b);
	}
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_STARTED), 2);
	rig_publish_text(&rig, &c, "plant/oven0/temperature", "82");
	assert_string_equal(told(), "82");
	rig_close(&rig);
}

/* A client's segment that announces this window. */
static void with_window(
	const struct peer *c, uint8_t flags, uint32_t ack, const void *p, size_t n, uint16_t window)
{
	const size_t len = peer_frame(c, CLIENT, flags, c->seq[CLIENT], ack, p, n, rig.frame);

	rig.frame[WINDOW_AT] = (uint8_t)(window >> 8);
	rig.frame[WINDOW_AT + 1] = (uint8_t)window;
	peer_checksums(c, rig.frame, len);
	rig_frame(&rig, rig.frame, len);
}

/*
 * A client acknowledges less than its window allows: the broker drops the segment, and takes
 * another one in its place. Where the window is that large the broker takes the first.
 */
static void old_acknowledgement(void **state)
{
	static const uint8_t junk[1000] = {0x30, 0xe5, 0x07, 0, 3, 'x', '/', 'y'};

	(void)state;
	for (unsigned k = 0; k < 8; k++) {
		const uint16_t window = k & 2 ? 20000 : k & 4 ? 1000 : 2144;
		struct bytes b = {0};
		struct peer c;

		open_rig();
		rig.bursts = k & 1;
		peer_init(&c, false, 1, 0xfffff000u, 0xffffff00u);
		with_window(&c, TH_SYN, 0, NULL, 0, window);
		c.seq[CLIENT]++;
		rig_segment(
			&rig, &c, BROKER, TH_SYN | TH_ACK, c.seq[BROKER]++, c.seq[CLIENT], NULL, 0);
		mq_connect(&b, 4, "x", 0);
		with_window(&c, TH_ACK, c.seq[BROKER], b.p, b.n, window);
		c.seq[CLIENT] += (uint32_t)b.n;
		b.n = 0;
		mq_connack(&b, 4, 0, 0, NULL);
		rig_send_bytes(&rig, &c, BROKER, &b);
		for (unsigned i = 0; i < 20; i++) {
			rig_send(&rig, &c, BROKER, junk, sizeof(junk));
			with_window(&c, TH_ACK, c.seq[BROKER], NULL, 0, window);
		}
		for (unsigned i = 0; i < 2; i++) { /* its topic is known, then */
			hot(&b, "20");
			with_window(&c, TH_ACK, c.seq[BROKER], b.p, b.n, window);
			c.seq[CLIENT] += (uint32_t)b.n;
			bytes_free(&b);
		}
		assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH), 2);
		hot(&b, "91");
		/* the burst path believes 2048 */
		with_window(&c, TH_ACK, c.seq[BROKER] - (window == 1000 ? 2040 : 9000), b.p, b.n,
			window);
		assert_string_equal(told(), window > 9000 ? "91" : "");
		b.n = 0;
		hot(&b, "92");
		with_window(&c, TH_ACK, c.seq[BROKER] - 900, b.p, b.n, window);
		assert_string_equal(told(), window > 9000 ? "" : "92");
		bytes_free(&b);
		rig_close(&rig);
	}
}

/* A piece of the payload, 8 digits, from `at` on. */
struct copy {
	unsigned at;
	const char *digits;
};

/*
 * A client sends bytes twice with different content, ahead of a gap: inspection must use the same
 * bytes as Linux. The expected results were measured with a socket on a tun interface in Linux
 * 6.18.
 */
static void overlaps_as_linux(void **state)
{
	static const struct {
		struct copy copy[3];
		const char *want;
	} cases[] = {
		{{{0, "11111"}, {0, "22222222"}}, "22222222"},
		{{{0, "11111111"}, {0, "22222222"}}, "11111111"},
		{{{0, "11111111"}, {0, "222"}}, "11111111"},
		{{{0, "11111"}, {2, "222222"}}, "11111222"},
		{{{4, "1111"}, {0, "222222"}}, "22222211"},
		{{{2, "11"}, {0, "22222222"}}, "22222222"},
		{{{0, "11111111"}, {2, "22"}}, "11111111"},
		{{{0, "111"}, {3, "33"}, {3, "22222"}}, "11133222"},
		{{{0, "111"}, {3, "33"}, {0, "22222222"}}, "22222222"},
		{{{3, "33"}, {0, "111"}, {3, "22222"}}, "11122222"},
		{{{0, "11111"}, {2, "2222"}, {2, "333333"}}, "11111333"},
		{{{0, "11111"}, {2, "2222"}, {6, "33"}}, "11111233"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct told_list l;
		struct bytes b = {0};
		struct peer c;
		uint32_t payload;

		open_rig();
		start(&c);
		hot(&b, "00000000");
		payload = c.seq[CLIENT] + (uint32_t)b.n - 8;
		for (unsigned k = 0; k < 3 && cases[i].copy[k].digits != NULL; k++)
			rig_segment(&rig, &c, CLIENT, TH_ACK, payload + cases[i].copy[k].at,
				c.seq[BROKER], cases[i].copy[k].digits,
				strlen(cases[i].copy[k].digits));
		piece(&c, &b, 0, b.n - 8);
		l = rig_told(&rig);
		assert_int_equal(l.n, 1);
		assert_int_equal(l.a[0].value, strtol(cases[i].want, NULL, 10));
		told_free(&l);
		bytes_free(&b);
		rig_close(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blind_spray),
		cmocka_unit_test(spoofed_acknowledgement),
		cmocka_unit_test(spoofed_segment_ahead),
		cmocka_unit_test(not_taken),
		cmocka_unit_test(overlaps_as_linux),
		cmocka_unit_test(urgent_byte),
		cmocka_unit_test(low_ttl),
		cmocka_unit_test(loss_in_both_directions),
		cmocka_unit_test(old_acknowledgement),
	};

	return cmocka_run_group_tests_name("segments", tests, NULL, NULL);
}
