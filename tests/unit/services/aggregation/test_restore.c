/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/services/aggregation/disagg_rig.h"

#include <jansson.h>

/* Checks that message i is restored as that datagram, byte by byte, except the IP identification.
 */
static void expect_restored(unsigned i, const struct udp *m)
{
	static uint8_t want[FRAME_MOST];
	struct udp sent = *m;
	static struct udp got;
	unsigned len, want_len;
	uint8_t *frame = restored(i, 0x1234, &len);

	udp_read(frame, len, &got); /* lengths and checksums are right by themselves */
	sent.no_checksum = false;
	sent.id = m->family == 4 && !m->dont_fragment ? 0x1234 : 0;
	assert_int_equal(got.id, sent.id);
	want_len = udp_write(&sent, want);
	assert_int_equal(len, want_len);
	assert_memory_equal(frame, want, len);
	free(frame);
}

static void expect_split(const struct udp *u, const struct udp *const *message, unsigned n)
{
	static uint8_t frame[FRAME_MOST];
	const unsigned len = udp_write(u, frame);

	assert_int_equal(evaluate(frame, len), BP_DISAGG_SPLIT);
	assert_int_equal(packet.count, n);
	for (unsigned i = 0; i < n; i++)
		expect_restored(i, message[i]);
}

static size_t unhex(const char *text, uint8_t *out)
{
	size_t n = 0;

	for (unsigned v; sscanf(text + 2 * n, "%2x", &v) == 1; n++)
		out[n] = (uint8_t)v;
	return n;
}

/*
 * tests/fixtures/aggregate.json, frames that scapy made. Every message that is restored must be as
 * the fixture's single message is, which is the first of them, but for its own 16 bytes.
 */
static void vectors_of_the_paper(void **state)
{
	json_error_t error;
	json_t *vectors = json_load_file(FIXTURES "/aggregate.json", 0, &error), *v;
	uint8_t frame[256], single[256], offsets_at = 0;
	static struct udp one, got;
	unsigned split = 0, single_len = 0;
	size_t at;

	if (vectors == NULL)
		fail_msg("aggregate.json: %s", error.text);
	rules = (struct bp_agg_rules){0};
	add_rule(BP_AGG_FORMAT_LIN2018, "10.0.0.2", 32, "10.0.0.1", 32);
	rules_are_set();
	json_array_foreach(vectors, at, v)
	{
		const unsigned len =
			(unsigned)unhex(json_string_value(json_object_get(v, "frame_hex")), frame);
		const unsigned n = (unsigned)json_integer_value(json_object_get(v, "messages"));

		assert_int_equal(len, json_integer_value(json_object_get(v, "frame_octets")));
		offsets_at = (uint8_t)json_integer_value(
			json_object_get(json_object_get(v, "offsets"), "messages"));
		if (at == 0) {
			assert_int_equal(evaluate(frame, len), BP_DISAGG_BYPASS);
			assert_int_equal(rule, 0);
			memcpy(single, frame, len);
			single_len = len;
			udp_read(single, len, &one);
			continue;
		}
		assert_int_equal(evaluate(frame, len), BP_DISAGG_SPLIT);
		assert_int_equal(packet.count, n);
		for (unsigned i = 0; i < n; i++) {
			unsigned got_len;
			uint8_t *p = restored(i, one.id, &got_len);

			assert_int_equal(got_len, single_len);
			udp_read(p, got_len, &got);
			assert_memory_equal(p + offsets_at, frame + offsets_at + 16 * i, 16);
			/* the first has the bytes of the single message, so all is equal */
			if (i == 0)
				assert_memory_equal(p, single, got_len);
			memcpy(got.payload + 6, one.payload + 6, 16);
			assert_memory_equal(&got, &one, offsetof(struct udp, payload) + 22);
			free(p);
			split++;
		}
	}
	assert_int_equal(split, 9);
	assert_int_equal(stats[0].aggregates, 2);
	assert_int_equal(stats[0].messages, 9);
	assert_int_equal(stats[0].message_bytes, 9 * 64);
	assert_int_equal(stats[0].aggregate_bytes, 64 + 176);
	assert_int_equal(stats[0].plain, 1);
	json_decref(vectors);
}

/* The messages from the second on, written together, equal those written one by one; IP
 * identifications continue after the last one. */
static void expect_the_same_at_once(void)
{
	uint8_t *one[8], *to[8];
	unsigned len[8];

	assert_in_range(packet.count, 2, 8);
	for (unsigned i = 1; i < packet.count; i++) {
		one[i] = restored(i, (uint16_t)(0xfffe + i), &len[i]);
		to[i] = malloc(len[i]);
		assert_non_null(to[i]);
	}
	bp_disagg_write(&packet, 1, packet.count - 1u, 0xffff, &to[1]);
	for (unsigned i = 1; i < packet.count; i++) {
		assert_memory_equal(to[i], one[i], len[i]);
		free(to[i]);
		free(one[i]);
	}
}

