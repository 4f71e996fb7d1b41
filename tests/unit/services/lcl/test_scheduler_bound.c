/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/services/lcl/scheduler_rig.h"

#include "tests/unit/times.h"

/*
 * The bound: at each hop a frame waits for d/n - tau to d/n + tau, and over all of them d0 - tau to
 * d0 + tau. Time is exact here: take() is called when next() says so, and when a frame comes.
 */
#define FRAMES 600
#define OUT 64

struct frame {
	uint64_t in_ns, out_ns, slot;
	uint32_t bytes;
	int32_t d;
	uint8_t n, put;
	bool left;
};
static struct frame frames[FRAMES];

struct run {
	struct bp_lcl_scheduler_options o;
	struct bp_lcl_scheduler *s;
	uint64_t now;
	uint64_t wire_ends; /* at the earliest, of what left */
};

static void judge_departure(struct run *r, const struct bp_lcl_departure *d)
{
	struct frame *f = d->frame;

	assert_false(f->left);
	f->left = true;
	f->out_ns = r->now;
	assert_int_equal(d->waited_ns, r->now - f->in_ns);
	assert_int_equal(d->bytes, f->bytes);
	assert_true(d->d == f->d && d->n == f->n && d->put == f->put);
	/* neither before its slot nor before the wire is free */
	assert_true(r->now - r->o.origin_ns >= f->slot * r->o.tau_ns);
	assert_true(r->now + 1 >= r->wire_ends);
	r->wire_ends = r->now + wire_ns(&r->o, f->bytes) - 1;
}

static void take_now(struct run *r)
{
	struct bp_lcl_departure out[OUT];
	unsigned n;

	do {
		n = bp_lcl_take(r->s, r->now, out, OUT);
		for (unsigned i = 0; i < n; i++)
			judge_departure(r, &out[i]);
	} while (n == OUT);
	assert_true(bp_lcl_next(r->s, r->now) > r->now);
}

/* All that is due until then. */
static void run_until(struct run *r, uint64_t until)
{
	for (;;) {
		const uint64_t next = bp_lcl_next(r->s, r->now);

		if (next > until || next == UINT64_MAX)
			break;
		r->now = next;
		take_now(r);
	}
	if (until != UINT64_MAX) {
		r->now = until;
		take_now(r);
	}
}

static void put(struct run *r, struct frame *f)
{
	const struct bp_lcl_arrival a = {.frame = f,
		.in_ns = r->now,
		.d = f->d,
		.n = f->n,
		.bytes = f->bytes,
		.last_slot = &f->slot};

	f->in_ns = r->now;
	f->slot = 0;
	f->left = false;
	f->put = (uint8_t)bp_lcl_put(r->s, r->now, &a);
}

/* The slot that a frame is meant for, by the definition. */
static uint64_t slot_of(const struct run *r, const struct frame *f)
{
	const uint64_t since = r->now - r->o.origin_ns;
	const int64_t ahead = f->d < 0 ? 0 : f->d / f->n;

	return (since + (uint64_t)ahead) / r->o.tau_ns;
}

static void judge_wait(const struct run *r, const struct frame *f, uint64_t longest)
{
	const int64_t waited = (int64_t)(f->out_ns - f->in_ns), tau = (int64_t)r->o.tau_ns;
	const int64_t share = f->d >= 0 ? f->d / f->n : 0;

	assert_true(f->left || f->put == BP_LCL_PUT_FULL);
	if (f->put == BP_LCL_PUT_OK || f->put == BP_LCL_PUT_MOVED)
		assert_true(waited > share - tau);
	if (f->put == BP_LCL_PUT_OK)
		assert_true(waited <= share + tau + (int64_t)longest);
	if (f->put == BP_LCL_PUT_EARLY)
		assert_true(waited <= share + (int64_t)longest);
}

/*
 * Any arrivals: whatever is put into the slot that it is meant for keeps the bound, but for the
 * time of one frame. Where all frames are of one length, for no time at all.
 */
