/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/apps/sim/lcl/rig.h"

#include <stdlib.h>

/* Statements of docs/explanation/lcl-bounds.md about one node, by all that can be or by the worst
 * there is. */
#define TAU 100000u
#define RATE 1000000000u
#define LEN 124u
#define WIRE 1184u /* ns of such a frame */
#define LONG 1514u /* best effort */
#define LONG_NS 12304u
#define QUEUES 4u
#define ALL 20000u

struct frame {
	uint64_t at, meant; /* t, and T = t + d */
	uint64_t waited;
};
static struct frame frames[ALL];
static unsigned count, gone;
static char best_effort;

static struct bp_lcl_scheduler *fresh(uint64_t tau)
{
	const struct bp_lcl_scheduler_options o = {.tau_ns = tau,
		.rate_bps = RATE,
		.queues = QUEUES,
		.queue_frames = 400,
		.best_effort_frames = 4,
		.best_effort_max = LONG};
	struct bp_lcl_scheduler *s = bp_lcl_scheduler_create(&o);

	assert_non_null(s);
	return s;
}

/* (a) One frame, whenever it comes and whatever it may wait. */
static void single_frame_is_delayed_by_its_budget(void **state)
{
	const int64_t tau = 1000;

	for (unsigned n = 1; n <= 5; n++) {
		for (uint64_t t = 0; t < 2000; t += 9) {
			for (int32_t d = 0; d <= 3000 * (int32_t)n; d += 83) {
				struct bp_lcl_scheduler *s = fresh((uint64_t)tau);
				struct bp_lcl_departure out;
				const struct bp_lcl_arrival a = {.frame = &count,
					.in_ns = t,
					.d = d,
					.n = (uint8_t)n,
					.bytes = 60};
				int64_t off;

				assert_int_equal(bp_lcl_put(s, t, &a), BP_LCL_PUT_OK);
				assert_int_equal(bp_lcl_take(s, bp_lcl_next(s, t), &out, 1), 1);
				off = (int64_t)out.waited_ns * n - d;
				assert_true(off >= -tau * n && off <= tau * n);
				bp_lcl_scheduler_free(s);
			}
		}
	}
}

static int by_time(const void *a, const void *b)
{
	const struct frame *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static void take_until(struct bp_lcl_scheduler *s, uint64_t now, uint64_t until)
{
	for (uint64_t next; (next = bp_lcl_next(s, now)) <= until; now = next) {
		struct bp_lcl_departure out[8];
		const unsigned n = bp_lcl_take(s, next, out, 8);

		for (unsigned i = 0; i < n; i++) {
			if (out[i].n == 0)
				continue;
			((struct frame *)out[i].frame)->waited = out[i].waited_ns;
			gone++;
		}
		while (bp_lcl_put_best_effort(s, next, &best_effort, LONG))
			;
	}
}

/* frames[0..count) through one node that always has best effort to send. The most that one was off
 * its d, either way. */
static int64_t worst(void)
{
	struct bp_lcl_scheduler *s = fresh(TAU);
	int64_t most = 0;
	uint64_t now = 0;

	qsort(frames, count, sizeof(frames[0]), by_time);
	gone = 0;
	while (bp_lcl_put_best_effort(s, 0, &best_effort, LONG))
		;
	for (unsigned i = 0; i < count; i++) {
		const struct bp_lcl_arrival a = {.frame = &frames[i],
			.in_ns = frames[i].at,
			.d = (int32_t)(frames[i].meant - frames[i].at),
			.n = 1,
			.bytes = LEN};

		take_until(s, now, a.in_ns);
		now = a.in_ns;
		assert_int_not_equal(bp_lcl_put(s, now, &a), BP_LCL_PUT_FULL);
	}
	take_until(s, now, now + 2 * QUEUES * TAU);
	assert_int_equal(gone, count);
	bp_lcl_scheduler_free(s);
	for (unsigned i = 0; i < count; i++) {
		const int64_t d = (int64_t)(frames[i].meant - frames[i].at);
		const int64_t off = (int64_t)frames[i].waited - d;

		most = llabs(off) > most ? llabs(off) : most;
	}
	return most;
}

static void add(unsigned n, uint64_t at, uint64_t meant)
{
	for (; n > 0; n--) {
		assert_true(count < ALL && at <= meant);
		frames[count++] = (struct frame){.at = at, .meant = meant};
	}
}

/* So many frames in a slot are its wire's time, less one of them and one of best effort. */
#define FITS ((TAU - LONG_NS - WIRE) / WIRE)

/*
 * Slots that are not too full each, and still too late: what is meant for the first comes as it
 * ends, by several wires, and is sent in the second, of which frames are meant for the begin.
 */
static void two_slots_must_fit_in_one(void **state)
{
	count = 0;
	add(FITS - 1, 5 * TAU - 20000, 5 * TAU + 1); /* the second slot's */
	add(1, 5 * TAU - 15000, 5 * TAU + 1);
	add(FITS, 5 * TAU - 1, 5 * TAU - 1);
	assert_true(worst() > TAU + TAU / 2);

	count = 0;
	add(FITS / 2 - 1, 5 * TAU - 20000, 5 * TAU + 1);
	add(1, 5 * TAU - 15000, 5 * TAU + 1);
	add(FITS / 2, 5 * TAU - 1, 5 * TAU - 1);
	assert_true(worst() <= TAU);
}

/* When what is meant for any two slots that follow each other fits in one. */
static void random_bursts_meet_the_bound(void **state)
{
	struct sim_random r = {9};
	int64_t most = 0, off;

	for (unsigned round = 0; round < 300; round++) {
		unsigned before = 0;

		count = 0;
		for (uint64_t slot = 4; slot < 40; slot++) {
			unsigned n = (unsigned)(sim_random_next(&r) % (FITS - before + 1));
			/* all of it, or nothing, now and then */
			if (sim_random_next(&r) % 2 == 0)
				n = sim_random_next(&r) % 2 == 0 ? 0 : FITS - before;
			for (unsigned i = 0; i < n; i++) {
				const uint64_t in = sim_random_next(&r) % 3 == 0
							    ? sim_random_next(&r) % TAU
							    : (round % 2 == 0 ? 0 : TAU - 1);
				const uint64_t ahead = sim_random_next(&r) % 3 == 0
							       ? sim_random_next(&r) % (3 * TAU)
							       : (round % 4) * 1000;

				add(1, slot * TAU + in - ahead, slot * TAU + in);
			}
			before = n;
		}
		off = worst();
		most = off > most ? off : most;
	}
	assert_true(most <= TAU);
	assert_true(most > TAU * 9 / 10); /* the rounds do try */
}

/* Frames that always arrive a slot early are not late: one slot is enough, and no other frame
 * delays them. */
static void future_slot_is_not_late(void **state)
{
	struct sim_random r = {10};

	for (unsigned round = 0; round < 100; round++) {
		count = 0;
		for (uint64_t slot = 4; slot < 40; slot++) {
			for (unsigned i = 0; i < TAU / WIRE; i++) {
				const uint64_t in = sim_random_next(&r) % TAU;
				const uint64_t ahead = TAU + sim_random_next(&r) % (2 * TAU);

				add(1, slot * TAU + in - ahead, slot * TAU + in);
			}
		}
		assert_true(worst() <= TAU);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(single_frame_is_delayed_by_its_budget),
		cmocka_unit_test(two_slots_must_fit_in_one),
		cmocka_unit_test(random_bursts_meet_the_bound),
		cmocka_unit_test(future_slot_is_not_late),
	};

	return cmocka_run_group_tests_name("bounds", tests, NULL, NULL);
}