/* Every head: both families, tags, and what the destination's network decided. */
static void everything_of_a_datagram_comes_back(void **state)
{
	static const char text[] = "some readings of one sensor or another, 49 bytes";

	for (unsigned variant = 0; variant < 2 * 3 * 2 * 2; variant++) {
		const unsigned family = variant & 1 ? 6 : 4;
		static struct udp u, m[5];
		const struct udp *list[5] = {&m[0], &m[1], &m[2], &m[3], &m[4]};

		u = carrier(BP_AGG_FORMAT_FULL, family);
		u.tos = variant & 2 ? 0 : 0xff;
		u.dont_fragment = family == 4 && (variant & 4);
		u.n_tags = (uint8_t)(variant / 8 * 4);
		memcpy(u.tags,
			u.n_tags == 8 ? "\x88\xa8\xe0\x64\x81\x00\x20\x07" : "\x81\x00\xa0\x64",
			u.n_tags == 8 ? 8 : 4);
		for (unsigned i = 0; i < 5; i++) {
			char from[40];

			snprintf(from, sizeof(from),
				family == 4 ? "10.0.0.%u" : "fd00:0:0:0:a:b:c:%u", 1 + i * 50);
			m[i] = message_in(&u, from, (uint16_t)(1 + 16000 * i), (uint8_t)(255 - i),
				text, (uint16_t)(i * 12));
		}
		m[4].hops = 1;
		pack(&u, list, 5, 3, variant);
		expect_split(&u, list, 5);
		expect_the_same_at_once();
		assert_int_equal(rule, family == 4 ? 0 : 1);
	}
}

/* A payload of each length, so that every way of copying and summing is taken, with each byte at
 * its place. */
static void every_length(void **state)
{
	static struct udp u, m;
	const struct udp *list[] = {&m};
	uint8_t bytes[1400];

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 31 + i / 256 + 1);
	for (unsigned len = 0; len <= sizeof(bytes); len += len < 100 ? 1 : 13) {
		for (unsigned family = 4; family <= 6; family += 2) {
			u = carrier(BP_AGG_FORMAT_FULL, family);
			m = message_in(&u, family == 4 ? "10.0.0.200" : "fd00:0:0:0:1:2:3:4", 9, 8,
				bytes, (uint16_t)len);
			pack(&u, list, 1, 1, len);
			expect_split(&u, list, 1);
		}
	}
}

/* Payloads whose checksum comes out as 0 are sent with ffff, for 0 says that there is none. */
static void a_checksum_of_zero(void **state)
{
	static struct udp u, m;
	const struct udp *list[] = {&m};

	for (unsigned family = 4; family <= 6; family += 2) {
		uint8_t frame[128];
		unsigned len, udp_at;
		uint32_t check;

		u = carrier(BP_AGG_FORMAT_FULL, family);
		m = message_in(&u, family == 4 ? "10.0.0.1" : "fd00:0:0:0:0:0:0:1", 9, 8, "\0", 2);
		udp_write(&m, frame);
		udp_at = 14 + (family == 4 ? 20 : 40);
		/* the word that makes the sum ffff is the checksum that a word of 0 has */
		check = get(frame + udp_at + 6, 2);
		put(m.payload, 2, check);
		len = udp_write(&m, frame);
		assert_int_equal(get(frame + udp_at + 6, 2), 0xffff);
		assert_int_equal(len, udp_at + 10);
		pack(&u, list, 1, 1, 1);
		expect_split(&u, list, 1);
	}
}

static void the_paper_format(void **state)
{
	for (unsigned family = 4; family <= 6; family += 2) {
		for (unsigned n = 1; n <= 255; n += n < 8 ? 1 : 83) {
			static struct udp u, m[255];
			const struct udp *list[255];

			u = carrier(BP_AGG_FORMAT_LIN2018, family);
			u.dont_fragment = n == 3 && family == 4;
			u.no_checksum = n == 4 && family == 4;
			u.payload[0] = 0xfc;
			memcpy(u.payload + 1, "\x01\x02\x03\x04\x05", 5); /* anything */
			u.len = (uint16_t)(6 + 16 * n);
			for (unsigned i = 0; i < n; i++) {
				char text[17];

				snprintf(text, sizeof(text), "message %8u", i);
				memcpy(u.payload + 6 + 16 * i, text, 16);
				m[i] = u;
				memset(m[i].payload, 0, 6);
				m[i].payload[0] = 0xfa;
				memcpy(m[i].payload + 6, text, 16);
				m[i].len = 22;
				list[i] = &m[i];
			}
			expect_split(&u, list, n);
			assert_int_equal(rule, family == 4 ? 2 : 3);
		}
	}
	/* no sequence numbers, so no counters of them */
	assert_int_equal(stats[2].lives, 0);
}

