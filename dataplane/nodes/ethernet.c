/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides which frames are read: TCP segments to or from an inspected port, under any VLAN tags.
 * The others go straight on. Nothing is dropped here: what can't be understood is forwarded unread.
 */
#include "dataplane/mqtt/inspect.h"
#include "dataplane/nodes/nodes.h"
#include "dataplane/nodes/tcp_hint.h"

#define ETHER_IP4_HDRS (BP_ETHER_HDR + 20u + 20u)

static bool wanted(struct bp_worker *w, struct rte_mbuf *m, const struct bp_frame *f)
{
	bool to_broker;

	if (!bp_inspector_wants(w->inspector, f->sport, f->dport, &to_broker))
		return false;
	if (!bp_hint_fits(f->l3, f->l4)) {
		bp_count(w, BP_C_SEG_BAD_HEADER, 1);
		return false;
	}
	bp_hint_set(m, f->l3, f->l4, f->ip6, to_broker);
	return true;
}

/* Tags, options, IPv6, and everything that isn't TCP. */
static __rte_noinline bool classify_any(struct bp_worker *w, struct rte_mbuf *m)
{
	struct bp_frame f;

	switch (bp_frame_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, m->pkt_len, &f)) {
	case BP_FRAME_TCP:
		return wanted(w, m, &f);
	case BP_FRAME_FRAGMENT:
		bp_count(w, BP_C_SEG_FRAGMENT, 1);
		return false;
	case BP_FRAME_BAD:
		bp_count(w, BP_C_SEG_BAD_HEADER, 1);
		return false;
	case BP_FRAME_OTHER:
		break;
	}
	return false;
}

/* Untagged IPv4 without options carrying TCP, as nearly every sensor sends it. */
static inline bool classify(struct bp_worker *w, struct rte_mbuf *m)
{
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
	uint32_t total;
	bool to_broker;

	if (unlikely(m->data_len < ETHER_IP4_HDRS || bp_be16(p + 12) != BP_ETHER_IP4 ||
		     p[14] != 0x45 || p[23] != 6 || (bp_be16(p + 20) & 0x3fff) != 0))
		return classify_any(w, m);
	/* one port is the rule; the loop over several is in the function */
	if (bp_be16(p + 36) == w->mqtt_port)
		to_broker = true;
	else if (!bp_inspector_wants(w->inspector, bp_be16(p + 34), bp_be16(p + 36), &to_broker))
		return false;
	total = bp_be16(p + 16);
	if (unlikely(total < 40 || BP_ETHER_HDR + total > m->pkt_len || p[46] >> 4 < 5 ||
		     20u + (p[46] >> 4) * 4u > total || 34u + (p[46] >> 4) * 4u > m->data_len)) {
		bp_count(w, BP_C_SEG_BAD_HEADER, 1);
		return false;
	}
	bp_hint_set(m, BP_ETHER_HDR, BP_ETHER_HDR + 20, false, to_broker);
	if (likely(BP_ETHER_HDR + total <= m->data_len))
		m->hash.fdir.hi |= BP_HINT_PLAIN;
	return true;
}

static uint16_t ethernet_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_worker *w = bp_node_ctx(node)->worker;
	uint16_t begin = 0;
	rte_edge_t run = BP_EDGE_MQTT;

	for (uint16_t i = 0; i < nb_objs; i++) {
		struct rte_mbuf *m = objs[i];
		rte_edge_t edge = classify(w, m) ? BP_EDGE_MQTT : bp_forward_edge(w, m->port);

		if (unlikely(edge != run)) {
			if (i != begin)
				rte_node_enqueue(
					graph, node, run, &objs[begin], (uint16_t)(i - begin));
			begin = i;
			run = edge;
		}
	}
	if (likely(begin == 0))
		rte_node_next_stream_move(graph, node, run);
	else
		rte_node_enqueue(graph, node, run, &objs[begin], (uint16_t)(nb_objs - begin));
	return nb_objs;
}

struct rte_node_register bp_node_ethernet = {
	.name = "bp_ethernet",
	.process = ethernet_process,
	.nb_edges = 0,
};
RTE_NODE_REGISTER(bp_node_ethernet)
