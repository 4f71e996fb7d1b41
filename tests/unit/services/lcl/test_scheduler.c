/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/exact.h"

#include "services/lcl/scheduler.h"

/*
 * One thing at a time, by hand. The wire is of 1 Gbps, so that a frame of 101 bytes keeps it for
 * 1000 ns (preamble, checksum and gap are 24 bytes more); the port is the paper's, of tau 8 us and
 * 4 queues.
 */
#define TAU 8000u
#define ORIGIN 5000000u
#define LEN 101u
#define WIRE 1000u

static char frames[64]; /* a frame is its address */
static struct bp_lcl_departure out[64];

static struct bp_lcl_scheduler_options paper(void)
{
	return (struct bp_lcl_scheduler_options){.origin_ns = ORIGIN,
		.tau_ns = TAU,
		.rate_bps = 1000000000,
		.queues = 4,
		.queue_frames = 16,
		.best_effort_frames = 4,
		.best_effort_max = 1518};
}

static struct bp_lcl_scheduler *fresh(void)
{
	const struct bp_lcl_scheduler_options o = paper();
	struct bp_lcl_scheduler *s = bp_lcl_scheduler_create(&o);

	assert_non_null(s);
	assert_true(bp_lcl_next(s, ORIGIN) == UINT64_MAX);
	return s;
}

/* Times are since the origin. */
static enum bp_lcl_put put(
	struct bp_lcl_scheduler *s, uint64_t now, unsigned frame, int32_t d, uint8_t n)
{
	const struct bp_lcl_arrival a = {
		.frame = &frames[frame], .in_ns = ORIGIN + now, .d = d, .n = n, .bytes = LEN};

	return bp_lcl_put(s, ORIGIN + now, &a);
}

static bool put_plain(struct bp_lcl_scheduler *s, uint64_t now, unsigned frame, uint32_t bytes)
{
	return bp_lcl_put_best_effort(s, ORIGIN + now, &frames[frame], bytes);
}

static unsigned take(struct bp_lcl_scheduler *s, uint64_t now)
{
	return bp_lcl_take(s, ORIGIN + now, out, 64);
}

/* That frame is the next that leaves, then and not before. */
#define LEAVES(s, now, i, waited) leaves(s, now, i, waited, __LINE__)
static void leaves(struct bp_lcl_scheduler *s, uint64_t now, unsigned i, uint64_t waited, int line)
{
	if (now != 0 && take(s, now - 1) != 0)
		fail_msg("line %d: before its time", line);
	if (bp_lcl_next(s, ORIGIN + now - (now != 0)) != ORIGIN + now)
		fail_msg("line %d: next is %lld", line,
			(long long)(bp_lcl_next(s, ORIGIN + now - 1) - ORIGIN));
	if (take(s, now) != 1 || out[0].frame != &frames[i] || out[0].waited_ns != waited)
		fail_msg(
			"line %d: not that one, or it waited %u", line, (unsigned)out[0].waited_ns);
}

/* Figure 2 of the paper: (a) goes into the queue that is being sent, (b) into the next one. */
static void figure_2_of_ma(void **state)
{
	struct bp_lcl_scheduler *s = fresh();

	assert_int_equal(take(s, 2 * TAU), 0);
	assert_int_equal(put(s, 2 * TAU, 0, 15000, 2), BP_LCL_PUT_OK);
	LEAVES(s, 2 * TAU, 0, 0);
	assert_int_equal(put(s, 2 * TAU + 800, 1, 15000, 2), BP_LCL_PUT_OK);
	LEAVES(s, 3 * TAU, 1, 7200);
	assert_int_equal(out[0].d, 15000);
	assert_int_equal(out[0].n, 2);
	assert_int_equal(out[0].bytes, LEN);
	assert_int_equal(out[0].put, BP_LCL_PUT_OK);
	assert_true(bp_lcl_next(s, ORIGIN + 3 * TAU) == UINT64_MAX);
	bp_lcl_scheduler_free(s);
}

static void frames_of_a_slot_follow_each_other(void **state)
{
	struct bp_lcl_scheduler *s = fresh();

	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(put(s, 10 * i, i, TAU, 1), BP_LCL_PUT_OK);
	for (unsigned i = 0; i < 8; i++)
		LEAVES(s, TAU + WIRE * i, i, TAU + WIRE * i - 10 * i);
	/* late by half a frame: the one after it is due as if it had not been */
	assert_int_equal(put(s, 2 * TAU, 8, 0, 1), BP_LCL_PUT_OK);
	assert_int_equal(put(s, 2 * TAU, 9, 0, 1), BP_LCL_PUT_OK);
	assert_int_equal(take(s, 2 * TAU + 500), 1);
	LEAVES(s, 2 * TAU + WIRE, 9, WIRE);
	bp_lcl_scheduler_free(s);
}

