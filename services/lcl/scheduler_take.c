/* SPDX-License-Identifier: BSD-3-Clause */
#include <stddef.h>
#include <string.h>

#include "services/lcl/scheduler_parts.h"

#define SAME_PLACE(field)                                                                          \
	(offsetof(struct bp_lcl_departure, field) - offsetof(struct bp_lcl_departure, d) ==        \
		offsetof(struct entry, field) - offsetof(struct entry, d))
_Static_assert(SAME_PLACE(meant_ns) && SAME_PLACE(octets) && SAME_PLACE(n) && SAME_PLACE(put),
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

/* The queue that comes next, when the first one is empty and another isn't. */
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
 * Time-sensitive frames leave while best effort waits: so many ticks of the wire, from `due` on. Of
 * the pause on the wire before that, best effort would have had all but the end, in which it might
 * not have ended in time.
 */
static inline void yield_wire(struct bp_lcl_scheduler *s, uint64_t due, uint64_t wires)
{
	const uint64_t idle = due - s->wire_free, gate = s->be_most + s->guard + IN_TIME;
	uint64_t turn = s->be_turn + (idle < gate ? idle : gate);

	turn = turn < due ? turn : due;
	s->be_turn = later(s->be_turn, turn) + wires;
}

/* What is due of the queue that is first, up to the first pause on the wire. */
static inline unsigned take_queue(struct bp_lcl_scheduler *s, struct queue *q, uint64_t now_ns,
	struct bp_lcl_departure *out, unsigned max)
{
	const uint64_t now = ticks_of(s, now_ns), first = due_of(s, q);
	const bool behind = s->be_ends > now;
	/* what is written might be these, for all that the compiler knows */
	const uint64_t origin_ns = s->origin_ns, per_octet = s->per_octet;
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
		const uint64_t wire = wire_by(per_octet, e->octets);

		/* each when the one before ends, but for those that came later */
		if (due > now)
			break;
		if (e->in_ns > latest_ns) { /* those that came together came at one time */
			if (e->in_ns > origin_ns + (due >> TICK_SHIFT))
				break;
			latest_ns = e->in_ns;
		}
		/* what is due came before now */
		out[n].frame = e->frame;
		out[n].waited_ns = (behind ? ns_of(s, s->be_ends + wires) : now_ns) - e->in_ns;
		copy_label(&out[n], e);
		__builtin_prefetch(e->frame); /* who takes it will soon read it */
		due += wire;
		wires += wire;
		head++;
	} while (++n < max);
	q->head = head;
	q->held -= wires;
	s->measured.held -= n;
	if (s->measured.best_effort != 0)
		yield_wire(s, first, wires);
	s->wire_free = due;
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

static void leave_best_effort(struct bp_lcl_scheduler *s, struct bp_lcl_departure *out)
{
	const struct best_effort *b = &s->be[s->be_head];

	*out = (struct bp_lcl_departure){.frame = b->frame, .octets = (uint16_t)b->octets};
	s->be_head = s->be_head + 1 == s->be_places ? 0 : s->be_head + 1;
	s->measured.best_effort--;
}

/* Best effort waits for a slot: what the wire loses is counted once for each. */
static void gate(struct bp_lcl_scheduler *s, uint64_t now, uint64_t need)
{
	const uint64_t slot = s->queue[s->first].slot, start = later(now, s->nic_free);

	/* which is not made up for */
	s->be_turn = later(s->be_turn, now);
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

	if (now > s->be_looked) {
		s->be_before = s->be_looked;
		s->be_looked = now;
	}
	/* what could have left at the look before, and was not taken, is not made up for */
	s->be_turn = later(s->be_turn, s->be_before);
	while (n < max && s->measured.best_effort != 0) {
		const uint64_t start = later(now, s->nic_free);
		uint64_t at, wire;

		if (!best_effort_may(s, now, need, &at)) {
			if (at == UINT64_MAX)
				gate(s, now, need);
			break;
		}
		leave_best_effort(s, &out[n]);
		wire = wire_time(s, out[n].octets);
		s->be_turn = best_effort_turn(s, start) + wire;
		s->nic_free = s->be_ends = start + wire;
		/* what comes for the slot that is on waits for it, and counts that */
		s->wire_free = later(s->wire_free, s->be_turn);
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
		wire = wire_time(s, out[n].octets);
		q->held -= wire;
		q->planned = q->planned && !is_empty(q);
		if (is_empty(q) && s->measured.held != 0)
			find_first(s);
	}
	for (; n < max && s->measured.best_effort != 0; n++)
		leave_best_effort(s, &out[n]);
	return n;
}
