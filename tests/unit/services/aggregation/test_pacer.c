/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/exact.h"

#include <errno.h>

#include "services/aggregation/pacer.h"

static struct bp_disagg_stats stats;
static char frames[100000]; /* a frame is its address */

static void *frame(unsigned i)
{
	return &frames[i];
}

static struct bp_pacer fresh(uint32_t size, uint64_t gap)
{
	struct bp_pacer p;

	memset(&stats, 0, sizeof(stats));
	assert_int_equal(bp_pacer_init(&p, size, gap, &stats), 0);
	assert_true(bp_pacer_next(&p) == UINT64_MAX);
	return p;
}

static void alone_it_does_not_wait(void **state)
{
	struct bp_pacer p = fresh(4, 1000);

	for (unsigned i = 0; i < 10; i++) {
		assert_ptr_equal(bp_pacer_put(&p, frame(i), 1000 * i), frame(i));
		assert_null(bp_pacer_due(&p, 1000 * i));
		assert_true(bp_pacer_next(&p) == UINT64_MAX);
	}
	assert_int_equal(stats.paced, 0);
	assert_int_equal(stats.waiting, 0);
	bp_pacer_free(&p);
}

static void a_burst_is_spread(void **state)
{
	struct bp_pacer p = fresh(8, 1000);

	assert_ptr_equal(bp_pacer_put(&p, frame(0), 500), frame(0));
	for (unsigned i = 1; i < 8; i++)
		assert_null(bp_pacer_put(&p, frame(i), 500));
	assert_int_equal(stats.waiting, 7);
	for (unsigned i = 1; i < 8; i++) {
		assert_int_equal(bp_pacer_next(&p), 500 + 1000 * i);
		assert_null(bp_pacer_due(&p, 499 + 1000 * i));
		assert_ptr_equal(bp_pacer_due(&p, 500 + 1000 * i), frame(i));
		assert_null(bp_pacer_due(&p, 500 + 1000 * i));
		assert_int_equal(stats.waiting, 7 - i);
	}
	assert_true(bp_pacer_next(&p) == UINT64_MAX);
	assert_int_equal(stats.paced, 7);
	assert_int_equal(stats.pace_ns, 1000 + 2000 + 3000 + 4000 + 5000 + 6000 + 7000);
	assert_int_equal(stats.pace[bp_agg_delay_bucket(1000)], 1);
	assert_int_equal(stats.pace[bp_agg_delay_bucket(2000)], 2); /* and 3000 */
	assert_int_equal(stats.pace[bp_agg_delay_bucket(4000)], 4);
	assert_int_equal(stats.early, 0);
	bp_pacer_free(&p);
}

/* The gap is counted from when the last one left, not from when it might have. */
static void late_poll_does_not_catch_up(void **state)
{
	struct bp_pacer p = fresh(8, 1000);

	assert_non_null(bp_pacer_put(&p, frame(0), 0));
	assert_null(bp_pacer_put(&p, frame(1), 0));
	assert_null(bp_pacer_put(&p, frame(2), 0));
	assert_null(bp_pacer_put(&p, frame(3), 0));
	assert_ptr_equal(bp_pacer_due(&p, 5300), frame(1));
	assert_null(bp_pacer_due(&p, 6299));
	assert_ptr_equal(bp_pacer_due(&p, 6300), frame(2));
	/* the newest waits behind those that came before, even if the gap is over */
	assert_null(bp_pacer_put(&p, frame(4), 9000));
	assert_ptr_equal(bp_pacer_due(&p, 9000), frame(3));
	assert_ptr_equal(bp_pacer_due(&p, 10000), frame(4));
	/* empty, but the gap is not over */
	assert_null(bp_pacer_put(&p, frame(5), 10999));
	assert_ptr_equal(bp_pacer_due(&p, 11000), frame(5));
	bp_pacer_free(&p);
}

static void full_queue_sends_oldest_early(void **state)
{
	/* a bound that is no power of two is kept, too */
	for (uint32_t size = 1; size <= 9; size++) {
		struct bp_pacer p = fresh(size, 1000);
		unsigned i = 1;

		assert_ptr_equal(bp_pacer_put(&p, frame(0), 0), frame(0));
		for (; i <= size; i++)
			assert_null(bp_pacer_put(&p, frame(i), 0));
		assert_int_equal(stats.early, 0);
		for (; i < 3 * size; i++)
			assert_ptr_equal(bp_pacer_put(&p, frame(i), 10), frame(i - size));
		assert_int_equal(stats.early, 2 * size - 1);
		assert_int_equal(stats.paced, 2 * size - 1);
		assert_int_equal(stats.waiting, size);
		/* it left now: the gap begins again */
		assert_null(bp_pacer_due(&p, 1009));
		assert_ptr_equal(bp_pacer_due(&p, 1010), frame(i - size));
		bp_pacer_free(&p);
	}
}