static void frames_in_their_slot_meet_the_bound(void **state)
{
	uint64_t seed = 0x1c1, count[BP_LCL_PUT_FULL + 1] = {0};

	for (unsigned round = 0; round < TEST_TIMES(600); round++) {
		const bool alike = round % 2;
		struct run r = {.o = random_port(&seed)};
		uint64_t gap;

		make_fast(&r.o, 1518, 2);
		gap = r.o.tau_ns * 4 / (1 + next_random(&seed) % 100);
		r.s = scheduler_of(&r.o);
		r.now = r.o.origin_ns + next_random(&seed) % (10 * r.o.tau_ns);
		for (unsigned i = 0; i < FRAMES; i++) {
			struct frame *f = &frames[i];
			const uint64_t r1 = next_random(&seed);

			run_until(&r, r.now + (r1 & 3 ? 0 : r1 % (4 * gap + 1)));
			f->n = (uint8_t)(1 + (r1 >> 40) % 64);
			f->bytes = alike ? 128 : 60 + (uint32_t)(r1 >> 48) % 1459;
			f->d = (int32_t)(next_random(&seed) %
					 (1 + r.o.tau_ns * (r.o.queues + 1) * f->n % 1000000000));
			if ((r1 >> 8 & 15) == 0)
				f->d = -f->d;
			put(&r, f);
			count[f->put]++;
			if (f->put == BP_LCL_PUT_OK)
				assert_int_equal(f->slot, slot_of(&r, f));
			else if (f->put == BP_LCL_PUT_MOVED)
				assert_true(f->slot > slot_of(&r, f));
			else if (f->put == BP_LCL_PUT_EARLY)
				assert_true(f->slot < slot_of(&r, f));
		}
		run_until(&r, UINT64_MAX);
		assert_int_equal(bp_lcl_measured(r.s)->held, 0);
		for (unsigned i = 0; i < FRAMES; i++)
			judge_wait(&r, &frames[i], alike ? 1 : wire_ns(&r.o, 1518));
		bp_lcl_scheduler_free(r.s);
	}
	for (unsigned v = 0; v <= BP_LCL_PUT_FULL; v++)
		assert_true(count[v] > TEST_TIMES(1000));
}

/* Frames that are meant for slots that have not begun, no more for each than the wire carries in
 * tau: all of them find their slot. */
static void schedulable_flows_are_admitted(void **state)
{
	uint64_t seed = 0xadd, bytes = 0, most = 0;

	for (unsigned round = 0; round < TEST_TIMES(300); round++) {
		struct run r = {.o = random_port(&seed)};
		uint64_t meant[64] = {0}, for_slot[64] = {0}, room;

		make_fast(&r.o, 1518, 1 + next_random(&seed) % 20);
		r.o.queue_frames = FRAMES;
		r.s = scheduler_of(&r.o);
		r.now = r.o.origin_ns;
		/* bytes with all that belongs to them on the wire */
		room = (uint64_t)((unsigned __int128)r.o.rate_bps * r.o.tau_ns / 8000000000u);
		for (unsigned i = 0; i < FRAMES; i++) {
			struct frame *f = &frames[i];
			const uint64_t r1 = next_random(&seed);
			uint64_t slot, left;

			run_until(&r, r.now + (r1 & 7 ? 0 : (r1 >> 3) % r.o.tau_ns));
			f->n = (uint8_t)(1 + (r1 >> 40) % 64);
			f->d = (int32_t)((r.o.tau_ns + next_random(&seed) %
							       (r.o.tau_ns * (r.o.queues - 1))) %
					 (1000000000 / f->n) * f->n);
			slot = slot_of(&r, f);
			f->left = true;
			f->put = BP_LCL_PUT_FULL;
			if (slot == (r.now - r.o.origin_ns) / r.o.tau_ns ||
				slot >= (r.now - r.o.origin_ns) / r.o.tau_ns + r.o.queues)
				continue;
			if (for_slot[slot % 64] != slot)
				meant[slot % 64] = 0;
			for_slot[slot % 64] = slot;
			left = room - meant[slot % 64];
			if (left < 84)
				continue;
			f->bytes = 60 + (uint32_t)(r1 >> 48) % 1459;
			if (f->bytes + 24 > left)
				f->bytes = (uint32_t)left - 24; /* to the last byte */
			meant[slot % 64] += f->bytes + 24;
			bytes += f->bytes;
			most += meant[slot % 64] == room;
			put(&r, f);
			assert_int_equal(f->put, BP_LCL_PUT_OK);
		}
		run_until(&r, UINT64_MAX);
		for (unsigned i = 0; i < FRAMES; i++)
			judge_wait(&r, &frames[i], 1);
		bp_lcl_scheduler_free(r.s);
	}
	assert_true(bytes > TEST_TIMES(10000000));
	assert_true(most > TEST_TIMES(500));
}

