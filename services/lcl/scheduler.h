/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_LCL_SCHEDULER_H
#define BP_SERVICES_LCL_SCHEDULER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The scheduler of one output port: K cyclic queues for time-sensitive frames, each served for tau
 * in every cycle of K tau, and one queue for best effort. Ma et al., "Demonstration of Latency
 * Control Label-Based Bounded-Jitter Scheduling", section "LCL-based Traffic Scheduling".
 *
 * Slot s is [origin + s tau, origin + (s + 1) tau): one queue is sent in it, and slot s and the
 * K - 1 slots after it accept frames. A frame with label (d, n) that arrives at t is assigned to
 * the slot that contains t + d/n: this is the paper's comparison of d/n with the remainder of the
 * slot. The frame therefore waits between d/n - tau and d/n + tau, unless its slot is full. Full
 * is:
 *   - a slot that has not begun, when it holds a frame and cannot send its frames and the
 *     new one in tau;
 *   - the current slot, when the frame cannot begin in it. The frame may occupy the link for less
 *     than one frame time of the next slot; d/n + tau can be exceeded by this time, which does not
 *     accumulate;
 *   - any slot whose queue has reached its maximum length.
 * A full slot accepts no more frames, and frames for it go to the next slot that is not full: a
 * shorter frame accepted afterwards would overtake the others. The link time in use is computed
 * from the arrivals alone: the slot of a frame depends neither on best effort nor on the poll times
 * of the worker.
 *
 * Time is an argument, in nanoseconds, and must not decrease. It may run for the full range of 64
 * bits: frames are held within nine years of an origin, which is moved after half of that, in the
 * first pause of K + 1 slots without a frame. take() is called before put() for one `now`: the
 * remaining frames of a slot that is over delay new frames and are never lost. The scheduler holds
 * pointers and does not dereference them. It makes no allocation after creation and no system call,
 * and reads no clock; one caller.
 *
 * The link is modelled: a frame takes (bytes + BP_LCL_LINK_OVERHEAD) * 8 / rate, and
 * time-sensitive frames are due one after the other from the begin of their slot. A frame that was
 * dequeued late does not delay those behind it. A frame is dequeued when it is due or later, never
 * before. The waiting time is from the arrival of a frame to `now` of its departure, or to the end
 * of a best-effort frame that is on the link before it.
 *
 * Best effort is dequeued only where no time-sensitive frame is due, where its transmission ends
 * (with the guard) before the next slot that holds a frame begins, and where the link has at most
 * one maximum frame time queued with it. Best effort therefore delays time-sensitive frames by no
 * more than that in total: each leaves when it would without best effort, or at most one maximum
 * frame time later, and its waiting time increases by that.
 *
 * This holds where take() is called whenever next() says so. Where take() is called less often,
 * best effort gets the link time that it would have had since the last call, but at most tau
 * of it: as many frames then leave together as the link could have sent since the last take();
 * frames that `max` left queued are not compensated. The begin of a frame on the link is delayed by
 * at most the longest time between two calls plus one maximum frame time
 * (docs/explanation/lcl-bounds.md).
 */
#define BP_LCL_LINK_OVERHEAD 24u /* preamble 8, frame checksum 4, gap 12 */
#define BP_LCL_BYTES_MAX 65535u  /* bytes of a frame; a longer one is rejected */

struct bp_lcl_scheduler;

struct bp_lcl_scheduler_options {
	uint64_t origin_ns; /* when slot 0 begins; not after the first `now` */
	uint64_t tau_ns, rate_bps, guard_ns;
	uint32_t queues, queue_frames, best_effort_frames;
	uint32_t best_effort_max; /* maximum length of a best-effort frame, bytes */
};

/* NULL: no memory, or invalid options: tau under 16 ns or above 100 ms, a rate under 64 kbit/s, a
 * number of queues outside 2..BP_LCL_QUEUES_MAX, a queue length of 0, a guard above 100 ms. */
struct bp_lcl_scheduler *bp_lcl_scheduler_create(const struct bp_lcl_scheduler_options *o);
void bp_lcl_scheduler_free(struct bp_lcl_scheduler *s); /* not the frames it holds */

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

/* Enqueues a time-sensitive frame. take() returns the values stored with it. */
struct bp_lcl_arrival {
	void *frame;
	uint64_t in_ns; /* its arrival, at most `now`: d/n counts from this time */
	int32_t d;      /* ns */
	uint32_t bytes; /* of the frame as it will leave, without checksum */
	uint8_t n;      /* 1..BP_LCL_HOPS_MAX */
	/* The last slot that a frame of the same flow went to; none of its frames goes to an
	 * earlier one. NULL: not followed. 0 to begin with. */
	uint64_t *last_slot;
};
enum bp_lcl_put bp_lcl_put(
	struct bp_lcl_scheduler *s, uint64_t now_ns, const struct bp_lcl_arrival *a);
/* As above, for n frames in order; put[i]: the result for each, enum bp_lcl_put. */
void bp_lcl_put_burst(struct bp_lcl_scheduler *s, uint64_t now_ns, const struct bp_lcl_arrival *a,
	unsigned n, uint8_t *put);
/* False: the queue is full, and the frame is the caller's. */
bool bp_lcl_put_best_effort(
	struct bp_lcl_scheduler *s, uint64_t now_ns, void *frame, uint32_t bytes);

struct bp_lcl_departure {
	void *frame;
	uint64_t waited_ns; /* best effort: 0 */
	int32_t d;          /* as it came */
	int32_t meant_ns;   /* of that for this node: d/n */
	uint16_t bytes;
	uint8_t n;   /* as it came; 0: best effort */
	uint8_t put; /* enum bp_lcl_put */
};
/*
 * The frames to pass to the driver now, in this order; at most `max`. A result below max means that
 * there are no more. Frames whose slot has passed come first.
 */
unsigned bp_lcl_take(
	struct bp_lcl_scheduler *s, uint64_t now_ns, struct bp_lcl_departure *out, unsigned max);
/* When take() next has something, were nothing to come: at least now_ns; UINT64_MAX: it holds
 * nothing. */
uint64_t bp_lcl_next(const struct bp_lcl_scheduler *s, uint64_t now_ns);
/* Dequeues the remaining frames, due or not, time-sensitive frames first; for a shutdown. */
unsigned bp_lcl_flush(struct bp_lcl_scheduler *s, struct bp_lcl_departure *out, unsigned max);

/* The measurements since creation; a reader on another core gets them from shm/lcl/lcl.h. */
struct bp_lcl_measured {
	uint64_t slots; /* that held frames when they began */
	uint64_t gated; /* number of times that best effort waited for a slot although the link was
			   idle */
	uint64_t gated_ns;    /* link time lost by this */
	uint32_t held;        /* time-sensitive frames, now */
	uint32_t best_effort; /* now */
};
const struct bp_lcl_measured *bp_lcl_measured(const struct bp_lcl_scheduler *s);

/* Sets a callback that take() calls with the first frame of every slot that held frames when it
 * began. late_ns: time since the frame was due, ns. NULL: no callback. */
void bp_lcl_on_slot(
	struct bp_lcl_scheduler *s, void (*began)(void *arg, uint64_t late_ns), void *arg);

#endif
