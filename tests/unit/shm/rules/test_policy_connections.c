/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts of connections: exact for any order of workers, and defined at the bound. */
#include "test.h"

#include <pthread.h>
#include <string.h>

#include "shm/hash.h"
#include "shm/rules/policy_connections.h"

#define LEN 256u
static _Atomic uint64_t word[LEN];
static struct bp_policy_connections table = {word, LEN};

static int clear(void **state)
{
	(void)state;
	table.len = LEN;
	bp_policy_connections_clear(&table);
	return 0;
}

static uint32_t count(uint64_t key)
{
	return bp_policy_connections_count(&table, key);
}

/* Compared with an array of counts. */
static void random_steps(void **state)
{
	uint32_t expected[64] = {0};
	uint64_t dice = 29;

	(void)state;
	for (unsigned i = 0; i < 200000; i++) {
		unsigned k;
		uint64_t key;

		dice = bp_mix64(dice + 1);
		k = dice % 64;
		key = bp_mix64(k + 1);
		if (dice >> 32 & 1 || expected[k] == 0) {
			assert_true(bp_policy_connections_add(&table, key));
			expected[k]++;
		} else {
			bp_policy_connections_remove(&table, key);
			expected[k]--;
		}
		assert_int_equal(count(key), expected[k]);
	}
	for (unsigned k = 0; k < 64; k++) {
		assert_int_equal(count(bp_mix64(k + 1)), expected[k]);
		while (expected[k]-- != 0)
			bp_policy_connections_remove(&table, bp_mix64(k + 1));
	}
	for (unsigned i = 0; i < LEN; i++)
		assert_int_equal(word[i], 0);
}

/* Addresses beyond the bound are not counted, and those that are remain right. */
static void full_table(void **state)
{
	unsigned added = 0;

	(void)state;
	table.len = bp_policy_connections_len(4);
	assert_int_equal(table.len, 8);
	for (uint64_t k = 1; k <= 20; k++)
		added += bp_policy_connections_add(&table, bp_mix64(k));
	assert_int_equal(added, 8);
	assert_int_equal(count(bp_mix64(1)), 1);
	assert_int_equal(count(bp_mix64(20)), 0);
	/* one that is not counted is not removed */
	bp_policy_connections_remove(&table, bp_mix64(20));
	assert_false(bp_policy_connections_add(&table, bp_mix64(21)));
	bp_policy_connections_remove(&table, bp_mix64(1));
	assert_true(bp_policy_connections_add(&table, bp_mix64(21)));
	assert_int_equal(count(bp_mix64(21)), 1);
}

/* As many addresses as the table is made for. */
static void all_addresses_fit(void **state)
{
	static _Atomic uint64_t large[131072];
	const struct bp_policy_connections t = {large, bp_policy_connections_len(65536)};
	unsigned missing = 0;

	(void)state;
	assert_int_equal(t.len, 131072);
	for (uint64_t k = 1; k <= 65536; k++)
		missing += !bp_policy_connections_add(&t, bp_mix64(k));
	assert_int_equal(missing, 0);
}

static void most_connections(void **state)
{
	(void)state;
	assert_true(bp_policy_connections_add(&table, 1ull << 40));
	for (unsigned i = 0; i < LEN; i++)
		if (word[i] != 0)
			word[i] |= 0xffffff;
	assert_int_equal(count(1ull << 40), 0xffffff);
	assert_false(bp_policy_connections_add(&table, 1ull << 40));
	assert_int_equal(count(1ull << 40), 0xffffff);
}

#define THREADS 4
#define KEYS 4u

static void *add_and_remove(void *arg)
{
	const uint64_t seed = (uint64_t)(uintptr_t)arg;

	for (unsigned i = 0; i < 50000; i++) {
		const uint64_t key = bp_mix64(1 + (seed + i) % KEYS);

		if (!bp_policy_connections_add(&table, key))
			return (void *)1;
		if (count(key) == 0)
			return (void *)1;
		if (i % 100 != 0)
			bp_policy_connections_remove(&table, key);
	}
	return NULL;
}

static void several_workers(void **state)
{
	pthread_t thread[THREADS];
	uint32_t sum = 0;

	(void)state;
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, add_and_remove, (void *)i), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		void *failed;

		pthread_join(thread[i], &failed);
		assert_null(failed);
	}
	for (uint64_t k = 0; k < KEYS; k++)
		sum += count(bp_mix64(1 + k));
	assert_int_equal(sum, THREADS * 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(random_steps, clear),
		cmocka_unit_test_setup(full_table, clear),
		cmocka_unit_test(all_addresses_fit),
		cmocka_unit_test_setup(most_connections, clear),
		cmocka_unit_test_setup(several_workers, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
