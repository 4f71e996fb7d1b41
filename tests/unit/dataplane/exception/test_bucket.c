/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/dataplane/test.h"

#include <stdlib.h>

#include "dataplane/exception/bucket.h"

#define SECOND 1000000000ull
#define START 123456789012345ull

static uint32_t take_all(struct bp_bucket *b, uint64_t now)
{
	uint32_t n = bp_bucket_tokens(b, now, UINT32_MAX);

	bp_bucket_take(b, n);
	return n;
}

static void begins_full(void **state)
{
	struct bp_bucket b;

	bp_bucket_init(&b, 1000, 50, START);
	assert_int_equal(bp_bucket_tokens(&b, START, 7), 7);
	assert_int_equal(bp_bucket_tokens(&b, START, 1000), 50);
	bp_bucket_take(&b, 20);
	assert_int_equal(bp_bucket_tokens(&b, START, 1000), 30);
	assert_int_equal(take_all(&b, START), 30);
	assert_int_equal(take_all(&b, START), 0);
	assert_int_equal(take_all(&b, START + SECOND / 1000 - 1), 0);
	assert_int_equal(take_all(&b, START + SECOND / 1000), 1);
	assert_int_equal(take_all(&b, START + SECOND / 1000), 0);
	/* no more than the burst, however long it waited */
	assert_int_equal(take_all(&b, START + 3600 * SECOND), 50);
	assert_int_equal(take_all(&b, UINT64_MAX), 50);
}

/* However the time is cut, what passes is rate x time, to the frame. */
static void rate_is_exact(void **state)
{
	static const uint32_t rates[] = {1, 3, 999, 20000, 1000003, 148809523, UINT32_MAX};

	srandom(1);
	for (unsigned i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		uint64_t now = START, passed = 0, end = START + 10 * SECOND;
		struct bp_bucket b;

		/* a burst that the longest step does not fill */
		bp_bucket_init(&b, rates[i], UINT32_MAX, now);
		(void)take_all(&b, now);
		while (now < end) {
			uint64_t step = (uint64_t)random() % (SECOND / 50);

			now = step > end - now ? end : now + step;
			passed += take_all(&b, now);
		}
		assert_int_equal(passed, 10ull * rates[i]);
	}
}

static void zero_rate_or_burst_is_handled(void **state)
{
	struct bp_bucket b;

	bp_bucket_init(&b, 0, 5, START);
	assert_int_equal(take_all(&b, START), 5);
	assert_int_equal(take_all(&b, UINT64_MAX), 0);
	bp_bucket_init(&b, 10, 0, START);
	assert_int_equal(take_all(&b, START), 1);
	assert_int_equal(take_all(&b, START + 10 * SECOND), 1);
}

/* A clock that goes back gives nothing, and nothing twice. */
static void clock_back(void **state)
{
	struct bp_bucket b;

	bp_bucket_init(&b, 100, 10, START);
	assert_int_equal(take_all(&b, START), 10);
	assert_int_equal(take_all(&b, START - SECOND), 0);
	assert_int_equal(take_all(&b, START + SECOND / 100), 1);
	assert_int_equal(take_all(&b, START), 0);
	assert_int_equal(take_all(&b, START + SECOND / 100), 0);
	assert_int_equal(take_all(&b, START + 2 * SECOND / 100), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(begins_full),
		cmocka_unit_test(rate_is_exact),
		cmocka_unit_test(zero_rate_or_burst_is_handled),
		cmocka_unit_test(clock_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
