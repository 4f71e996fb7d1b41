/* SPDX-License-Identifier: BSD-3-Clause */
/* The longest-prefix-match tables against a plain model, through inserts, changes and deletes. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "fib_fixture.h"
#include "lpm_model.h"
#include "shm/lpm_node.h"

struct bench {
	struct bp_fib *fib;
	struct bp_epoch epoch;
	struct bp_lpm_writer *w;
	struct lpm_model *model;
	struct bp_prefix *prefix; /* that were set at some time */
	uint32_t n, max;
	uint64_t seed;
};

static void start(struct bench *b, uint32_t max, uint32_t max_lines)
{
	const struct fib_size size = {.max_lines = max_lines};

	*b = (struct bench){.fib = fib_new(&size), .model = model_new(max), .max = max};
	b->prefix = calloc(max, sizeof(*b->prefix));
	assert_non_null(b->prefix);
	b->seed = 0x9e3779b97f4a7c15ull;
	fib_start(b->fib);
	bp_epoch_init(&b->epoch, b->fib->control, NULL, NULL);
	b->w = bp_lpm_writer_new(b->fib, &b->epoch);
	assert_non_null(b->w);
	assert_int_equal(bp_lpm_repair(b->w), 0);
	bp_lpm_settle(b->w);
	assert_int_equal(bp_lpm_free_lines(b->w), b->fib->max_lines);
}

static void end(struct bench *b)
{
	bp_lpm_writer_free(b->w);
	fib_free(b->fib);
	model_free(b->model);
	free(b->prefix);
}

static void set(struct bench *b, const struct bp_prefix *p, uint32_t nexthop)
{
	uint32_t before = model_get(b->model, p);

	assert_int_equal(
		bp_lpm_set(b->w, p, nexthop), before == nexthop ? BP_FIB_SAME : BP_FIB_DONE);
	model_set(b->model, p, nexthop);
	if (before == 0 && b->n < b->max)
		b->prefix[b->n++] = *p;
}

static void remove_route(struct bench *b, const struct bp_prefix *p)
{
	bool there = model_get(b->model, p) != 0;

	assert_int_equal(bp_lpm_delete(b->w, p), there ? BP_FIB_DONE : BP_FIB_ABSENT);
	model_set(b->model, p, 0);
}

static void check(struct bench *b, const struct bp_address *a)
{
	uint32_t right = model_lookup(b->model, a), is = fib_way(b->fib, a);

	if (right != is)
		print_error("IPv%u %02x%02x:%02x%02x:%02x%02x..: %u, not %u\n", a->family,
			a->bytes[0], a->bytes[1], a->bytes[2], a->bytes[3], a->bytes[4],
			a->bytes[5], is, right);
	assert_int_equal(is, right);
}

static void check_near(struct bench *b, uint32_t times)
{
	for (uint32_t i = 0; i < times && b->n > 0; i++) {
		struct bp_address a =
			address_near(&b->seed, &b->prefix[test_below(&b->seed, b->n)]);

		check(b, &a);
	}
}

/* All gone: no line may be left in use and no way in the roots. */
static void delete_all(struct bench *b)
{
	for (uint32_t i = 0; i < b->n; i++) {
		if (model_get(b->model, &b->prefix[i]) != 0)
			remove_route(b, &b->prefix[i]);
	}
	bp_lpm_settle(b->w);
	assert_int_equal(bp_lpm_free_lines(b->w), b->fib->max_lines);
	for (uint32_t i = 0; i < 1u << 24; i++)
		assert_true(atomic_load_explicit(&b->fib->lpm4_root[i], memory_order_relaxed) == 0);
	for (uint32_t i = 0; i < 1u << 16; i++)
		assert_true(atomic_load_explicit(&b->fib->lpm6_root[i], memory_order_relaxed) == 0);
}

/* A new writer that is told the same finds nothing to mend. */
static void take_over(struct bench *b)
{
	bp_lpm_writer_free(b->w);
	b->w = bp_lpm_writer_new(b->fib, &b->epoch);
	assert_non_null(b->w);
	for (uint32_t i = 0; i < b->n; i++) {
		uint32_t nexthop = model_get(b->model, &b->prefix[i]);

		if (nexthop != 0)
			assert_int_equal(bp_lpm_load(b->w, &b->prefix[i], nexthop), BP_FIB_DONE);
	}
	assert_int_equal(bp_lpm_repair(b->w), 0);
}

static void interleaved(uint8_t family, struct bp_prefix (*make)(uint64_t *, uint8_t),
	uint32_t changes, uint32_t max_length)
{
	struct bench b;

	start(&b, changes, 400000);
	for (uint32_t i = 0; i < changes; i++) {
		uint32_t what = test_below(&b.seed, 10);
		struct bp_prefix p = make(&b.seed, family);

		/* A short prefix is a pass over much: rarely. */
		if (p.length < 12 && test_below(&b.seed, 50) != 0)
			p = bp_prefix_of(address_near(&b.seed, &p),
				12 + test_below(&b.seed, max_length - 11));
		if (what < 6 || b.n == 0)
			set(&b, &p, BP_NH_FIXED + test_below(&b.seed, 200));
		else if (what < 8)
			set(&b, &b.prefix[test_below(&b.seed, b.n)],
				BP_NH_FIXED + test_below(&b.seed, 200));
		else
			remove_route(&b, &b.prefix[test_below(&b.seed, b.n)]);
		check_near(&b, 6);
		if (i % (changes / 4) == changes / 8) {
			take_over(&b);
			check_near(&b, 2000);
		}
	}
	check_near(&b, 20000);
	delete_all(&b);
	end(&b);
}

static void test_random4(void **state)
{
	interleaved(4, random_prefix, 20000, 32);
}