static void all_of_it_at_once(void **state)
{
	struct bp_pacer p = fresh(64, 1000);

	assert_null(bp_pacer_take(&p, 0));
	for (unsigned i = 0; i < 50; i++)
		bp_pacer_put(&p, frame(i), 0);
	assert_int_equal(stats.waiting, 49);
	for (unsigned i = 1; i < 50; i++)
		assert_ptr_equal(bp_pacer_take(&p, 3), frame(i));
	assert_null(bp_pacer_take(&p, 3));
	assert_int_equal(stats.waiting, 0);
	assert_int_equal(stats.paced, 49);
	assert_int_equal(stats.early, 0);
	assert_int_equal(stats.pace[0], 49);
	bp_pacer_free(&p);
}

static void no_gap_is_no_queue(void **state)
{
	struct bp_pacer p = fresh(2, 0);

	for (unsigned i = 0; i < 100; i++)
		assert_ptr_equal(bp_pacer_put(&p, frame(i), 5), frame(i));
	assert_int_equal(stats.waiting, 0);
	bp_pacer_free(&p);
}

static void sizes_that_no_queue_has(void **state)
{
	struct bp_pacer p;

	assert_int_equal(bp_pacer_init(&p, 0, 1, &stats), -EINVAL);
	bp_pacer_free(&p);
	assert_int_equal(bp_pacer_init(&p, (1u << 31) + 1, 1, &stats), -EINVAL);
	bp_pacer_free(&p);
	bp_pacer_free(&p);
}

/* Any arrivals and polls: order, the gap unless it was full, and every frame once. */
static void random_arrivals(void **state)
{
	uint64_t seed = 99;

	for (unsigned round = 0; round < 200; round++) {
		const uint32_t size = 1 + (uint32_t)(next_random(&seed) % 40);
		const uint64_t gap = next_random(&seed) % 3000;
		struct bp_pacer p = fresh(size, gap);
		uint64_t now = 0, left_ns = 0, early = 0;
		unsigned in = 0, out = 0;

		for (unsigned i = 0; i < 3000; i++) {
			const uint64_t r = next_random(&seed);
			const bool arrives = r & 1;
			bool full, free;
			void *left;

			now += (r >> 1) % (2 * gap + 2) / (1 + (i / 500 & 1) * 8);
			full = p.n == size;
			free = p.n == 0 && (out == 0 || now >= left_ns + gap);
			left = arrives ? bp_pacer_put(&p, frame(in++), now) : bp_pacer_due(&p, now);
			early += arrives && full;
			assert_true(p.n <= size);
			assert_int_equal(stats.waiting, p.n);
			if (arrives)
				assert_true((left != NULL) == (full || free));
			if (left != NULL) {
				assert_ptr_equal(left, frame(out));
				assert_true(out == 0 || now >= left_ns + gap || (arrives && full));
				out++;
				left_ns = now;
			} else {
				/* none may leave: the queue is empty, or the first is not due */
				assert_true(arrives || in == out || now < left_ns + gap);
			}
			assert_int_equal(in - out, p.n);
			if (p.n != 0)
				assert_int_equal(bp_pacer_next(&p), left_ns + gap);
		}
		assert_int_equal(stats.early, early);
		while (p.n != 0)
			assert_ptr_equal(bp_pacer_take(&p, now), frame(out++));
		assert_int_equal(in, out);
		bp_pacer_free(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alone_it_does_not_wait),
		cmocka_unit_test(a_burst_is_spread),
		cmocka_unit_test(late_poll_does_not_catch_up),
		cmocka_unit_test(full_queue_sends_oldest_early),
		cmocka_unit_test(all_of_it_at_once),
		cmocka_unit_test(no_gap_is_no_queue),
		cmocka_unit_test(sizes_that_no_queue_has),
		cmocka_unit_test(random_arrivals),
	};

	return cmocka_run_group_tests_name("pacer", tests, NULL, NULL);
}
