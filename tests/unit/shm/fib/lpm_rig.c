/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/shm/fib/lpm_rig.h"

#include <stdlib.h>

#include "tests/unit/shm/test.h"

void rig_start(struct lpm_rig *b, uint32_t max, uint32_t max_lines)
{
	const struct fib_size size = {.max_lines = max_lines};

	*b = (struct lpm_rig){.fib = fib_new(&size), .model = model_new(max), .max = max};
	b->prefix = calloc(max, sizeof(*b->prefix));
	assert_non_null(b->prefix);
	b->seed = 0x9e3779b97f4a7c15ull;
	fib_start(b->fib);
	bp_epoch_init(&b->epoch, b->fib, NULL, NULL);
	b->w = bp_lpm_writer_new(b->fib, &b->epoch);
	assert_non_null(b->w);
	assert_int_equal(bp_lpm_repair(b->w), 0);
	bp_lpm_settle(b->w);
	assert_int_equal(bp_lpm_free_lines(b->w), b->fib->max_lines);
}

void rig_end(struct lpm_rig *b)
{
	bp_lpm_writer_free(b->w);
	fib_free(b->fib);
	model_free(b->model);
	free(b->prefix);
}

void rig_set(struct lpm_rig *b, const struct bp_prefix *p, uint32_t nexthop)
{
	uint32_t before = model_get(b->model, p);

	assert_int_equal(
		bp_lpm_set(b->w, p, nexthop), before == nexthop ? BP_FIB_SAME : BP_FIB_DONE);
	model_set(b->model, p, nexthop);
	if (before == 0 && b->n < b->max)
		b->prefix[b->n++] = *p;
}

void rig_remove(struct lpm_rig *b, const struct bp_prefix *p)
{
	bool there = model_get(b->model, p) != 0;

	assert_int_equal(bp_lpm_delete(b->w, p), there ? BP_FIB_DONE : BP_FIB_ABSENT);
	model_set(b->model, p, 0);
}

void rig_check(struct lpm_rig *b, const struct bp_address *a)
{
	uint32_t right = model_lookup(b->model, a), is = fib_way(b->fib, a);

	if (right != is)
		print_error("IPv%u %02x%02x:%02x%02x:%02x%02x..: %u, not %u\n", a->family,
			a->bytes[0], a->bytes[1], a->bytes[2], a->bytes[3], a->bytes[4],
			a->bytes[5], is, right);
	assert_int_equal(is, right);
}

void rig_check_near(struct lpm_rig *b, uint32_t times)
{
	for (uint32_t i = 0; i < times && b->n > 0; i++) {
		struct bp_address a =
			address_near(&b->seed, &b->prefix[test_below(&b->seed, b->n)]);

		rig_check(b, &a);
	}
}

void rig_empty(struct lpm_rig *b)
{
	for (uint32_t i = 0; i < b->n; i++) {
		if (model_get(b->model, &b->prefix[i]) != 0)
			rig_remove(b, &b->prefix[i]);
	}
	bp_lpm_settle(b->w);
	assert_int_equal(bp_lpm_free_lines(b->w), b->fib->max_lines);
	for (uint32_t i = 0; i < 1u << 24; i++)
		assert_true(atomic_load_explicit(&b->fib->lpm4_root[i], memory_order_relaxed) == 0);
	for (uint32_t i = 0; i < 1u << 16; i++)
		assert_true(atomic_load_explicit(&b->fib->lpm6_root[i], memory_order_relaxed) == 0);
}

uint64_t rig_take_over(struct lpm_rig *b)
{
	bp_lpm_writer_free(b->w);
	b->w = bp_lpm_writer_new(b->fib, &b->epoch);
	assert_non_null(b->w);
	for (uint32_t i = 0; i < b->n; i++) {
		uint32_t nexthop = model_get(b->model, &b->prefix[i]);

		if (nexthop != 0)
			assert_int_equal(bp_lpm_load(b->w, &b->prefix[i], nexthop), BP_FIB_DONE);
	}
	return bp_lpm_repair(b->w);
}
