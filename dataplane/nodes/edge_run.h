/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_NODES_EDGE_RUN_H
#define BP_DATAPLANE_NODES_EDGE_RUN_H

#include <rte_graph_worker.h>

/*
 * The frames of a node, each of which goes on by an edge of its own: those in a row with the same
 * edge go together, and where that is all of them, as the array they lie in.
 */
struct bp_edge_run {
	rte_edge_t edge;
	uint16_t begin;
};

/* `edge`: what most will take. */
static inline struct bp_edge_run bp_edge_run_begin(rte_edge_t edge)
{
	return (struct bp_edge_run){.edge = edge};
}

/* Frame i, which follows those given before. */
static inline void bp_edge_run_add(struct bp_edge_run *r, struct rte_graph *graph,
	struct rte_node *node, void **objs, uint16_t i, rte_edge_t edge)
{
	if (likely(edge == r->edge))
		return;
	if (i != r->begin)
		rte_node_enqueue(graph, node, r->edge, &objs[r->begin], (uint16_t)(i - r->begin));
	r->begin = i;
	r->edge = edge;
}

/* That were all n. */
static inline void bp_edge_run_end(const struct bp_edge_run *r, struct rte_graph *graph,
	struct rte_node *node, void **objs, uint16_t n)
{
	if (likely(r->begin == 0))
		rte_node_next_stream_move(graph, node, r->edge);
	else
		rte_node_enqueue(graph, node, r->edge, &objs[r->begin], (uint16_t)(n - r->begin));
}

#endif
