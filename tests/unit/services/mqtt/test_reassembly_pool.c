/* SPDX-License-Identifier: BSD-3-Clause */
/* The arena: blocks never overlap, join again when released, and no byte is lost. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "services/mqtt/reassembly_pool.h"

static void *memory;

/* All of it is free. ASan detects accesses after its end. */
static struct bp_reassembly *fresh(uint64_t bytes, uint64_t largest)
{
	struct bp_reassembly *c;

	if (bytes < 128)
		bytes = 128;
	assert_int_equal(posix_memalign(&memory, 64, bytes), 0);
	c = bp_reassembly_create(memory, bytes, largest);
	assert_non_null(c);
	bp_reassembly_open(c);
	return c;
}

static void destroy(struct bp_reassembly *c)
{
	bp_reassembly_destroy(c);
	free(memory);
}

static void block_sizes_are_rounded_up(void **state)
{
	struct bp_reassembly *c = fresh(1 << 20, 64 * 1024);
	const uint64_t asked[] = {0, 1, 127, 128, 129, 4096, 4097, 65536};
	const uint64_t got[] = {128, 128, 128, 128, 256, 4096, 8192, 65536};

	(void)state;
	assert_int_equal(bp_reassembly_capacity(c), 1 << 20);
	assert_int_equal(bp_reassembly_used(c), 0);
	for (unsigned i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		bp_reassembly_ref ref = bp_reassembly_alloc(c, asked[i]);

		assert_int_not_equal(ref, 0);
		assert_int_equal(bp_reassembly_size(c, ref), got[i]);
		assert_int_equal(bp_reassembly_used(c), got[i]);
		memset(bp_reassembly_data(c, ref), 0xa5, got[i]);
		bp_reassembly_release(c, ref);
		assert_int_equal(bp_reassembly_used(c), 0);
	}
	assert_int_equal(bp_reassembly_alloc(c, 65537), 0);
	assert_int_equal(bp_reassembly_alloc(c, UINT64_MAX), 0);
	bp_reassembly_release(c, 0);
	destroy(c);
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
		struct bp_reassembly *c = fresh(cases[i].total, cases[i].largest);
		uint64_t taken = 0;
		bp_reassembly_ref ref;

		assert_in_range(
			bp_reassembly_capacity(c), cases[i].least_capacity, cases[i].most_capacity);
		while ((ref = bp_reassembly_alloc(c, cases[i].largest_block)) != 0) {
			memset(bp_reassembly_data(c, ref), 0xff, cases[i].largest_block);
			taken += cases[i].largest_block;
		}
		assert_int_equal(taken, bp_reassembly_capacity(c));
		assert_int_equal(bp_reassembly_used(c), taken);
		assert_int_equal(bp_reassembly_alloc(c, 1), 0);
		destroy(c);
	}
}

#define LIVE 400

struct block {
	uint64_t size;
	bp_reassembly_ref ref;
	uint8_t mark;
};

static bool marked(const struct bp_reassembly *c, const struct block *b)
{
	const uint8_t *p = bp_reassembly_data(c, b->ref);

	for (uint64_t i = 0; i < b->size; i++) {
		if (p[i] != b->mark)
			return false;
	}
	return true;
}

/* Random allocations and releases next to a model: each block is filled and must stay as filled. */
static void random_model(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct bp_reassembly *c = fresh(512 * 1024, 32 * 1024);
		struct block live[LIVE] = {0};
		uint64_t s = seed * 0x9e3779b97f4a7c15ull, used = 0;
		unsigned n = 0, refused = 0;

		for (unsigned step = 0; step < 4000; step++) {
			bool grow = test_below(&s, 100) < (step / 500 % 2 ? 35u : 65u);

			if (grow && n < LIVE) {
				uint32_t want = test_below(&s, 1u << (7 + test_below(&s, 10)));
				struct block *b = &live[n];

				b->ref = bp_reassembly_alloc(c, want);
				if (b->ref == 0) {
					refused++;
					continue;
				}
				b->size = bp_reassembly_size(c, b->ref);
				assert_true(b->size >= want);
				assert_true(b->size <= 128 || b->size < 2 * (uint64_t)want);
				b->mark = (uint8_t)test_random(&s);
				memset(bp_reassembly_data(c, b->ref), b->mark, b->size);
				used += b->size;
				n++;
			} else if (n != 0) {
				unsigned i = test_below(&s, n);

				assert_true(marked(c, &live[i]));
				used -= live[i].size;
				bp_reassembly_release(c, live[i].ref);
				live[i] = live[--n];
			}
			assert_int_equal(bp_reassembly_used(c), used);
		}
		assert_true(refused > 0); /* the bound was met, or nothing was shown */
		while (n != 0) {
			assert_true(marked(c, &live[n - 1]));
			bp_reassembly_release(c, live[--n].ref);
		}
		assert_int_equal(bp_reassembly_used(c), 0);
		/* all have joined again: the largest blocks are there, as many as at the start */
		for (unsigned i = 0; i < 16; i++)
			assert_int_not_equal(bp_reassembly_alloc(c, 32 * 1024), 0);
		assert_int_equal(bp_reassembly_alloc(c, 1), 0);
		destroy(c);
	}
}

