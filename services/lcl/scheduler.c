/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/lcl/scheduler.h"

#include <stdalign.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "services/lcl/scheduler_parts.h"

/* Within these no product of the fast path overflows, and each reciprocal is exact. */
#define TAU_MIN_NS 16
#define TAU_MAX_NS 100000000
#define PLACES_MAX (1u << 24)
#define RATE_MIN_BPS 64000
/* Minimum time after the origin at which the next pause moves it: half of the nine years. */
#define ORIGIN_MOVES_NS (1ull << 57)

static bool can_be(const struct bp_lcl_scheduler_options *o)
{
	return o->tau_ns >= TAU_MIN_NS && o->tau_ns <= TAU_MAX_NS && o->rate_bps >= RATE_MIN_BPS &&
	       o->queues >= 2 && o->queues <= BP_LCL_QUEUES_MAX && o->queue_frames != 0 &&
	       o->queue_frames <= PLACES_MAX && o->guard_ns <= TAU_MAX_NS &&
	       o->best_effort_max <= BP_LCL_BYTES_MAX;
}

static bool make_queues(struct bp_lcl_scheduler *s)
{
	const size_t places = (size_t)s->mask + 1;
	struct entry *entries = calloc(s->n_queues * places, sizeof(*entries));

	s->queue = aligned_alloc(alignof(struct queue), s->n_queues * sizeof(*s->queue));
	s->be = calloc(later(s->be_depth, 1), sizeof(*s->be));
	if (entries == NULL || s->queue == NULL || s->be == NULL) {
		free(entries);
		return false;
	}
	for (uint32_t i = 0; i < s->n_queues; i++) {
		s->queue[i] = (struct queue){.slot = SLOT_NONE, .entry = entries + i * places};
	}
	return true;
}

static void free_parts(struct bp_lcl_scheduler *s)
{
	free(s->queue);
	free(s->be);
	free(s);
}

struct bp_lcl_scheduler *bp_lcl_scheduler_create(const struct bp_lcl_scheduler_options *o)
{
	struct bp_lcl_scheduler *s;

	if (!can_be(o))
		return NULL;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return NULL;
	s->origin_ns = s->last_ns = o->origin_ns;
	s->tau_ns = o->tau_ns;
	s->tau = o->tau_ns << TICK_SHIFT;
	s->per_tau = UINT64_MAX / o->tau_ns + 1;
	s->span_ns = o->queues * o->tau_ns;
	s->per_byte = ((8000000000u << TICK_SHIFT) << BYTE_SHIFT) / o->rate_bps;
	s->k = o->queues;
	s->n_queues = o->queues + 1;
	s->places = o->queue_frames;
	while (s->mask < s->places - 1)
		s->mask = 2 * s->mask + 1;
	s->be_depth = o->best_effort_frames;
	s->guard = o->guard_ns << TICK_SHIFT;
	s->be_most = tx_time(s, o->best_effort_max);
	s->gated_slot = SLOT_NONE;
	if (!make_queues(s)) {
		free_parts(s);
		return NULL;
	}
	return s;
}

void bp_lcl_scheduler_free(struct bp_lcl_scheduler *s)
{
	if (s == NULL)
		return;
	free(s->queue[0].entry);
	free_parts(s);
}

static void begin_slot(struct bp_lcl_scheduler *s, const struct queue *q)
{
	if (q->slot == s->slot && q->held != 0)
		s->ideal_free = later(s->ideal_free, q->begin) + q->held;
}

static uint64_t moved(uint64_t ticks, uint64_t by)
{
	return ticks > by ? ticks - by : 0;
}

/* Moves the origin of time to the current slot; the slot number continues, since callers identify
 * slots by it. No frame is held, so no queue stores a valid time. */
static __attribute__((noinline)) void move_origin(struct bp_lcl_scheduler *s)
{
	const uint64_t by = s->slot_begin_ns;
	/* with more than 64 bits of ticks, all earlier times are in the past */
	const uint64_t ticks = by <= UINT64_MAX >> TICK_SHIFT ? by << TICK_SHIFT : UINT64_MAX;

	s->origin_ns += by;
	s->slot_begin_ns = 0;
	s->link_free = moved(s->link_free, ticks);
	s->nic_free = moved(s->nic_free, ticks);
	s->ideal_free = moved(s->ideal_free, ticks);
	s->be_ends = moved(s->be_ends, ticks);
	s->be_polled = moved(s->be_polled, ticks);
	s->be_before = moved(s->be_before, ticks);
}

void bp_lcl_advance(struct bp_lcl_scheduler *s, uint64_t now_ns)
{
	const uint64_t since = now_ns - s->origin_ns;
	uint64_t slots;

	for (unsigned i = 0; i < s->n_queues && since >= s->slot_begin_ns + s->tau_ns; i++) {
		s->slot++;
		s->slot_begin_ns += s->tau_ns;
		s->at = queue_after(s, s->at);
		begin_slot(s, &s->queue[s->at]);
	}
	if (since < s->slot_begin_ns + s->tau_ns)
		return;
	/* all held frames are in slots that have ended */
	slots = (since - s->slot_begin_ns) / s->tau_ns;
	s->slot += slots;
	s->slot_begin_ns += slots * s->tau_ns;
	s->at = (uint32_t)(s->slot % s->n_queues);
	if (s->slot_begin_ns >= ORIGIN_MOVES_NS && s->measured.held == 0 &&
		s->measured.best_effort == 0)
		move_origin(s);
}

