/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_LCL_LCL_H
#define BP_SHM_LCL_LCL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "biplane/lcl.h"
#include "shm/segment.h"
#include "shm/seqlock.h"

/*
 * LCL scheduling in the segment.
 *
 *   table        writer             element
 *   lcl_plan     CP                 struct bp_lcl_shared_rules, one: the active flows
 *   lcl_ports    DP owner           struct bp_lcl_port_stats, one per entry of lcl.ports
 *   lcl_flows    DP owner           struct bp_lcl_flow_stats, [entry of lcl.ports * limit + row]
 *
 * The owner of a port is the worker that runs its scheduler. Shared rules are applied as those of
 * aggregation are (shm/aggregation/agg.h). Row 0 of a port is for all flows beyond the limit
 * together: it has no jitter, and no missing or reordered frames. Each other row belongs to one
 * flow number from its first frame until the data plane restarts.
 */
struct bp_lcl_shared_rules {
	struct bp_seqlock lock;
	struct bp_lcl_rules rules;
};
_Static_assert(sizeof(struct bp_lcl_shared_rules) == 8 + sizeof(struct bp_lcl_rules) &&
		       sizeof(struct bp_lcl_rules) % 8 == 0,
	"the seqlock copies words behind it");

/* How long: bucket by bp_lcl_bucket(): 8 to each doubling, exact below 8 ns; the last holds the
 * rest. */
#define BP_LCL_BUCKETS 256

/* The port's last seconds, in a ring by (second mod BP_LCL_INTERVALS). */
#define BP_LCL_INTERVALS 64
struct bp_lcl_interval {
	_Atomic uint64_t second;  /* Unix time; 0: none yet */
	_Atomic uint64_t late_ns; /* the maximum delay of the begin of a slot in it */
	_Atomic uint64_t gap_ns;  /* the maximum time between two polls of the worker */
	_Atomic uint64_t outside; /* frames outside their bound */
	_Atomic uint64_t frames;  /* time-sensitive, that left the scheduler */
};

struct bp_lcl_port_stats {
	struct bp_lcl_port configured; /* as the owner applied it */
	_Atomic uint32_t owner;        /* worker + 1, stored after `configured`; 0: no owner yet */
	uint32_t pad;
	_Atomic uint64_t sent, best_effort; /* frames handed to the driver */
	_Atomic uint64_t best_effort_bytes;
	_Atomic uint64_t late, early, moved, full;   /* enum bp_lcl_put; full: dropped */
	_Atomic uint64_t best_effort_full;           /* dropped */
	_Atomic uint64_t handed_over, handover_full; /* from other workers; dropped */
	_Atomic uint64_t slots, gated, gated_ns;     /* struct bp_lcl_measured */
	_Atomic uint64_t held, best_effort_held;     /* now */
	_Atomic uint64_t outside;                    /* frames that waited not d/n +- tau */
	_Atomic uint64_t intervals,
		intervals_broken; /* seconds with frames; of these, bound not held */
	_Atomic uint64_t late_min_ns, late_max_ns, gap_max_ns;
	_Atomic uint64_t lateness[BP_LCL_BUCKETS]; /* of slots: how long after its time one began */
	_Atomic uint64_t gap[BP_LCL_BUCKETS];      /* for the worker: time between two polls */
	struct bp_lcl_interval interval[BP_LCL_INTERVALS];
} __attribute__((aligned(64)));

/*
 * The statistics of a flow at this node. Frames are counted when they leave the scheduler, as in
 * `frames` and `outside` of an interval. This includes frames that the driver then does not accept,
 * or whose link is down; these are in the drop counters and not in `sent` of the port.
 *
 * A frame's deviation is its waiting time here minus d/n on arrival. At the flow's last node this
 * is its end-to-end queueing delay minus d0, because d contains the deviations of all earlier
 * nodes.
 */
#define BP_LCL_DEVIATIONS 66 /* 64 of tau/16 over [-2 tau, 2 tau); the first and last: beyond */
struct bp_lcl_flow_stats {
	_Atomic uint32_t life; /* 0: free */
	uint16_t flow;
	uint8_t last, pad; /* this is its last node */
	_Atomic uint64_t frames, bytes, outside, late, early, moved, full;
	_Atomic uint64_t labelled;           /* of these, got their label here */
	_Atomic uint64_t missing, reordered; /* by sequence numbers, in the order of arrival */
	_Atomic uint64_t waited_ns;          /* sum */
	_Atomic uint64_t waited_min_ns, waited_max_ns;
	_Atomic int64_t deviation_min_ns, deviation_max_ns;
	_Atomic uint64_t deviation[BP_LCL_DEVIATIONS];
	_Atomic uint64_t jitter[BP_LCL_BUCKETS]; /* |deviation - that of the flow's frame before| */
} __attribute__((aligned(64)));

struct bp_lcl_tables {
	struct bp_lcl_shared_rules *plan; /* NULL: no section lcl */
	struct bp_lcl_port_stats *ports;
	struct bp_lcl_flow_stats *flows;
	uint32_t n_ports; /* entries of lcl.ports */
	uint32_t limit;   /* rows of each: one more than lcl.max_flows */
};

static inline unsigned bp_lcl_bucket(uint64_t ns)
{
	unsigned top;

	if (ns < 8)
		return (unsigned)ns;
	top = 63 - (unsigned)__builtin_clzll(ns);
	if (__builtin_expect(top >= BP_LCL_BUCKETS / 8 + 2, 0))
		return BP_LCL_BUCKETS - 1;
	return (top - 2) * 8 + (unsigned)(ns >> (top - 3) & 7);
}
/* The minimum value of a bucket. */
static inline uint64_t bp_lcl_bucket_from(unsigned b)
{
	return b < 8 ? b : (uint64_t)(8 + b % 8) << (b / 8 - 1);
}

#endif
