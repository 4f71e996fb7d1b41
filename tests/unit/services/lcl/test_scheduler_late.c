/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/services/lcl/scheduler_rig.h"

#include "tests/unit/times.h"

/*
 * A scheduler that is checked only now and then, as a worker does that has other work: best
 * effort has what the wire has left all the same, and time-sensitive frames begin on the wire,
 * which the test follows itself, when they would begin with a check any time and no best effort,
 * or later by the longest time between two looks and one longest best-effort frame.
 */
#define SENSITIVE 600u
#define OUT 64
#define LONGEST 1518u
#define QUEUE 512u

struct frame {
	uint64_t at, begins, slot; /* comes; on the wire, 0 before */
	uint32_t bytes;
	int32_t d;
	uint8_t n, put;
};
static struct frame frames[2][SENSITIVE], plain;

struct run {
	struct bp_lcl_scheduler_options o;
	struct bp_lcl_scheduler *s;
	struct frame *frame;
	uint64_t now, seed, idle_at; /* when the wire is */
	uint64_t gap;                /* of looks, at most; 0: there is one whenever it is due */
	uint64_t share;              /* of best effort, in 1/1000 of the wire; 0: none */
	uint64_t owed;               /* bytes of that, times 1000 */
	unsigned at_once;            /* frames that are taken at a time; and no more behind best
				      * effort, as a worker does; 0: OUT, and all that there is */
	uint32_t in_slot[64];        /* by slot: frames that are held */
	uint64_t handed, refused;    /* of best effort: bytes on the wire, frames */
};

static uint64_t next_begin(const struct run *r)
{
	const uint64_t slot = (r->now - r->o.origin_ns) / r->o.tau_ns;

	for (uint64_t s = slot + 1; s < slot + r->o.queues; s++)
		if (r->in_slot[s % 64] != 0)
			return r->o.origin_ns + s * r->o.tau_ns;
	return UINT64_MAX;
}

static void evaluate(struct run *r, const struct bp_lcl_departure *d)
{
	const uint64_t wire = wire_ns(&r->o, d->bytes);
	const uint64_t begins = r->now > r->idle_at ? r->now : r->idle_at;
	struct frame *f = d->frame;

	r->idle_at = begins + wire;
	if (f != &plain) {
		assert_true(d->n != 0 && f->begins == 0);
		f->begins = begins;
		r->in_slot[f->slot % 64]--;
		/* its wait for late best effort is counted */
		assert_true(d->waited_ns >= r->now - f->at && d->waited_ns <= begins - f->at);
		return;
	}
	r->handed += d->bytes + BP_LCL_LINK_OVERHEAD;
	assert_true(r->idle_at - r->now <= wire_ns(&r->o, LONGEST) + r->gap);
	/* however late: the wire is free for a slot that holds something */
	assert_true(next_begin(r) == UINT64_MAX || r->idle_at + r->o.guard_ns <= next_begin(r));
}

static void take(struct run *r)
{
	const unsigned most = r->at_once != 0 ? r->at_once : OUT;
	struct bp_lcl_departure out[OUT];
	unsigned n;

	do {
		n = bp_lcl_take(r->s, r->now, out, most);
		for (unsigned i = 0; i < n; i++)
			evaluate(r, &out[i]);
	} while (n == most && (r->at_once == 0 || out[n - 1].n != 0));
}

/* Best-effort frames since the last poll. */
static void put_best_effort(struct run *r, uint64_t since)
{
	r->owed += (r->now - since) * r->share * (r->o.rate_bps / 8000000) / 1000;
	for (;;) {
		const uint32_t bytes = next_random(&r->seed) % 3 ? LONGEST : 60;

		if (r->owed < (bytes + BP_LCL_LINK_OVERHEAD) * 1000)
			return;
		r->owed -= (bytes + BP_LCL_LINK_OVERHEAD) * 1000;
		r->refused += !bp_lcl_put_best_effort(r->s, r->now, &plain, bytes);
	}
}

