/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "apps/sim/wan/path.h"

/* One direction of the WAN, in virtual time. */

#define MS 1000000ull

static void make(struct wan_path *p, struct wan_path_options o)
{
	if (o.limit == 0)
		o.limit = 100000;
	assert_int_equal(wan_path_init(p, &o, 1), 0);
}

static void put(struct wan_path *p, uint64_t now, uint32_t value, size_t len)
{
	uint8_t data[2048] = {0};

	memcpy(data, &value, sizeof(value));
	assert_int_equal(wan_path_put(p, now, data, len), 0);
}

/* The value of the next one that is due, or -1. */
static int64_t take(struct wan_path *p, uint64_t now)
{
	struct wan_frame *f = wan_path_take(p, now);
	uint32_t value;

	if (f == NULL)
		return -1;
	memcpy(&value, f->data, sizeof(value));
	free(f);
	return value;
}

static void frame_is_unchanged_and_not_early(void **state)
{
	uint8_t data[1514];
	struct wan_path p;
	struct wan_frame *f;

	make(&p, (struct wan_path_options){.delay_ns = 25 * MS});
	for (unsigned i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(7 * i);
	assert_true(wan_path_due_ns(&p) == UINT64_MAX);
	assert_int_equal(wan_path_put(&p, 100, data, sizeof(data)), 0);
	assert_int_equal(wan_path_due_ns(&p), 25 * MS + 100);
	assert_null(wan_path_take(&p, 25 * MS + 99));
	f = wan_path_take(&p, 25 * MS + 130);
	assert_non_null(f);
	assert_int_equal(f->len, sizeof(data));
	assert_memory_equal(f->data, data, sizeof(data));
	free(f);
	assert_null(wan_path_take(&p, UINT64_MAX - 1));
	assert_int_equal(p.counts.taken, 1);
	assert_int_equal(p.counts.waited, 25 * MS + 30);
	assert_int_equal(p.counts.late, 30);
	assert_int_equal(p.counts.latest, 30);
	wan_path_free(&p);
}

static void jittered(enum wan_distribution distribution, bool reorder)
{
	enum { N = 20000 };
	struct wan_path p;
	uint64_t overtaken = 0, taken = 0;
	double sum = 0, squares = 0;
	int64_t last = -1;

	make(&p, (struct wan_path_options){.delay_ns = 20 * MS,
			 .jitter_ns = 3 * MS,
			 .distribution = distribution,
			 .reorder = reorder});
	for (uint32_t i = 0; i < N; i++)
		put(&p, i * MS / 10, i, 64);
	while (wan_path_due_ns(&p) != UINT64_MAX) {
		const uint64_t due = wan_path_due_ns(&p);
		const int64_t value = take(&p, due);
		const double d = ((double)due - (double)value * MS / 10) / MS;

		overtaken += value < last;
		last = value > last ? value : last;
		sum += d;
		squares += d * d;
		taken++;
	}
	assert_int_equal(taken, N);
	if (!reorder) {
		assert_int_equal(overtaken, 0);
	} else {
		const double mean = sum / N, deviation = sqrt(squares / N - mean * mean);
		/* uniform between 17 and 23: 6 / sqrt(12) */
		const double expected = distribution == WAN_NORMAL ? 3 : sqrt(3);

		assert_true(overtaken > N / 10);
		assert_true(fabs(mean - 20) < 0.1);
		assert_true(fabs(deviation - expected) < 0.1);
	}
	wan_path_free(&p);
}

static void jitter_is_distributed_as_it_says(void **state)
{
	jittered(WAN_UNIFORM, true);
	jittered(WAN_NORMAL, true);
}

static void without_reorder_none_overtakes(void **state)
{
	jittered(WAN_UNIFORM, false);
	jittered(WAN_NORMAL, false);
}

/* A deviation larger than the delay: no frame leaves before its arrival. */
static void no_delay_is_negative(void **state)
{
	struct wan_path p;

	make(&p, (struct wan_path_options){.delay_ns = 10,
			 .jitter_ns = 5000,
			 .distribution = WAN_NORMAL,
			 .reorder = true});
	for (uint32_t i = 0; i < 1000; i++) {
		put(&p, 1000000, i, 64);
		assert_true(wan_path_due_ns(&p) >= 1000000);
	}
	wan_path_free(&p);
}

static void losses_are_counted(void **state)
{
	struct wan_path p;

	make(&p, (struct wan_path_options){.loss = 0.1});
	for (uint32_t i = 0; i < 50000; i++)
		put(&p, 0, i, 64);
	assert_int_equal(p.counts.received, 50000);
	assert_int_equal(p.counts.lost + p.n, 50000);
	assert_true(p.counts.lost > 4700 && p.counts.lost < 5300);
	wan_path_free(&p);
}

static void a_narrow_link_sends_one_after_another(void **state)
{
	struct wan_path p;

	/* 1,000 bytes are 1 ms */
	make(&p, (struct wan_path_options){.delay_ns = 5 * MS, .rate_bps = 8000000});
	put(&p, 0, 1, 1000);
	put(&p, 0, 2, 2000);
	put(&p, 20 * MS, 3, 1000);
	assert_int_equal(take(&p, 6 * MS - 1), -1);
	assert_int_equal(take(&p, 6 * MS), 1);
	assert_int_equal(take(&p, 8 * MS - 1), -1);
	assert_int_equal(take(&p, 8 * MS), 2);
	assert_int_equal(take(&p, 26 * MS - 1), -1);
	assert_int_equal(take(&p, 26 * MS), 3);
	wan_path_free(&p);
}

static void more_than_the_limit_is_dropped_and_counted(void **state)
{
	struct wan_path p;

	make(&p, (struct wan_path_options){.delay_ns = MS, .limit = 3});
	for (uint32_t i = 0; i < 5; i++)
		put(&p, i, i, 64);
	assert_int_equal(p.counts.full, 2);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(take(&p, 2 * MS), i);
	assert_int_equal(take(&p, 2 * MS), -1);
	put(&p, 2 * MS, 9, 64);
	assert_int_equal(take(&p, 3 * MS), 9);
	assert_int_equal(p.counts.full, 2);
	wan_path_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frame_is_unchanged_and_not_early),
		cmocka_unit_test(jitter_is_distributed_as_it_says),
		cmocka_unit_test(without_reorder_none_overtakes),
		cmocka_unit_test(no_delay_is_negative),
		cmocka_unit_test(losses_are_counted),
		cmocka_unit_test(a_narrow_link_sends_one_after_another),
		cmocka_unit_test(more_than_the_limit_is_dropped_and_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
