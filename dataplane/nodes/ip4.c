/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Routes IPv4 (RFC 1812). Frames of routed ports come here first, whatever they carry: what is
 * usual (IPv4 for us without options, right in every field) goes through in steps over the whole
 * burst, so that what one packet waits for is filled by the others; the rest one by one. Nothing is
 * changed in a packet before it is certain that it is forwarded: the kernel gets it as it came.
 */
#include "dataplane/exception_class.h"
#include "dataplane/nodes/next_hop.h"
#include "dataplane/nodes/nodes.h"
#include "proto/ip.h"
#include "shm/hash.h"
#include "shm/lpm.h"
#include "shm/neighbours.h"

#define STEP 64u /* packets worked on together, as many as a lookup takes */
#define ETHER_MIN                                                                                  \
	60u /* shorter frames are filled up on the wire; what follows the packet is filling */
#define FRAGMENTED 0x3fffu /* more fragments, or an offset */
#define HEAD (BP_ETHER_HDR + BP_IP4_HDR)

/* Addresses and ports; every packet of a flow the same, so no ports where some packets are
 * fragments. */
static uint32_t flow_hash(const struct bp_worker *w, const struct rte_mbuf *m)
{
	const uint8_t *h = rte_pktmbuf_mtod_offset(m, const uint8_t *, BP_ETHER_HDR);
	uint8_t protocol = h[BP_IP4_PROTOCOL];
	uint32_t header = (h[0] & 0xfu) * 4, ports = 0;

	if ((protocol == BP_PROTO_TCP || protocol == BP_PROTO_UDP) &&
		(bp_be16(h + BP_IP4_FRAGMENT) & FRAGMENTED) == 0 &&
		BP_ETHER_HDR + header + 4 <= m->data_len)
		memcpy(&ports, h + header, 4);
	return (uint32_t)(bp_fold(bp_load64(h + BP_IP4_SRC) ^ w->router.fib->hash_key[0],
				  (ports | (uint64_t)protocol << 32) ^
					  w->router.fib->hash_key[1]) >>
			  32);
}

/* The link word that a packet really follows: a flow's member of a group, a neighbour's MAC. */
static __rte_noinline uint64_t follow(struct bp_worker *w, const struct rte_mbuf *m, uint64_t link)
{
	const struct bp_router *r = &w->router;

	if (bp_link_kind(link) == BP_LINK_GROUP)
		link = bp_next_hop_of_group(r, link, flow_hash(w, m));
	if (bp_link_kind(link) == BP_LINK_CONNECTED) {
		uint32_t dst;

		memcpy(&dst, rte_pktmbuf_mtod_offset(m, const uint8_t *, BP_ETHER_HDR + BP_IP4_DST),
			4);
		link = bp_neighbour4_use(r->fib, bp_link_interface(link), dst, r->now_s);
	}
	return link;
}

/* ---- what is not usual ---- */

/* A header of any length. */
static bool checksum_ok(const uint8_t *h, uint32_t header)
{
	return bp_sum_ok(bp_sum(h, header, 0));
}

/* Lengths, checksum and addresses of an IPv4 packet; BP_EDGE_IP4 when it may be routed. */
static rte_edge_t examine(struct bp_worker *w, struct rte_mbuf *m, bool unicast)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *), *h = frame + BP_ETHER_HDR;
	enum bp_ip4_kind src, dst;
	uint32_t header, total;

	if (m->data_len < HEAD || h[0] >> 4 != 4)
		return bp_drop(m, BP_C_DROP_IP_HEADER);
	header = (h[0] & 0xfu) * 4;
	total = bp_be16(h + BP_IP4_TOTAL);
	if (header < BP_IP4_HDR || BP_ETHER_HDR + header > m->data_len || total < header ||
		BP_ETHER_HDR + total > m->pkt_len)
		return bp_drop(m, BP_C_DROP_IP_HEADER);
	if (!checksum_ok(h, header))
		return bp_drop(m, BP_C_DROP_IP_CHECKSUM);
	src = bp_ip4_kind(h[BP_IP4_SRC]);
	dst = bp_ip4_kind(h[BP_IP4_DST]);
	if (dst == BP_IP4_MULTICAST || bp_be32(h + BP_IP4_DST) == UINT32_MAX) {
		/* 0.0.0.0 is how a host asks for its address */
		if (src != BP_IP4_UNICAST && bp_be32(h + BP_IP4_SRC) != 0)
			return bp_drop(m, BP_C_DROP_MARTIAN);
		return bp_punt(w, m, BP_C_PUNT_MULTICAST,
			bp_exception_classify(w->router.classes, frame, m->data_len, true));
	}
	if (src != BP_IP4_UNICAST || dst != BP_IP4_UNICAST)
		return bp_drop(m, BP_C_DROP_MARTIAN);
	/* RFC 1812 5.3.4: what came to everybody on the link is not forwarded */
	if (!unicast) {
		uint32_t address = bp_be32(h + BP_IP4_DST), nexthop;

		bp_lpm4_lookup(w->router.fib, &address, &nexthop, 1);
		if (nexthop != BP_NH_LOCAL)
			return bp_drop(m, BP_C_DROP_MARTIAN);
	}
	return BP_EDGE_IP4;
}

