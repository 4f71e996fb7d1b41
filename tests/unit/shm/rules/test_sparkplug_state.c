/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of sessions and aliases of Sparkplug B. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "shm/hash.h"
#include "shm/rules/sparkplug_state.h"

#define LEN 256u
#define SECOND 1000000000ull
static struct bp_sparkplug_state table[LEN];

static int empty(void **state)
{
	(void)state;
	memset(table, 0, sizeof(table));
	return 0;
}

static enum bp_state_loss store(uint64_t key, uint32_t client, uint64_t value, uint64_t now_ns)
{
	return bp_sparkplug_state_store(table, LEN, key, client, value, 5, now_ns);
}

static bool has(uint64_t key)
{
	struct bp_sparkplug_view v;

	return bp_sparkplug_state_find(table, LEN, key, &v);
}

static void what_was_stored_is_found_and_replaced(void **state)
{
	struct bp_sparkplug_view v;

	(void)state;
	assert_false(has(7));
	assert_int_equal(store(7, 1, UINT64_MAX, 1), BP_STATE_NO_LOSS);
	assert_true(bp_sparkplug_state_find(table, LEN, 7, &v));
	assert_true(v.value == UINT64_MAX && v.data == 5);
	assert_int_equal(store(7, 1, 3, 1), BP_STATE_NO_LOSS);
	/* a view that is no longer current changes nothing */
	assert_false(bp_sparkplug_state_change(&v, 9, 9));
	assert_true(bp_sparkplug_state_find(table, LEN, 7, &v));
	assert_true(v.value == 3 && bp_sparkplug_state_change(&v, 9, 10));
	assert_true(bp_sparkplug_state_find(table, LEN, 7, &v) && v.value == 9 && v.data == 10);
}

static void an_entry_is_read_where_it_was(void **state)
{
	struct bp_sparkplug_view v, at;
	uint64_t i;

	(void)state;
	store(7, 1, 3, 1);
	assert_true(bp_sparkplug_state_find(table, LEN, 7, &v));
	i = (uint64_t)(v.entry - table);
	assert_true(bp_sparkplug_state_at(table, LEN, i, 7, &at));
	assert_true(at.entry == v.entry && at.value == 3 && at.data == 5 && at.word == v.word);
	assert_false(bp_sparkplug_state_at(table, LEN, i ^ 1, 7, &at));
	assert_false(bp_sparkplug_state_at(table, LEN, LEN, 7, &at));
	assert_false(bp_sparkplug_state_at(table, i, i, 7, &at)); /* of a smaller table */
	atomic_store(&v.entry->key, 7 + LEN);                     /* of another key now */
	assert_false(bp_sparkplug_state_at(table, LEN, i, 7, &at));
}

/* Keys of one bucket that differ only in the upper half, or only in bits of the lower half. */
static void keys_of_one_bucket_are_different(void **state)
{
	(void)state;
	store(1ull << 32, 1, 1, 1);
	assert_false(has(0)); /* the same half, as a half of 0 is taken for 1 */
	assert_false(has(1ull << 33));
	assert_false(has(1ull << 32 | 1u << 20));
	assert_true(has(1ull << 32));
}

static void a_full_bucket_evicts_by_client_and_age(void **state)
{
	const uint64_t bucket = 3, step = LEN; /* a multiple of the buckets */

	(void)state;
	for (uint64_t i = 0; i < BP_RULE_STATE_WAYS; i++)
		assert_int_equal(store(bucket + i * step, i < 2 ? 1 : 2, i, (i + 1) * 10 * SECOND),
			BP_STATE_NO_LOSS);
	/* another client evicts none of them ... */
	assert_int_equal(store(bucket + 9 * step, 3, 9, 100 * SECOND), BP_STATE_NOT_KEPT);
	/* ... and a client the oldest of its own */
	assert_int_equal(store(bucket + 10 * step, 2, 10, 100 * SECOND), BP_STATE_HOLD_EVICTED);
	assert_false(has(bucket + 2 * step));
	assert_true(has(bucket) && has(bucket + step) && has(bucket + 3 * step));
	/* a node may be silent for days; those of a week ago are free for all */
	assert_int_equal(store(bucket + 11 * step, 3, 11, 6 * 86400 * SECOND), BP_STATE_NOT_KEPT);
	assert_int_equal(
		store(bucket + 11 * step, 3, 11, 8 * 86400 * SECOND), BP_STATE_HOLD_EVICTED);
	assert_false(has(bucket));
}

/* A birth says of each rule whether it has the metric: this is worth less than an alias. */
static void metrics_that_a_birth_does_not_have_are_evicted_first(void **state)
{
	const uint64_t bucket = 3, step = LEN;

	(void)state;
	for (uint64_t i = 0; i < BP_RULE_STATE_WAYS - 1; i++)
		store(bucket + i * step, 1, i, SECOND);
	bp_sparkplug_state_store(
		table, LEN, bucket + 8 * step, 1, 0, BP_SPARKPLUG_NOT_IN_BIRTH, 100 * SECOND);
	assert_int_equal(bp_sparkplug_state_store(table, LEN, bucket + 9 * step, 1, 0,
				 BP_SPARKPLUG_NOT_IN_BIRTH, 100 * SECOND),
		BP_STATE_HOLD_EVICTED);
	assert_true(has(bucket + 9 * step) && !has(bucket + 8 * step));
	assert_int_equal(store(bucket + 10 * step, 1, 10, 100 * SECOND), BP_STATE_HOLD_EVICTED);
	assert_false(has(bucket + 9 * step));
	for (uint64_t i = 0; i < BP_RULE_STATE_WAYS - 1; i++)
		assert_true(has(bucket + i * step));
	/* it evicts no alias */
	assert_int_equal(bp_sparkplug_state_store(table, LEN, bucket + 9 * step, 1, 0,
				 BP_SPARKPLUG_NOT_IN_BIRTH, 100 * SECOND),
		BP_STATE_NOT_KEPT);
}

