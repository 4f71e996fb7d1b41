/* SPDX-License-Identifier: BSD-3-Clause */
/* Lookups against a list that is gone through from its beginning, while sources come with the file
 * and one by one, and banks change. */
#include "tests/unit/shm/transform/transform_rig.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDS TEST_TIMES(400u)
#define LOOKUPS 300u
#define MATRICES 700u
#define RULES 3u

struct known {
	struct bp_prefix p;
	unsigned rule;
	double mark;
	bool set, added;
};

struct model {
	struct transform_rig x;
	struct known known[MATRICES];
	uint32_t n;
	uint64_t seed;
};

/* Near each other, so that many are in many. */
static struct bp_prefix any_prefix(struct model *m)
{
	static const uint8_t length4[] = {0, 8, 16, 24, 28, 31, 32, 32, 32};
	static const uint8_t length6[] = {0, 48, 63, 64, 65, 96, 127, 128, 128};
	const uint32_t low = test_below(&m->seed, 64);

	if (test_below(&m->seed, 3) == 0)
		return xform_prefix6(0x20010db800000000u | low >> 3, low,
			length6[test_below(&m->seed, sizeof(length6))]);
	return xform_prefix4(0x0a000000u | (low >> 3) << 16 | low,
		length4[test_below(&m->seed, sizeof(length4))]);
}

static const struct known *find(const struct model *m, unsigned rule, const struct bp_prefix *p)
{
	for (uint32_t i = 0; i < m->n; i++) {
		if (m->known[i].rule == rule && memcmp(&m->known[i].p, p, sizeof(*p)) == 0)
			return &m->known[i];
	}
	return NULL;
}

static bool holds(const struct bp_prefix *p, const struct bp_address *a)
{
	const struct bp_prefix of = bp_prefix_of(*a, p->length);

	return memcmp(of.bytes, p->bytes, sizeof(of.bytes)) == 0;
}

static const struct known *longest(const struct model *m, unsigned rule, const struct bp_address *a)
{
	const struct known *best = NULL;

	for (uint32_t i = 0; i < m->n; i++) {
		const struct known *k = &m->known[i];

		if (k->rule == rule && k->p.family == a->family && holds(&k->p, a) &&
			(best == NULL || k->p.length > best->p.length))
			best = k;
	}
	return best;
}

static void learn(struct model *m, struct known k)
{
	m->known[m->n++] = k;
}

/* Added sources remain, and matrices of sources that the configuration still has. */
static void another_file(struct model *m, double *mark)
{
	struct model *before = malloc(sizeof(*before));
	const uint32_t n = test_below(&m->seed, 200);

	assert_non_null(before);
	*before = *m;
	m->n = 0;
	xform_file(&m->x);
	for (unsigned i = 0; i < RULES; i++)
		xform_rule(&m->x, i, 1);
	for (uint32_t i = 0; i < n; i++) {
		const struct bp_prefix p = any_prefix(m);
		const unsigned rule = test_below(&m->seed, RULES);
		const struct known *was = find(before, rule, &p);
		const bool set = was != NULL && was->set;

		if (find(m, rule, &p) != NULL)
			continue;
		xform_source(&m->x, rule, p);
		xform_receiver(&m->x, ++*mark);
		learn(m, (struct known){p, rule, set ? was->mark : *mark, set, false});
	}
	for (uint32_t i = 0; i < before->n; i++) {
		const struct known *was = &before->known[i];

		if (was->added && find(m, was->rule, &was->p) == NULL)
			learn(m, *was);
	}
	free(before);
	if (xform_load(&m->x) != 0)
		fail_msg("%s", xform_error());
}

static void set_some(struct model *m, double *mark)
{
	const struct bp_transform_view v = xform_view(&m->x);
	uint32_t n = test_below(&m->seed, 20);

	while (n-- > 0) {
		const struct bp_prefix p = any_prefix(m);
		const unsigned rule = test_below(&m->seed, RULES);
		struct known *k = (struct known *)(uintptr_t)find(m, rule, &p);
		double of[12];

		xform_matrix(++*mark, of);
		assert_int_equal(bp_transform_set(&v, rule, &p, 0, of, true, &m->x.head.next_uid),
			BP_TRANSFORM_SET_DONE);
		if (k == NULL)
			learn(m, (struct known){p, rule, *mark, true, true});
		else
			k->mark = *mark, k->set = true;
	}
}