/* Cuts what follows the packet in a frame that needed no filling. */
static void trim(struct rte_mbuf *m, uint32_t total)
{
	uint32_t end = BP_ETHER_HDR + total;

	if (m->pkt_len > ETHER_MIN && m->pkt_len > end && m->nb_segs == 1)
		rte_pktmbuf_trim(m, (uint16_t)(m->pkt_len - RTE_MAX(end, ETHER_MIN)));
}

static rte_edge_t route_one(struct bp_worker *w, struct rte_mbuf *m)
{
	uint8_t *h = rte_pktmbuf_mtod_offset(m, uint8_t *, BP_ETHER_HDR);
	uint32_t dst = bp_be32(h + BP_IP4_DST), total = bp_be16(h + BP_IP4_TOTAL), nexthop;
	rte_edge_t edge;
	uint64_t link;

	bp_lpm4_lookup(w->router.fib, &dst, &nexthop, 1);
	link = follow(w, m, bp_next_hop_use(&w->router, nexthop));
	if (bp_link_kind(link) == BP_LINK_RESOLVED || bp_link_kind(link) == BP_LINK_UNRESOLVED) {
		if ((h[0] & 0xf) != 5)
			return bp_punt(w, m, BP_C_PUNT_OPTIONS, BP_EX_OTHER);
		if (h[BP_IP4_TTL] <= 1)
			return bp_punt(w, m, BP_C_PUNT_TTL, BP_EX_OTHER);
	}
	edge = bp_next_hop_other(w, m, link, total);
	if (edge == BP_EDGE_FORWARD) {
		trim(m, total);
		bp_ip4_decrement_ttl(h);
	}
	return edge;
}

/* Any frame that came in on a routed interface. */
static __rte_noinline rte_edge_t route_any(struct bp_worker *w, struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	bool unicast;
	rte_edge_t edge;

	if (m->data_len < BP_ETHER_HDR)
		return bp_drop(m, BP_C_DROP_RUNT);
	if (w->router.rx_mac[m->port] == BP_RX_MAC_DOWN)
		return bp_drop(m, BP_C_DROP_IF_DOWN);
	unicast = !(frame[0] & 1);
	if (unicast && bp_mac_word(frame) != w->router.rx_mac[m->port])
		return bp_drop(m, BP_C_DROP_NOT_FOR_US);
	switch (bp_be16(frame + 12)) {
	case BP_ETHER_IP4:
		edge = examine(w, m, unicast);
		return edge == BP_EDGE_IP4 ? route_one(w, m) : edge;
	case BP_ETHER_IP6:
		return BP_EDGE_IP6;
	case BP_ETHER_ARP:
		return bp_punt(w, m, BP_C_PUNT_ARP, BP_EX_ROUTING);
	default:
		return bp_punt(w, m, BP_C_PUNT_ETHERTYPE,
			bp_exception_classify(w->router.classes, frame, m->data_len, false));
	}
}

/* ---- the usual ---- */

/* IPv4 without options for us, more hops to go, addresses that may be forwarded, nothing behind it,
 * and a right checksum. */
