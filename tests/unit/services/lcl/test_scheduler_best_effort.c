/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/services/lcl/scheduler_rig.h"

#include "tests/unit/times.h"

/*
 * Best effort next to time-sensitive frames, on a wire that the test itself follows: with as much
 * of it as there is place for, time-sensitive frames begin on the wire when they begin without, or
 * by one longest best-effort frame later; none is handed out that ends too late for a slot that is
 * known; and the wire is idle only where that is counted.
 */
#define FRAMES 400
#define OUT 16
#define LONGEST 1518u

struct frame {
	uint64_t begins, slot; /* on the wire; 0 before */
	uint32_t bytes;
	int32_t d;
	uint8_t n, put;
};
static struct frame frames[2][FRAMES], plain;

struct run {
	struct bp_lcl_scheduler_options o;
	struct bp_lcl_scheduler *s;
	uint64_t now, seed;
	uint64_t idle_at;     /* when the wire is */
	uint64_t idle;        /* so long it was, while best effort waited */
	uint32_t in_slot[64]; /* by slot: frames that are held */
	uint64_t gaps;        /* so often */
	uint64_t handed;      /* of best effort */
	bool saturated;
};

static void fill_up(struct run *r)
{
	while (r->saturated && bp_lcl_put_best_effort(r->s, r->now, &plain,
				       next_random(&r->seed) % 3 ? LONGEST : 60))
		;
}

/* Begin of the next slot that is to be kept free for what it holds. */
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

	if (r->saturated)
		r->idle += begins - r->idle_at;
	r->gaps += r->saturated && begins != r->idle_at;
	r->idle_at = begins + wire;
	if (f != &plain) {
		assert_true(d->n != 0 && f->begins == 0);
		f->begins = begins;
		r->in_slot[f->slot % 64]--;
		return;
	}
	r->handed++;
	/* with the frames before it on the link, at most the time of a longest frame */
	assert_true(begins + wire - r->now <= wire_ns(&r->o, LONGEST));
	assert_true(next_begin(r) == UINT64_MAX || begins + wire + r->o.guard_ns <= next_begin(r));
	/* no time-sensitive frame that could have gone is held */
	assert_int_equal(r->in_slot[(r->now - r->o.origin_ns) / r->o.tau_ns % 64], 0);
}

static void take(struct run *r)
{
	struct bp_lcl_departure out[OUT];
	unsigned n;

	do {
		fill_up(r);
		n = bp_lcl_take(r->s, r->now, out, OUT);
		for (unsigned i = 0; i < n; i++)
			evaluate(r, &out[i]);
	} while (n != 0);
	assert_true(bp_lcl_next(r->s, r->now) > r->now);
}

static void run_until(struct run *r, uint64_t until)
{
	for (uint64_t next; (next = bp_lcl_next(r->s, r->now)) < until;) {
		r->now = next;
		take(r);
	}
	r->now = until;
	take(r);
}

/* The same frames for the same seed. ahead: of slots that have begun, none gets a frame. */
static void run(struct run *r, struct frame *all, uint64_t seed, bool ahead)
{
	const uint64_t tau = r->o.tau_ns, gap = tau * 2 / (1 + next_random(&seed) % 40);

	r->s = scheduler_of(&r->o);
	r->now = r->idle_at = r->o.origin_ns;
	r->seed = seed;
	take(r);
	for (unsigned i = 0; i < FRAMES; i++) {
		struct frame *f = &all[i];
		const uint64_t r1 = next_random(&seed);
		struct bp_lcl_arrival a = {.frame = f, .last_slot = &f->slot};

		run_until(r, r->now + (r1 & 1 ? 0 : (r1 >> 1) % (2 * gap + 1)));
		f->n = a.n = (uint8_t)(1 + (r1 >> 40) % 12);
		f->bytes = a.bytes = 60 + (uint32_t)(r1 >> 48) % 1459;
		f->d = a.d = (int32_t)(next_random(&seed) % (tau * (r->o.queues - 1) * f->n));
		if (ahead)
			f->d = a.d += (int32_t)tau * f->n;
		f->begins = f->slot = 0;
		a.in_ns = r->now;
		f->put = (uint8_t)bp_lcl_put(r->s, r->now, &a);
		if (f->put != BP_LCL_PUT_FULL)
			r->in_slot[f->slot % 64]++;
		take(r);
	}
	run_until(r, r->now + (r->o.queues + 2) * tau);
	assert_int_equal(bp_lcl_measured(r->s)->held, 0);
}

