/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In the place of port_tx for an LCL port: puts frames into the port's scheduler, or, where another
 * worker owns that, into the ring to it. One clone per LCL port.
 */
#include "dataplane/lcl/lcl.h"
#include "dataplane/nodes/nodes.h"

static uint16_t lcl_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_node_ctx *ctx = bp_node_ctx(node);
	struct bp_worker *w = ctx->worker;
	struct bp_lcl_out *o = w->lcl->of[ctx->port];
	struct rte_mbuf *const *m = (struct rte_mbuf *const *)objs;

	RTE_SET_USED(graph);
	/* summed when they leave */
	w->straight[ctx->port].frames = 0;
	w->straight[ctx->port].bytes = 0;
	if (unlikely(!o->scheduler)) {
		bp_lcl_hand_over(o, m, nb_objs, w->mono_ns);
		return nb_objs;
	}
	/* A frame counts from when the walk that polled it began: what it waited for that in the
	 * NIC's queue is not known here, and one that came between that and the poll counts as so
	 * much older. It is put at the time of the look that came before this node, for which all
	 * that was due was taken out. */
	bp_lcl_put_frames(o, m, nb_objs, w->mono_ns);
	return nb_objs;
}

struct rte_node_register bp_node_lcl = {
	.name = "bp_lcl",
	.process = lcl_process,
	.nb_edges = 0,
};
RTE_NODE_REGISTER(bp_node_lcl)
