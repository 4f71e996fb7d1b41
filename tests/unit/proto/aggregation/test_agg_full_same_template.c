/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages as long and with as many hops to go as the one before, against the way of all others:
 * both must leave the same bytes and the same writer. */
#include "tests/unit/proto/exact.h"

#include "proto/aggregation/agg_full_same_template.h"
#include "tests/unit/times.h"

#define FRAME_SOURCE 26u /* in a frame, and there is the payload: */
#define FRAME_PAYLOAD 42u

static uint64_t seed = 1;

static unsigned of(unsigned n)
{
	return (unsigned)(next_random(&seed) % n);
}

/* A block of exactly the bytes that an aggregate may have. */
struct built {
	struct bp_agg_full_writer w;
	uint8_t *block;
};

static struct built begin(unsigned front, unsigned size, unsigned most)
{
	struct built b = {.block = malloc(front + size)};

	assert_non_null(b.block);
	memset(b.block, 0, front + size);
	bp_agg_full_begin(&b.w, b.block, (uint16_t)front, (uint16_t)size, 4, (uint8_t)most);
	return b;
}

static void expect_same(const struct built *a, const struct built *b)
{
	assert_int_equal(a->w.directory, b->w.directory);
	assert_int_equal(a->w.payloads, b->w.payloads);
	assert_int_equal(a->w.count, b->w.count);
	assert_int_equal(a->w.last_len, b->w.last_len);
	assert_int_equal(a->w.last_port, b->w.last_port);
	assert_int_equal(a->w.last_hops, b->w.last_hops);
	assert_memory_equal(a->w.last_addr, b->w.last_addr, 4);
	assert_memory_equal(
		a->block + BP_AGG_FULL_HEADER, b->block + BP_AGG_FULL_HEADER, a->w.directory);
	assert_memory_equal(a->block + a->w.front, b->block + b->w.front, a->w.payloads);
}

/* The sender of the one before, in some of its bytes another. */
static void next_sender(struct bp_agg_sender *s)
{
	for (unsigned i = of(5); i < 4; i++)
		s->addr[i] ^= (uint8_t)of(3);
	if (of(3) == 0)
		s->port ^= (uint16_t)(of(3) << 8 | of(3));
}

static uint8_t *frame_of(const struct bp_agg_sender *s, unsigned len)
{
	uint8_t frame[FRAME_PAYLOAD + 64];

	for (unsigned i = 0; i < sizeof(frame); i++)
		frame[i] = (uint8_t)next_random(&seed);
	memcpy(frame + FRAME_SOURCE, s->addr, 4);
	frame[FRAME_SOURCE + 8] = (uint8_t)(s->port >> 8);
	frame[FRAME_SOURCE + 9] = (uint8_t)s->port;
	/* the destination, which all have in common */
	memset(frame + FRAME_SOURCE + 4, 7, 4);
	return exact_copy(frame, FRAME_PAYLOAD + len);
}

/* One aggregate in both ways; how often each length of an entry was needed is added to seen[]. */
static void aggregate(unsigned seen[BP_AGG_FULL_SAME_TEMPLATE_ENTRY + 1])
{
	const unsigned most = 1 + of(40), len = of(4) == 0 ? of(50) : 16 + of(9);
	const unsigned front = BP_AGG_FULL_FRONT4(1) + of(BP_AGG_FULL_FRONT4(most));
	const unsigned size = bp_agg_full_alone(4, len) + of(most * (len + 7));
	struct built a = begin(front, size, most), b = begin(front, size, most);
	struct bp_agg_sender from = {.addr = {10, 0, 0, 1}, .port = 40000, .hops = 64};
	bool more = true;

	while (more && a.w.count < most) {
		const unsigned n = 1 + of(most - a.w.count);
		const bool alike = a.w.count != 0 && bp_agg_full_same_template_fit(&a.w, n);
		struct bp_agg_full_same_template x;

		if (alike)
			x = bp_agg_full_same_template_begin(&a.w);
		for (unsigned i = 0; i < n && more; i++) {
			uint8_t *f = frame_of(&from, len);
			const unsigned before = b.w.directory;

			more = bp_agg_full_append(&b.w, &from, f + FRAME_PAYLOAD, len);
			if (alike) {
				/* that there is room was not said too early */
				assert_true(more);
				bp_agg_full_same_template_append(
					&x, bp_v16_load(f + FRAME_SOURCE), f + FRAME_PAYLOAD, len);
				seen[b.w.directory - before]++;
			} else {
				assert_int_equal(
					bp_agg_full_append(&a.w, &from, f + FRAME_PAYLOAD, len),
					more);
			}
			free(f);
			next_sender(&from);
		}
		if (alike)
			bp_agg_full_same_template_end(&a.w, &x, n);
		expect_same(&a, &b);
	}
	free(a.block);
	free(b.block);
}

static void both_paths_are_equal(void **state)
{
	unsigned seen[BP_AGG_FULL_SAME_TEMPLATE_ENTRY + 1] = {0};

	for (unsigned i = 0; i < TEST_TIMES(20000); i++)
		aggregate(seen);
	assert_int_equal(seen[0], 0);
	for (unsigned i = 1; i <= BP_AGG_FULL_SAME_TEMPLATE_ENTRY; i++)
		assert_true(seen[i] > TEST_TIMES(1000));
}

/* An aggregate that is filled as far as that is surely possible is as full as it can be, but for
 * what longer entries would have needed. */
static void capacity_is_used(void **state)
{
	for (unsigned size = 100; size < 1472; size++) {
		struct built a = begin(BP_AGG_FULL_FRONT4(255), size, 255);
		const struct bp_agg_sender from = {.addr = {10, 0, 0, 1}, .port = 1, .hops = 1};
		const uint8_t payload[22] = {0};
		unsigned n = 0;

		assert_true(bp_agg_full_append(&a.w, &from, payload, sizeof(payload)));
		while (bp_agg_full_same_template_fit(&a.w, n + 1))
			n++;
		assert_int_equal(n, (size - bp_agg_full_len(&a.w)) /
					    (BP_AGG_FULL_SAME_TEMPLATE_ENTRY + sizeof(payload)));
		free(a.block);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_paths_are_equal),
		cmocka_unit_test(capacity_is_used),
	};

	return cmocka_run_group_tests_name("agg_full_same_template", tests, NULL, NULL);
}