/* To the next look but one that others have, too. */
static void look_until(struct run *r, uint64_t until)
{
	for (uint64_t next; r->gap == 0 && (next = bp_lcl_next(r->s, r->now)) < until;) {
		r->now = next;
		take(r);
	}
	r->now = until;
	take(r);
}

/* Looks are short or long: mostly some nodes that had nothing to do, and then one that had. */
static uint64_t next_gap(uint64_t *seed, uint64_t longest)
{
	const uint64_t r1 = next_random(seed);

	return 1 + (r1 >> 8) % (r1 % 4 == 0 ? longest : longest / 16);
}

/* The same time-sensitive frames, put at the same times, for the same seed. gap: for all. */
static void run(struct run *r, uint64_t seed, uint64_t gap, unsigned in_a_slot)
{
	const uint64_t tau = r->o.tau_ns, between = tau / in_a_slot;
	uint64_t due;

	r->s = scheduler_of(&r->o);
	r->now = r->idle_at = due = r->o.origin_ns;
	r->seed = seed;
	take(r);
	for (unsigned i = 0; i < SENSITIVE;) {
		const uint64_t since = r->now;

		look_until(r, r->now + next_gap(&seed, gap));
		for (; i < SENSITIVE && due <= r->now; i++, due += between) {
			struct frame *f = &r->frame[i];
			const uint64_t r1 = next_random(&seed);
			struct bp_lcl_arrival a = {.frame = f, .last_slot = &f->slot};

			*f = (struct frame){.at = r->now, .bytes = 60 + r1 % 100};
			f->n = a.n = (uint8_t)(1 + (r1 >> 40) % 4);
			f->d = a.d = (int32_t)((r1 >> 16) % (tau * (r->o.queues - 1) * f->n));
			a.bytes = f->bytes;
			a.in_ns = f->at;
			f->put = (uint8_t)bp_lcl_put(r->s, r->now, &a);
			assert_int_not_equal(f->put, BP_LCL_PUT_FULL);
			r->in_slot[f->slot % 64]++;
		}
		put_best_effort(r, since);
	}
	while (bp_lcl_measured(r->s)->held != 0)
		look_until(r, r->now + next_gap(&seed, gap));
}

static struct run random_run(uint64_t *seed)
{
	static const uint32_t ns_each[] = {1, 2, 5, 10, 100};
	struct run r = {.frame = frames[0],
		.o = {.origin_ns = next_random(seed) >> 2,
			.rate_bps = 8000000000u / ns_each[next_random(seed) % 5],
			.queues = 2 + (uint32_t)(next_random(seed) % 6),
			.queue_frames = SENSITIVE,
			.best_effort_frames = QUEUE,
			.best_effort_max = LONGEST}};

	/* of 20 to 60 longest frames */
	r.o.tau_ns = wire_ns(&r.o, LONGEST) * (20 + next_random(seed) % 40);
	r.o.guard_ns = next_random(seed) % 2 ? 0 : next_random(seed) % (r.o.tau_ns / 20);
	return r;
}

static void begins_in_time(const struct run *with, uint64_t gap, uint64_t *worst)
{
	const uint64_t most = gap + wire_ns(&with->o, LONGEST);

	for (unsigned i = 0; i < SENSITIVE; i++) {
		const struct frame *a = &frames[0][i], *b = &frames[1][i];
		const uint64_t late = a->begins - b->begins;

		assert_true(a->put == b->put && a->slot == b->slot && a->at == b->at);
		assert_true(a->begins >= b->begins);
		assert_true(late <= most);
		*worst = *worst > late * 1000 / most ? *worst : late * 1000 / most;
	}
}

