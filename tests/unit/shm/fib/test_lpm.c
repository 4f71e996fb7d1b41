/* SPDX-License-Identifier: BSD-3-Clause */
/* The longest-prefix-match tables against a plain model, through inserts, changes and deletes. */
#include "tests/unit/shm/test.h"

#include <stdlib.h>
#include <string.h>

#include "bench/routes/route_mix.h"
#include "tests/unit/shm/fib/lpm_rig.h"
#include "shm/fib/lpm/lpm_node.h"
#include "tests/unit/times.h"

static void interleaved(uint8_t family, struct bp_prefix (*make)(uint64_t *, uint8_t),
	uint32_t changes, uint32_t max_length)
{
	struct lpm_rig b;

	rig_start(&b, changes, 400000);
	for (uint32_t i = 0; i < changes; i++) {
		uint32_t what = test_below(&b.seed, 10);
		struct bp_prefix p = make(&b.seed, family);

		/* A short prefix is a pass over much: rarely. */
		if (p.length < 12 && test_below(&b.seed, 50) != 0)
			p = bp_prefix_of(address_near(&b.seed, &p),
				12 + test_below(&b.seed, max_length - 11));
		if (what < 6 || b.n == 0)
			rig_set(&b, &p, BP_NH_FIXED + test_below(&b.seed, 200));
		else if (what < 8)
			rig_set(&b, &b.prefix[test_below(&b.seed, b.n)],
				BP_NH_FIXED + test_below(&b.seed, 200));
		else
			rig_remove(&b, &b.prefix[test_below(&b.seed, b.n)]);
		rig_check_near(&b, 6);
		if (i % (changes / 4) == changes / 8) {
			assert_int_equal(rig_take_over(&b), 0);
			rig_check_near(&b, 2000);
		}
	}
	rig_check_near(&b, TEST_TIMES(40000));
	rig_empty(&b);
	rig_end(&b);
}

static void test_random4(void **state)
{
	interleaved(4, random_prefix, TEST_TIMES(12000), 32);
}

static void test_random6(void **state)
{
	interleaved(6, random_prefix, TEST_TIMES(12000), 128);
}

static void test_real4(void **state)
{
	interleaved(4, bp_route_mix, TEST_TIMES(12000), 32);
}

static void test_real6(void **state)
{
	interleaved(6, bp_route_mix, TEST_TIMES(12000), 128);
}

/* Every length below one address, in from both ends, with the default last and first. */
static void chain(uint8_t family)
{
	const unsigned bits = bp_address_bits(family);
	struct bp_address a = {.family = family};
	struct lpm_rig b;

	memset(a.bytes, 0xa5, bits / 8);
	rig_start(&b, 1024, 0);
	for (unsigned l = 0; l <= bits; l++) {
		struct bp_prefix p = bp_prefix_of(a, l % 2 != 0 ? l : bits - l);

		rig_set(&b, &p, 100 + p.length);
		rig_check(&b, &a);
		rig_check_near(&b, 100);
	}
	assert_int_equal(fib_way(b.fib, &a), 100 + bits);
	for (unsigned l = 0; l <= bits; l++) {
		struct bp_prefix p = bp_prefix_of(a, bits - l);

		rig_remove(&b, &p);
		assert_int_equal(fib_way(b.fib, &a), l < bits ? 100 + bits - l - 1 : BP_NH_NONE);
		rig_check_near(&b, 100);
	}
	rig_empty(&b);
	rig_end(&b);
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
	struct lpm_rig b;
	uint32_t full;

	a.bytes[0] = 10;
	rig_start(&b, 2048, 0);
	for (unsigned i = 0; i < 1024; i++) {
		struct bp_prefix p;

		a.bytes[bits / 8 - 1] = (uint8_t)(i * 37);
		a.bytes[bits / 8 - 2] = (uint8_t)(i / 256);
		p = bp_prefix_of(a, bits);
		rig_set(&b, &p, 1000 + i);
		rig_check_near(&b, 30);
	}
	bp_lpm_settle(b.w);
	full = b.fib->max_lines - bp_lpm_free_lines(b.w);
	/* 4 nodes of 256 words each, and for IPv6 a chain above them */
	assert_in_range(full, 4 * BP_LPM_LINES_MAX, 4 * BP_LPM_LINES_MAX + 13);
	/* Next hops change in place. */
	for (unsigned i = 0; i < b.n; i++)
		rig_set(&b, &b.prefix[i], 5000 + i);
	bp_lpm_settle(b.w);
	assert_int_equal(b.fib->max_lines - bp_lpm_free_lines(b.w), full);
	rig_check_near(&b, 5000);
	rig_empty(&b);
	rig_end(&b);
}

static void test_row(void **state)
{
	row(4);
	row(6);
}

/* A burst gives each address what it gets alone, whatever is next to it. */
static void test_bursts(void **state)
{
	struct lpm_rig b;
	uint8_t nodes = 0;

	rig_start(&b, 8000, 0);
	for (unsigned i = 0; i < 3000; i++) {
		struct bp_prefix p4 = random_prefix(&b.seed, 4), p6 = random_prefix(&b.seed, 6);

		if (p4.length >= 12)
			rig_set(&b, &p4, BP_NH_FIXED + i);
		rig_set(&b, &p6, BP_NH_FIXED + i);
	}
	for (unsigned i = 0; i < TEST_TIMES(10000); i++) {
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
		memset(got, 0xff, sizeof(got));
		bp_lpm4_lookup_retry(b.fib, &nodes, dst4, got, n4);
		for (unsigned k = 0; k < n4; k++)
			assert_int_equal(got[k], model_lookup(b.model, &v4[k]));
		/* all to one, or all but one */
		for (unsigned k = 1; k + (i & 1) < n4; k++)
			dst4[k] = dst4[0];
		bp_lpm4_lookup_retry(b.fib, &nodes, dst4, got, n4);
		for (unsigned k = 0; k < n4; k++)
			assert_int_equal(
				got[k], model_lookup(b.model, &v4[(i & 1) && k == n4 - 1 ? k : 0]));
		if (test_below(&b.seed, 4) == 0) /* as if traffic had changed */
			nodes = !nodes;
		bp_lpm6_lookup(b.fib, dst6, got, n6);
		for (unsigned k = 0; k < n6; k++)
			assert_int_equal(got[k], model_lookup(b.model, &v6[k]));
	}
	rig_end(&b);
}

static void test_invalid(void **state)
{
	struct bp_prefix p = {.family = 4, .length = 33};
	struct lpm_rig b;

	rig_start(&b, 8, 0);
	assert_int_equal(bp_lpm_set(b.w, &p, BP_NH_FIXED), BP_FIB_INVALID);
	assert_int_equal(bp_lpm_delete(b.w, &p), BP_FIB_INVALID);
	assert_int_equal(bp_lpm_refuse(b.w, &p), BP_FIB_INVALID);
	p.length = 8;
	assert_int_equal(bp_lpm_set(b.w, &p, BP_NH_NONE), BP_FIB_INVALID);
	assert_int_equal(bp_lpm_set(b.w, &p, BP_LPM_LINK), BP_FIB_INVALID);
	p.family = 5;
	assert_int_equal(bp_lpm_load(b.w, &p, BP_NH_FIXED), BP_FIB_INVALID);
	rig_end(&b);
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
