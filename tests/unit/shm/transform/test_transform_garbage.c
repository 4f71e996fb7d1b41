/* SPDX-License-Identifier: BSD-3-Clause */
/* Banks that say nonsense: they are refused, or can be read without going astray. The memory is of
 * exactly its size: AddressSanitizer sees the rest. */
#include "tests/unit/shm/transform/transform_rig.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDS TEST_TIMES(200000u)
#define MATRICES 20u

static uint64_t rnd = 1;

static void fill(struct transform_rig *x)
{
	xform_open(x, MATRICES, 2);
	for (unsigned i = 0; i < 3; i++) {
		xform_rule(x, i & 1, (uint16_t)i);
		for (unsigned k = 0; k < 4; k++) {
			xform_source(x, i,
				k < 2 ? xform_prefix4(k << 24, 8 * k)
				      : xform_prefix6(k, k, 64 * (k - 1)));
			xform_receiver(x, k);
		}
	}
	assert_int_equal(xform_load(x), 0);
}

/* All that a worker, and the next writer, follow. */
static void use(struct transform_rig *x)
{
	const struct bp_transform_view v = xform_view(x);
	double m[12];

	for (unsigned i = 0; i < v.bank->n_rules; i++) {
		const struct bp_transform_rule *r = &v.bank->rule[i].rule;

		for (unsigned k = 0; k < 3; k++)
			assert_true(r->layout.in[k].offset + 4u <= r->layout.length);
		bp_transform_row_read(&v.row[v.bank->rule[i].otherwise], m);
		for (unsigned k = 0; k < 20; k++) {
			uint8_t a[16] = {(uint8_t)test_below(&rnd, 3), 0, 0, 0, 0, 0, 0,
				(uint8_t)test_below(&rnd, 4)};
			const uint32_t s = bp_transform_lookup(&v, i, k & 1 ? 4 : 6, a);

			if (s == UINT32_MAX)
				continue;
			for (unsigned n = 0; n < v.source[s].n; n++)
				bp_transform_row_read(&v.row[v.source[s].first + n], m);
		}
	}
}

static void test_garbage(void **state)
{
	struct transform_rig x;
	uint8_t *bank, *whole;
	uint32_t taken = 0;
	size_t size;

	fill(&x);
	size = x.t.generation.bank_size;
	bank = (uint8_t *)(uintptr_t)xform_view(&x).bank;
	whole = malloc(size);
	assert_non_null(whole);
	memcpy(whole, bank, size);
	assert_true(bp_transform_valid(xform_view(&x).bank, MATRICES));
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned n = 1 + test_below(&rnd, 4);

		memcpy(bank, whole, size);
		while (n-- > 0) {
			/* half of them in the header, which has most of the offsets that are
			 * followed */
			const size_t at = test_below(&rnd, 2) != 0
						  ? test_below(&rnd, sizeof(uint64_t) * 80)
						  : test_below(&rnd, (uint32_t)size);

			bank[at] = test_below(&rnd, 2) != 0 ? (uint8_t)test_random(&rnd)
							    : (uint8_t)test_below(&rnd, 4);
		}
		if (!bp_transform_valid(xform_view(&x).bank, MATRICES))
			continue;
		taken++;
		use(&x);
		xform_load(&x); /* takes over from it */
		atomic_store(&x.head.active, 3);
	}
	/* both happened */
	assert_true(taken > ROUNDS / 100 && taken < ROUNDS - ROUNDS / 100);
	free(whole);
	xform_close(&x);
}

/* Each thing that must hold, damaged alone. */
static void test_each(void **state)
{
	struct transform_rig x;
	struct bp_transform_bank *b;
	struct bp_transform_view v;

	fill(&x);
	v = xform_view(&x);
	b = (struct bp_transform_bank *)(uintptr_t)v.bank;
#define BAD(lvalue, value)                                                                         \
	do {                                                                                       \
		const uint64_t was = (lvalue);                                                     \
		(lvalue) = (value);                                                                \
		assert_false(bp_transform_valid(b, MATRICES));                                     \
		(lvalue) = was;                                                                    \
		assert_true(bp_transform_valid(b, MATRICES));                                      \
	} while (0)
	BAD(b->n_rules, BP_TRANSFORM_RULES_MAX + 1);
	BAD(b->sources, MATRICES + 1);
	BAD(b->rows, MATRICES);
	BAD(b->buckets, 3);
	BAD(b->n_sources, 11);
	BAD(b->n_sources, MATRICES + 1);
	BAD(b->n_rows, MATRICES + BP_TRANSFORM_RULES_MAX + 1);
	BAD(b->n_rows, 3);
	BAD(b->rule[1].otherwise, 1000);
	BAD(b->rule[1].n_lengths[0], BP_TRANSFORM_LENGTHS_MAX + 1);
	BAD(b->rule[1].length[0][0], 33);
	BAD(b->rule[1].length[1][0], 129);
	BAD(b->rule[1].rule.port, BP_MAX_PORTS);
	BAD(b->rule[1].rule.method, BP_TRANSFORM_METHODS);
	BAD(b->rule[1].rule.to.family, 5);
	BAD(b->rule[1].rule.layout.length, 23);
	BAD(b->rule[1].rule.layout.in[2].offset, 37);
	BAD(b->rule[1].rule.layout.in[2].offset, 4); /* paper: side by side */
	BAD(b->rule[1].rule.layout.out[1].fraction, 32);
	BAD(b->rule[1].rule.layout.out[1].type, BP_TRANSFORM_TYPES);
	BAD(v.source[5].family, 0);
	BAD(v.source[5].length, 129);
	BAD(v.source[5].rule, 3);
	BAD(v.source[5].n, 0);
	BAD(v.source[5].n, BP_TRANSFORM_RECEIVERS_MAX + 1);
	BAD(v.source[5].first, 15);
	BAD(v.source[5].first, UINT32_MAX);
	BAD(v.slot[0], 0xffffffff00000000u);
	BAD(v.slot[0], 13);
	BAD(v.slot[0], UINT32_MAX);
	BAD(b->generation, 0);
#undef BAD
	xform_close(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_each),
	};

	return cmocka_run_group_tests_name("shm transform garbage", tests, NULL, NULL);
}