#define HOPS 64

/* When the next of the hops has something. */
static uint64_t soonest(struct run *hop, unsigned hops, unsigned *which)
{
	uint64_t next = UINT64_MAX;

	for (unsigned h = 0; h < hops; h++) {
		const uint64_t t = bp_lcl_next(hop[h].s, hop[h].now);

		if (t < next) {
			next = t;
			*which = h;
		}
	}
	return next;
}

struct trip {
	uint64_t in_ns, last_slot[HOPS];
	int32_t d0, d, waited;
	unsigned hop;
	bool done;
};

static void enter(struct run *r, struct trip *t, uint64_t now, unsigned hops)
{
	const struct bp_lcl_arrival a = {
		.frame = t, .in_ns = now, .d = t->d, .n = (uint8_t)(hops - t->hop), .bytes = 128};

	r->now = now;
	assert_int_equal(bp_lcl_take(r->s, now, (struct bp_lcl_departure[1]){{0}}, 0), 0);
	assert_int_equal(bp_lcl_put(r->s, now, &a), BP_LCL_PUT_OK);
}

static void pass_on(struct run *hop, unsigned h, unsigned hops, uint64_t now)
{
	struct bp_lcl_departure out[OUT];
	const unsigned n = bp_lcl_take(hop[h].s, now, out, OUT);

	hop[h].now = now;
	for (unsigned i = 0; i < n; i++) {
		struct trip *t = out[i].frame;

		assert_int_equal(t->hop, h);
		assert_int_equal(out[i].d, t->d);
		t->d = out[i].d - (int32_t)out[i].waited_ns;
		t->waited += (int32_t)out[i].waited_ns;
		if (++t->hop < hops) {
			enter(&hop[t->hop], t, now, hops);
			continue;
		}
		t->done = true;
		assert_int_equal(t->waited, now - t->in_ns);
		assert_int_equal(t->waited, t->d0 - t->d);
		assert_true(labs(t->d) <= (long)hop[0].o.tau_ns);
	}
}

/* Through 1 to 64 hops whose slots begin at any times: the sum of what was waited is d0 - d, and
 * off d0 by no more than tau, at any number of hops. */
static void from_end_to_end(void **state)
{
	static struct trip trips[100];
	uint64_t seed = 0xe2e;

	for (unsigned hops = 1; hops <= HOPS; hops += hops < 8 ? 1 : 8) {
		struct run hop[HOPS] = {0};
		uint64_t now = next_random(&seed) >> 2, next;
		const uint64_t tau = 1000 + next_random(&seed) % 100000;
		unsigned in = 0, which = 0, done = 0;

		for (unsigned h = 0; h < hops; h++) {
			hop[h].o = (struct bp_lcl_scheduler_options){
				.origin_ns = now - next_random(&seed) % (50 * tau),
				.tau_ns = tau,
				.rate_bps = 100000000000,
				.queues = 16,
				.queue_frames = 128,
			};
			hop[h].s = scheduler_of(&hop[h].o);
			hop[h].now = now;
		}
		while (in < 100 || soonest(hop, hops, &which) != UINT64_MAX) {
			next = soonest(hop, hops, &which);
			if (next != UINT64_MAX && (in == 100 || next <= now)) {
				pass_on(hop, which, hops, next);
				now = now > next ? now : next;
				continue;
			}
			/* of d/n so much that d is never used up before the last hop */
			trips[in] = (struct trip){.in_ns = now,
				.d0 = (int32_t)((6 + next_random(&seed) % 3) * tau * hops)};
			trips[in].d = trips[in].d0;
			enter(&hop[0], &trips[in++], now, hops);
			now += tau / 4 + next_random(&seed) % tau;
		}
		for (unsigned i = 0; i < in; i++)
			done += trips[i].done;
		assert_int_equal(done, 100);
		for (unsigned h = 0; h < hops; h++)
			bp_lcl_scheduler_free(hop[h].s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_in_their_slot_meet_the_bound),
		cmocka_unit_test(schedulable_flows_are_admitted),
		cmocka_unit_test(from_end_to_end),
	};

	return cmocka_run_group_tests_name("scheduler bound", tests, NULL, NULL);
}
