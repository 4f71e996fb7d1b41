/* SPDX-License-Identifier: BSD-3-Clause */
/* Token buckets of the policy: exact rates, damaged contents, and the bound of the table. */
#include "test.h"

#include <pthread.h>
#include <string.h>

#include "shm/rules/policy_rate.h"

#define MS 1000000ull
#define PERIOD (10 * MS)
#define DEPTH (5 * PERIOD)

static struct bp_policy_bucket bucket[64];
static struct bp_policy_rates table = {bucket, 64};
static bool evicted;

static bool exceeded(uint64_t key, uint64_t now_ns)
{
	return bp_policy_rate_exceeded(&table, key, PERIOD, DEPTH, now_ns, &evicted);
}

static int clear(void **state)
{
	(void)state;
	memset(bucket, 0, sizeof(bucket));
	table.len = 64;
	return 0;
}

static void lengths(void **state)
{
	(void)state;
	assert_int_equal(bp_policy_rates_len(0), 4);
	assert_int_equal(bp_policy_rates_len(4), 4);
	assert_int_equal(bp_policy_rates_len(5), 8);
	assert_int_equal(bp_policy_rates_len(4194304), 4194304);
}

/* A sender at ten times the rate gets the burst and the rate, whatever the distances are. */
static void long_term_rate(void **state)
{
	unsigned allowed = 0;

	(void)state;
	for (unsigned i = 0; i < 10000; i++)
		allowed += !exceeded(1, 1000 * MS + i * MS + i % 7);
	assert_int_equal(allowed, 5 + 999);
	/* one at the rate never exceeds it */
	for (unsigned i = 0; i < 1000; i++)
		assert_false(exceeded(2, 1000 * MS + i * PERIOD));
}

/* The clock of another worker is some microseconds behind. */
static void time_goes_back(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++)
		assert_false(exceeded(1, 1000 * MS - i));
	assert_true(exceeded(1, 1000 * MS - 4));
	assert_false(exceeded(1, 1000 * MS));
	/* it is no damage, which would give a burst */
	assert_true(exceeded(1, 1000 * MS - MS));
	assert_false(exceeded(1, 1000 * MS + PERIOD));
}

/* No damaged time blocks a client for ever, and none of a far later time does. */
static void damaged_times(void **state)
{
	static const uint64_t full[] = {
		UINT64_MAX, UINT64_MAX - PERIOD, 1ull << 63, 1000 * MS + DEPTH + 10000 * MS + 1};

	(void)state;
	for (unsigned i = 0; i < sizeof(full) / sizeof(full[0]); i++) {
		clear(state);
		assert_false(exceeded(1, 1000 * MS));
		for (unsigned b = 0; b < 64; b++)
			if (bucket[b].key == 1)
				bucket[b].full_ns = full[i];
		assert_false(exceeded(1, 1000 * MS));
		assert_false(exceeded(1, 1000 * MS));
	}
}

/* New senders take the buckets of senders below their rate, and never that of one above it. */
static void full_table(void **state)
{
	unsigned evictions = 0;

	(void)state;
	table.len = 4;
	while (!exceeded(1, 1000 * MS))
		continue;
	for (uint64_t key = 4; key < 4 * 999; key += 4) {
		assert_false(exceeded(key, 1000 * MS));
		evictions += evicted;
		assert_true(exceeded(1, 1000 * MS));
	}
	assert_int_equal(evictions, 998 - 3);
	/* buckets that are full again have nothing to lose */
	assert_false(exceeded(5000, 2000 * MS));
	assert_false(evicted);
}

/* Keys without the bit leave two of each set to those with it, and have the other two. */
static void lasting_keys(void **state)
{
	const uint64_t lasting = 0x100 | BP_POLICY_KEY_LASTING;

	(void)state;
	table.len = 4;
	assert_false(exceeded(lasting, 1000 * MS));
	for (uint64_t key = 1; key < 400; key += 4)
		for (unsigned i = 0; i < 8; i++)
			(void)exceeded(key, 1000 * MS);
	for (unsigned i = 0; i < 4; i++)
		assert_false(exceeded(lasting, 1000 * MS));
	assert_true(exceeded(lasting, 1000 * MS));
	/* they take free ones */
	memset(bucket, 0, sizeof(bucket));
	while (!exceeded(lasting, 1000 * MS))
		continue;
	/* all four are of addresses: clients take those that are full the soonest, down to two */
	for (uint64_t i = 1; i < 4; i++)
		assert_false(exceeded(lasting + 0x100 * i, 1000 * MS));
	assert_false(exceeded(lasting + 0x100, 1000 * MS));
	for (uint64_t key = 1; key < 9; key += 4) {
		for (unsigned i = 0; i < 5; i++) {
			assert_false(exceeded(key, 1000 * MS));
			assert_int_equal(evicted, i == 0);
		}
		assert_true(exceeded(key, 1000 * MS));
	}
	assert_false(exceeded(9, 1000 * MS));
	assert_true(exceeded(lasting, 1000 * MS));
	for (unsigned i = 0; i < 3; i++)
		assert_false(exceeded(lasting + 0x100, 1000 * MS));
	assert_true(exceeded(lasting + 0x100, 1000 * MS));
	/* and any number of addresses take none of these from the clients */
	for (uint64_t i = 4; i < 400; i++) {
		assert_false(exceeded(lasting + 0x100 * i, 1000 * MS));
		assert_true(evicted);
	}
	assert_false(exceeded(9, 1000 * MS));
	assert_false(evicted);
	assert_false(exceeded(13, 2000 * MS));
	assert_false(evicted);
}

#define THREADS 4
#define EACH 100000
static _Atomic unsigned allowed;

static void *send_many(void *arg)
{
	bool e;

	(void)arg;
	for (unsigned i = 0; i < EACH; i++)
		if (!bp_policy_rate_exceeded(&table, 7, 1, 1000, 1000 * MS, &e))
			allowed++;
	return NULL;
}

/* Workers share the rate: no packet of one is lost or counted twice. */
static void several_workers(void **state)
{
	pthread_t thread[THREADS];

	(void)state;
	assert_false(bp_policy_rate_exceeded(&table, 7, 1, 1000, 1000 * MS, &evicted));
	allowed = 1;
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, send_many, NULL), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(allowed, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths),
		cmocka_unit_test_setup(long_term_rate, clear),
		cmocka_unit_test_setup(time_goes_back, clear),
		cmocka_unit_test_setup(damaged_times, clear),
		cmocka_unit_test_setup(full_table, clear),
		cmocka_unit_test_setup(lasting_keys, clear),
		cmocka_unit_test_setup(several_workers, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
