/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_AGGREGATION_PACER_H
#define BP_SERVICES_AGGREGATION_PACER_H

#include <stdint.h>

#include "shm/aggregation/agg.h"

/*
 * Spreads frames over time: the FIFO queue of one rule, which sends two frames with a minimum
 * distance of `gap`. A frame that arrives when the queue is empty and the gap is over is not
 * queued. When the queue is full, the oldest frame is sent early: order is kept and no frame is
 * lost. Times are nanoseconds of a monotonic clock; frames are opaque pointers. Single-threaded.
 */
struct bp_pacer_slot {
	void *frame;
	uint64_t since_ns; /* when it entered */
};

struct bp_pacer {
	struct bp_pacer_slot *slot; /* mask + 1 of them; n from `head` on wait */
	uint32_t size;              /* maximum number of queued frames */
	uint32_t mask, head, n;
	uint64_t gap_ns, free_ns; /* when the next may leave */
	struct bp_disagg_stats *stats;
};

/* 0, -EINVAL for a size of 0 or over 2^31, or -ENOMEM. `stats` stays the caller's; counted are
 * paced, pace_ns, pace[], early and waiting. */
int bp_pacer_init(
	struct bp_pacer *p, uint32_t size, uint64_t gap_ns, struct bp_disagg_stats *stats);
/* Frees the queue and loses the waiting frames: the caller dequeues them first. A zeroed queue is
 * allowed. */
void bp_pacer_free(struct bp_pacer *p);

/*
 * A frame that is due to leave. Returns what leaves now: NULL when it waits; the frame itself, or,
 * when the queue was full, the oldest.
 */
void *bp_pacer_put(struct bp_pacer *p, void *frame, uint64_t now_ns);
/* The next frame whose time has come, or NULL. At most one within a gap. */
void *bp_pacer_due(struct bp_pacer *p, uint64_t now_ns);
/* The oldest, due or not; NULL: empty. For reload, link loss and stop. */
void *bp_pacer_take(struct bp_pacer *p, uint64_t now_ns);
/* When bp_pacer_due() returns the next, or UINT64_MAX. */
static inline uint64_t bp_pacer_next(const struct bp_pacer *p)
{
	return p->n != 0 ? p->free_ns : UINT64_MAX;
}

#endif
