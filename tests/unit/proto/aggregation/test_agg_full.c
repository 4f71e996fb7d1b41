/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/aggregation/agg_read_exact.h"
#include "tests/unit/proto/aggregation/agg_random.h"

/* An aggregate of `n` messages in an exact block of front + size bytes; freed by the caller. */
struct built {
	struct bp_agg_full_writer w;
	uint8_t *block, *p;
	size_t len;
};

static void begin(struct built *b, unsigned family, unsigned front, unsigned size, unsigned most)
{
	b->block = malloc(front + size);
	assert_non_null(b->block);
	bp_agg_full_begin(&b->w, b->block, (uint16_t)front, (uint16_t)size, family, (uint8_t)most);
}

static bool append(struct built *b, const struct sent *m)
{
	/* from an exact block, so that one byte read too many is seen */
	uint8_t *payload = exact_copy(m->payload, m->len);
	const bool done = bp_agg_full_append(&b->w, &m->from, payload, m->len);

	free(payload);
	return done;
}

static void end(struct built *b, uint16_t stream, uint32_t sequence)
{
	b->p = bp_agg_full_end(&b->w, stream, sequence, &b->len);
	assert_non_null(b->p);
	assert_int_equal(b->len, bp_agg_full_len(&b->w));
	assert_true(b->p >= b->block);
	assert_ptr_equal(b->p + b->len, b->block + b->w.front + b->w.payloads);
}

/* The example of docs/reference/aggregation-format.md; another program reads it from there. */
static const uint8_t example[] =
	"\xfd\xa6\x14\x04\x00\x15\x5e\xed\x00\x00\x00\x29\x62\xcd\x7f\x21"
	"\x74\x10\x40\x9c\x51\x0a\x00\x00\x11\x09\x57\x17\x40\x00\x72\x02\x3f\x13\x88\x01\x05"
	"\x00\x00\x00\x01temp 21.5 C!\x00\x00\x00\x02temp 19.0 C!on";
#define EXAMPLE_LEN (sizeof(example) - 1)
#define EXAMPLE_CHECKED (16 + 21)

static const struct sent example_sent[4] = {
	{{{10, 0, 0, 17}, 40017, 64}, 16, "\x00\x00\x00\x01temp 21.5 C!"},
	{{{10, 0, 0, 23}, 40023, 64}, 16, "\x00\x00\x00\x02temp 19.0 C!"},
	{{{10, 0, 0, 23}, 40023, 64}, 0, ""},
	{{{10, 0, 1, 5}, 5000, 63}, 2, "on"},
};

static void expect_example(const uint8_t *p)
{
	assert_int_equal(head.count, 4);
	assert_int_equal(head.stream, 0x5eed);
	assert_int_equal(head.sequence, 41);
	for (unsigned i = 0; i < 4; i++) {
		assert_memory_equal(got[i].from.addr, example_sent[i].from.addr, 16);
		assert_int_equal(got[i].from.port, example_sent[i].from.port);
		assert_int_equal(got[i].from.hops, example_sent[i].from.hops);
		assert_int_equal(got[i].len, example_sent[i].len);
		assert_memory_equal(p + got[i].offset, example_sent[i].payload, got[i].len);
	}
}

static void the_example_of_the_document(void **state)
{
	struct built b;

	begin(&b, 4, BP_AGG_FULL_FRONT4(4), 100, 4);
	for (unsigned i = 0; i < 4; i++)
		assert_true(append(&b, &example_sent[i]));
	end(&b, 0x5eed, 41);
	assert_int_equal(b.len, EXAMPLE_LEN);
	assert_memory_equal(b.p, example, EXAMPLE_LEN);
	free(b.block);
	assert_int_equal(read_exact(example, EXAMPLE_LEN, 4, 4), BP_AGG_FULL_OK);
	expect_example(example);
}

/*
 * Appended messages are decoded again, if they fit; their size is known before; a message that does
 * not fit changes nothing.
 */