/* The first whole nanosecond from this time on, in ticks. */
static uint64_t whole(uint64_t ticks)
{
	const uint64_t part = (1u << TICK_SHIFT) - 1;

	return (ticks + part) & ~part;
}

uint64_t bp_lcl_next(const struct bp_lcl_scheduler *s, uint64_t now_ns)
{
	const uint64_t now = ticks_of(s, now_ns);
	uint64_t need = UINT64_MAX, at;

	if (s->measured.held != 0)
		need = due_of(s, &s->queue[s->first]);
	if (s->measured.best_effort != 0) {
		best_effort_may(s, now, need, &at);
		at = at == UINT64_MAX ? at : whole(at);
		/* in a part of a nanosecond, it may have become too late */
		if (at < need && best_effort_may(s, at, need, &at))
			need = at;
	}
	if (need == UINT64_MAX)
		return UINT64_MAX;
	need = ns_of(s, whole(need));
	return later(need, now_ns);
}

const struct bp_lcl_measured *bp_lcl_measured(const struct bp_lcl_scheduler *s)
{
	return &s->measured;
}

void bp_lcl_on_slot(
	struct bp_lcl_scheduler *s, void (*began)(void *arg, uint64_t late_ns), void *arg)
{
	s->began = began;
	s->began_arg = arg;
}

/* ---- departures ---- */

#define SAME_PLACE(field)                                                                          \
	(offsetof(struct bp_lcl_departure, field) - offsetof(struct bp_lcl_departure, d) ==        \
		offsetof(struct entry, field) - offsetof(struct entry, d))
_Static_assert(SAME_PLACE(meant_ns) && SAME_PLACE(bytes) && SAME_PLACE(n) && SAME_PLACE(put),
	"they go in one piece");

/* All from d on. */
static inline void copy_label(struct bp_lcl_departure *out, const struct entry *e)
{
	memcpy(&out->d, &e->d, 3 * sizeof(uint32_t));
}

static inline void fill(struct bp_lcl_departure *out, const struct entry *e, uint64_t now_ns)
{
	out->frame = e->frame;
	out->waited_ns = now_ns > e->in_ns ? now_ns - e->in_ns : 0;
	copy_label(out, e);
}

/* The first frame of a queue leaves. */
static inline void leave(
	struct bp_lcl_scheduler *s, struct queue *q, uint64_t now_ns, struct bp_lcl_departure *out)
{
	fill(out, &q->entry[q->head & s->mask], now_ns);
	q->head++;
	s->measured.held--;
}

/* Finds the next non-empty queue, if the first one is empty and another is not. */
static inline void find_first(struct bp_lcl_scheduler *s)
{
	do
		s->first = queue_after(s, s->first);
	while (is_empty(&s->queue[s->first]));
}

/* The first of the frames that were meant for the slot before it began is leaving. */
static void slot_began(struct bp_lcl_scheduler *s, struct queue *q, uint64_t now, uint64_t due)
{
	q->planned = false;
	s->measured.slots++;
	if (s->began != NULL)
		s->began(s->began_arg, (now - due) >> TICK_SHIFT);
}

/*
 * Time-sensitive frames leave while best effort waits: they take these ticks of the link from `due`
 * on. Best effort would have used the pause on the link before that, except its end, in which a
 * frame might not have ended in time.
 */
static inline void yield_link(struct bp_lcl_scheduler *s, uint64_t due, uint64_t wires)
{
	const uint64_t idle = due - s->link_free, gate = s->be_most + s->guard + IN_TIME;
	uint64_t turn = s->be_next_tx + (idle < gate ? idle : gate);

	turn = turn < due ? turn : due;
	s->be_next_tx = later(s->be_next_tx, turn) + wires;
}

/* Takes the due frames of the first queue, up to the first pause on the link. */
static inline unsigned take_queue(struct bp_lcl_scheduler *s, struct queue *q, uint64_t now_ns,
	struct bp_lcl_departure *out, unsigned max)
{
	const uint64_t now = ticks_of(s, now_ns), first = due_of(s, q);
	const bool behind = s->be_ends > now;
	/* the compiler must assume that the stores alias these */
	const uint64_t origin_ns = s->origin_ns, per_byte = s->per_byte;
	const struct entry *entry = q->entry;
	const uint32_t mask = s->mask;
	uint64_t due = first, wires = 0, latest_ns = 0;
	uint32_t head = q->head;
	unsigned n = 0;

