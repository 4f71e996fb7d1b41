/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts each frame under the drop reason that the previous node stored in it, and frees it. */
#include <rte_mbuf.h>

#include "biplane/counters/general.h"
#include "dataplane/capture/capture_points.h"
#include "dataplane/nodes/nodes.h"
#include "dataplane/nodes/vlan.h"

/* Captures show frames of subinterfaces as their port received them. */
static __rte_noinline void capture(struct bp_worker *w, struct rte_mbuf **m, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++) {
		const unsigned by = m[i]->port;

		if (bp_is_subinterface(by) && rte_mbuf_refcnt_read(m[i]) == 1 &&
			bp_vlan_push(&w->router, m[i], by))
			m[i]->port = bp_vlan_port(&w->router, by);
	}
	bp_capture_dropped(w, m, n);
}

static uint16_t drop_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_worker *w = bp_node_ctx(node)->worker;
	struct rte_mbuf **m = (struct rte_mbuf **)objs;

	RTE_SET_USED(graph);
	for (uint16_t i = 0; i < nb_objs; i++) {
		uint32_t reason = m[i]->hash.fdir.hi;

		/* A node that stored no reason must not make the sum wrong. */
		if (unlikely(reason >= BP_C_COUNT || bp_counter_info[reason].group != BP_CG_DROP))
			reason = BP_C_DROP_DRAINED_AT_SHUTDOWN;
		bp_count_drops(w, bp_router_port(&w->router, m[i]->port), reason, 1);
	}
	if (unlikely(w->capture_drops))
		capture(w, m, nb_objs);
	rte_pktmbuf_free_bulk(m, nb_objs);
	return nb_objs;
}

struct rte_node_register bp_node_drop = {
	.name = "bp_drop",
	.process = drop_process,
	.nb_edges = 0,
};
BP_NODE_REGISTER(bp_node_drop, BP_NEXT_NONE)
