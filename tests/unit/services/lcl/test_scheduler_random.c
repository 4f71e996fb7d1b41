/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/services/lcl/scheduler_rig.h"

#include "tests/unit/times.h"

/*
 * Whatever comes, and whenever it is checked: each frame that was taken comes out once, those of
 * a flow in order, none before its slot, and what is said of it is what happened. Everything that
 * is held has its bound.
 */
#define FRAMES 3000
#define FLOWS 4
#define OUT 32

struct frame {
	uint64_t in_ns, slot;
	uint32_t bytes, of_flow; /* its place in the flow */
	int32_t d;
	uint8_t n, put, flow;
	bool held, best_effort;
};

struct run {
	struct bp_lcl_scheduler_options o;
	struct bp_lcl_scheduler *s;
	uint64_t now, seed;
	uint64_t wire_free; /* at the latest, of what left */
	struct frame frame[FRAMES];
	uint32_t frames, held, best_effort;
	uint64_t last_slot[FLOWS];
	uint32_t in[FLOWS],
		out[FLOWS]; /* frames of each flow that were taken; that left, at most */
	uint32_t be_in, be_out;
};

static uint64_t counts[BP_LCL_PUT_FULL + 1], be_refused, stalls, behind;

static struct frame *next_frame(struct run *r)
{
	struct frame *f = &r->frame[r->frames++];

	f->bytes = 60 + (uint32_t)next_random(&r->seed) % 1459;
	return f;
}

static void put_best_effort(struct run *r)
{
	struct frame *f = next_frame(r);
	const bool taken = bp_lcl_put_best_effort(r->s, r->now, f, f->bytes);

	assert_true(taken == (r->best_effort < r->o.best_effort_frames));
	f->best_effort = true;
	f->held = taken;
	f->of_flow = r->be_in;
	r->be_in += taken;
	r->best_effort += taken;
	be_refused += !taken;
}

static void put_sensitive(struct run *r)
{
	const uint64_t r1 = next_random(&r->seed), tau = r->o.tau_ns;
	struct frame *f = next_frame(r);
	struct bp_lcl_arrival a = {.frame = f, .bytes = f->bytes};
	uint64_t before;

	f->flow = (uint8_t)(r1 % FLOWS);
	f->n = a.n = (uint8_t)(1 + (r1 >> 8) % 64);
	f->d = (int32_t)(next_random(&r->seed) % (1 + tau * (r->o.queues + 1) * f->n % 1000000000));
	f->d = a.d = (r1 >> 16 & 7) == 0 ? -f->d : f->d;
	/* handed over by another worker, or as it comes */
	f->in_ns = r->now - ((r1 >> 20 & 3) == 0 ? (r1 >> 24) % (3 * tau) : 0);
	if (f->in_ns > r->now)
		f->in_ns = r->now;
	a.in_ns = f->in_ns;
	before = r->last_slot[f->flow];
	a.last_slot = &r->last_slot[f->flow];
	f->put = (uint8_t)bp_lcl_put(r->s, r->now, &a);
	counts[f->put]++;
	f->held = f->put != BP_LCL_PUT_FULL;
	f->slot = r->last_slot[f->flow];
	assert_true(f->slot >= before);
	if (!f->held) {
		assert_int_equal(f->slot, before);
		return;
	}
	/* no further than the queues reach */
	assert_true(f->slot >= (r->now - r->o.origin_ns) / tau);
	assert_true(f->slot < (r->now - r->o.origin_ns) / tau + r->o.queues);
	f->of_flow = r->in[f->flow]++;
	r->held++;
}

static void evaluate(struct run *r, const struct bp_lcl_departure *d, bool flushed)
{
	struct frame *f = d->frame;
	const uint64_t begins = r->now > r->wire_free ? r->now : r->wire_free;

	assert_true(f->held);
	f->held = false;
	assert_int_equal(d->bytes, f->bytes);
	r->wire_free = begins + wire_ns(&r->o, f->bytes);
	if (f->best_effort) {
		assert_true(d->n == 0 && d->waited_ns == 0 && d->d == 0 && d->put == 0);
		assert_int_equal(f->of_flow, r->be_out);
		r->be_out++;
		r->best_effort--;
		return;
	}
	assert_true(d->n == f->n && d->d == f->d && d->put == f->put);
	/* behind best effort, until it began on the wire */
	assert_true(d->waited_ns >= r->now - f->in_ns && d->waited_ns <= begins - f->in_ns);
	assert_true(d->waited_ns == r->now - f->in_ns || r->be_out != 0);
	behind += d->waited_ns != r->now - f->in_ns;
	assert_int_equal(f->of_flow, r->out[f->flow]);
	r->out[f->flow]++;
	r->held--;
	if (flushed)
		return;
	assert_true(f->slot <= (r->now - r->o.origin_ns) / r->o.tau_ns);
}

