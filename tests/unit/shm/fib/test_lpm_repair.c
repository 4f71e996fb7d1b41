/* SPDX-License-Identifier: BSD-3-Clause */
/* A writer that takes over makes the tables right, whatever is there. */
#include "tests/unit/shm/test.h"

#include <string.h>

#include "bench/routes/route_mix.h"
#include "tests/unit/shm/fib/lpm_rig.h"
#include "shm/fib/lpm/lpm_tree.h"
#include "tests/unit/times.h"

static void fill(struct lpm_rig *r, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint8_t family = i % 2 != 0 ? 4 : 6;
		struct bp_prefix p = i % 3 != 0 ? random_prefix(&r->seed, family)
						: bp_route_mix(&r->seed, family);

		if (p.length < 10 && i % 50 != 0)
			continue;
		rig_set(r, &p, BP_NH_FIXED + test_below(&r->seed, 1000));
	}
}

/* Another value for a word of memory: nearly right, or not at all. */
static uint32_t garbage(struct lpm_rig *r, uint32_t old)
{
	switch (test_below(&r->seed, 6)) {
	case 0:
		return old ^ 1u << test_below(&r->seed, 32);
	case 1:
		return BP_LPM_LINK | test_below(&r->seed, r->fib->max_lines);
	case 2:
		return BP_LPM_LINK | (r->fib->max_lines - test_below(&r->seed, 3));
	case 3:
		return UINT32_MAX;
	case 4:
		return 0;
	default:
		return (uint32_t)test_random(&r->seed);
	}
}

static void corrupt_lines(struct lpm_rig *r, unsigned times)
{
	/* Nodes are taken from the front on. */
	uint32_t used = r->fib->max_lines - bp_lpm_free_lines(r->w) + 16;
	uint32_t *word = (uint32_t *)(void *)r->fib->lines;

	for (unsigned i = 0; i < times; i++) {
		uint32_t at = test_below(&r->seed, used * 16);

		word[at] = garbage(r, word[at]);
	}
}

static void corrupt_roots(struct lpm_rig *r, unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		const struct bp_prefix *p = &r->prefix[test_below(&r->seed, r->n)];
		struct bp_address a = address_near(&r->seed, p);
		uint32_t slot = (uint32_t)a.bytes[0] << 8 | a.bytes[1];
		_Atomic uint32_t *at = &r->fib->lpm6_root[slot];

		if (p->family == 4)
			at = &r->fib->lpm4_root[slot << 8 | a.bytes[2]];
		atomic_store(at, garbage(r, atomic_load(at)));
	}
}

static void test_corrupt(void **state)
{
	struct lpm_rig r;

	rig_start(&r, 40000, 60000);
	fill(&r, 8000);
	for (unsigned round = 0; round < TEST_TIMES(40) + 4; round++) {
		/* from a single word to a good part of all */
		unsigned times = 1u << (round % 14);

		if (round % 3 != 1)
			corrupt_lines(&r, times);
		if (round % 3 != 0)
			corrupt_roots(&r, times);
		rig_take_over(&r);
		rig_check_near(&r, TEST_TIMES(24000));
		assert_int_equal(rig_take_over(&r), 0);
		fill(&r, 300);
		rig_check_near(&r, 2000);
	}
	rig_empty(&r);
	rig_end(&r);
}

/* Memory that was never a table of ours. */
static void test_noise(void **state)
{
	struct lpm_rig r;
	uint32_t *word;

	rig_start(&r, 20000, 20000);
	fill(&r, 4000);
	word = (uint32_t *)(void *)r.fib->lines;
	for (uint32_t i = 0; i < r.fib->max_lines * 16; i++)
		word[i] = (uint32_t)test_random(&r.seed);
	for (uint32_t i = 0; i < 1u << 24; i++)
		atomic_store_explicit(
			&r.fib->lpm4_root[i], (uint32_t)test_random(&r.seed), memory_order_relaxed);
	for (uint32_t i = 0; i < 1u << 16; i++)
		atomic_store_explicit(
			&r.fib->lpm6_root[i], (uint32_t)test_random(&r.seed), memory_order_relaxed);
	assert_true(rig_take_over(&r) > 1u << 16);
	rig_check_near(&r, TEST_TIMES(50000));
	for (unsigned i = 0; i < TEST_TIMES(50000); i++) {
		struct bp_address a = {.family = i % 2 != 0 ? 4 : 6};

		for (unsigned k = 0; k < bp_address_bits(a.family) / 8; k++)
			a.bytes[k] = (uint8_t)test_random(&r.seed);
		rig_check(&r, &a);
	}
	rig_empty(&r);
	rig_end(&r);
}

