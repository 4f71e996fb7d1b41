/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_NODES_WAY_H
#define BP_DATAPLANE_NODES_WAY_H

#include "dataplane/nodes/nodes.h"

/* Where the routed packets of a burst go: mostly one way, and then whole. */
struct bp_way {
	rte_edge_t edge;
	uint32_t begin, n; /* in the node's objects: those collected for this edge */
	uint32_t bytes;
	uint32_t own; /* of n: those for our own nodes, which are not forwarded */
};

/* What goes straight to a port was summed up here. */
static inline void bp_way_sum(struct bp_worker *w, const struct bp_way *way)
{
	if (way->edge < BP_EDGE_PORT)
		return;
	w->straight[way->edge - BP_EDGE_PORT].frames += way->n - way->begin;
	w->straight[way->edge - BP_EDGE_PORT].bytes += way->bytes;
}

/* Sends what was collected; more can be collected afterwards. */
static inline void bp_way_flush(struct bp_worker *w, struct rte_graph *graph, struct rte_node *node,
	void **objs, struct bp_way *way)
{
	if (way->begin != way->n) {
		bp_way_sum(w, way);
		rte_node_enqueue(
			graph, node, way->edge, objs + way->begin, (uint16_t)(way->n - way->begin));
	}
	way->begin = way->n;
	way->bytes = 0;
}

/*
 * At the end of a burst. What goes one way goes as the array it lies in; those of the burst that do
 * not have been sent already, and the others closed up.
 */
static inline void bp_way_end(struct bp_worker *w, struct rte_graph *graph, struct rte_node *node,
	void **objs, struct bp_way *way)
{
	if (likely(way->begin == 0 && way->n != 0)) {
		bp_way_sum(w, way);
		node->idx = (uint16_t)way->n;
		rte_node_next_stream_move(graph, node, way->edge);
	} else {
		bp_way_flush(w, graph, node, objs, way);
	}
}

#endif
