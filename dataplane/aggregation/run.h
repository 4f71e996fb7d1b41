/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_AGGREGATION_RUN_H
#define BP_DATAPLANE_AGGREGATION_RUN_H

#include <string.h>

#include "dataplane/workers/worker.h"

/*
 * What leaves a node in order, whoever it belongs to: frames that go on and frames that were made.
 * Those in a row with the same next node go together.
 */
#define BP_RUN_MOST 256u

struct bp_run {
	struct bp_worker *worker;
	struct rte_graph *graph;
	struct rte_node *node;
	rte_edge_t edge;
	uint16_t n;
	uint32_t bytes;
	void *m[BP_RUN_MOST];
};

/* From now on frames leave by this node, which is being processed. */
static inline void bp_run_begin(struct bp_run *r, struct rte_graph *graph, struct rte_node *node)
{
	r->graph = graph;
	r->node = node;
	r->edge = BP_EDGE_DROP;
	r->n = 0;
	r->bytes = 0;
}

/* Sends what was collected. To be called before the node ends. */
static inline void bp_run_end(struct bp_run *r)
{
	if (r->n == 0)
		return;
	if (r->edge >= BP_EDGE_PORT) { /* summed here */
		r->worker->straight[r->edge - BP_EDGE_PORT].frames += r->n;
		r->worker->straight[r->edge - BP_EDGE_PORT].bytes += r->bytes;
	}
	rte_node_enqueue(r->graph, r->node, r->edge, r->m, r->n);
	r->n = 0;
	r->bytes = 0;
}

static inline void bp_run_add(struct bp_run *r, rte_edge_t edge, struct rte_mbuf *m)
{
	if (unlikely(edge != r->edge || r->n == BP_RUN_MOST)) {
		bp_run_end(r);
		r->edge = edge;
	}
	r->bytes += m->pkt_len;
	r->m[r->n++] = m;
}

/* Several with the same next node, at most BP_RUN_MOST, of `bytes` in all. */
static inline void bp_run_add_all(
	struct bp_run *r, rte_edge_t edge, struct rte_mbuf *const *m, unsigned n, uint32_t bytes)
{
	if (unlikely(edge != r->edge || r->n + n > BP_RUN_MOST)) {
		bp_run_end(r);
		r->edge = edge;
	}
	memcpy(&r->m[r->n], m, n * sizeof(r->m[0]));
	r->n = (uint16_t)(r->n + n);
	r->bytes += bytes;
}

/* All frames of the node, which is the array that it was given, as they came: where nothing else
 * has left before, the array itself goes on. */
static inline void bp_run_add_whole(
	struct bp_run *r, rte_edge_t edge, struct rte_mbuf *const *m, unsigned n, uint32_t bytes)
{
	if (unlikely(r->n != 0 || (void *const *)m != r->node->objs || n != r->node->idx)) {
		bp_run_add_all(r, edge, m, n, bytes);
		return;
	}
	if (edge >= BP_EDGE_PORT) {
		r->worker->straight[edge - BP_EDGE_PORT].frames += n;
		r->worker->straight[edge - BP_EDGE_PORT].bytes += bytes;
	}
	rte_node_next_stream_move(r->graph, r->node, edge);
}

#endif
