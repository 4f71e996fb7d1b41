/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads at structures whose readers depend on the order of stores:
 * docs/developer/memory-order.md. The tests of the other structures are next to this file. */
#include "shm/cas128.h"
#include "shm/seqlock.h"
#include "test.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "tests/unit/times.h"

#define READERS 2u
#define WRITES TEST_TIMES(40000u)
#define WORDS 24u /* three cache lines */

/* ---- a seqlock ---- */

static struct {
	struct bp_seqlock lock;
	uint64_t value[WORDS];
} published;
static _Atomic bool stopped;

static void *write_values(void *arg)
{
	uint64_t value[WORDS];

	(void)arg;
	for (uint64_t n = 1; n <= WRITES; n++) {
		for (unsigned i = 0; i < WORDS; i++)
			value[i] = n + i;
		bp_seqlock_write(&published.lock, value, sizeof(value));
		if (n % 64 == 0)
			sched_yield();
	}
	atomic_store_explicit(&stopped, true, memory_order_release);
	return NULL;
}

/* The number of copies, or UINT64_MAX: one was torn, or older than the one before. */
static void *read_values(void *arg)
{
	uint64_t seen = 0, last = 0, *copies = arg, value[WORDS];
	bool end;

	do {
		end = atomic_load_explicit(&stopped, memory_order_acquire);
		if (!bp_seqlock_read(&published.lock, &seen, value, sizeof(value)))
			continue;
		for (unsigned i = 0; i < WORDS; i++)
			if (value[i] != value[0] + i || value[0] <= last) {
				*copies = UINT64_MAX;
				return NULL;
			}
		last = value[0];
		++*copies;
	} while (!end);
	if (last != WRITES) /* after the end there is nothing that could be in the way */
		*copies = UINT64_MAX;
	return NULL;
}

static void seqlock_copies_are_whole(void **state)
{
	uint64_t copies[READERS] = {0};
	pthread_t writer, reader[READERS];

	(void)state;
	for (unsigned r = 0; r < READERS; r++)
		assert_int_equal(pthread_create(&reader[r], NULL, read_values, &copies[r]), 0);
	assert_int_equal(pthread_create(&writer, NULL, write_values, NULL), 0);
	assert_int_equal(pthread_join(writer, NULL), 0);
	for (unsigned r = 0; r < READERS; r++) {
		assert_int_equal(pthread_join(reader[r], NULL), 0);
		assert_int_not_equal(copies[r], UINT64_MAX);
		assert_int_not_equal(copies[r], 0);
	}
}

/* ---- a compare-and-swap of 16 bytes ---- */

static _Alignas(16) _Atomic uint64_t pair[2];

/* Both words count: the second also what the first loses when it begins again. */
static void *count(void *arg)
{
	(void)arg;
	for (unsigned n = 0; n < WRITES;) {
		const uint64_t lo = atomic_load(&pair[0]), hi = atomic_load(&pair[1]);

		n += bp_cas128(pair, lo, hi, (lo + 1) % 1000, hi + 1 + (lo == 999 ? 1u << 31 : 0));
	}
	return NULL;
}

static void no_swap_of_two_threads_is_lost(void **state)
{
	const uint64_t all = 2ull * WRITES;
	pthread_t thread[2];

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, count, NULL), 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	assert_int_equal(atomic_load(&pair[0]), all % 1000);
	assert_int_equal(atomic_load(&pair[1]), all + (all / 1000 << 31));
}

static void a_swap_compares_both_words(void **state)
{
	(void)state;
	atomic_store(&pair[0], 1);
	atomic_store(&pair[1], 2);
	assert_false(bp_cas128(pair, 0, 2, 3, 4));
	assert_false(bp_cas128(pair, 1, 0, 3, 4));
	assert_false(bp_cas128(pair, 2, 1, 3, 4));
	assert_int_equal(atomic_load(&pair[0]), 1);
	assert_int_equal(atomic_load(&pair[1]), 2);
	assert_true(bp_cas128(pair, 1, 2, UINT64_MAX, 4));
	assert_int_equal(atomic_load(&pair[0]), UINT64_MAX);
	assert_int_equal(atomic_load(&pair[1]), 4);
	atomic_store(&pair[0], 0);
	atomic_store(&pair[1], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_swap_compares_both_words),
		cmocka_unit_test(no_swap_of_two_threads_is_lost),
		cmocka_unit_test(seqlock_copies_are_whole),
	};

	return cmocka_run_group_tests_name("memory_order", tests, NULL, NULL);
}