static void look(struct model *m)
{
	const struct bp_transform_view v = xform_view(&m->x);

	assert_true(bp_transform_valid(v.bank, MATRICES));
	assert_int_equal(atomic_load(&v.bank->n_sources), m->n);
	for (unsigned i = 0; i < LOOKUPS; i++) {
		const unsigned rule = test_below(&m->seed, RULES);
		const struct bp_prefix p = any_prefix(m);
		struct bp_address a = {.family = p.family};
		const struct known *want;
		uint32_t got;
		double of[12];

		memcpy(a.bytes, p.bytes, sizeof(a.bytes));
		want = longest(m, rule, &a);
		got = bp_transform_lookup(&v, rule, a.family, a.bytes);
		if (want == NULL) {
			assert_int_equal(got, UINT32_MAX);
			continue;
		}
		assert_int_not_equal(got, UINT32_MAX);
		assert_int_equal(v.source[got].length, want->p.length);
		bp_transform_row_read(&v.row[v.source[got].first], of);
		assert_true(xform_mark(of) == want->mark);
	}
}

static void test_random_files(void **state)
{
	struct model *m = calloc(1, sizeof(*m));
	double mark = 0;

	assert_non_null(m);
	for (unsigned round = 0; round < ROUNDS; round++) {
		if (round % 20 == 0) { /* added sources accumulate */
			if (round > 0)
				xform_close(&m->x);
			xform_open(&m->x, MATRICES, RULES);
			m->n = 0;
			m->seed = round + 1;
		}
		another_file(m, &mark);
		look(m);
		set_some(m, &mark);
		look(m);
	}
	xform_close(&m->x);
	free(m);
}

/* As many as there may be. */
static void test_full(void **state)
{
	struct transform_rig x;
	struct bp_transform_view v;
	double of[12];

	xform_open(&x, BP_TRANSFORM_MATRICES_MAX, 1);
	xform_rule(&x, 0, 1);
	for (uint32_t i = 0; i < BP_TRANSFORM_MATRICES_MAX / 2; i++) {
		xform_source(&x, 0, xform_prefix4(0x0a000000 + i, 32));
		xform_receiver(&x, i);
	}
	assert_int_equal(xform_load(&x), 0);
	v = xform_view(&x);
	for (uint32_t i = BP_TRANSFORM_MATRICES_MAX / 2; i < BP_TRANSFORM_MATRICES_MAX; i++) {
		const struct bp_prefix p = xform_prefix4(0x0a000000 + i, 32);

		xform_matrix(i, of);
		assert_int_equal(bp_transform_set(&v, 0, &p, 0, of, true, &x.head.next_uid),
			BP_TRANSFORM_SET_DONE);
	}
	for (unsigned load = 0; load < 2; load++) {
		v = xform_view(&x);
		assert_true(bp_transform_valid(v.bank, BP_TRANSFORM_MATRICES_MAX));
		for (uint32_t i = 0; i < BP_TRANSFORM_MATRICES_MAX; i++) {
			const struct bp_prefix p = xform_prefix4(0x0a000000 + i, 32);
			const uint32_t s = bp_transform_lookup(&v, 0, 4, p.bytes);

			assert_int_not_equal(s, UINT32_MAX);
			bp_transform_row_read(&v.row[v.source[s].first], of);
			assert_true(xform_mark(of) == i);
		}
		assert_int_equal(xform_load(&x), 0);
	}
	v = xform_view(&x);
	assert_int_equal(bp_transform_set(&v, 0, &(struct bp_prefix){.family = 4, .length = 32}, 0,
				 of, true, &x.head.next_uid),
		BP_TRANSFORM_SET_FULL);
	assert_int_equal(bp_transform_lookup(&v, 0, 4, (const uint8_t[4]){9, 9, 9, 9}), UINT32_MAX);
	xform_close(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_files),
		cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests_name("shm transform random", tests, NULL, NULL);
}