static void best_effort_yields(void **state)
{
	struct bp_lcl_scheduler *s = fresh();

	assert_int_equal(put(s, 0, 0, TAU, 1), BP_LCL_PUT_OK);
	/* it is on the wire until 7600 */
	assert_true(put_plain(s, 6600, 1, LEN));
	assert_int_equal(bp_lcl_next(s, ORIGIN + 6600), ORIGIN + 6600);
	assert_int_equal(take(s, 6600), 1);
	assert_ptr_equal(out[0].frame, &frames[1]);
	/* the next one would be until 8600 */
	assert_true(put_plain(s, 7000, 2, LEN));
	assert_int_equal(take(s, 7000), 0);
	assert_int_equal(bp_lcl_next(s, ORIGIN + 7000), ORIGIN + TAU);
	assert_int_equal(take(s, 7999), 0);
	assert_int_equal(bp_lcl_measured(s)->gated, 1);
	assert_int_equal(bp_lcl_measured(s)->gated_ns, 400);
	/* with what it is behind, it is not yet a longest frame's time */
	assert_int_equal(take(s, TAU), 2);
	assert_ptr_equal(out[0].frame, &frames[0]);
	assert_ptr_equal(out[1].frame, &frames[2]);
	assert_int_equal(out[1].n, 0);
	bp_lcl_scheduler_free(s);
}

/* A frame for the slot that is on waits until best effort is off the wire; its label counts that,
 * or a delay would grow at each node without one being able to make up for it. */
static void slot_waits_for_best_effort_in_transmission(void **state)
{
	struct bp_lcl_scheduler *s = fresh();

	assert_true(put_plain(s, 0, 0, LEN));
	assert_int_equal(take(s, 0), 1);
	assert_int_equal(put(s, 100, 1, 0, 1), BP_LCL_PUT_OK);
	assert_int_equal(put(s, 200, 2, 0, 1), BP_LCL_PUT_OK);
	LEAVES(s, WIRE, 1, WIRE - 100);
	LEAVES(s, 2 * WIRE, 2, 2 * WIRE - 200);
	/* a wire that has been idle since is free */
	assert_int_equal(put(s, 5000, 3, 0, 1), BP_LCL_PUT_OK);
	LEAVES(s, 5000, 3, 0);
	bp_lcl_scheduler_free(s);
}

/* A frame for another link. */
static enum bp_lcl_put put_long(
	struct bp_lcl_scheduler *s, uint64_t now, unsigned frame, int32_t d, uint32_t bytes)
{
	const struct bp_lcl_arrival a = {
		.frame = &frames[frame], .in_ns = ORIGIN + now, .d = d, .n = 1, .bytes = bytes};

	return bp_lcl_put(s, ORIGIN + now, &a);
}

static void full_slot_moves_frames_to_the_next(void **state)
{
	struct bp_lcl_scheduler *s = fresh();

	/* 7500 of 8000 ns */
	for (unsigned i = 0; i < 7; i++)
		assert_int_equal(put(s, 0, i, TAU, 1), BP_LCL_PUT_OK);
	assert_int_equal(put_long(s, 0, 7, TAU, LEN / 2 - 12), BP_LCL_PUT_OK);
	assert_int_equal(put(s, 0, 8, TAU, 1), BP_LCL_PUT_MOVED);
	/* it would fit, but so it would overtake that */
	assert_int_equal(put_long(s, 0, 9, TAU, LEN / 2 - 12), BP_LCL_PUT_MOVED);
	assert_int_equal(take(s, TAU + 7500), 8);
	LEAVES(s, 2 * TAU, 8, 2 * TAU);
	LEAVES(s, 2 * TAU + WIRE, 9, 2 * TAU + WIRE);
	bp_lcl_scheduler_free(s);
}