static void it_delays_others_by_one_frame_at_most(void **state)
{
	static const uint32_t ns_each[] = {1, 2, 4, 5, 10, 20, 100, 400};
	uint64_t seed = 0xbe57, worst = 0, handed = 0, gated = 0, moved = 0;

	for (unsigned round = 0; round < TEST_TIMES(400); round++) {
		const bool ahead = round % 2;
		struct run with = {.o = random_port(&seed)}, without;

		/* bytes of whole nanoseconds, and time for a longest frame in each slot */
		with.o.tau_ns = 1000 + with.o.tau_ns % 100000;
		with.o.rate_bps = 8000000000u / ns_each[next_random(&seed) % 8];
		while (wire_ns(&with.o, LONGEST) * 2 > with.o.tau_ns)
			with.o.tau_ns *= 2;
		with.o.guard_ns = with.o.guard_ns % (with.o.tau_ns / 4);
		with.o.queues = 2 + with.o.queues % 14;
		with.o.queue_frames = FRAMES;
		without = with;
		with.saturated = true;
		with.o.best_effort_frames = 8;
		seed = next_random(&seed);
		run(&with, frames[0], seed, ahead);
		run(&without, frames[1], seed, ahead);
		for (unsigned i = 0; i < FRAMES; i++) {
			const struct frame *a = &frames[0][i], *b = &frames[1][i];
			const uint64_t by = a->begins - b->begins;

			/* the same slots: time-sensitive frames do not depend on best effort */
			assert_true(a->put == b->put && a->slot == b->slot);
			assert_true(a->begins >= b->begins);
			assert_true(by <= wire_ns(&with.o, LONGEST));
			worst = worst > by * 1000 / wire_ns(&with.o, LONGEST)
					? worst
					: by * 1000 / wire_ns(&with.o, LONGEST);
			moved += a->put == BP_LCL_PUT_MOVED;
		}
		if (ahead) {
			assert_int_equal(bp_lcl_measured(with.s)->gated_ns, with.idle);
			assert_int_equal(bp_lcl_measured(with.s)->gated, with.gaps);
		}
		gated += bp_lcl_measured(with.s)->gated;
		handed += with.handed;
		bp_lcl_scheduler_free(with.s);
		bp_lcl_scheduler_free(without.s);
	}
	/* it came to that */
	assert_true(worst > 900);
	assert_true(handed > TEST_TIMES(40000));
	assert_true(gated > TEST_TIMES(4000));
	assert_true(moved > TEST_TIMES(4000));
}

/* The wire is its own, and it is lost in no nanosecond. */
static void single_flow_has_the_link(void **state)
{
	uint64_t seed = 0xa10e;

	for (unsigned round = 0; round < TEST_TIMES(200); round++) {
		struct run r = {.o = random_port(&seed), .saturated = true};
		uint64_t wire;

		r.o.rate_bps = 8000000000u;
		r.o.best_effort_frames = 1 + r.o.best_effort_frames;
		r.s = scheduler_of(&r.o);
		r.now = r.idle_at = r.o.origin_ns;
		r.seed = seed;
		wire = wire_ns(&r.o, LONGEST);
		take(&r);
		run_until(&r, r.now + 1000 * wire);
		assert_int_equal(r.idle, 0);
		assert_true(r.idle_at >= r.now && r.idle_at <= r.now + wire);
		assert_int_equal(bp_lcl_measured(r.s)->gated, 0);
		bp_lcl_scheduler_free(r.s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_delays_others_by_one_frame_at_most),
		cmocka_unit_test(single_flow_has_the_link),
	};

	return cmocka_run_group_tests_name("scheduler best effort", tests, NULL, NULL);
}