/* A frame with an aggregate of one message, which is left in *m; its length. */
static unsigned carry_one(unsigned family, struct udp *u, struct udp *m, uint8_t *frame)
{
	const struct udp *list[] = {m};

	*u = carrier(BP_AGG_FORMAT_FULL, family);
	*m = message_in(u, family == 4 ? "10.0.0.1" : "fd00:0:0:0:0:0:0:1", 9, 8, "abc", 3);
	pack(u, list, 1, 1, 1);
	return udp_write(u, frame);
}

/* The Ethernet padding of short frames is not a message. */
static void padding_of_ethernet(void **state)
{
	static struct udp u, m;
	uint8_t frame[200];
	unsigned len;

	len = carry_one(4, &u, &m, frame);
	memset(frame + len, 0x5a, 20);
	assert_int_equal(evaluate(frame, len + 20), BP_DISAGG_SPLIT);
	assert_int_equal(packet.count, 1);
	expect_restored(0, &m);
}

/* Options are those of the packet that carried the aggregate. */
static void options_go_no_further(void **state)
{
	static struct udp u, m;
	uint8_t frame[200], with[200];
	unsigned len;

	len = carry_one(4, &u, &m, frame);
	memcpy(with, frame, 34);
	memcpy(with + 34, "\x94\x04\x00\x00", 4); /* router alert */
	memcpy(with + 38, frame + 34, len - 34);
	with[14] = 0x46;
	put(with + 16, 2, get(with + 16, 2) + 4);
	put(with + 24, 2, 0);
	put(with + 24, 2, ~plain_sum(with + 14, 24, 0) & 0xffff);
	assert_int_equal(evaluate(with, len + 4), BP_DISAGG_SPLIT);
	expect_restored(0, &m);
	with[36]++; /* they are under the header's checksum */
	assert_int_equal(evaluate(with, len + 4), BP_DISAGG_REJECTED);
	assert_int_equal(why, BP_DISAGG_UDP_CHECKSUM);
}

static void a_flow_label_stays_behind(void **state)
{
	static struct udp u, m;
	uint8_t frame[200];
	unsigned len;

	len = carry_one(6, &u, &m, frame);
	put(frame + 15, 3, get(frame + 15, 3) | 0xabcde);
	assert_int_equal(evaluate(frame, len), BP_DISAGG_SPLIT);
	expect_restored(0, &m);
}

/* Any number of messages of any length and sender. */
static void random_aggregates(void **state)
{
	uint64_t seed = 4711;

	rules = (struct bp_agg_rules){0};
	add_rule(BP_AGG_FORMAT_FULL, "10.1.0.9", 32, "0.0.0.0", 0);
	add_rule(BP_AGG_FORMAT_FULL, "fd00:1:0:0:0:0:0:9", 128, "0:0:0:0:0:0:0:0", 0);
	rules_are_set();
	for (unsigned round = 0; round < 400; round++) {
		const unsigned n = 1 + (unsigned)(next_random(&seed) % (round % 8 ? 12 : 255));
		const unsigned longest = round % 8 ? 600 : 8;
		static struct udp u, m[255];
		const struct udp *list[255];

		u = carrier(BP_AGG_FORMAT_FULL, round & 1 ? 6 : 4);
		u.tos = (uint8_t)next_random(&seed);
		u.dont_fragment = (round & 3) == 2;
		for (unsigned i = 0; i < n; i++) {
			const uint64_t r = next_random(&seed);

			m[i] = u;
			put(m[i].src, 8, next_random(&seed));
			put(m[i].src + 8, 8, next_random(&seed));
			m[i].src[0] = (uint8_t)(1 + (r & 63));
			m[i].sport = (uint16_t)(1 + (r >> 8) % 65535);
			m[i].hops = (uint8_t)(1 + (r >> 24) % 255);
			m[i].len = (uint16_t)((r >> 32) % longest);
			for (unsigned k = 0; k < m[i].len; k++)
				m[i].payload[k] = (uint8_t)next_random(&seed);
			list[i] = &m[i];
		}
		pack(&u, list, n, 1, round);
		expect_split(&u, list, n);
	}
}

#define CASE(test_) cmocka_unit_test_setup_teardown(test_, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(vectors_of_the_paper),
		CASE(everything_of_a_datagram_comes_back),
		CASE(every_length),
		CASE(a_checksum_of_zero),
		CASE(the_paper_format),
		CASE(padding_of_ethernet),
		CASE(options_go_no_further),
		CASE(a_flow_label_stays_behind),
		CASE(random_aggregates),
	};

	return cmocka_run_group_tests_name("restore", tests, NULL, NULL);
}
