/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For ports whose driver reports partial checksums (virtio, vhost): completes them, so that the
 * frames leave as a network card would have sent them, or leaves that to the output device if it
 * can complete them.
 */
#include <rte_mbuf.h>

#include "biplane/counters/general.h"
#include "dataplane/nodes/nodes.h"
#include "dataplane/ports/partial_checksum.h"

/* Records that the rest of the graph need not verify the computed checksum. */
static void completed(struct bp_worker *w, struct rte_mbuf *m)
{
	bp_count(w, BP_C_CHECKSUM_COMPLETED, 1);
	m->ol_flags &= ~RTE_MBUF_F_RX_L4_CKSUM_MASK;
	m->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_GOOD;
}

static void treat(struct bp_worker *w, struct rte_mbuf *m)
{
	if (likely(!(w->leaves_checksums >> m->port & 1))) {
		if (bp_partial_checksum_complete(m))
			completed(w, m);
		return;
	}
	switch (bp_partial_checksum_leave(m)) {
	case BP_PARTIAL_LEFT: /* nodes on the path still find the verdict of the driver */
		bp_count(w, BP_C_CHECKSUM_OFFLOADED, 1);
		break;
	case BP_PARTIAL_COMPLETED:
		completed(w, m);
		break;
	case BP_PARTIAL_NONE:
		break;
	}
}

static uint16_t checksum_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_worker *w = bp_node_ctx(node)->worker;

	for (uint16_t i = 0; i < nb_objs; i++) {
		struct rte_mbuf *m = objs[i];

		if ((m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_NONE)
			treat(w, m);
		rte_node_enqueue_x1(graph, node, w->enter[m->port], m);
	}
	return nb_objs;
}

struct rte_node_register bp_node_checksum = {
	.name = "bp_checksum",
	.process = checksum_process,
	.nb_edges = 0,
};
BP_NODE_REGISTER(bp_node_checksum, BP_NEXT_PATH)
