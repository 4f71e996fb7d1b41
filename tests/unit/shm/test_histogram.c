/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "shm/histogram.h"
#include "test.h"

#define VALUES TEST_TIMES(40000u)

static struct bp_histogram histogram;

static struct bp_histogram_summary summary(void)
{
	struct bp_histogram_summary s;

	bp_histogram_summarize(&histogram, &s);
	return s;
}

/* Each time is in exactly one bucket; the buckets follow each other without a gap. */
static void buckets_are_adjacent(void **state)
{
	uint64_t first = 0;

	for (unsigned b = 0; b < BP_HISTOGRAM_BUCKETS; b++) {
		const uint64_t last = bp_histogram_upper(b);

		assert_true(last >= first);
		assert_int_equal(bp_histogram_bucket(first), b);
		assert_int_equal(bp_histogram_bucket(last), b);
		/* the error bound of the percentiles */
		assert_true(
			last - first < (1u << BP_HISTOGRAM_UNIT_BITS) || last - first <= first / 8);
		first = last + 1;
	}
	assert_true(first == UINT64_C(1) << BP_HISTOGRAM_MAX_BITS);
	assert_int_equal(bp_histogram_bucket(first), BP_HISTOGRAM_BUCKETS - 1);
	assert_int_equal(bp_histogram_bucket(UINT64_MAX), BP_HISTOGRAM_BUCKETS - 1);
}

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The bucket of the percentile is that of the same element of the sorted values. */
static void check_percentile(const uint64_t *sorted, unsigned n, unsigned permille, uint64_t got)
{
	const uint64_t exact = sorted[(n * (uint64_t)permille + 999) / 1000 - 1];

	assert_int_equal(bp_histogram_bucket(got), bp_histogram_bucket(exact));
	assert_true(got >= exact);
}

static void percentiles_are_those_of_the_sorted_values(void **state)
{
	static uint64_t value[VALUES];
	uint64_t seed = 12345;

	for (unsigned n = 1; n <= VALUES; n = n * 3 + 1) {
		struct bp_histogram_summary s;
		uint64_t sum = 0;

		bp_histogram_reset(&histogram);
		for (unsigned i = 0; i < n; i++) {
			/* as many of each power of two */
			value[i] = test_random(&seed) >> (25 + test_below(&seed, 38));
			sum += value[i];
			bp_histogram_add(&histogram, value[i]);
		}
		qsort(value, n, sizeof(value[0]), by_value);
		s = summary();
		assert_int_equal(s.count, n);
		assert_int_equal(s.avg_ns, sum / n);
		assert_int_equal(s.max_ns, value[n - 1]);
		check_percentile(value, n, 500, s.p50_ns);
		check_percentile(value, n, 900, s.p90_ns);
		check_percentile(value, n, 990, s.p99_ns);
		check_percentile(value, n, 999, s.p999_ns);
		assert_true(s.p999_ns <= s.max_ns);
	}
}

static void times_above_the_range_have_the_maximum(void **state)
{
	bp_histogram_reset(&histogram);
	bp_histogram_add(&histogram, 1000);
	bp_histogram_add(&histogram, UINT64_C(1) << 50);
	assert_int_equal(summary().p50_ns, bp_histogram_upper(bp_histogram_bucket(1000)));
	assert_true(summary().p99_ns == UINT64_C(1) << 50);
}

static void without_a_time_all_is_0(void **state)
{
	static const struct bp_histogram_summary none;
	struct bp_histogram_summary s;

	bp_histogram_add(&histogram, 5);
	bp_histogram_reset(&histogram);
	s = summary();
	assert_memory_equal(&s, &none, sizeof(s));
}

/* Counts whose sum wraps, and a maximum below them. */
static void damaged_histogram_is_safe(void **state)
{
	uint64_t seed = 99;

	for (unsigned round = 0; round < TEST_TIMES(2000u); round++) {
		struct bp_histogram_summary s;

		for (unsigned i = 0; i < BP_HISTOGRAM_BUCKETS; i++)
			atomic_store(&histogram.bucket[i], test_random(&seed));
		atomic_store(&histogram.max_ns, test_random(&seed));
		s = summary();
		assert_true(s.p50_ns <= s.max_ns && s.p999_ns <= s.max_ns);
	}
	bp_histogram_reset(&histogram);
}

static void *write_times(void *arg)
{
	uint64_t seed = 7;

	for (unsigned i = 0; i < 16 * VALUES; i++)
		bp_histogram_add(&histogram, 1000 + test_below(&seed, 1000000));
	return arg;
}

/* A reader's copy equals the writer's state at one time, except for values added meanwhile. */
static void reader_runs_beside_the_writer(void **state)
{
	struct bp_histogram_summary s = {0};
	pthread_t writer;
	uint64_t before = 0;

	bp_histogram_reset(&histogram);
	assert_int_equal(pthread_create(&writer, NULL, write_times, NULL), 0);
	while (s.count < 16 * VALUES) {
		s = summary();
		assert_true(s.count >= before);
		before = s.count;
		if (s.count == 0)
			continue;
		assert_in_range(s.max_ns, 1000, 1001000);
		assert_in_range(s.p50_ns, 1000, s.max_ns);
		assert_in_range(s.p999_ns, s.p50_ns, s.max_ns);
	}
	pthread_join(writer, NULL);
	assert_int_equal(summary().count, 16 * VALUES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_are_adjacent),
		cmocka_unit_test(percentiles_are_those_of_the_sorted_values),
		cmocka_unit_test(times_above_the_range_have_the_maximum),
		cmocka_unit_test(without_a_time_all_is_0),
		cmocka_unit_test(damaged_histogram_is_safe),
		cmocka_unit_test(reader_runs_beside_the_writer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