/* Returns how many left. */
static unsigned take(struct run *r, unsigned max, bool until_empty)
{
	struct bp_lcl_departure out[OUT];
	unsigned n, all = 0;

	do {
		n = bp_lcl_take(r->s, r->now, out, max);
		assert_true(n <= max);
		all += n;
		for (unsigned i = 0; i < n; i++)
			evaluate(r, &out[i], false);
	} while (until_empty && n == max);
	if (n < max)
		assert_true(bp_lcl_next(r->s, r->now) > r->now);
	assert_true(
		(bp_lcl_next(r->s, r->now) == UINT64_MAX) == (r->held == 0 && r->best_effort == 0));
	return all;
}

/* When it says that something leaves, something does. */
static bool wait_for_next(struct run *r)
{
	const uint64_t next = bp_lcl_next(r->s, r->now);

	if (next == UINT64_MAX)
		return false;
	assert_true(next >= r->now);
	r->now = next;
	assert_true(take(r, OUT, true) != 0);
	return true;
}

static void step(struct run *r, uint64_t load)
{
	const uint64_t r1 = next_random(&r->seed), tau = r->o.tau_ns;
	const uint32_t most = (r->o.queues + 1) * r->o.queue_frames;

	switch (r1 & 7) {
	case 0:
		if (r1 >> 3 & 1)
			wait_for_next(r);
		else
			r->now += (r1 >> 8) % (tau * 8 / load + 2);
		break;
	case 1:
		/* the worker was away for long */
		if ((r1 >> 3 & 31) == 0) {
			r->now += (r1 >> 8) % (200 * tau);
			stalls++;
		}
		break;
	case 2:
		put_best_effort(r);
		break;
	case 3:
		take(r, 1 + (unsigned)(r1 >> 8) % OUT, r1 >> 3 & 1);
		break;
	default:
		/* mostly as it should be: first what is due */
		if (r1 >> 3 & 7)
			take(r, OUT, true);
		put_sensitive(r);
	}
	assert_true(r->held <= most);
	assert_int_equal(bp_lcl_measured(r->s)->held, r->held);
	assert_int_equal(bp_lcl_measured(r->s)->best_effort, r->best_effort);
}

/* The remaining frames leave when they are due, or are flushed. */
static void finish(struct run *r)
{
	if (next_random(&r->seed) % 2) {
		while (wait_for_next(r))
			;
	} else {
		struct bp_lcl_departure out[OUT];
		bool plain = false;
		unsigned n;

		do {
			n = bp_lcl_flush(r->s, out, 7);
			for (unsigned i = 0; i < n; i++) {
				/* of the flushed, best effort last */
				assert_true(!plain || out[i].n == 0);
				plain = out[i].n == 0;
				evaluate(r, &out[i], true);
			}
		} while (n == 7);
		assert_true(bp_lcl_next(r->s, r->now) == UINT64_MAX);
	}
	assert_true(r->held == 0 && r->best_effort == 0);
	for (unsigned i = 0; i < r->frames; i++)
		assert_false(r->frame[i].held);
}

static void nothing_is_lost_or_out_of_order(void **state)
{
	struct run *r = malloc(sizeof(*r));
	uint64_t seed = 0x105e;

	assert_non_null(r);
	for (unsigned round = 0; round < TEST_TIMES(1200); round++) {
		uint64_t load;

		memset(r, 0, sizeof(*r));
		r->seed = next_random(&seed);
		r->o = random_port(&r->seed);
		load = 1 + next_random(&r->seed) % 50;
		r->s = scheduler_of(&r->o);
		/* long after the origin: so long as a machine may be up */
		r->now = r->o.origin_ns + next_random(&r->seed) % (1ull << (1 + round % 56));
		while (r->frames < FRAMES)
			step(r, load);
		finish(r);
		bp_lcl_scheduler_free(r->s);
	}
	for (unsigned v = 0; v <= BP_LCL_PUT_FULL; v++)
		assert_true(counts[v] > TEST_TIMES(20000));
	assert_true(be_refused > TEST_TIMES(20000));
	assert_true(stalls > TEST_TIMES(1000));
	assert_true(behind > TEST_TIMES(1000));
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_lost_or_out_of_order),
	};

	return cmocka_run_group_tests_name("scheduler random", tests, NULL, NULL);
}
