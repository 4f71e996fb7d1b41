/* SPDX-License-Identifier: BSD-3-Clause */
/* The arena: blocks never overlap, join again when released, and no byte is lost. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "dataplane/mqtt/carry.h"

static void sizes(void **state)
{
	struct bp_carry *c = bp_carry_create(1 << 20, 64 * 1024);
	const uint64_t asked[] = {0, 1, 127, 128, 129, 4096, 4097, 65536};
	const uint64_t got[] = {128, 128, 128, 128, 256, 4096, 8192, 65536};

	(void)state;
	assert_non_null(c);
	assert_int_equal(bp_carry_capacity(c), 1 << 20);
	assert_int_equal(bp_carry_used(c), 0);
	for (unsigned i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		bp_carry_ref ref = bp_carry_alloc(c, asked[i]);

		assert_int_not_equal(ref, 0);
		assert_int_equal(bp_carry_size(c, ref), got[i]);
		assert_int_equal(bp_carry_used(c), got[i]);
		memset(bp_carry_data(c, ref), 0xa5, got[i]);
		bp_carry_release(c, ref);
		assert_int_equal(bp_carry_used(c), 0);
	}
	assert_int_equal(bp_carry_alloc(c, 65537), 0);
	assert_int_equal(bp_carry_alloc(c, UINT64_MAX), 0);
	bp_carry_release(c, 0);
	bp_carry_destroy(c);
}

/* Bounds that are no powers of two, and a total smaller than a block. */
static void odd_bounds(void **state)
{
	static const struct {
		uint64_t total, largest, least_capacity, most_capacity, largest_block;
	} cases[] = {
		{1000000, 100000, 917504, 1000000, 131072},
		{1024, 262144, 1024, 1024, 1024},
		{1, 1, 128, 128, 128},
		{3 * 1024, 1024, 3 * 1024, 3 * 1024, 1024},
		{1500, 1024, 1024, 1024, 1024},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bp_carry *c = bp_carry_create(cases[i].total, cases[i].largest);
		uint64_t taken = 0;
		bp_carry_ref ref;

		assert_non_null(c);
		assert_in_range(
			bp_carry_capacity(c), cases[i].least_capacity, cases[i].most_capacity);
		while ((ref = bp_carry_alloc(c, cases[i].largest_block)) != 0) {
			memset(bp_carry_data(c, ref), 0xff, cases[i].largest_block);
			taken += cases[i].largest_block;
		}
		assert_int_equal(taken, bp_carry_capacity(c));
		assert_int_equal(bp_carry_used(c), taken);
		assert_int_equal(bp_carry_alloc(c, 1), 0);
		bp_carry_destroy(c);
	}
}

#define LIVE 400

struct block {
	uint64_t size;
	bp_carry_ref ref;
	uint8_t mark;
};

static bool marked(const struct bp_carry *c, const struct block *b)
{
	const uint8_t *p = bp_carry_data(c, b->ref);

	for (uint64_t i = 0; i < b->size; i++) {
		if (p[i] != b->mark)
			return false;
	}
	return true;
}

/* Random allocations and releases beside a model: each block is filled and must stay as filled. */
static void random_model(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct bp_carry *c = bp_carry_create(512 * 1024, 32 * 1024);
		struct block live[LIVE] = {0};
		uint64_t s = seed * 0x9e3779b97f4a7c15ull, used = 0;
		unsigned n = 0, refused = 0;

		for (unsigned step = 0; step < 4000; step++) {
			bool grow = test_below(&s, 100) < (step / 500 % 2 ? 35u : 65u);

			if (grow && n < LIVE) {
				uint32_t want = test_below(&s, 1u << (7 + test_below(&s, 10)));
				struct block *b = &live[n];

				b->ref = bp_carry_alloc(c, want);
				if (b->ref == 0) {
					refused++;
					continue;
				}
				b->size = bp_carry_size(c, b->ref);
				assert_true(b->size >= want);
				assert_true(b->size <= 128 || b->size < 2 * (uint64_t)want);
				b->mark = (uint8_t)test_random(&s);
				memset(bp_carry_data(c, b->ref), b->mark, b->size);
				used += b->size;
				n++;
			} else if (n != 0) {
				unsigned i = test_below(&s, n);

				assert_true(marked(c, &live[i]));
				used -= live[i].size;
				bp_carry_release(c, live[i].ref);
				live[i] = live[--n];
			}
			assert_int_equal(bp_carry_used(c), used);
		}
		assert_true(refused > 0); /* the bound was met, or nothing was shown */
		while (n != 0) {
			assert_true(marked(c, &live[n - 1]));
			bp_carry_release(c, live[--n].ref);
		}
		assert_int_equal(bp_carry_used(c), 0);
		/* all have joined again: the largest blocks are there, as many as at the start */
		for (unsigned i = 0; i < 16; i++)
			assert_int_not_equal(bp_carry_alloc(c, 32 * 1024), 0);
		assert_int_equal(bp_carry_alloc(c, 1), 0);
		bp_carry_destroy(c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),
		cmocka_unit_test(odd_bounds),
		cmocka_unit_test(random_model),
	};

	return cmocka_run_group_tests_name("carry", tests, NULL, NULL);
}