static void test_random6(void **state)
{
	interleaved(6, random_prefix, 20000, 128);
}

static void test_real4(void **state)
{
	interleaved(4, real_prefix, 20000, 32);
}

static void test_real6(void **state)
{
	interleaved(6, real_prefix, 20000, 128);
}

/* Every length below one address, in from both ends, with the default last and first. */
static void chain(uint8_t family)
{
	const unsigned bits = bp_address_bits(family);
	struct bp_address a = {.family = family};
	struct bench b;

	memset(a.bytes, 0xa5, bits / 8);
	start(&b, 1024, 0);
	for (unsigned l = 0; l <= bits; l++) {
		struct bp_prefix p = bp_prefix_of(a, l % 2 != 0 ? l : bits - l);

		set(&b, &p, 100 + p.length);
		check(&b, &a);
		check_near(&b, 100);
	}
	assert_int_equal(fib_way(b.fib, &a), 100 + bits);
	for (unsigned l = 0; l <= bits; l++) {
		struct bp_prefix p = bp_prefix_of(a, bits - l);

		remove_route(&b, &p);
		assert_int_equal(fib_way(b.fib, &a), l < bits ? 100 + bits - l - 1 : BP_NH_NONE);
		check_near(&b, 100);
	}
	delete_all(&b);
	end(&b);
}

static void test_chain(void **state)
{
	chain(4);
	chain(6);
}

/* Host routes in a row: nodes grow to their full size and shrink again. */
static void row(uint8_t family)
{
	const unsigned bits = bp_address_bits(family);
	struct bp_address a = {.family = family};
	struct bench b;
	uint32_t full;

	a.bytes[0] = 10;
	start(&b, 2048, 0);
	for (unsigned i = 0; i < 1024; i++) {
		struct bp_prefix p;

		a.bytes[bits / 8 - 1] = (uint8_t)(i * 37);
		a.bytes[bits / 8 - 2] = (uint8_t)(i / 256);
		p = bp_prefix_of(a, bits);
		set(&b, &p, 1000 + i);
		check_near(&b, 30);
	}
	bp_lpm_settle(b.w);
	full = b.fib->max_lines - bp_lpm_free_lines(b.w);
	/* 4 nodes of 256 words each, and for IPv6 a chain above them */
	assert_in_range(full, 4 * BP_LPM_LINES_MAX, 4 * BP_LPM_LINES_MAX + 13);
	/* Next hops change in place. */
	for (unsigned i = 0; i < b.n; i++)
		set(&b, &b.prefix[i], 5000 + i);
	bp_lpm_settle(b.w);
	assert_int_equal(b.fib->max_lines - bp_lpm_free_lines(b.w), full);
	check_near(&b, 5000);
	delete_all(&b);
	end(&b);
}

static void test_row(void **state)
{
	row(4);
	row(6);
}

/* A burst gives each address what it gets alone, whatever is beside it. */
static void test_bursts(void **state)
{
	struct bench b;

	start(&b, 8000, 0);
	for (unsigned i = 0; i < 3000; i++) {
		struct bp_prefix p4 = random_prefix(&b.seed, 4), p6 = random_prefix(&b.seed, 6);

		if (p4.length >= 12)
			set(&b, &p4, BP_NH_FIXED + i);
		set(&b, &p6, BP_NH_FIXED + i);
	}
	for (unsigned i = 0; i < 20000; i++) {
		uint32_t n = 1 + test_below(&b.seed, 64), dst4[64], got[64], n4 = 0, n6 = 0;
		struct bp_address a[64], v4[64], v6[64];
		const uint8_t *dst6[64];

		for (unsigned k = 0; k < n; k++) {
			a[k] = address_near(&b.seed, &b.prefix[test_below(&b.seed, b.n)]);
			if (a[k].family == 4) {
				v4[n4] = a[k];
				dst4[n4++] = (uint32_t)a[k].bytes[0] << 24 |
					     (uint32_t)a[k].bytes[1] << 16 |
					     (uint32_t)a[k].bytes[2] << 8 | a[k].bytes[3];
			} else {
				v6[n6] = a[k];
				dst6[n6] = v6[n6].bytes;
				n6++;
			}
		}
		bp_lpm4_lookup(b.fib, dst4, got, n4);
		for (unsigned k = 0; k < n4; k++)
			assert_int_equal(got[k], model_lookup(b.model, &v4[k]));
		bp_lpm6_lookup(b.fib, dst6, got, n6);
		for (unsigned k = 0; k < n6; k++)
			assert_int_equal(got[k], model_lookup(b.model, &v6[k]));
	}
	end(&b);
}

static void test_invalid(void **state)
{
	struct bp_prefix p = {.family = 4, .length = 33};
	struct bench b;

	start(&b, 8, 0);
	assert_int_equal(bp_lpm_set(b.w, &p, BP_NH_FIXED), BP_FIB_INVALID);
	assert_int_equal(bp_lpm_delete(b.w, &p), BP_FIB_INVALID);
	assert_int_equal(bp_lpm_refuse(b.w, &p), BP_FIB_INVALID);
	p.length = 8;
	assert_int_equal(bp_lpm_set(b.w, &p, BP_NH_NONE), BP_FIB_INVALID);
	assert_int_equal(bp_lpm_set(b.w, &p, BP_LPM_LINK), BP_FIB_INVALID);
	p.family = 5;
	assert_int_equal(bp_lpm_load(b.w, &p, BP_NH_FIXED), BP_FIB_INVALID);
	end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random4),
		cmocka_unit_test(test_random6),
		cmocka_unit_test(test_real4),
		cmocka_unit_test(test_real6),
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_row),
		cmocka_unit_test(test_bursts),
		cmocka_unit_test(test_invalid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
