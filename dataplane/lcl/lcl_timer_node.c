/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Source node: new flows of lcl come into force here, between two nodes that ask for them. The
 * schedulers are looked at after this one as after every other (dataplane/workers/walk.h), and the
 * time that all looks take is counted as this node's.
 */
#include "dataplane/lcl/lcl.h"
#include "dataplane/nodes/nodes.h"

static uint16_t lcl_timer_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_lcl *l = bp_node_ctx(node)->worker->lcl;

	RTE_SET_USED(graph);
	RTE_SET_USED(objs);
	RTE_SET_USED(nb_objs);
	if (unlikely(bp_lcl_has_pending(l)))
		bp_lcl_apply_pending(l);
	return 0;
}

struct rte_node_register bp_node_lcl_timer = {
	.name = "bp_lcl_timer",
	.flags = RTE_NODE_SOURCE_F,
	.process = lcl_timer_process,
	.nb_edges = 0,
};
RTE_NODE_REGISTER(bp_node_lcl_timer)
