/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Adds the VLAN tags of frames that leave by a subinterface, whose number is in the mark of the
 * frame, and sends them by its port.
 */
#include "dataplane/nodes/vlan.h"

#include <string.h>

#include "biplane/counters/general.h"
#include "dataplane/nodes/edge_batch.h"
#include "dataplane/nodes/frame_mark.h"
#include "dataplane/nodes/nodes.h"
#include "proto/net/ip.h"

#define ADDRESSES 12u /* bytes of both MAC addresses */

/* The output device completes the checksum of such a frame: the position of its header changes. */
static void move_l2(struct rte_mbuf *m, int by)
{
	if (unlikely(m->ol_flags & RTE_MBUF_F_TX_L4_MASK))
		m->l2_len = (uint64_t)((int)m->l2_len + by) & 0x7f;
}

bool bp_vlan_pop(const struct bp_router *r, struct rte_mbuf *m)
{
	uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *), addresses[ADDRESSES];
	uint8_t interface;

	if (m->port >= BP_MAX_PORTS || m->data_len < BP_ETHER_HDR + BP_VLAN_TAG ||
		bp_be16(p + ADDRESSES) != BP_ETHER_VLAN)
		return false;
	interface = bp_router_vlan(r, (uint8_t)m->port, bp_be16(p + BP_ETHER_HDR));
	if (interface == BP_NO_INTERFACE)
		return false;
	memcpy(addresses, p, sizeof(addresses));
	memcpy(rte_pktmbuf_adj(m, BP_VLAN_TAG), addresses, sizeof(addresses));
	move_l2(m, -BP_VLAN_TAG);
	m->port = interface;
	return true;
}

bool bp_vlan_push(const struct bp_router *r, struct rte_mbuf *m, unsigned subinterface)
{
	const uint32_t tag = r->tag[subinterface - BP_MAX_INTERFACES];
	uint8_t *from = rte_pktmbuf_mtod(m, uint8_t *), addresses[ADDRESSES];
	uint8_t *to;

	if (unlikely(tag == 0)) /* it was deleted */
		return false;
	memcpy(addresses, from, sizeof(addresses));
	to = (uint8_t *)rte_pktmbuf_prepend(m, BP_VLAN_TAG);
	if (unlikely(to == NULL))
		return false;
	memcpy(to, addresses, sizeof(addresses));
	bp_put_be16(to + ADDRESSES, BP_ETHER_VLAN);
	bp_put_be16(to + BP_ETHER_HDR, (uint16_t)tag);
	move_l2(m, BP_VLAN_TAG);
	return true;
}

static uint16_t vlan_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_worker *w = bp_node_ctx(node)->worker;
	const struct bp_router *r = &w->router;
	struct bp_edge_batch out;

	bp_edge_batch_begin(&out, w, graph, node, objs, nb_objs, BP_EDGE_DROP);
	for (uint16_t i = 0; i < nb_objs; i++) {
		struct rte_mbuf *m = objs[i];
		const unsigned subinterface = bp_mark_output_get(m);

		if (unlikely(!bp_vlan_push(r, m, subinterface)))
			rte_node_enqueue_x1(graph, node, bp_drop(m, BP_C_DROP_VLAN_NO_HEADROOM), m);
		else
			bp_edge_batch_add(&out, r->edge[bp_vlan_port(r, subinterface)], m);
	}
	bp_edge_batch_end(&out);
	return nb_objs;
}

struct rte_node_register bp_node_vlan = {
	.name = "bp_vlan",
	.process = vlan_process,
	.nb_edges = 0,
};
BP_NODE_REGISTER(bp_node_vlan, BP_EDGE_DROP, BP_NEXT_PORTS)
