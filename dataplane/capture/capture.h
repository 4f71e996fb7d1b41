/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_CAPTURE_CAPTURE_H
#define BP_DATAPLANE_CAPTURE_CAPTURE_H

#include "dataplane/capture/capture_sets.h"
#include "dataplane/process/clock.h"
#include "dataplane/workers/worker.h"

/*
 * A worker's part in live captures. While none runs, nothing is paid per frame or burst: the checks
 * are bits in words that receive and transmit read in any case (BP_RX_F_CAPTURE,
 * worker.capture_tx), and one in the code of drops.
 *
 * To know which node dropped a frame, the worker replaces the functions of its own graph's nodes by
 * one that calls the original and then checks what was enqueued to node drop. This is so only
 * while a capture of drops or a trace (dataplane/capture/trace.h) runs.
 */
#define BP_CAPTURE_NODE_IDS 512u /* numbers of DPDK's nodes that are known */

struct bp_trace_worker;

struct bp_capture_worker {
	struct bp_worker *worker;
	struct bp_capture_sets *sets; /* NULL: replay and tests without captures */
	const struct bp_capture_set *set;
	const struct bp_clock *clock; /* NULL: the time of the walk */
	struct bp_capture_ring ring;
	struct bp_capture_counts *counts; /* of this worker, in the segment */
	struct bp_trace_worker *trace;
	uint64_t id[BP_CAPTURE_SLOTS]; /* of the capture that the counts are of */

	/* which node enqueued to node drop: of frames up to `until` in its array */
	bool wraps;
	struct rte_node *drop;
	unsigned n_dropped;
	unsigned drop_done; /* frames of node drop that it has processed, if its burst is split */
	struct {
		uint16_t node, until;
	} dropped[BP_MAX_NODES];
	uint16_t current; /* index of the node that runs */
	rte_node_process_t process[BP_CAPTURE_NODE_IDS];
	uint16_t index[BP_CAPTURE_NODE_IDS];

	uint8_t scratch[BP_CAPTURE_SNAP_MAX + 1];
};

/* NULL: no memory. */
struct bp_capture_worker *bp_capture_worker_create(struct bp_worker *w, struct bp_shm *shm);
void bp_capture_worker_free(struct bp_capture_worker *c); /* NULL is allowed */

/* The graph of the worker was built; no capture runs. */
void bp_capture_graph(struct bp_worker *w);
/* The services of the worker have begun: wraps the nodes if one of them has an after_node. */
void bp_capture_begin(struct bp_worker *w);
/* Between two walks: takes the sets' active one if it is new. */
void bp_capture_apply(struct bp_worker *w);
/* After the last walk. */
void bp_capture_end(struct bp_worker *w);

static inline void bp_capture_check(struct bp_worker *w)
{
	const struct bp_capture_worker *c = w->capture;

	if (c != NULL && c->sets != NULL &&
		atomic_load_explicit(&c->sets->active, memory_order_relaxed) != c->set)
		bp_capture_apply(w);
}

/* Unix time for a record. */
uint64_t bp_capture_time(const struct bp_capture_worker *c);

/* The function of a node, whether it is wrapped or not. */
static inline rte_node_process_t bp_node_process(
	const struct bp_worker *w, const struct rte_node *node)
{
	return w->capture != NULL && w->capture->wraps && node->id < BP_CAPTURE_NODE_IDS
		       ? w->capture->process[node->id]
		       : node->process;
}

#endif