static void a_client_with_most_of_the_table_is_evicted(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < LEN; i++)
		store(i, 1, i, SECOND);
	assert_int_equal(store(LEN + 1, 2, 0, SECOND), BP_STATE_HOLD_EVICTED);
	assert_true(has(LEN + 1));
}

/* A worker was killed after the swap, before the store of the key. */
static void half_an_entry_is_not_found(void **state)
{
	(void)state;
	store(7ull << 32 | 8, 1, 1, 1);
	for (unsigned i = 0; i < LEN; i++) {
		if (table[i].key == (7ull << 32 | 8))
			table[i].key = 99;
	}
	assert_false(has(7ull << 32 | 8));
	assert_false(has(99));
	assert_int_equal(store(7ull << 32 | 8, 1, 2, 1), BP_STATE_NO_LOSS);
	assert_true(has(7ull << 32 | 8));
}

static unsigned copies(uint64_t key)
{
	unsigned n = 0;

	for (unsigned i = 0; i < LEN; i++)
		n += table[i].word != 0 && table[i].key == key;
	return n;
}

/* A worker was killed before it removed the copy that another worker had entered in a higher way.
 */
static void copies_of_an_entry_are_removed(void **state)
{
	struct bp_sparkplug_view v;

	(void)state;
	store(7, 1, 1, 1);
	assert_true(bp_sparkplug_state_find(table, LEN, 7, &v));
	for (unsigned i = 1; i < BP_RULE_STATE_WAYS; i++)
		v.entry[i] = *v.entry;
	assert_int_equal(store(7, 1, 2, 1), BP_STATE_NO_LOSS);
	assert_int_equal(copies(7), 1);
	assert_true(bp_sparkplug_state_find(table, LEN, 7, &v) && v.value == 2);
}

/* ---- several workers ---- */

#define THREADS 4
#define ROUNDS 100000u
#define KEYS 64u /* of two buckets: they evict each other */

static uint64_t key_of(uint64_t i)
{
	return bp_mix64(i) << 8 | (i & 1);
}

static void *store_and_find(void *arg)
{
	uint64_t s = (uint64_t)(uintptr_t)arg, wrong = 0;
	struct bp_sparkplug_view v;

	for (unsigned i = 0; i < ROUNDS; i++) {
		const uint64_t key = key_of((s = bp_mix64(s + 1)) % KEYS);

		if (i % 4 == 0)
			bp_sparkplug_state_store(
				table, LEN, key, 1, key * 3 + (i & 1), i & 1, SECOND);
		else if (bp_sparkplug_state_find(table, LEN, key, &v))
			wrong += v.value != key * 3 + v.data;
	}
	return (void *)(uintptr_t)wrong;
}

static void no_key_has_the_value_of_another(void **state)
{
	pthread_t t[THREADS];

	(void)state;
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, store_and_find, (void *)(i + 1)), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		void *wrong;

		assert_int_equal(pthread_join(t[i], &wrong), 0);
		assert_null(wrong);
	}
}

#define BIRTHS 5000u
static _Atomic uint32_t arrived;
static unsigned twice; /* births */

/* Waits for the n-th time until both are here. */
static void meet(uint32_t n)
{
	atomic_fetch_add(&arrived, 1);
	for (unsigned i = 0; atomic_load(&arrived) < 2 * n; i++)
		if (i % 64 == 63)
			sched_yield();
}

static void *store_each(void *arg)
{
	const bool first = arg == NULL;

	for (uint32_t i = 0; i < BIRTHS; i++) {
		meet(2 * i + 1);
		bp_sparkplug_state_store(table, LEN, 7, 1, first, 0, SECOND);
		meet(2 * i + 2);
		if (!first)
			continue;
		twice += copies(7) != 1;
		memset(table, 0, sizeof(table));
	}
	return NULL;
}

/* A birth on one worker, and its copy to a subscriber on another. */
static void a_key_is_entered_once(void **state)
{
	pthread_t t[2];

	(void)state;
	for (uintptr_t i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&t[i], NULL, store_each, (void *)i), 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_join(t[i], NULL), 0);
	assert_int_equal(twice, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_was_stored_is_found_and_replaced, empty),
		cmocka_unit_test_setup(an_entry_is_read_where_it_was, empty),
		cmocka_unit_test_setup(keys_of_one_bucket_are_different, empty),
		cmocka_unit_test_setup(a_full_bucket_evicts_by_client_and_age, empty),
		cmocka_unit_test_setup(metrics_that_a_birth_does_not_have_are_evicted_first, empty),
		cmocka_unit_test_setup(a_client_with_most_of_the_table_is_evicted, empty),
		cmocka_unit_test_setup(half_an_entry_is_not_found, empty),
		cmocka_unit_test_setup(copies_of_an_entry_are_removed, empty),
		cmocka_unit_test_setup(no_key_has_the_value_of_another, empty),
		cmocka_unit_test_setup(a_key_is_entered_once, empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