static inline bool is_usual(const struct bp_worker *w, const struct rte_mbuf *m)
{
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *), *h = p + BP_ETHER_HDR;
	uint32_t type, total = bp_be16(h + BP_IP4_TOTAL);
	bool ok;

	memcpy(&type, p + 12, 4); /* EtherType, version and length, type of service */
	ok = m->data_len >= HEAD;
	ok &= (type & rte_cpu_to_be_32(0xffffff00)) == rte_cpu_to_be_32(0x08004500);
	ok &= (bp_load64(p) & BP_LINK_MAC_MASK) == w->router.rx_mac[m->port];
	ok &= h[BP_IP4_TTL] > 1;
	ok &= total >= BP_IP4_HDR;
	ok &= BP_ETHER_HDR + total == m->pkt_len ||
	      (m->pkt_len <= ETHER_MIN && BP_ETHER_HDR + total < m->pkt_len);
	ok &= bp_ip4_kind(h[BP_IP4_SRC]) == BP_IP4_UNICAST;
	ok &= bp_ip4_kind(h[BP_IP4_DST]) == BP_IP4_UNICAST;
	return ok && bp_ip4_checksum_ok20(h);
}

/* Sends one that is not for node forward on its way. */
static void send_other(struct rte_graph *graph, struct rte_node *node, rte_edge_t edge,
	struct rte_mbuf *m, struct rte_mbuf **forward, uint32_t *n_forward)
{
	if (edge == BP_EDGE_FORWARD)
		forward[(*n_forward)++] = m;
	else
		rte_node_enqueue_x1(graph, node, edge, m);
}

/* Up to STEP frames. Those for node forward are written to `forward`, which may be `m` itself;
 * returns how many. */
static uint32_t route_step(struct rte_graph *graph, struct rte_node *node, struct bp_worker *w,
	struct rte_mbuf **m, uint32_t n, struct rte_mbuf **forward)
{
	const struct bp_router *r = &w->router;
	struct rte_mbuf *usual[STEP], *other[STEP];
	uint32_t dst[STEP], nexthop[STEP], n_usual = 0, n_other = 0, n_forward = 0;

	for (uint32_t i = 0; i < n; i++) {
		bool ok = is_usual(w, m[i]);

		usual[n_usual] = m[i];
		dst[n_usual] = bp_be32(
			rte_pktmbuf_mtod_offset(m[i], const uint8_t *, BP_ETHER_HDR + BP_IP4_DST));
		n_usual += ok;
		other[n_other] = m[i];
		n_other += !ok;
	}
	bp_lpm4_lookup(r->fib, dst, nexthop, n_usual);
	for (uint32_t i = 0; i < n_usual; i++)
		rte_prefetch0(bp_next_hop(r, nexthop[i]));
	for (uint32_t i = 0; i < n_usual; i++) {
		uint8_t *h = rte_pktmbuf_mtod_offset(usual[i], uint8_t *, BP_ETHER_HDR);
		uint32_t total = bp_be16(h + BP_IP4_TOTAL);
		uint64_t link = bp_next_hop_use(r, nexthop[i]);

		if (unlikely(bp_link_kind(link) != BP_LINK_RESOLVED))
			link = follow(w, usual[i], link);
		if (unlikely(bp_link_kind(link) != BP_LINK_RESOLVED ||
			     total > r->tx_mtu[bp_link_interface(link)])) {
			rte_edge_t edge = bp_next_hop_other(w, usual[i], link, total);

			send_other(graph, node, edge, usual[i], forward, &n_forward);
			continue;
		}
		bp_mark_link(usual[i], link);
		bp_ip4_decrement_ttl(h);
		forward[n_forward++] = usual[i];
	}
	for (uint32_t i = 0; i < n_other; i++)
		send_other(graph, node, route_any(w, other[i]), other[i], forward, &n_forward);
	return n_forward;
}

static uint16_t ip4_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_worker *w = bp_node_ctx(node)->worker;
	struct rte_mbuf **m = (struct rte_mbuf **)objs;
	uint32_t n_forward = 0;

	for (uint32_t i = 0; i < nb_objs; i += STEP)
		n_forward += route_step(
			graph, node, w, m + i, RTE_MIN(nb_objs - i, STEP), m + n_forward);
	bp_count(w, BP_C_FORWARD4, n_forward);
	if (likely(n_forward == nb_objs))
		rte_node_next_stream_move(graph, node, BP_EDGE_FORWARD);
	else if (n_forward != 0)
		rte_node_enqueue(graph, node, BP_EDGE_FORWARD, objs, (uint16_t)n_forward);
	return nb_objs;
}

struct rte_node_register bp_node_ip4 = {
	.name = "bp_ip4",
	.process = ip4_process,
	.nb_edges = 0,
};
RTE_NODE_REGISTER(bp_node_ip4)
