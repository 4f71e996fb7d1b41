/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/lcl/scheduler_parts.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

/* Within these no product of the fast path overflows, and each reciprocal is exact. */
#define TAU_MIN_NS 16
#define TAU_MAX_NS 100000000
#define PLACES_MAX (1u << 24)
#define RATE_MIN_BPS 64000
/* So long after the origin that moves, with the next pause: half of the nine years. */
#define ORIGIN_MOVES_NS (1ull << 57)

static bool can_be(const struct bp_lcl_scheduler_options *o)
{
	return o->tau_ns >= TAU_MIN_NS && o->tau_ns <= TAU_MAX_NS && o->rate_bps >= RATE_MIN_BPS &&
	       o->queues >= 2 && o->queues <= BP_LCL_QUEUES_MAX && o->queue_frames != 0 &&
	       o->queue_frames <= PLACES_MAX && o->guard_ns <= TAU_MAX_NS &&
	       o->best_effort_max <= BP_LCL_OCTETS_MAX;
}

static bool make_queues(struct bp_lcl_scheduler *s)
{
	const size_t places = (size_t)s->mask + 1;
	struct entry *entries = calloc(s->n_queues * places, sizeof(*entries));

	s->queue = aligned_alloc(alignof(struct queue), s->n_queues * sizeof(*s->queue));
	s->be = calloc(later(s->be_places, 1), sizeof(*s->be));
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
	s->per_octet = ((8000000000u << TICK_SHIFT) << OCTET_SHIFT) / o->rate_bps;
	s->k = o->queues;
	s->n_queues = o->queues + 1;
	s->places = o->queue_frames;
	while (s->mask < s->places - 1)
		s->mask = 2 * s->mask + 1;
	s->be_places = o->best_effort_frames;
	s->guard = o->guard_ns << TICK_SHIFT;
	s->be_most = wire_time(s, o->best_effort_max);
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

/* Time begins anew with the current slot, the number of which goes on: callers know slots by it.
 * Nothing is held, so that no queue knows a time that still counts. */
static __attribute__((noinline)) void move_origin(struct bp_lcl_scheduler *s)
{
	const uint64_t by = s->slot_begin_ns;
	/* of more than 64 bits of ticks, all that was is over */
	const uint64_t ticks = by <= UINT64_MAX >> TICK_SHIFT ? by << TICK_SHIFT : UINT64_MAX;

	s->origin_ns += by;
	s->slot_begin_ns = 0;
	s->wire_free = moved(s->wire_free, ticks);
	s->nic_free = moved(s->nic_free, ticks);
	s->ideal_free = moved(s->ideal_free, ticks);
	s->be_ends = moved(s->be_ends, ticks);
	s->be_looked = moved(s->be_looked, ticks);
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
	/* all that is held is of slots that were passed by now */
	slots = (since - s->slot_begin_ns) / s->tau_ns;
	s->slot += slots;
	s->slot_begin_ns += slots * s->tau_ns;
	s->at = (uint32_t)(s->slot % s->n_queues);
	if (s->slot_begin_ns >= ORIGIN_MOVES_NS && s->measured.held == 0 &&
		s->measured.best_effort == 0)
		move_origin(s);
}

/* The first whole nanosecond from then on, in ticks. */
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
