/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_LCL_SCHEDULER_PARTS_H
#define BP_SERVICES_LCL_SCHEDULER_PARTS_H

#include "services/lcl/scheduler.h"

#include "biplane/lcl.h"

/*
 * The memory layout of a scheduler; only for scheduler.c and scheduler_put.c.
 *
 * Time is in ticks of 1/64 ns since the origin, so that at 100 Gbit/s a byte is 5 ticks and the
 * error of a slot of short frames is one or two nanoseconds; 64 bits of them last for nine years,
 * and the origin is moved (move_origin()) before this time is over. Callers see whole nanoseconds:
 * a frame is dequeued at the first one at which it is due.
 *
 * There is one more queue than the K that accept frames: the slot before the current one may still
 * have frames when its time is over, and they must not block the slot that is K - 1 ahead. The
 * queued frames never belong to slots further apart than there are queues, so a queue holds frames
 * of one slot only, and the order of slots is the order of queues.
 */
#define TICK_SHIFT 6
#define SLOT_NONE UINT64_MAX
/* Rounding margin, ticks: `now` and the link time are whole nanoseconds, so a frame that is late by
 * no more than this is on time. */
#define IN_TIME (2u << TICK_SHIFT)

struct entry {
	void *frame;
	uint64_t in_ns;
	int32_t d, meant_ns;
	uint16_t bytes;
	uint8_t n, put;
};

struct queue {
	uint64_t slot;  /* whose frames it holds or held last; SLOT_NONE: none yet */
	uint64_t begin; /* of that slot, ticks */
	uint64_t held;  /* transmission time of the frames in it, ticks */
	struct entry *entry;
	uint32_t head, tail; /* count on; their places are what `mask` leaves of them */
	bool closed;         /* it refused a frame */
	bool planned; /* frames arrived before it began, and none of its frames has left yet */
} __attribute__((aligned(64)));

struct best_effort {
	void *frame;
	uint32_t bytes;
};

struct bp_lcl_scheduler {
	/* as created */
	uint64_t origin_ns;   /* moves */
	uint64_t tau_ns, tau; /* the latter in ticks */
	uint64_t per_byte;    /* ticks << BYTE_SHIFT */
	uint64_t per_tau;     /* 2^64 / tau_ns, rounded up */
	uint64_t span_ns;     /* K tau */
	uint32_t k, n_queues, places, mask;

	/* where time is */
	uint64_t slot;          /* the current one */
	uint64_t slot_begin_ns; /* since the origin */
	uint32_t at;            /* its queue */

	/* the link */
	uint64_t link_free; /* when the frames that left end, had each left when it was due */
	uint64_t nic_free;  /* when they do */
	/* End of all frames of the slots that have begun, without best effort and without delay:
	 * the acceptance of the current slot depends on neither. */
	uint64_t ideal_free;

	/* time-sensitive frames; how many is in `measured`, as of best effort */
	uint32_t first; /* of the queues, the one with the oldest slot of those that hold frames */
	struct queue *queue;

	/* best effort: a ring */
	struct best_effort *be;
	uint32_t be_head, be_depth;
	uint64_t guard, be_most; /* ticks */
	uint64_t be_next_tx;     /* when its next frame could begin, had each left when it might;
				  * counts while one waits */
	uint64_t be_ends;        /* when those that left do, and what left behind them meanwhile */
	uint64_t be_polled, be_before; /* the times of its last two polls */
	uint64_t gated_slot;           /* for which it was counted that best effort waits */

	uint64_t last_ns;
	struct bp_lcl_measured measured;
	void (*began)(void *arg, uint64_t late_ns);
	void *began_arg;
};

#define BYTE_SHIFT 20

/* Rounded down, so that frames that fill tau exactly fit into it. */
static inline uint64_t tx_time_of(uint64_t per_byte, uint32_t bytes)
{
	return (bytes + (uint64_t)BP_LCL_LINK_OVERHEAD) * per_byte >> BYTE_SHIFT;
}

static inline uint64_t tx_time(const struct bp_lcl_scheduler *s, uint32_t bytes)
{
	return tx_time_of(s->per_byte, bytes);
}

static inline uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* In ticks since the origin; an earlier time is the origin. */
static inline uint64_t ticks_of(const struct bp_lcl_scheduler *s, uint64_t ns)
{
	return ns > s->origin_ns ? (ns - s->origin_ns) << TICK_SHIFT : 0;
}

/* The whole nanosecond that it is in. */
static inline uint64_t ns_of(const struct bp_lcl_scheduler *s, uint64_t ticks)
{
	return s->origin_ns + (ticks >> TICK_SHIFT);
}

static inline bool is_empty(const struct queue *q)
{
	return q->head == q->tail;
}

static inline uint32_t queue_after(const struct bp_lcl_scheduler *s, uint32_t i)
{
	return i + 1 == s->n_queues ? 0 : i + 1;
}

/* When the first frame of a queue that holds some is due. */
static inline uint64_t due_of(const struct bp_lcl_scheduler *s, const struct queue *q)
{
	const uint64_t in = ticks_of(s, q->entry[q->head & s->mask].in_ns);

	return later(later(q->begin, s->link_free), in);
}

/* Makes the slot that `now_ns` is in the current one. */
void bp_lcl_advance(struct bp_lcl_scheduler *s, uint64_t now_ns);

static inline void advance(struct bp_lcl_scheduler *s, uint64_t now_ns)
{
	s->last_ns = now_ns;
	if (now_ns - s->origin_ns >= s->slot_begin_ns + s->tau_ns)
		bp_lcl_advance(s, now_ns);
}

/*
 * The time at which the best-effort frame at the head would begin if the scheduler had been polled
 * in time, when it begins on the link at `start`, at least be_next_tx: time that best effort lost
 * since the last poll is compensated, except for time longer ago than tau.
 */
static inline uint64_t best_effort_next_tx(const struct bp_lcl_scheduler *s, uint64_t start)
{
	if (start < s->be_next_tx + IN_TIME)
		return start;
	return later(s->be_next_tx, start > s->tau ? start - s->tau : 0);
}

/* Whether the best-effort frame at the head may leave at `now` (ticks). `need`: the time at which
 * the link is needed next. If not, *at is the earliest time for it; UINT64_MAX: not before
 * `need`. */
static inline bool best_effort_may(
	const struct bp_lcl_scheduler *s, uint64_t now, uint64_t need, uint64_t *at)
{
	const uint64_t wire = tx_time(s, s->be[s->be_head].bytes);
	const uint64_t start = later(now, s->nic_free);
	const uint64_t turn = best_effort_next_tx(s, start);
	/* maximum transmission time on the link when it is added, if all polls were in time */
	const uint64_t ahead = wire < s->be_most ? s->be_most - wire : 0;

	*at = UINT64_MAX;
	if (need != UINT64_MAX && (start >= need || need - start < wire + s->guard))
		return false;
	*at = turn > ahead ? later(now, turn - ahead) : now;
	return *at == now;
}

#endif