/* Two words that lead to one node, and a node that leads to itself. */
static void test_shared_nodes(void **state)
{
	const struct bp_prefix one = {.family = 6, .length = 64, .bytes = {0x20, 1, 1}};
	const struct bp_prefix two = {.family = 6, .length = 64, .bytes = {0x20, 2, 2}};
	struct lpm_rig r;
	uint32_t first;

	rig_start(&r, 8, 64);
	rig_set(&r, &one, 10);
	rig_set(&r, &two, 20);
	first = atomic_load(&r.fib->lpm6_root[0x2001]);
	atomic_store(&r.fib->lpm6_root[0x2002], first);
	assert_true(rig_take_over(&r) > 0);
	rig_check_near(&r, 1000);
	first = atomic_load(&r.fib->lpm6_root[0x2001]);
	atomic_store(bp_lpm_word(&r.fib->lines[first & ~BP_LPM_LINK], 1), first);
	assert_true(rig_take_over(&r) > 0);
	rig_check_near(&r, 1000);
	rig_empty(&r);
	rig_end(&r);
}

/* A node that says it is longer than it is, over the lines of one that was found before. */
static void test_overlap(void **state)
{
	const struct bp_prefix one = {.family = 4, .length = 32, .bytes = {10, 0, 2, 1}};
	const struct bp_prefix two = {.family = 4, .length = 32, .bytes = {10, 0, 1, 1}};
	struct bp_lpm_line *node;
	struct lpm_rig r;

	rig_start(&r, 64, 64);
	rig_set(&r, &one, 10);
	rig_set(&r, &two, 20);
	node = bp_lpm_node(r.fib, atomic_load(&r.fib->lpm4_root[0x0a0002]));
	assert_ptr_equal(bp_lpm_node(r.fib, atomic_load(&r.fib->lpm4_root[0x0a0001])), node + 1);
	for (unsigned i = 0; i < 4; i++) {
		node->runs[i] = UINT64_MAX;
		node->before[i] = (uint8_t)(64 * i);
	}
	assert_true(rig_take_over(&r) > 0);
	for (unsigned i = 3; i < 40; i++) {
		struct bp_prefix p = one;

		p.bytes[2] = (uint8_t)i;
		rig_set(&r, &p, 30 + i);
		rig_check_near(&r, 100);
	}
	rig_empty(&r);
	rig_end(&r);
}

/* Lines are not reused while a worker may check them, also by the next writer. */
static void test_waits_for_workers(void **state)
{
	const struct bp_prefix host = {.family = 4, .length = 32, .bytes = {10, 0, 0, 1}};
	struct bp_prefix other = host;
	struct bp_address a = bp_address4(host.bytes);
	struct bp_lpm_line copy;
	uint64_t known = 0;
	struct lpm_rig r;
	uint32_t word;

	rig_start(&r, 64, 4);
	rig_set(&r, &host, 10);
	bp_fib_quiesce(r.fib, 3, &known);
	word = atomic_load(&r.fib->lpm4_root[0x0a0000]);
	memcpy(&copy, bp_lpm_node(r.fib, word), sizeof(copy));
	rig_remove(&r, &host);
	assert_true(bp_lpm_settle(r.w));
	assert_int_equal(bp_lpm_free_lines(r.w), 3);
	/* Another writer takes over, and there is no room without the line that is still checked:
	 * it takes the three others at most. */
	rig_take_over(&r);
	assert_true(bp_lpm_settle(r.w));
	for (unsigned i = 0; i < 5; i++) {
		other.bytes[2] = (uint8_t)(i + 1);
		assert_int_equal(bp_lpm_set(r.w, &other, 20 + i), BP_FIB_FULL);
	}
	assert_memory_equal(&copy, bp_lpm_node(r.fib, word), sizeof(copy));
	bp_fib_quiesce(r.fib, 3, &known);
	assert_false(bp_lpm_settle(r.w));
	assert_int_equal(bp_lpm_free_lines(r.w), 4);
	assert_int_equal(bp_lpm_set(r.w, &other, 30), BP_FIB_DONE);
	a = bp_address4(other.bytes);
	assert_int_equal(fib_way(r.fib, &a), 30);
	bp_fib_read_end(r.fib, 3, &known);
	rig_end(&r);
}

/* A worker that has lost its core is away for as many questions after it. */
#define AWAY 500u
static bool leaves_late(void *arg)
{
	unsigned *asked = arg;

	return ++*asked > AWAY;
}

/* All that is in no node may still be checked when a writer takes over: it is not at once full.
 */
static void test_waits_for_capacity(void **state)
{
	const struct bp_prefix host = {.family = 4, .length = 32, .bytes = {10, 0, 0, 1}};
	unsigned asked = 0;
	uint64_t known = 0;
	struct lpm_rig r;

	rig_start(&r, 64, 4);
	bp_fib_quiesce(r.fib, 3, &known);
	bp_epoch_init(&r.epoch, r.fib, leaves_late, &asked);
	rig_take_over(&r);
	rig_set(&r, &host, 10);
	assert_int_equal(asked, AWAY + 1);
	rig_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_corrupt),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_shared_nodes),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_waits_for_workers),
		cmocka_unit_test(test_waits_for_capacity),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
