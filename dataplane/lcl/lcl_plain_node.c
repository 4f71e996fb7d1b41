/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In the place of port_tx for a port without LCL, where others have it: sends, and counts the
 * time-sensitive frames that are so no longer. One clone per port.
 */
#include "dataplane/lcl/lcl.h"
#include "dataplane/nodes/nodes.h"
#include "dataplane/ports/port_send.h"

static uint16_t lcl_plain_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_node_ctx *ctx = bp_node_ctx(node);
	struct bp_worker *w = ctx->worker;
	const uint64_t flag = w->lcl->field.flag;
	struct rte_mbuf **m = (struct rte_mbuf **)objs;
	uint64_t bytes, lost = 0;

	RTE_SET_USED(graph);
	for (uint16_t i = 0; i < nb_objs; i++) {
		if (likely((m[i]->ol_flags & flag) == 0))
			continue;
		m[i]->ol_flags &= ~flag;
		lost++;
	}
	bp_count(w, BP_C_LCL_LOST, lost);
	bytes = bp_port_bytes(w, ctx->port, m, nb_objs);
	bp_port_send(w, ctx->port, ctx->queue, m, nb_objs, bytes);
	return nb_objs;
}

struct rte_node_register bp_node_lcl_plain = {
	.name = "bp_lcl_plain",
	.process = lcl_plain_process,
	.nb_edges = 0,
};
RTE_NODE_REGISTER(bp_node_lcl_plain)
