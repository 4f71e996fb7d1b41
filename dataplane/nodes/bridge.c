/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A learning bridge: each bridge is a segment of its own. Known unicast goes to one port; unknown
 * unicast, multicast and broadcast go to every other port of the bridge. Frames are never modified.
 */
#include <rte_mbuf.h>
#include <rte_ether.h>

#include "biplane/counters/general.h"
#include "dataplane/nodes/frame_mark.h"
#include "dataplane/nodes/learn.h"
#include "dataplane/nodes/nodes.h"

/*
 * Multicast and broadcast frames are also copied to the kernel behind the host interface. Unknown
 * unicast is not: the MAC address of the host interface is always known.
 */
static void copy_to_host(struct rte_graph *graph, struct rte_node *node, struct bp_worker *w,
	struct rte_mbuf *m, uint8_t host)
{
	const uint8_t *head = rte_pktmbuf_mtod(m, const uint8_t *);
	struct rte_mbuf *copy;

	if (m->port == host || !(head[0] & MAC_GROUP_BIT) ||
		w->router.rx_mac[host] == BP_RX_MAC_DOWN)
		return;
	copy = rte_pktmbuf_copy(m, w->pool, 0, UINT32_MAX);
	if (!copy) {
		bp_count(w, BP_C_FLOOD_NO_MBUF, 1);
		return;
	}
	bp_count(w, BP_C_FLOOD_COPY, 1);
	copy->port = host;
	rte_node_enqueue_x1(graph, node, BP_EDGE_IP4, copy);
}

/*
 * Sends copies to all ports but the first eligible one; returns the edge to that port for the
 * original.
 */
static rte_edge_t flood(struct rte_graph *graph, struct rte_node *node, struct bp_worker *w,
	struct rte_mbuf *m, uint8_t bridge)
{
	uint8_t first = BP_NO_PORT;

	if (w->bridge_host[bridge] != BP_NO_PORT)
		copy_to_host(graph, node, w, m, w->bridge_host[bridge]);
	for (unsigned i = 0; i < w->bridge_n[bridge]; i++) {
		uint8_t out = w->bridge_port[bridge][i];
		struct rte_mbuf *copy;

		if (out == m->port)
			continue;
		if (first == BP_NO_PORT) {
			first = out;
			continue;
		}
		copy = rte_pktmbuf_copy(m, w->pool, 0, UINT32_MAX);
		if (!copy) {
			bp_count(w, BP_C_FLOOD_NO_MBUF, 1);
			continue;
		}
		bp_count(w, BP_C_FLOOD_COPY, 1);
		rte_node_enqueue_x1(graph, node, (rte_edge_t)(BP_EDGE_PORT + out), copy);
	}
	if (first == BP_NO_PORT)
		return bp_drop(m, BP_C_DROP_NO_OUTPUT_PORT);
	bp_count(w, BP_C_FLOODED, 1);
	return (rte_edge_t)(BP_EDGE_PORT + first);
}

static rte_edge_t bridge_one(
	struct rte_graph *graph, struct rte_node *node, struct bp_worker *w, struct rte_mbuf *m)
{
	uint8_t bridge = w->bridge_of[m->port];
	const uint8_t *head;
	uint64_t dst;
	uint8_t out, host;

	if (unlikely(m->data_len < sizeof(struct rte_ether_hdr)))
		return bp_drop(m, BP_C_DROP_RUNT);
	head = rte_pktmbuf_mtod(m, const uint8_t *);
	if (likely(m->port <
		    BP_MAX_PORTS)) /* the MAC address of the host interface need not be learned */
		bp_bridge_learn(w, bp_mac_load(head + RTE_ETHER_ADDR_LEN), m->port);
	dst = bp_mac_load(head);
	if (dst & MAC_GROUP_BIT)
		return flood(graph, node, w, m, bridge);
	host = w->bridge_host[bridge];
	if (unlikely(host != BP_NO_PORT && dst == w->router.rx_mac[host])) {
		m->port = host;
		return BP_EDGE_IP4;
	}
	out = bp_mac_lookup(w->fdb.of[bridge], dst, bridge, w->mono_ns);
	if (out == BP_MAC_UNKNOWN)
		return flood(graph, node, w, m, bridge);
	if (out == m->port)
		return bp_drop(m, BP_C_DROP_HAIRPIN);
	return (rte_edge_t)(BP_EDGE_PORT + out);
}

static uint16_t bridge_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_worker *w = bp_node_ctx(node)->worker;

	for (uint16_t i = 0; i < nb_objs; i++) {
		struct rte_mbuf *m = objs[i];
		rte_edge_t edge = bridge_one(graph, node, w, m);

		rte_node_enqueue_x1(graph, node, edge, m);
	}
	return nb_objs;
}

struct rte_node_register bp_node_bridge = {
	.name = "bp_bridge",
	.process = bridge_process,
	.nb_edges = 0,
};
BP_NODE_REGISTER(bp_node_bridge, BP_EDGE_DROP, BP_EDGE_IP4, BP_NEXT_PORTS)
