/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of windows on the burst path: the same results and the same memory as by bp_window_add().
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shm/hash.h"
#include "shm/rules/window_place.h"
#include "tests/unit/shm/test.h"

#define TOPICS 40u
#define VALUES 16u

/* An image whose only rule with a window is active. */
static struct image {
	struct bp_ruleset head;
	struct bp_ruleset_window window;
} active = {.head = {.generation = 1, .n_windows = 1, .windows = offsetof(struct image, window)},
	.window = {.uid = 5}};
static struct bp_rule rule;
static uint64_t now;

static struct bp_window_table open_table(bool exclusive)
{
	struct bp_window_table t = {.buckets = bp_window_buckets(TOPICS),
		.stride = bp_window_stride(VALUES),
		.exclusive = exclusive};
	const size_t buckets = t.buckets * sizeof(*t.bucket);
	const size_t cells = t.buckets * BP_WINDOW_WAYS * t.stride;

	t.bucket = aligned_alloc(64, buckets);
	t.cells = aligned_alloc(64, cells);
	assert_true(t.bucket != NULL && t.cells != NULL);
	memset(t.bucket, 0, buckets);
	memset(t.cells, 0, cells);
	return t;
}

static void close_table(struct bp_window_table *t)
{
	free(t->bucket);
	free(t->cells);
}

static enum bp_window_result add(const struct bp_window_table *t, uint64_t topic, double value,
	struct bp_window_undo *undo, double *result)
{
	struct bp_window_use u = {.rules = &active.head,
		.rule = &rule,
		.topic_hash = topic,
		.now_ns = now,
		.client = 7,
		.undo = undo};

	return bp_window_add(t, &u, value, result);
}

/* Of any sign and magnitude, also such as are not representable in an exact sum, and those that
 * sensors have. */
static double next_value(uint64_t *random)
{
	const uint64_t r = *random = bp_mix64(*random + 0x9e3779b97f4a7c15ull);
	const double digits = (double)(r >> 40);

	switch (r % 32) {
	case 0:
		return r & 0x100 ? 0.0 : -0.0;
	case 1:
		return ldexp(digits, (int)(r >> 8 & 127) - 96);
	case 2:
	case 3:
		return -ldexp(digits, (int)(r >> 8 & 31) - 40);
	case 4:
		return -20 - (double)(r >> 8 & 0xff) / 100;
	default:
		return 20 + (double)(r >> 8 & 0xff) / 100;
	}
}

static struct bp_window *cell_of(const struct bp_window_table *t, uint64_t topic)
{
	const uint64_t key = bp_window_key(rule.uid, topic), at = bp_window_bucket_at(t, key);

	return bp_window_cell(
		t, at * BP_WINDOW_WAYS + (uint64_t)bp_window_way(&t->bucket[at], key));
}

/* Adds a value as the burst path does. With a move: undoes it, and makes it again. */
static bool place(const struct bp_window_table *t, uint64_t topic, double value,
	enum bp_window_result *r, double *result)
{
	const struct bp_window_moving moving = bp_window_moving(&rule.window, 3, now);
	struct bp_window_undo undo[2];
	uint64_t noted = 0, before[(sizeof(struct bp_window) + VALUES * sizeof(double)) / 8];
	struct bp_window_place p;

	bp_window_place_key(t, &p, bp_mix64(rule.uid), topic, 7);
	*r = BP_WINDOW_VALUE;
	if (bp_window_place_cell(t, &p)) {
		assert_ptr_equal(p.cell, cell_of(t, topic));
		memcpy(before, p.cell, sizeof(before));
		if (bp_window_place_move(t, &p, &moving, undo, &noted, value, result)) {
			assert_int_equal(noted, 1);
			assert_true(bp_window_undo(t, &undo[0], 3));
			assert_memory_equal(&p.cell->state, before, sizeof(p.cell->state));
			assert_memory_equal(p.cell->data, before + sizeof(struct bp_window) / 8,
				VALUES * sizeof(double));
			assert_true(
				bp_window_place_move(t, &p, &moving, undo, &noted, value, result));
			return true;
		}
		assert_int_equal(noted, 0);
		assert_memory_equal(p.cell, before, sizeof(before));
	}
	*r = add(t, topic, value, undo, result);
	return false;
}

/* Returns the number of values that were moved. */
static unsigned compare(
	enum bp_window_function f, uint32_t values, bool tumbling, bool exclusive, unsigned n)
{
	struct bp_window_table by_add = open_table(exclusive), by_place = open_table(exclusive);
	uint64_t random = 100 * f + values;
	unsigned moved = 0;

	now = 1000000000000ull;
	rule = (struct bp_rule){.uid = active.window.uid, .windowed = 1};
	rule.window = (struct bp_window_spec){
		.given = true, .tumbling = tumbling, .function = (uint8_t)f, .values = values};
	for (unsigned i = 0; i < n; i++) {
		const uint64_t topic = bp_mix64(1 + bp_mix64(i) % TOPICS);
		const double value = i < n / 2 ? 20 + i % 10 : next_value(&random);
		double want = 0, got = 0;
		enum bp_window_result r;

		now += i % 3 * 1000000;
		moved += place(&by_place, topic, value, &r, &got);
		assert_int_equal(add(&by_add, topic, value, NULL, &want), r);
		if (r == BP_WINDOW_VALUE)
			assert_true(got == want);
		assert_memory_equal(&cell_of(&by_place, topic)->state,
			&cell_of(&by_add, topic)->state, sizeof(struct bp_window_state));
		assert_memory_equal(cell_of(&by_place, topic)->data, cell_of(&by_add, topic)->data,
			values * sizeof(double));
		assert_int_equal(cell_of(&by_place, topic)->used_ns, now);
		assert_int_equal(atomic_load(&by_place.bucket[0].lock) & BP_WINDOW_OWNER, 0);
	}
	close_table(&by_add);
	close_table(&by_place);
	return moved;
}

static void moved_values_are_as_added_ones(void **state)
{
	const unsigned n = 40000;

	(void)state;
	for (unsigned exclusive = 0; exclusive < 2; exclusive++) {
		for (uint32_t values = 2; values <= VALUES; values += 7)
			assert_true(
				compare(BP_WINDOW_MEAN, values, false, exclusive != 0, n) > n / 2);
		assert_true(compare(BP_WINDOW_SUM, 10, false, exclusive != 0, n) > n / 2);
	}
	assert_int_equal(compare(BP_WINDOW_MEAN, 4, true, true, n), 0);
	assert_int_equal(compare(BP_WINDOW_MAX, 4, false, true, n), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moved_values_are_as_added_ones),
	};

	return cmocka_run_group_tests_name("window-place", tests, NULL, NULL);
}