static void best_effort_uses_the_remaining_rate(void **state)
{
	uint64_t seed = 0x1a7e, worst = 0, counted = 0;

	for (unsigned round = 0; round < TEST_TIMES(300); round++) {
		struct run with = random_run(&seed), without;
		const uint64_t tau = with.o.tau_ns, longest = wire_ns(&with.o, LONGEST);
		const uint64_t gap = tau / 40 + next_random(&seed) % (tau / 4);
		const unsigned in_a_slot = 1 + (unsigned)(next_random(&seed) % 20);
		const uint64_t sensitive = in_a_slot * wire_ns(&with.o, 160);

		/* the wire is free when a slot begins, and until that is seen; and what was not
		 * made up for by then is not */
		const uint64_t lost = sensitive + longest + with.o.guard_ns + 2 * gap;

		without = with;
		with.share = (1000 - 1000 * lost / tau) * (800 + next_random(&seed) % 200) / 1000;
		with.gap = gap;
		without.frame = frames[1];
		seed = next_random(&seed);
		run(&with, seed, gap, in_a_slot);
		run(&without, seed, gap, in_a_slot);
		assert_int_equal(with.refused, 0);
		begins_in_time(&with, gap, &worst);
		counted += with.handed;
		bp_lcl_scheduler_free(with.s);
		bp_lcl_scheduler_free(without.s);
	}
	assert_true(worst > 900); /* it came to that */
	assert_true(counted > TEST_TIMES(300) * 100000ull);
}

/* However much of it comes, and however little of that is taken at a look. */
static void best_effort_batch_per_poll_is_bounded(void **state)
{
	uint64_t seed = 0xfe3, worst = 0;

	for (unsigned round = 0; round < TEST_TIMES(300); round++) {
		struct run with = random_run(&seed), without;
		const uint64_t gap = with.o.tau_ns / 40 + next_random(&seed) % (with.o.tau_ns / 4);
		const unsigned in_a_slot = 1 + (unsigned)(next_random(&seed) % 20);

		without = with;
		with.share = 500 + next_random(&seed) % 1500;
		with.gap = gap;
		with.at_once = 1 + (unsigned)(next_random(&seed) % OUT);
		without.frame = frames[1];
		seed = next_random(&seed);
		run(&with, seed, gap, in_a_slot);
		run(&without, seed, gap, in_a_slot);
		begins_in_time(&with, gap, &worst);
		bp_lcl_scheduler_free(with.s);
		bp_lcl_scheduler_free(without.s);
	}
	assert_true(worst > 800); /* it comes near that */
}

/* Frames of 1,226 bytes, which take 1 us at 10 Gb/s; turns of 40 us. */
static struct bp_lcl_scheduler *port_of_200(uint64_t now)
{
	const struct bp_lcl_scheduler_options o = {.tau_ns = 40000,
		.rate_bps = 10000000000u,
		.queues = 4,
		.queue_frames = 16,
		.best_effort_frames = QUEUE,
		.best_effort_max = LONGEST};
	struct bp_lcl_scheduler *s = scheduler_of(&o);
	struct bp_lcl_departure out;

	assert_int_equal(bp_lcl_take(s, now, &out, 1), 0);
	for (unsigned i = 0; i < 200; i++)
		assert_true(bp_lcl_put_best_effort(s, now, &plain, 1226));
	return s;
}

static void put_at(struct bp_lcl_scheduler *s, uint64_t now, int32_t d)
{
	const struct bp_lcl_arrival a = {
		.frame = &frames[0][0], .bytes = 1226, .in_ns = now, .d = d, .n = 1};

	assert_int_equal(bp_lcl_put(s, now, &a), BP_LCL_PUT_OK);
}

/* The number that leave. *waited: waiting time of the first, if it is time-sensitive; otherwise 0.
 */
static unsigned take_at(struct bp_lcl_scheduler *s, uint64_t now, uint64_t *waited)
{
	struct bp_lcl_departure out[OUT];
	const unsigned n = bp_lcl_take(s, now, out, OUT);

	*waited = n != 0 ? out[0].waited_ns : 0;
	for (unsigned i = 1; i < n; i++)
		assert_int_equal(out[i].n, 0);
	return n;
}

