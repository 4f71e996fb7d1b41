/* SPDX-License-Identifier: BSD-3-Clause */
/* A writer that is stopped at any of its stores: every address has its old or its new result, and
 * the next writer completes the change. */
#include "tests/unit/shm/test.h"

#include "tests/unit/shm/fib/lpm_rig.h"
#include "shm/fib/lpm/lpm_tree.h"

#ifdef BP_LONG_TESTS
#define NEAR 200u /* lookups of each check */
#define FINE 16u  /* of a change of many stores, it is stopped at one in FINE of those before */
#else
#define NEAR 40u
#define FINE 4u
#endif

static jmp_buf stopped;
static uint64_t stores_left = UINT64_MAX;

/* The hook of shm/fib/lpm/lpm_tree.h. */
void bp_lpm_store(_Atomic uint32_t *at, uint32_t word)
{
	if (stores_left == 0) {
		stores_left = UINT64_MAX;
		longjmp(stopped, 1);
	}
	if (stores_left != UINT64_MAX)
		stores_left--;
	atomic_store_explicit(at, word, memory_order_release);
}

/* nexthop 0 deletes. */
struct change {
	struct bp_prefix prefix;
	uint32_t before, after;
};

static void apply(struct lpm_rig *r, const struct change *c)
{
	if (c->after != 0)
		bp_lpm_set(r->w, &c->prefix, c->after);
	else
		bp_lpm_delete(r->w, &c->prefix);
}

/* Whether it was stopped after this many stores. */
static bool stops(struct lpm_rig *r, const struct change *c, uint64_t stores)
{
	if (setjmp(stopped) != 0)
		return true;
	stores_left = stores;
	apply(r, c);
	stores_left = UINT64_MAX;
	return false;
}

static void check_old_or_new(struct lpm_rig *r, const struct change *c)
{
	for (unsigned i = 0; i < 300; i++) {
		const struct bp_prefix *p =
			i % 2 != 0 ? &c->prefix : &r->prefix[test_below(&r->seed, r->n)];
		struct bp_address a = address_near(&r->seed, p);
		uint32_t old, new, is = fib_way(r->fib, &a);

		model_set(r->model, &c->prefix, c->before);
		old = model_lookup(r->model, &a);
		model_set(r->model, &c->prefix, c->after);
		new = model_lookup(r->model, &a);
		if (is != old)
			assert_int_equal(is, new);
	}
}

/* Stops the change after 0, 1, 2, ... stores (of very many: after ever more), each time taken over
 * by a writer that knows the old or the new truth. Returns how often it was stopped. */
static unsigned stop_everywhere(struct lpm_rig *r, const struct change *c)
{
	unsigned times = 0;

	for (uint64_t stores = 0; stops(r, c, stores); stores += 1 + stores / FINE) {
		check_old_or_new(r, c);
		times++;
		/* At last the old truth, so that the change can be begun once more. */
		if (test_below(&r->seed, 2) == 0) {
			model_set(r->model, &c->prefix, c->after);
			rig_take_over(r);
			rig_check_near(r, NEAR);
		}
		model_set(r->model, &c->prefix, c->before);
		rig_take_over(r);
		rig_check_near(r, NEAR);
		assert_int_equal(rig_take_over(r), 0);
	}
	model_set(r->model, &c->prefix, c->after);
	rig_check_near(r, NEAR);
	return times;
}

static struct change any_change(struct lpm_rig *r, uint8_t family)
{
	struct change c = {.prefix = random_prefix(&r->seed, family)};

	if (test_below(&r->seed, 2) == 0)
		c.prefix = r->prefix[test_below(&r->seed, r->n)];
	if (c.prefix.length < 14)
		c.prefix = bp_prefix_of(address_near(&r->seed, &c.prefix),
			14 + test_below(&r->seed, bp_address_bits(c.prefix.family) - 13));
	c.before = model_get(r->model, &c.prefix);
	if (c.before == 0 || test_below(&r->seed, 2) == 0)
		c.after = 2000 + test_below(&r->seed, 1000);
	if (c.before == 0)
		r->prefix[r->n++] = c.prefix;
	return c;
}

static void finish(uint8_t family)
{
	struct lpm_rig r;
	unsigned times = 0;

	rig_start(&r, 2000, 20000);
	for (unsigned i = 0; i < 600; i++) {
		struct bp_prefix p = random_prefix(&r.seed, family);

		if (p.length >= 10)
			rig_set(&r, &p, BP_NH_FIXED + i);
	}
	for (unsigned i = 0; times < TEST_TIMES(80); i++) {
		struct change c = any_change(&r, family);

		assert_true(i < 1000);
		times += stop_everywhere(&r, &c);
	}
	rig_empty(&r);
	rig_end(&r);
}

static void test_stop4(void **state)
{
	finish(4);
}

static void test_stop6(void **state)
{
	finish(6);
}

/* The repair itself is stopped, and the next one continues. */
static void test_stop_repair(void **state)
{
	struct lpm_rig r;
	uint64_t seed;

	rig_start(&r, 2000, 20000);
	for (unsigned i = 0; i < 400; i++) {
		struct bp_prefix p = random_prefix(&r.seed, i % 2 != 0 ? 4 : 6);

		if (p.length >= 16)
			rig_set(&r, &p, BP_NH_FIXED + i);
	}
	seed = r.seed;
	for (unsigned i = 0; i < TEST_TIMES(30); i++) {
		/* Words that lead to nowhere, and others that are only wrong. */
		for (unsigned k = 0; k < 20; k++) {
			struct bp_address a =
				address_near(&seed, &r.prefix[test_below(&seed, r.n)]);
			uint32_t slot = (uint32_t)a.bytes[0] << 8 | a.bytes[1];

			atomic_store(a.family == 4 ? &r.fib->lpm4_root[slot << 8 | a.bytes[2]]
						   : &r.fib->lpm6_root[slot],
				k % 2 != 0 ? UINT32_MAX : 5);
		}
		if (setjmp(stopped) == 0) {
			stores_left = test_below(&seed, 200);
			rig_take_over(&r);
		}
		stores_left = UINT64_MAX;
		rig_take_over(&r);
		rig_check_near(&r, 5 * NEAR);
		assert_int_equal(rig_take_over(&r), 0);
	}
	rig_empty(&r);
	rig_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stop4),
		cmocka_unit_test(test_stop6),
		cmocka_unit_test(test_stop_repair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
