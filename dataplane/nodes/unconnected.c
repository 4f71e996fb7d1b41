/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The node behind every edge that leads to no other: one that is not in the table of the node that
 * used it, or whose node this worker does not have. No frame should arrive here; one that does is
 * dropped, and counted regardless of its drop reason.
 */
#include <rte_mbuf.h>

#include "biplane/counters/general.h"
#include "dataplane/capture/capture_points.h"
#include "dataplane/nodes/nodes.h"

static uint16_t unconnected_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_worker *w = bp_node_ctx(node)->worker;
	struct rte_mbuf **m = (struct rte_mbuf **)objs;

	RTE_SET_USED(graph);
	for (uint16_t i = 0; i < nb_objs; i++)
		bp_count_drops(
			w, bp_router_port(&w->router, m[i]->port), BP_C_DROP_NO_NEXT_NODE, 1);
	bp_capture_loss(w, BP_CAPTURE_INPUT_PORT, BP_C_DROP_NO_NEXT_NODE, m, nb_objs);
	rte_pktmbuf_free_bulk(m, nb_objs);
	return nb_objs;
}

struct rte_node_register bp_node_unconnected = {
	.name = "bp_unconnected",
	.process = unconnected_process,
	.nb_edges = 0,
};
BP_NODE_REGISTER(bp_node_unconnected, BP_NEXT_NONE)