static void late_and_early_frames(void **state)
{
	struct bp_lcl_scheduler *s = fresh();
	const struct bp_lcl_arrival handed_over = {
		.frame = &frames[3], .in_ns = ORIGIN + TAU - 300, .d = 200, .bytes = LEN, .n = 1};

	assert_int_equal(put(s, 100, 0, -1, 1), BP_LCL_PUT_LATE);
	assert_int_equal(put(s, 100, 1, 4 * TAU - 101, 1), BP_LCL_PUT_OK);
	assert_int_equal(put(s, 100, 2, 4 * TAU - 100, 1), BP_LCL_PUT_EARLY);
	LEAVES(s, 100, 0, 0);
	assert_int_equal(out[0].put, BP_LCL_PUT_LATE);
	assert_int_equal(out[0].d, -1);
	/* it came in time for its slot, but was put when that was over */
	assert_int_equal(bp_lcl_put(s, ORIGIN + TAU + 50, &handed_over), BP_LCL_PUT_LATE);
	assert_int_equal(take(s, TAU + 50), 1);
	assert_int_equal(out[0].waited_ns, 350);
	assert_int_equal(out[0].put, BP_LCL_PUT_LATE);
	LEAVES(s, 3 * TAU, 1, 3 * TAU - 100);
	LEAVES(s, 3 * TAU + WIRE, 2, 3 * TAU + WIRE - 100);
	assert_int_equal(out[0].put, BP_LCL_PUT_EARLY);
	bp_lcl_scheduler_free(s);
}

static void each_queue_has_its_depth(void **state)
{
	struct bp_lcl_scheduler_options o = paper();
	struct bp_lcl_scheduler *s;
	unsigned i = 0;

	o.queue_frames = 3;
	s = bp_lcl_scheduler_create(&o);
	assert_non_null(s);
	for (; i < 12; i++)
		assert_int_equal(put(s, 0, i, 0, 1), i < 3 ? BP_LCL_PUT_OK : BP_LCL_PUT_MOVED);
	assert_int_equal(put(s, 0, i, 0, 1), BP_LCL_PUT_FULL);
	assert_int_equal(put(s, 0, i, -5, 1), BP_LCL_PUT_FULL);
	assert_int_equal(put(s, 0, i, 9 * TAU, 1), BP_LCL_PUT_FULL);
	assert_int_equal(bp_lcl_measured(s)->held, 12);
	for (i = 0; i < 4; i++)
		assert_true(put_plain(s, 0, 12 + i, LEN));
	assert_false(put_plain(s, 0, 16, LEN));
	assert_int_equal(bp_lcl_measured(s)->best_effort, 4);
	assert_int_equal(bp_lcl_flush(s, out, 64), 16);
	for (i = 0; i < 16; i++)
		assert_ptr_equal(out[i].frame, &frames[i]);
	assert_int_equal(bp_lcl_measured(s)->held, 0);
	assert_int_equal(bp_lcl_measured(s)->best_effort, 0);
	bp_lcl_scheduler_free(s);
}

/* A frame that began in the last moment of its slot is not in the way of the slot that uses the
 * same of K queues next. */
static void poll_gap_without_queue(void **state)
{
	struct bp_lcl_scheduler_options o = paper();
	struct bp_lcl_scheduler *s;

	o.queues = 2;
	s = bp_lcl_scheduler_create(&o);
	assert_non_null(s);
	assert_int_equal(put(s, TAU - 500, 0, 0, 1), BP_LCL_PUT_OK);
	assert_int_equal(put(s, TAU - 500, 1, 0, 1), BP_LCL_PUT_MOVED);
	assert_int_equal(put(s, TAU - 1, 2, 0, 1), BP_LCL_PUT_MOVED);
	LEAVES(s, TAU - 500, 0, 0);
	assert_int_equal(put(s, TAU + 100, 3, TAU, 1), BP_LCL_PUT_OK);
	LEAVES(s, TAU + 500, 1, WIRE);
	LEAVES(s, TAU + 1500, 2, 1501);
	assert_int_equal(put(s, 2 * TAU - 100, 4, 0, 1), BP_LCL_PUT_OK);
	assert_int_equal(put(s, 2 * TAU - 100, 5, 0, 1), BP_LCL_PUT_MOVED);
	/* the first is still held when the slot begins that takes the last */
	assert_int_equal(put(s, 2 * TAU, 6, TAU, 1), BP_LCL_PUT_OK);
	assert_int_equal(take(s, 2 * TAU), 1);
	LEAVES(s, 2 * TAU + 900, 3, TAU + 800);
	bp_lcl_scheduler_free(s);
}

