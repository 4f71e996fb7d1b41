/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_CAPTURE_TRACE_H
#define BP_DATAPLANE_CAPTURE_TRACE_H

#include <rte_mbuf_dyn.h>

#include "biplane/counters.h"
#include "dataplane/capture/capture_sets.h"
#include "dataplane/workers/worker.h"
#include "shm/capture/trace.h"

/*
 * A worker's part in traces. Frames that match the filter of a trace at their port get a mark in
 * the mbuf. While a trace runs, the functions of the nodes are wrapped
 * (dataplane/capture/capture.h): a node gets each marked frame in a burst of its own, so that what
 * the node changes is this frame's: the counters, the frames that it enqueues, which are marked,
 * too, the evaluated rules and the alarms. Other frames are processed together as before, in the
 * same order.
 */
struct bp_trace_field {
	uint64_t flag; /* of ol_flags; 0: mbufs have no free flag or field, nothing is traced */
	int at;        /* offset of the mark in the mbuf */
};

/* The mark of a frame. */
#define BP_TRACE_SLOTS_BITS BP_CAPTURE_SLOTS
struct bp_trace_mark {
      uint32_t slots : BP_TRACE_SLOTS_BITS; /* of its traces; 0: not marked */
	uint32_t number : 32 - BP_TRACE_SLOTS_BITS;
	/* Low bits of the generation of the requests when it was marked: a frame can wait in a
	 * queue until another trace has the slot. */
	uint32_t generation;
};
static inline struct bp_trace_mark *bp_trace_mark_of(
	const struct bp_trace_field *f, struct rte_mbuf *m)
{
	return RTE_MBUF_DYNFIELD(m, f->at, struct bp_trace_mark *);
}
static inline bool bp_trace_is_marked(const struct bp_trace_field *f, const struct rte_mbuf *m)
{
	return (m->ol_flags & f->flag) != 0;
}

struct bp_trace_worker {
	struct bp_trace_field field;
	struct bp_capture_worker *capture;
	uint8_t slots;                   /* bit per slot with a trace */
	uint64_t id[BP_CAPTURE_SLOTS];   /* of the trace that `left` is of */
	uint32_t left[BP_CAPTURE_SLOTS]; /* frames that may still be marked */
	uint32_t number;                 /* of the last marked frame */
	/* of the call of a node with a marked frame */
	unsigned n_rules;
	struct bp_trace_rule rule[BP_TRACE_RULES_MAX];
	uint64_t counters[BP_C_COUNT]; /* before it */
};

/* NULL: no memory. Freed with free(). */
struct bp_trace_worker *bp_trace_worker_create(struct bp_capture_worker *c);

/* Between two walks: the traces of the set. */
void bp_trace_apply(struct bp_trace_worker *t, const struct bp_capture_set *set);
/* Marks a received frame that matched the traces `slots`, and writes its first step. */
void bp_trace_received(struct bp_trace_worker *t, struct rte_mbuf *m, uint16_t port, uint8_t slots,
	uint64_t time_ns);
/* Whether any of the frames is marked. */
bool bp_trace_any(const struct bp_trace_worker *t, void *const *objs, uint16_t n);
/* Calls the function of a node for its frames, marked ones separately. */
uint16_t bp_trace_process(struct bp_trace_worker *t, rte_node_process_t process, uint16_t index,
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t n);

/* The marks of frames that are sent, which the driver owns afterwards. */
struct bp_trace_sending {
	struct bp_trace_mark mark[64];
	uint32_t length[64];
};
void bp_trace_sending(struct bp_trace_worker *t, struct rte_mbuf *const *m, unsigned n,
	struct bp_trace_sending *s);
/* The driver has accepted the first `sent`; the others are dropped for `reason`. */
void bp_trace_sent(struct bp_trace_worker *t, const struct bp_trace_sending *s, unsigned n,
	unsigned sent, uint16_t port, bp_counter_t reason, uint64_t time_ns);

#endif
