/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A source node for frames that the kernel sent through its interfaces, received from the exception
 * thread. They leave unmodified, by the port of the interface or into its bridge.
 */
#include "dataplane/exception/exception.h"
#include "dataplane/nodes/nodes.h"

static uint16_t kernel_rx_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_worker *w = bp_node_ctx(node)->worker;
	struct rte_mbuf *m[BP_RX_BURST];
	unsigned n;

	RTE_SET_USED(objs);
	RTE_SET_USED(nb_objs);
	n = bp_exception_take(w->exception, w->index, m, BP_RX_BURST);
	if (likely(n == 0))
		return 0;
	bp_count(w, w->exception->originated_counter, n);
	w->rx_frames += n;
	for (unsigned i = 0; i < n; i++) {
		unsigned interface = bp_exception_interface(m[i]);

		m[i]->port = (uint16_t)interface; /* the bridge reads the input port of a frame */
		rte_node_enqueue_x1(graph, node, w->router.edge[interface], m[i]);
	}
	return (uint16_t)n;
}

struct rte_node_register bp_node_kernel_rx = {
	.name = "bp_kernel_rx",
	.flags = RTE_NODE_SOURCE_F,
	.process = kernel_rx_process,
	.nb_edges = 0,
};
BP_NODE_REGISTER(bp_node_kernel_rx, BP_NEXT_INTERFACE)
