/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends its frames on the queue of this worker on one port. There is one clone per port; the queue
 * differs by worker, so it is in the context.
 */
#include "dataplane/nodes/nodes.h"
#include "dataplane/ports/port_send.h"

static uint16_t port_tx_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_node_ctx *ctx = bp_node_ctx(node);
	struct rte_mbuf **m = (struct rte_mbuf **)objs;
	uint64_t bytes;

	RTE_SET_USED(graph);
	/* Computed before sending: afterwards the driver owns the frames. */
	bytes = bp_port_bytes(ctx->worker, ctx->port, m, nb_objs);
	bp_port_send(ctx->worker, ctx->port, ctx->queue, m, nb_objs, bytes);
	return nb_objs;
}

struct rte_node_register bp_node_port_tx = {
	.name = "bp_port_tx",
	.process = port_tx_process,
	.nb_edges = 0,
};
BP_NODE_REGISTER(bp_node_port_tx, BP_NEXT_NONE)
