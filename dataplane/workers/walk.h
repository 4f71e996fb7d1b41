/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_WORKERS_WALK_H
#define BP_DATAPLANE_WORKERS_WALK_H

#include <stdbool.h>

#include <rte_cycles.h>
#include <rte_graph.h>
#include <rte_graph_worker.h>

#include "dataplane/dpdk_compat.h"
#include "dataplane/workers/worker.h"

/* One in this number of walks is timed; its cycles represent all of them. The first walk after a
 * sleep is always timed, and represents itself. */
#define BP_WALKS_TIMED 16

#if BP_PUBLIC_WALK

/* DPDK times every walk, and the function of a service runs in the wrapper of each node's function
 * (dataplane/capture/capture.c). */
static inline void bp_graph_walk(struct bp_worker *w, unsigned walks)
{
	(void)walks;
	rte_graph_walk(w->graph);
}

#else

/* Runs the function of a service after a node. Returns the time of its end if the walk is timed:
 * `walks` is the number of walks that it represents, 0 if it is not. */
static inline uint64_t bp_walk_after_node(
	const struct bp_after_node *after, unsigned walks, uint64_t start)
{
	uint64_t now;

	after->node->total_objs += after->run(after->state);
	if (likely(walks == 0))
		return 0;
	now = rte_rdtsc();
	after->node->total_cycles += (now - start) * walks;
	return now;
}

/*
 * As rte_graph_walk(): source nodes first (the entries before cir_start, at negative indices), then
 * the pending nodes, in a circular buffer. The difference: rte_graph_walk() reads the time-stamp
 * counter twice per node and walk, which costs a bare bridge 4 % of its rate; here only one walk in
 * BP_WALKS_TIMED is timed. Calls and objects are exact.
 */
static inline __attribute__((always_inline)) void bp_walk_graph(
	struct rte_graph *graph, unsigned walks, const struct bp_after_node *after)
{
	const rte_graph_off_t *cir_start = graph->cir_start;
	const rte_node_t mask = graph->cir_mask;
	uint32_t head = graph->head;
	uint64_t start = walks != 0 ? rte_rdtsc() : 0;

	while (likely(head != graph->tail)) {
		struct rte_node *node = RTE_PTR_ADD(graph, cir_start[(int32_t)head++]);
		void **objs = node->objs;

		rte_prefetch0(objs);
		node->total_objs += node->process(graph, node, objs, node->idx);
		node->total_calls++;
		if (unlikely(walks != 0)) {
			uint64_t now = rte_rdtsc();

			node->total_cycles += (now - start) * walks;
			start = now;
		}
		node->idx = 0;
		if (after)
			start = bp_walk_after_node(after, walks, start);
		head = likely((int32_t)head > 0) ? head & mask : head;
	}
	graph->tail = 0;
}

/* The walk of a worker: a service that cannot wait for a whole walk runs after every node, so that
 * nothing delays it for longer than one burst of one node. */
static inline void bp_graph_walk(struct bp_worker *w, unsigned walks)
{
	if (likely(!w->after_node.run))
		bp_walk_graph(w->graph, walks, NULL);
	else
		bp_walk_graph(w->graph, walks, &w->after_node);
}

#endif

#endif
