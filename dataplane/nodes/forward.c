/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the Ethernet header for the next hop of each packet, whose link word node ip4 or ip6
 * stored in it, and sends it by the output interface.
 */
#include "dataplane/nodes/edge_batch.h"
#include "dataplane/nodes/frame_mark.h"
#include "dataplane/nodes/nodes.h"
#include "dataplane/nodes/rewrite.h"

static uint16_t forward_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_worker *w = bp_node_ctx(node)->worker;
	const struct bp_router *r = &w->router;
	struct bp_edge_batch out;

	bp_edge_batch_begin(&out, w, graph, node, objs, nb_objs, BP_EDGE_DROP);
	for (uint16_t i = 0; i < nb_objs; i++) {
		struct rte_mbuf *m = objs[i];
		uint64_t link = bp_mark_link_get(m);
		uint8_t interface = bp_link_interface(link);
		rte_edge_t edge = r->edge[interface];

		bp_ethernet_rewrite(rte_pktmbuf_mtod(m, uint8_t *), link, r->tx_mac[interface]);
		/* read by the next node */
		if (unlikely(edge < BP_EDGE_PORT))
			bp_mark_output(m, edge, interface);
		bp_edge_batch_add(&out, edge, m);
	}
	bp_edge_batch_end(&out);
	return nb_objs;
}

struct rte_node_register bp_node_forward = {
	.name = "bp_forward",
	.process = forward_process,
	.nb_edges = 0,
};
BP_NODE_REGISTER(bp_node_forward, BP_NEXT_INTERFACE)