	if (due > now)
		return 0;
	if (q->planned)
		slot_began(s, q, now, due);
	max = max < q->tail - head ? max : q->tail - head;
	do {
		const struct entry *e = &entry[head & mask];
		const uint64_t wire = tx_time_of(per_byte, e->bytes);

		/* each is due when the one before ends, except frames that arrived later */
		if (due > now)
			break;
		if (e->in_ns > latest_ns) { /* frames of one burst have the same arrival time */
			if (e->in_ns > origin_ns + (due >> TICK_SHIFT))
				break;
			latest_ns = e->in_ns;
		}
		/* a due frame arrived before now */
		out[n].frame = e->frame;
		out[n].waited_ns = (behind ? ns_of(s, s->be_ends + wires) : now_ns) - e->in_ns;
		copy_label(&out[n], e);
		__builtin_prefetch(e->frame); /* the caller reads it soon */
		due += wire;
		wires += wire;
		head++;
	} while (++n < max);
	q->head = head;
	q->held -= wires;
	s->measured.held -= n;
	if (s->measured.best_effort != 0)
		yield_link(s, first, wires);
	s->link_free = due;
	s->nic_free = later(s->nic_free, now) + wires;
	s->be_ends += behind ? wires : 0;
	return n;
}

static unsigned take_sensitive(
	struct bp_lcl_scheduler *s, uint64_t now_ns, struct bp_lcl_departure *out, unsigned max)
{
	unsigned n = 0;

	while (n < max && s->measured.held != 0) {
		struct queue *q = &s->queue[s->first];
		const unsigned took = take_queue(s, q, now_ns, &out[n], max - n);

		n += took;
		if (took == 0)
			break;
		if (is_empty(q) && s->measured.held != 0)
			find_first(s);
	}
	return n;
}

static void send_best_effort(struct bp_lcl_scheduler *s, struct bp_lcl_departure *out)
{
	const struct best_effort *b = &s->be[s->be_head];

	*out = (struct bp_lcl_departure){.frame = b->frame, .bytes = (uint16_t)b->bytes};
	s->be_head = s->be_head + 1 == s->be_depth ? 0 : s->be_head + 1;
	s->measured.best_effort--;
}

/* Best effort waits for a slot: the lost link time is counted once for each slot. */
static void gate(struct bp_lcl_scheduler *s, uint64_t now, uint64_t need)
{
	const uint64_t slot = s->queue[s->first].slot, start = later(now, s->nic_free);

	/* the lost time is not compensated */
	s->be_next_tx = later(s->be_next_tx, now);
	if (slot == s->gated_slot || start >= need)
		return;
	s->gated_slot = slot;
	s->measured.gated++;
	s->measured.gated_ns += (need - start) >> TICK_SHIFT;
}

static unsigned take_best_effort(
	struct bp_lcl_scheduler *s, uint64_t now_ns, struct bp_lcl_departure *out, unsigned max)
{
	const uint64_t now = ticks_of(s, now_ns);
	const uint64_t need = s->measured.held != 0 ? due_of(s, &s->queue[s->first]) : UINT64_MAX;
	unsigned n = 0;

	if (now > s->be_polled) {
		s->be_before = s->be_polled;
		s->be_polled = now;
	}
	/* link time before the last poll that best effort did not use is not compensated */
	s->be_next_tx = later(s->be_next_tx, s->be_before);
	while (n < max && s->measured.best_effort != 0) {
		const uint64_t start = later(now, s->nic_free);
		uint64_t at, wire;

		if (!best_effort_may(s, now, need, &at)) {
			if (at == UINT64_MAX)
				gate(s, now, need);
			break;
		}
		send_best_effort(s, &out[n]);
		wire = tx_time(s, out[n].bytes);
		s->be_next_tx = best_effort_next_tx(s, start) + wire;
		s->nic_free = s->be_ends = start + wire;
		/* a frame that arrives for the current slot waits for this frame, and counts
		 * that */
		s->link_free = later(s->link_free, s->be_next_tx);
		n++;
	}
	return n;
}

unsigned bp_lcl_take(
	struct bp_lcl_scheduler *s, uint64_t now_ns, struct bp_lcl_departure *out, unsigned max)
{
	unsigned n;

	advance(s, now_ns);
	n = take_sensitive(s, now_ns, out, max);
	if (n < max && s->measured.best_effort != 0)
		n += take_best_effort(s, now_ns, out + n, max - n);
	return n;
}

unsigned bp_lcl_flush(struct bp_lcl_scheduler *s, struct bp_lcl_departure *out, unsigned max)
{
	unsigned n = 0;

	for (; n < max && s->measured.held != 0; n++) {
		struct queue *q = &s->queue[s->first];
		uint64_t wire;

		leave(s, q, s->last_ns, &out[n]);
		wire = tx_time(s, out[n].bytes);
		q->held -= wire;
		q->planned = q->planned && !is_empty(q);
		if (is_empty(q) && s->measured.held != 0)
			find_first(s);
	}
	for (; n < max && s->measured.best_effort != 0; n++)
		send_best_effort(s, &out[n]);
	return n;
}