static uint64_t used_by(const struct block *b, unsigned n)
{
	uint64_t sum = 0;

	while (n-- != 0)
		sum += b[n].size;
	return sum;
}

/* How many blocks of this size there are. */
static unsigned drain(struct bp_reassembly *c, uint64_t size)
{
	unsigned n = 0;

	while (bp_reassembly_alloc(c, size) != 0)
		n++;
	return n;
}

/*
 * A process is killed and the next one has only the references that survived: it claims them in any
 * order, what is in the blocks stays, no other block overlaps them, and the rest is allocated to
 * the last byte, in blocks as large as if each had been released by itself.
 */
static void rebuilt_from_references(void **state)
{
	enum { BYTES = 96 * 1024, LARGEST = 32 * 1024, ORDERS = 9 };
	unsigned had[ORDERS];

	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct bp_reassembly *c = fresh(BYTES, LARGEST), *again;
		uint64_t s = seed * 0x9e3779b97f4a7c15ull;
		struct block live[LIVE] = {0};
		unsigned n = 0;
		bp_reassembly_ref ref;

		while (n < LIVE && (ref = bp_reassembly_alloc(c, 1u << test_below(&s, 15))) != 0) {
			struct block *b = &live[n++];

			b->ref = ref;
			b->size = bp_reassembly_size(c, ref);
			b->mark = (uint8_t)test_random(&s);
		}
		for (unsigned left = test_below(&s, n + 1); n > left;) {
			unsigned i = test_below(&s, n);

			bp_reassembly_release(c, live[i].ref);
			live[i] = live[--n];
		}
		for (unsigned i = 0; i < n; i++)
			memset(bp_reassembly_data(c, live[i].ref), live[i].mark, live[i].size);
		assert_int_equal(bp_reassembly_used(c), used_by(live, n));
		for (unsigned order = 0; order < ORDERS; order++)
			had[order] = drain(c, LARGEST >> order);
		again = bp_reassembly_create(memory, BYTES, LARGEST);
		assert_non_null(again);
		for (unsigned i = 0; i < n; i++) {
			assert_true(bp_reassembly_claim(again, live[i].ref));
			assert_false(bp_reassembly_claim(again, live[i].ref));
		}
		bp_reassembly_open(again);
		assert_int_equal(bp_reassembly_used(again), used_by(live, n));
		for (unsigned order = 0; order < ORDERS; order++)
			assert_int_equal(drain(again, LARGEST >> order), had[order]);
		assert_int_equal(bp_reassembly_used(again), BYTES);
		for (unsigned i = 0; i < n; i++)
			assert_true(marked(again, &live[i]));
		bp_reassembly_destroy(again);
		destroy(c);
	}
}

/* Whatever a reference is, a claim stays within the arena and takes no claimed byte. */
static void claims_of_anything(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct bp_reassembly *c;
		uint64_t s = seed * 0x9e3779b97f4a7c15ull, claimed = 0;
		uint8_t *model = calloc(1, 32 * 1024 / 128);

		assert_non_null(model);
		assert_int_equal(posix_memalign(&memory, 64, 32 * 1024), 0);
		c = bp_reassembly_create(memory, 32 * 1024, 8 * 1024);
		assert_non_null(c);
		for (unsigned k = 0; k < 400; k++) {
			bp_reassembly_ref ref = (bp_reassembly_ref)test_random(&s);

			if (k % 4 != 0)
				ref &= 1023;
			if (!bp_reassembly_claim(c, ref))
				continue;
			assert_in_range(bp_reassembly_size(c, ref), 128, 8 * 1024);
			for (uint64_t i = 0; i < bp_reassembly_size(c, ref) / 128; i++) {
				uint64_t at =
					(uint64_t)(bp_reassembly_data(c, ref) - (uint8_t *)memory) /
						128 +
					i;

				assert_true(at < 32 * 1024 / 128);
				assert_int_equal(model[at], 0);
				model[at] = 1;
			}
			claimed += bp_reassembly_size(c, ref);
		}
		assert_int_equal(bp_reassembly_used(c), claimed);
		bp_reassembly_open(c);
		while (bp_reassembly_alloc(c, 1) != 0)
			claimed += 128;
		assert_int_equal(claimed, 32 * 1024);
		destroy(c);
		free(model);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(block_sizes_are_rounded_up),
		cmocka_unit_test(odd_bounds),
		cmocka_unit_test(random_model),
		cmocka_unit_test(rebuilt_from_references),
		cmocka_unit_test(claims_of_anything),
	};

	return cmocka_run_group_tests_name("reassembly_pool", tests, NULL, NULL);
}
