/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_LCL_SCHEDULER_H
#define BP_SERVICES_LCL_SCHEDULER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * One output port's scheduler: K cyclic queues for time-sensitive frames, each of which has its
 * turn of tau in every K, and one for best effort. Ma et al., "Demonstration of Latency Control
 * Label-Based Bounded-Jitter Scheduling", section "LCL-based Traffic Scheduling".
 *
 * Slot s is [origin + s tau, origin + (s + 1) tau): one queue is sent in it, and it and the K - 1
 * after it take frames. A frame with label (d, n) that comes at t goes into the slot that t + d/n
 * falls in: that is the paper's comparison of d/n with what is left of the slot. So it waits
 * between d/n - tau and d/n + tau, as long as its slot is not full:
 *   - a slot that has not begun, when it holds something and can't send that and the frame in tau;
 *   - the current slot, when the frame can't begin in it. It may so keep the wire for less than a
 *     frame's time of the next slot, which is what d/n + tau can be exceeded by; no more builds up;
 *   - any slot, when its places are taken.
 * From then on it takes no more, and frames for it go to the next that is not full: a slot that
 * took a shorter frame afterwards would let it overtake. What of the wire's time is used is
 * reckoned from what came alone: which slot a frame goes to depends neither on best effort nor on
 * when the worker looked.
 *
 * Time is an argument, in nanoseconds, and must not go back. It may go on for as long as 64 bits
 * last: frames are held within nine years of an origin that moves on, after half of that, with the
 * first pause of K + 1 slots in which nothing is held. take() is called before put() for one `now`:
 * what a slot that is over left behind is in the way of new frames, never lost. What the scheduler
 * holds are pointers that it does not follow. No allocation after creation, no system call, no
 * clock; one caller.
 *
 * The wire is modelled: a frame takes (octets + BP_LCL_LINK_OVERHEAD) * 8 / rate, and
 * time-sensitive frames are due one after the other from their slot's begin. One that was handed
 * out late does not delay those behind it. A frame is handed out when it is due or later, never
 * before. What "waited" says is from its coming to `now` of its leaving, or to when the best effort
 * ends that is on the wire before it.
 *
 * Best effort is handed out only where no time-sensitive frame is due, where it ends (with the
 * guard) before the next slot that holds something begins, and where no more than one longest
 * frame's time is on the wire with it. So it delays time-sensitive frames by no more than that in
 * all: each leaves when it would without best effort, or by at most one longest frame's time later,
 * and has waited so much longer.
 *
 * That is with a take() whenever next() says so. With one only now and then, best effort gets what
 * it would have had in the meantime, but for more than tau of it: as many frames then leave
 * together as the wire could have sent since the last take(); what `max` left behind then is not
 * made up for. No frame begins on the wire later for it than by the longest time between two of
 * them and one longest frame (docs/explanation/lcl-bounds.md).
 */
#define BP_LCL_LINK_OVERHEAD 24u /* preamble 8, frame checksum 4, gap 12 */
#define BP_LCL_OCTETS_MAX 65535u /* of a frame; a longer one is not taken */

struct bp_lcl_scheduler;

struct bp_lcl_scheduler_options {
	uint64_t origin_ns; /* when slot 0 begins; not after the first `now` */
	uint64_t tau_ns, rate_bps, guard_ns;
	uint32_t queues, queue_frames, best_effort_frames;
	uint32_t best_effort_max; /* octets of the longest best-effort frame there may be */
};

/* NULL: no memory, or options that can't be: tau under 16 ns or above 100 ms, less than 64 kbps,
 * not 2..BP_LCL_QUEUES_MAX queues, no places in them, a guard above 100 ms. */
struct bp_lcl_scheduler *bp_lcl_scheduler_create(const struct bp_lcl_scheduler_options *o);
void bp_lcl_scheduler_free(struct bp_lcl_scheduler *s); /* forgets what it holds */

enum bp_lcl_put {
	BP_LCL_PUT_OK,
	/* d was negative, or the slot was over when it was put: taken, into the first there is */
	BP_LCL_PUT_LATE,
	BP_LCL_PUT_EARLY, /* d/n is more than K - 1 slots ahead: taken, into the last one */
	/* its slot was full, or a frame of its flow went to a later one: taken, into a later one;
	 * one that is LATE or EARLY stays that */
	BP_LCL_PUT_MOVED,
	BP_LCL_PUT_FULL, /* all were: not taken */
};

/* A time-sensitive frame. What it is remembered with comes back from take(). */
struct bp_lcl_arrival {
	void *frame;
	uint64_t in_ns;  /* when it came, at most `now`: from then on d/n counts */
	int32_t d;       /* ns */
	uint32_t octets; /* of the frame as it will leave, without checksum */
	uint8_t n;       /* 1..BP_LCL_HOPS_MAX */
	/* The last slot that a frame of the same flow went to; none of its frames goes to an
	 * earlier one. NULL: not followed. 0 to begin with. */
	uint64_t *last_slot;
};
enum bp_lcl_put bp_lcl_put(
	struct bp_lcl_scheduler *s, uint64_t now_ns, const struct bp_lcl_arrival *a);
/* The same of n frames, one after the other; put[i]: what became of each, enum bp_lcl_put. */
void bp_lcl_put_burst(struct bp_lcl_scheduler *s, uint64_t now_ns, const struct bp_lcl_arrival *a,
	unsigned n, uint8_t *put);
/* False: the queue is full, and the frame is the caller's. */
bool bp_lcl_put_best_effort(
	struct bp_lcl_scheduler *s, uint64_t now_ns, void *frame, uint32_t octets);

struct bp_lcl_departure {
	void *frame;
	uint64_t waited_ns; /* best effort: 0 */
	int32_t d;          /* as it came */
	int32_t meant_ns;   /* of that for this node: d/n */
	uint16_t octets;
	uint8_t n;   /* as it came; 0: best effort */
	uint8_t put; /* enum bp_lcl_put */
};
/*
 * What is to be handed to the driver now, in this order; at most `max`. Fewer than max: that is
 * all. Frames whose slot has passed come first.
 */
unsigned bp_lcl_take(
	struct bp_lcl_scheduler *s, uint64_t now_ns, struct bp_lcl_departure *out, unsigned max);
/* When take() next has something, were nothing to come: at least now_ns; UINT64_MAX: it holds
 * nothing. */
uint64_t bp_lcl_next(const struct bp_lcl_scheduler *s, uint64_t now_ns);
/* Takes whatever it still holds, due or not, time-sensitive frames first; for a shutdown. */
unsigned bp_lcl_flush(struct bp_lcl_scheduler *s, struct bp_lcl_departure *out, unsigned max);

/* What it measured since its creation; a reader on another core gets them by way of shm/lcl/lcl.h.
 */
struct bp_lcl_measured {
	uint64_t slots;    /* that held frames when they began */
	uint64_t gated;    /* times that best effort waited for a slot though the wire was free */
	uint64_t gated_ns; /* the wire's time that it lost so */
	uint32_t held;     /* time-sensitive frames, now */
	uint32_t best_effort; /* now */
};
const struct bp_lcl_measured *bp_lcl_measured(const struct bp_lcl_scheduler *s);

/* Called by take() with the first frame of every slot that held frames when it began: how long
 * after it was due. NULL: nobody. */
void bp_lcl_on_slot(
	struct bp_lcl_scheduler *s, void (*began)(void *arg, uint64_t late_ns), void *arg);

#endif