static void random_messages_are_restored(void **state)
{
	uint64_t seed = 0x9e3779b97f4a7c15;
	static struct sent sent[MOST];
	struct sent m;

	for (unsigned round = 0; round < 20000; round++) {
		const unsigned family = round & 1 ? 6 : 4, longest = bp_agg_full_entry_most(family);
		const unsigned size = 40 + (unsigned)(next_random(&seed) % 3000);
		const unsigned most = 1 + (unsigned)(next_random(&seed) % (round % 10 ? 12 : 255));
		const unsigned front = 16 + longest * (1 + (unsigned)(next_random(&seed) % most));
		unsigned n = 0, refused = 0;
		struct built b;

		begin(&b, family, front, size, most);
		while (refused < 3) {
			const struct bp_agg_full_writer before = b.w;
			const unsigned len = bp_agg_full_len(&b.w);
			unsigned cost;

			random_message(&seed, family, n != 0 ? &sent[n - 1].from : NULL, &m);
			cost = bp_agg_full_cost(&b.w, &m.from, m.len);
			if (append(&b, &m)) {
				assert_true(n < most);
				assert_int_equal(bp_agg_full_len(&b.w), len + cost);
				assert_true(len + cost <= size);
				sent[n++] = m;
				continue;
			}
			refused++;
			assert_memory_equal(&b.w, &before, sizeof(before));
			assert_true(n == most || len + cost > size ||
				    16 + before.directory + longest > front);
			assert_true(n != 0 || bp_agg_full_alone(family, m.len) > size);
		}
		if (n != 0) {
			const uint16_t stream = (uint16_t)next_random(&seed);
			const uint32_t sequence = (uint32_t)next_random(&seed);

			end(&b, stream, sequence);
			assert_true(b.len <= size);
			assert_true(bp_agg_full_is(b.p, b.len));
			assert_int_equal(read_exact(b.p, b.len, family, n), BP_AGG_FULL_OK);
			assert_int_equal(head.count, n);
			assert_int_equal(head.stream, stream);
			assert_int_equal(head.sequence, sequence);
			for (unsigned i = 0; i < n; i++) {
				assert_memory_equal(got[i].from.addr, sent[i].from.addr, 16);
				assert_int_equal(got[i].from.port, sent[i].from.port);
				assert_int_equal(got[i].from.hops, sent[i].from.hops);
				assert_int_equal(got[i].len, sent[i].len);
				assert_memory_equal(
					b.p + got[i].offset, sent[i].payload, sent[i].len);
			}
			if (n > 1)
				assert_int_equal(
					read_exact(b.p, b.len, family, n - 1), BP_AGG_FULL_E_MANY);
			assert_int_equal(
				read_exact(b.p, b.len, 10 - family, MOST), BP_AGG_FULL_E_FAMILY);
		} else {
			size_t len = 77;

			assert_null(bp_agg_full_end(&b.w, 1, 1, &len));
			assert_int_equal(len, 77);
		}
		free(b.block);
	}
}

static void bounds_of_the_writer(void **state)
{
	static uint8_t big[65535];
	struct bp_agg_sender s = {{10, 0, 0, 1}, 1, 64};
	struct built b;

	/* alone, to the byte */
	for (unsigned len = 0; len < 600; len++) {
		for (unsigned family = 4; family <= 6; family += 2) {
			const unsigned alone = bp_agg_full_alone(family, len);

			begin(&b, family, BP_AGG_FULL_FRONT6(1), alone, 1);
			assert_int_equal(16 + bp_agg_full_cost(&b.w, &s, len), alone);
			assert_true(bp_agg_full_append(&b.w, &s, big, len));
			assert_false(bp_agg_full_append(&b.w, &s, big, 0)); /* most is 1 */
			end(&b, 0, 0);
			assert_int_equal(b.len, alone);
			assert_int_equal(read_exact(b.p, b.len, family, 1), BP_AGG_FULL_OK);
			assert_int_equal(got[0].len, len);
			free(b.block);
			begin(&b, family, BP_AGG_FULL_FRONT6(1), alone - 1, 1);
			assert_false(bp_agg_full_append(&b.w, &s, big, len));
			free(b.block);
		}
	}
	/* as many as there can be, all of them empty */
	begin(&b, 4, BP_AGG_FULL_FRONT4(255), 16 + 9 + 254, 255);
	for (unsigned i = 0; i < 255; i++)
		assert_true(bp_agg_full_append(&b.w, &s, big, 0));
	assert_false(bp_agg_full_append(&b.w, &s, big, 0));
	end(&b, 0, 0);
	assert_int_equal(b.len, 16 + 9 + 254);
	assert_int_equal(read_exact(b.p, b.len, 4, 255), BP_AGG_FULL_OK);
	assert_int_equal(got[254].offset, b.len);
	free(b.block);
	/* the longest payload of UDP, and lengths that no sum of 16 bits holds */
	begin(&b, 6, BP_AGG_FULL_FRONT6(2), 65535, 2);
	assert_false(bp_agg_full_append(&b.w, &s, big, 65536));
	assert_false(bp_agg_full_append(&b.w, &s, big, UINT32_MAX));
	assert_false(bp_agg_full_append(&b.w, &s, big, 65535));
	assert_true(bp_agg_full_append(&b.w, &s, big, 65535 - 16 - 22 - 1));
	assert_true(bp_agg_full_cost(&b.w, &s, 0) > 1); /* another length than before */
	assert_false(bp_agg_full_append(&b.w, &s, big, 0));
	end(&b, 0, 0);
	assert_int_equal(read_exact(b.p, b.len, 6, 2), BP_AGG_FULL_OK);
	free(b.block);
	/* no room for header and directory; no message allowed */
	begin(&b, 4, BP_AGG_FULL_FRONT4(1) - 1, 100, 9);
	assert_false(bp_agg_full_append(&b.w, &s, big, 1));
	free(b.block);
	begin(&b, 4, BP_AGG_FULL_FRONT4(1), 100, 0);
	assert_false(bp_agg_full_append(&b.w, &s, big, 1));
	free(b.block);
}