static void missed_slots_are_caught_up(void **state)
{
	struct bp_lcl_scheduler *s = port_of_200(100000);
	uint64_t waited;

	/* that the wire was idle before is no loss */
	assert_int_equal(take_at(s, 100000, &waited), 1);
	assert_int_equal(take_at(s, 100000, &waited), 0);
	assert_int_equal(take_at(s, 101000, &waited), 1);
	/* 20 us: 25,000 bytes */
	assert_int_equal(take_at(s, 121000, &waited), 20);
	assert_int_equal(take_at(s, 121000, &waited), 0);
	assert_int_equal(take_at(s, 122000, &waited), 1);
	assert_int_equal(take_at(s, 150000, &waited), 28);
	/* a turn is all that is made up for: 40 us, and the frame that is due */
	assert_int_equal(take_at(s, 250000, &waited), 41);
	/* a slot with frames begins at 280 us, and the link is busy until 291 */
	put_at(s, 250000, 50000);
	assert_int_equal(take_at(s, 270000, &waited), 0);
	assert_int_equal(take_at(s, 279999, &waited), 0);
	bp_lcl_scheduler_free(s);
}

/*
 * A worker that takes few frames per poll, because it has other work, has a backlog of best effort.
 * Only the time since the previous poll is made up for: otherwise, after many polls, a whole slot
 * of best effort would be queued on the link.
 */
static void remaining_slot_time_is_lost(void **state)
{
	struct bp_lcl_scheduler *s = port_of_200(100000);
	uint64_t now = 100000, idle_at = now;

	for (unsigned look = 0; look < 60; look++) {
		struct bp_lcl_departure out[2];
		const unsigned n = bp_lcl_take(s, now, out, 2);

		idle_at = (idle_at > now ? idle_at : now) + n * 1000;
		assert_true(idle_at - now <= 10000 + 1234);
		now += look < 20 ? 10000 : 100;
	}
	bp_lcl_scheduler_free(s);
}

/* Of 20 us, a frame in the middle takes one, and what is kept free before it 1.2. */
static void time_sensitive_frames_stay_within_their_slot(void **state)
{
	struct bp_lcl_scheduler *s = port_of_200(150000);
	uint64_t waited;

	assert_int_equal(take_at(s, 150000, &waited), 1);
	put_at(s, 150000, 12000);
	assert_int_equal(take_at(s, 170000, &waited), 1 + 17);
	assert_int_equal(waited, 20000);
	bp_lcl_scheduler_free(s);
}

/* Their wait for late best effort on the link is in their labels, although they are dequeued.
 */
static void time_behind_it_is_counted(void **state)
{
	struct bp_lcl_scheduler *s = port_of_200(121000);
	uint64_t waited;

	assert_int_equal(take_at(s, 121000, &waited), 1);
	assert_int_equal(take_at(s, 141000, &waited), 20); /* up to 161 us */
	put_at(s, 141000, 0);
	assert_int_equal(take_at(s, 142500, &waited), 1);
	assert_in_range(waited, 19990, 20000);
	put_at(s, 142500, 0); /* behind that */
	assert_int_equal(take_at(s, 143500, &waited), 1);
	assert_in_range(waited, 19490, 19500);
	bp_lcl_scheduler_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(best_effort_uses_the_remaining_rate),
		cmocka_unit_test(best_effort_batch_per_poll_is_bounded),
		cmocka_unit_test(missed_slots_are_caught_up),
		cmocka_unit_test(remaining_slot_time_is_lost),
		cmocka_unit_test(time_sensitive_frames_stay_within_their_slot),
		cmocka_unit_test(time_behind_it_is_counted),
	};

	return cmocka_run_group_tests_name("scheduler late", tests, NULL, NULL);
}