/* Longer than tau, on a wire that is as slow as that: it has a slot of its own. */
static void a_frame_longer_than_a_slot(void **state)
{
	struct bp_lcl_scheduler *s = fresh();

	assert_int_equal(put_long(s, 0, 0, TAU, 1518), BP_LCL_PUT_OK);
	assert_int_equal(put(s, 0, 1, TAU, 1), BP_LCL_PUT_MOVED);
	LEAVES(s, TAU, 0, TAU);
	LEAVES(s, TAU + 12336, 1, TAU + 12336);
	/* none is that long, and nothing is broken by one */
	assert_int_equal(put_long(s, 40000, 2, 0, BP_LCL_BYTES_MAX + 1), BP_LCL_PUT_FULL);
	assert_false(put_plain(s, 40000, 2, BP_LCL_BYTES_MAX + 1));
	assert_true(bp_lcl_next(s, ORIGIN + 40000) == UINT64_MAX);
	bp_lcl_scheduler_free(s);
}

/* A third of an byte's nanoseconds: at the next whole one it would be too late. */
static void best_effort_that_ends_in_time_by_less_than_a_nanosecond(void **state)
{
	struct bp_lcl_scheduler_options o = paper();
	struct bp_lcl_scheduler *s;

	o.rate_bps = 3000000000;
	o.tau_ns = 667;
	o.best_effort_max = LEN;
	s = bp_lcl_scheduler_create(&o);
	assert_non_null(s);
	assert_int_equal(put(s, 0, 0, 667, 1), BP_LCL_PUT_OK);
	assert_true(put_plain(s, 0, 1, LEN));
	assert_true(put_plain(s, 0, 2, LEN));
	assert_int_equal(take(s, 0), 1);
	assert_int_equal(bp_lcl_next(s, ORIGIN), ORIGIN + 667);
	LEAVES(s, 667, 0, 667);
	bp_lcl_scheduler_free(s);
}

struct begun {
	unsigned n;
	uint64_t late[4];
};

static void note(void *arg, uint64_t late_ns)
{
	struct begun *b = arg;

	assert_true(b->n < 4);
	b->late[b->n++] = late_ns;
}

static void slot_lateness_is_measured(void **state)
{
	struct bp_lcl_scheduler *s = fresh();
	struct begun b = {0};

	bp_lcl_on_slot(s, note, &b);
	assert_int_equal(put(s, 0, 0, TAU, 1), BP_LCL_PUT_OK);
	assert_int_equal(put(s, 0, 1, TAU, 1), BP_LCL_PUT_OK);
	assert_int_equal(put(s, 0, 2, 2 * TAU, 1), BP_LCL_PUT_OK);
	assert_int_equal(take(s, TAU + 70), 1);
	assert_int_equal(take(s, TAU + 3000), 1);
	/* for the current slot: it was not held when that began */
	assert_int_equal(put(s, 2 * TAU - 600, 3, 0, 1), BP_LCL_PUT_OK);
	assert_int_equal(take(s, 2 * TAU - 600), 1);
	/* due when the wire is free, 400 ns after the slot's begin */
	assert_int_equal(take(s, 2 * TAU + 450), 1);
	assert_int_equal(put(s, 5 * TAU, 4, 0, 1), BP_LCL_PUT_OK);
	assert_int_equal(take(s, 5 * TAU), 1);
	assert_int_equal(b.n, 2);
	assert_int_equal(b.late[0], 70);
	assert_int_equal(b.late[1], 50);
	assert_int_equal(bp_lcl_measured(s)->slots, 2);
	bp_lcl_on_slot(s, NULL, NULL);
	assert_int_equal(put(s, 5 * TAU, 5, TAU, 1), BP_LCL_PUT_OK);
	assert_int_equal(take(s, 6 * TAU), 1);
	assert_int_equal(b.n, 2);
	bp_lcl_scheduler_free(s);
}