/* Every entry by hand: the size of a sender's entry (16 bytes) after 10.0.0.17:40017, TTL 64, 16
 * bytes.
 */
static void costs_of_entries(void **state)
{
	static const struct {
		struct bp_agg_sender from;
		unsigned len, cost;
	} after[] = {
		{{{10, 0, 0, 17}, 40017, 64}, 16, 1},
		{{{10, 0, 0, 18}, 40017, 64}, 16, 2},
		{{{10, 0, 1, 17}, 40017, 64}, 16, 3},
		{{{10, 1, 0, 17}, 40017, 64}, 16, 4},
		{{{11, 0, 0, 17}, 40017, 64}, 16, 5},
		{{{138, 0, 0, 17}, 40017, 64}, 16, 5},
		{{{10, 0, 0, 17}, 40018, 64}, 16, 2},
		{{{10, 0, 0, 17}, 40017 ^ 256, 64}, 16, 3},
		{{{10, 0, 0, 17}, 40017, 65}, 16, 2},
		{{{10, 0, 0, 17}, 40017, 64}, 17, 2},
		{{{10, 0, 0, 17}, 40017, 64}, 255, 2},
		{{{10, 0, 0, 17}, 40017, 64}, 256, 3},
		{{{11, 1, 1, 18}, 5, 1}, 300, 10},
	};
	/* how many of the last bytes of an IPv6 address follow when byte i is the first that
	 * differs */
	static const unsigned follow[16] = {16, 16, 16, 16, 12, 12, 10, 10, 8, 8, 8, 8, 8, 3, 2, 1};
	static uint8_t payload[300];
	struct bp_agg_sender s = {{10, 0, 0, 17}, 40017, 64};
	struct built b;

	begin(&b, 4, 200, 1000, 9);
	assert_int_equal(bp_agg_full_cost(&b.w, &s, 16), 9 + 16);
	assert_true(bp_agg_full_append(&b.w, &s, payload, 16));
	for (unsigned i = 0; i < sizeof(after) / sizeof(after[0]); i++)
		assert_int_equal(bp_agg_full_cost(&b.w, &after[i].from, after[i].len),
			after[i].cost + after[i].len);
	free(b.block);

	begin(&b, 6, 200, 1000, 9);
	assert_int_equal(bp_agg_full_cost(&b.w, &s, 16), 21 + 16);
	assert_true(bp_agg_full_append(&b.w, &s, payload, 16));
	assert_int_equal(bp_agg_full_cost(&b.w, &s, 16), 1 + 16);
	for (unsigned i = 0; i < 16; i++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			struct bp_agg_sender other = s;

			other.addr[i] ^= (uint8_t)(1 << bit);
			assert_int_equal(bp_agg_full_cost(&b.w, &other, 16), 1 + follow[i] + 16);
		}
	}
	free(b.block);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_example_of_the_document),
		cmocka_unit_test(random_messages_are_restored),
		cmocka_unit_test(bounds_of_the_writer),
		cmocka_unit_test(costs_of_entries),
	};

	return cmocka_run_group_tests_name("agg_full", tests, NULL, NULL);
}
