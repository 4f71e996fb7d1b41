/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_NODES_EDGE_BATCH_H
#define BP_DATAPLANE_NODES_EDGE_BATCH_H

#include <string.h>

#include "dataplane/workers/worker.h"

/* Frames that an array of the owner holds. */
#define BP_EDGE_BATCH_SIZE 256u

/*
 * The frames that leave a node, in order. Consecutive frames with the same edge are enqueued
 * together. They are collected in the node's own array of objects, where they overwrite frames that
 * were enqueued otherwise, or in an array of the owner, if a node emits other or more frames than
 * it received. A node whose frames all take one edge passes its array on without a copy.
 */
struct bp_edge_batch {
	struct bp_worker *worker;
	struct rte_graph *graph;
	struct rte_node *node;
	void **frames;     /* collected, and not enqueued yet: frames[begin..n) */
	uint32_t begin, n; /* in the node's own array, n never decreases */
	uint32_t size;     /* of frames[] */
	uint32_t bytes;    /* of those not enqueued yet */
	rte_edge_t edge;   /* of those */
};

/* `frames`: the node's input array, of `size` frames, or an array of the owner, which must outlive
 * the batch. `edge`: the edge that most frames are expected to take. */
static inline void bp_edge_batch_begin(struct bp_edge_batch *b, struct bp_worker *worker,
	struct rte_graph *graph, struct rte_node *node, void **frames, uint32_t size,
	rte_edge_t edge)
{
	b->worker = worker;
	b->graph = graph;
	b->node = node;
	b->frames = frames;
	b->begin = 0;
	b->n = 0;
	b->size = size;
	b->bytes = 0;
	b->edge = edge;
}

static inline bool bp_edge_batch_in_place(const struct bp_edge_batch *b)
{
	return b->frames == b->node->objs;
}

/* Frames that are enqueued for a port were summed here: node port_tx need not read them again. */
static inline void bp_edge_batch_sum(
	const struct bp_edge_batch *b, rte_edge_t edge, uint32_t n, uint32_t bytes)
{
	if (edge < BP_EDGE_PORT)
		return;
	b->worker->tx_precounted[edge - BP_EDGE_PORT].frames += n;
	b->worker->tx_precounted[edge - BP_EDGE_PORT].bytes += bytes;
}

/* Enqueues the collected frames; collecting can continue afterwards. */
static inline void bp_edge_batch_flush(struct bp_edge_batch *b)
{
	const uint32_t n = b->n - b->begin;

	if (n != 0) {
		bp_edge_batch_sum(b, b->edge, n, b->bytes);
		rte_node_enqueue(b->graph, b->node, b->edge, b->frames + b->begin, (uint16_t)n);
	}
	if (!bp_edge_batch_in_place(b))
		b->n = 0;
	b->begin = b->n;
	b->bytes = 0;
}

/* Frames that are added from now on take this edge. */
static inline void bp_edge_batch_set_edge(struct bp_edge_batch *b, rte_edge_t edge)
{
	bp_edge_batch_flush(b);
	b->edge = edge;
}

/* In the node's own array: of the node's frames, at most as many as were taken from it. */
static inline void bp_edge_batch_add(struct bp_edge_batch *b, rte_edge_t edge, struct rte_mbuf *m)
{
	if (unlikely(edge != b->edge || b->n == b->size))
		bp_edge_batch_set_edge(b, edge);
	b->bytes += m->pkt_len;
	b->frames[b->n++] = m;
}

/* Several, at most `size`, of `bytes` in all; to an array of the owner. */
static inline void bp_edge_batch_add_all(struct bp_edge_batch *b, rte_edge_t edge,
	struct rte_mbuf *const *m, unsigned n, uint32_t bytes)
{
	if (unlikely(edge != b->edge || b->n + n > b->size))
		bp_edge_batch_set_edge(b, edge);
	memcpy(&b->frames[b->n], m, n * sizeof(b->frames[0]));
	b->n += n;
	b->bytes += bytes;
}

/* The same; if these are all frames of the node's input and none is collected, their array is
 * passed on without a copy. */
static inline void bp_edge_batch_add_node_frames(struct bp_edge_batch *b, rte_edge_t edge,
	struct rte_mbuf *const *m, unsigned n, uint32_t bytes)
{
	if (unlikely(b->n != 0 || (void *const *)m != b->node->objs || n != b->node->idx)) {
		bp_edge_batch_add_all(b, edge, m, n, bytes);
		return;
	}
	bp_edge_batch_sum(b, edge, n, bytes);
	rte_node_next_stream_move(b->graph, b->node, edge);
}

/* Enqueues the collected frames, before the node returns. */
static inline void bp_edge_batch_end(struct bp_edge_batch *b)
{
	if (likely(b->begin == 0 && b->n != 0 && bp_edge_batch_in_place(b))) {
		bp_edge_batch_sum(b, b->edge, b->n, b->bytes);
		b->node->idx = (uint16_t)b->n;
		rte_node_next_stream_move(b->graph, b->node, b->edge);
	} else {
		bp_edge_batch_flush(b);
	}
}

#endif