/* d/n is as a division has it, for all n and at all steps. */
static void shares_are_exact(void **state)
{
	uint64_t seed = 0xd1f;

	for (unsigned n = 1; n <= 64; n++) {
		for (unsigned i = 0; i < 200; i++) {
			struct bp_lcl_scheduler_options o = paper();
			const uint32_t most = 1000000000 / n;
			const uint32_t share =
				i == 0 ? most : 1 + (uint32_t)next_random(&seed) % most;
			struct bp_lcl_scheduler *s;

			/* one slot ends where d/n does */
			o.tau_ns = share < 1000 ? 1000 : share;
			while (o.tau_ns > 10000000)
				o.tau_ns = (o.tau_ns + 1) / 2;
			o.queues = 64;
			o.rate_bps = 100000000000;
			s = bp_lcl_scheduler_create(&o);
			assert_non_null(s);
			for (int32_t off = -1; off <= 1; off++) {
				const int32_t d = (int32_t)(share * n) + off;
				uint64_t slot = 0;
				const struct bp_lcl_arrival a = {.frame = frames,
					.in_ns = ORIGIN,
					.d = d < 1000000000 ? d : 1000000000,
					.bytes = LEN,
					.n = (uint8_t)n,
					.last_slot = &slot};
				const uint64_t want = (uint64_t)a.d / n / o.tau_ns;

				assert_int_equal(bp_lcl_put(s, ORIGIN, &a),
					want < 64 ? BP_LCL_PUT_OK : BP_LCL_PUT_EARLY);
				assert_int_equal(slot, want < 64 ? want : 63);
			}
			bp_lcl_scheduler_free(s);
		}
	}
}

static bool can_be(struct bp_lcl_scheduler_options o)
{
	struct bp_lcl_scheduler *s = bp_lcl_scheduler_create(&o);

	bp_lcl_scheduler_free(s);
	return s != NULL;
}

/* Of the 584 years that 64 bits of nanoseconds last: pauses of more than nine, at any place in a
 * slot, also when frames leave best effort on the wire behind. Flows stay in order. */
static void pauses_of_several_years(void **state)
{
	const uint64_t year = 31557600ull * 1000000000;
	struct bp_lcl_scheduler *s = fresh();
	uint64_t last = 0, slots = 0;

	for (uint64_t i = 1; i <= 44; i++) {
		const uint64_t begin = (i * 13 * year + i) / TAU * TAU, now = begin + 100 * i;
		struct bp_lcl_arrival a = {.frame = &frames[1],
			.in_ns = ORIGIN + now,
			.d = 2 * TAU,
			.n = 1,
			.bytes = LEN,
			.last_slot = &last};

		assert_int_equal(take(s, now), 0);
		assert_true(put_plain(s, now, 0, LEN));
		assert_int_equal(take(s, now), 1);
		assert_ptr_equal(out[0].frame, &frames[0]);
		assert_int_equal(bp_lcl_put(s, ORIGIN + now, &a), BP_LCL_PUT_OK);
		assert_true(last > slots);
		slots = last;
		LEAVES(s, begin + 2 * TAU, 1, 2 * TAU - 100 * i);
		assert_true(bp_lcl_next(s, ORIGIN + begin + 2 * TAU) == UINT64_MAX);
		assert_int_equal(bp_lcl_measured(s)->slots, i);
	}
	bp_lcl_scheduler_free(s);
}

static void options_that_no_port_has(void **state)
{
#define REFUSED(member, value)                                                                     \
	do {                                                                                       \
		struct bp_lcl_scheduler_options o = paper();                                       \
		o.member = (value);                                                                \
		assert_false(can_be(o));                                                           \
	} while (0)
	assert_true(can_be(paper()));
	REFUSED(tau_ns, 0);
	REFUSED(tau_ns, 15);
	REFUSED(tau_ns, 100000001);
	REFUSED(rate_bps, 0);
	REFUSED(rate_bps, 63999);
	REFUSED(queues, 0);
	REFUSED(queues, 1);
	REFUSED(queues, 65);
	REFUSED(queue_frames, 0);
	REFUSED(queue_frames, UINT32_MAX);
	REFUSED(guard_ns, 100000001);
	REFUSED(best_effort_max, BP_LCL_BYTES_MAX + 1);
#undef REFUSED
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figure_2_of_ma),
		cmocka_unit_test(frames_of_a_slot_follow_each_other),
		cmocka_unit_test(best_effort_yields),
		cmocka_unit_test(slot_waits_for_best_effort_in_transmission),
		cmocka_unit_test(full_slot_moves_frames_to_the_next),
		cmocka_unit_test(late_and_early_frames),
		cmocka_unit_test(each_queue_has_its_depth),
		cmocka_unit_test(poll_gap_without_queue),
		cmocka_unit_test(a_frame_longer_than_a_slot),
		cmocka_unit_test(best_effort_that_ends_in_time_by_less_than_a_nanosecond),
		cmocka_unit_test(slot_lateness_is_measured),
		cmocka_unit_test(shares_are_exact),
		cmocka_unit_test(pauses_of_several_years),
		cmocka_unit_test(options_that_no_port_has),
	};

	return cmocka_run_group_tests_name("scheduler", tests, NULL, NULL);
}
