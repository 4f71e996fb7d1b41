/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers ARP requests and neighbor solicitations for our own addresses on interfaces without a
 * kernel interface: in a replay, and with `host_interface.backend: off`. It answers for any address
 * of the gateway on any interface, as Linux does.
 */
#include "biplane/counters/general.h"
#include "dataplane/nodes/frame_mark.h"
#include "dataplane/nodes/nodes.h"
#include "proto/net/arp.h"
#include "proto/net/ip.h"
#include "proto/net/nd.h"
#include "shm/fib/lpm/lpm.h"

static void mac_bytes(uint8_t out[6], uint64_t word)
{
	for (unsigned i = 0; i < 6; i++)
		out[i] = (uint8_t)(word >> 8 * i);
}

static bool is_ours4(const struct bp_worker *w, const uint8_t *address)
{
	uint32_t dst = bp_be32(address), nexthop;

	bp_lpm4_lookup(w->router.fib, &dst, &nexthop, 1);
	return nexthop == BP_NH_LOCAL;
}

static bool is_ours6(const struct bp_worker *w, const uint8_t *address)
{
	uint32_t nexthop;

	bp_lpm6_lookup(w->router.fib, &address, &nexthop, 1);
	return nexthop == BP_NH_LOCAL;
}

/*
 * Sets the length of the frame to exactly `len` bytes; their content is undefined beyond the former
 * length.
 */
static bool set_length(struct rte_mbuf *m, uint16_t len)
{
	if (m->nb_segs != 1)
		return false;
	if (m->data_len >= len)
		return rte_pktmbuf_trim(m, (uint16_t)(m->data_len - len)) == 0;
	return rte_pktmbuf_append(m, (uint16_t)(len - m->data_len)) != NULL;
}

static bool answer_arp(struct bp_worker *w, struct rte_mbuf *m, const uint8_t mac[6])
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	const uint8_t *target;

	if (!bp_arp_is_request(frame, m->data_len, &target) || !is_ours4(w, target))
		return false;
	bp_arp_write_reply(frame, mac);
	bp_count(w, BP_C_ARP_REPLIES, 1);
	return true;
}

static bool answer_nd(struct bp_worker *w, struct rte_mbuf *m, const uint8_t mac[6])
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	const uint8_t *target;

	if (!bp_nd_is_solicitation(frame, m->data_len, &target) || !is_ours6(w, target) ||
		!set_length(m, BP_ND_ADVERTISEMENT_FRAME))
		return false;
	bp_nd_write_advertisement(frame, mac);
	bp_count(w, BP_C_ND_ADVERTISEMENTS, 1);
	return true;
}

static uint16_t answer_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_worker *w = bp_node_ctx(node)->worker;

	for (uint16_t i = 0; i < nb_objs; i++) {
		struct rte_mbuf *m = objs[i];
		uint32_t interface = m->hash.fdir.hi;
		rte_edge_t edge = w->router.edge[interface];
		uint8_t mac[6];

		mac_bytes(mac, w->router.tx_mac[interface]);
		if (!answer_arp(w, m, mac) && !answer_nd(w, m, mac))
			edge = bp_drop(m, BP_C_DROP_NO_HOST_INTERFACE);
		else if (edge == BP_EDGE_BRIDGE)
			m->port = (uint16_t)interface;
		rte_node_enqueue_x1(graph, node, edge, m);
	}
	return nb_objs;
}

struct rte_node_register bp_node_answer = {
	.name = "bp_answer",
	.process = answer_process,
	.nb_edges = 0,
};
BP_NODE_REGISTER(bp_node_answer, BP_EDGE_DROP, BP_NEXT_INTERFACE)
