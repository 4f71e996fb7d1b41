/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_WALK_H
#define BP_DATAPLANE_WALK_H

#include <stdbool.h>

#include <rte_cycles.h>
#include <rte_graph.h>
#include <rte_graph_worker.h>

/* One walk in so many is timed; its cycles stand for all of them. */
#define BP_WALKS_TIMED 16

/*
 * As rte_graph_walk(): source nodes first (the entries before cir_start, at negative indices), then
 * what they made pending, in a circular buffer. The difference: rte_graph_walk() reads the
 * time-stamp counter twice a node and walk, which costs a bare bridge one frame in twenty-five;
 * here only one walk in BP_WALKS_TIMED is timed. Calls and objects are exact.
 */
static inline void bp_graph_walk(struct rte_graph *graph, bool timed)
{
	const rte_graph_off_t *cir_start = graph->cir_start;
	const rte_node_t mask = graph->cir_mask;
	uint32_t head = graph->head;
	uint64_t start = timed ? rte_rdtsc() : 0;

	while (likely(head != graph->tail)) {
		struct rte_node *node = RTE_PTR_ADD(graph, cir_start[(int32_t)head++]);
		void **objs = node->objs;

		rte_prefetch0(objs);
		node->total_objs += node->process(graph, node, objs, node->idx);
		node->total_calls++;
		if (unlikely(timed)) {
			uint64_t now = rte_rdtsc();

			node->total_cycles += (now - start) * BP_WALKS_TIMED;
			start = now;
		}
		node->idx = 0;
		head = likely((int32_t)head > 0) ? head & mask : head;
	}
	graph->tail = 0;
}

#endif
