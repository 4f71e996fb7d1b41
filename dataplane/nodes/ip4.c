/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Routes IPv4 (RFC 1812). Frames of routed ports come here first, whatever they carry: what is
 * usual (IPv4 for us without options, right in every field) goes through in steps over the whole
 * burst, so that what one packet waits for is filled by the others; the rest one by one. Nothing is
 * changed in a packet before it is certain that it is forwarded: the kernel gets it as it came.
 */
#include "dataplane/exception_class.h"
#include "dataplane/nodes/flow_hash.h"
#include "dataplane/nodes/next_hop.h"
#include "dataplane/nodes/nodes.h"
#include "dataplane/nodes/rewrite.h"
#include "dataplane/nodes/way.h"
#include "proto/ip.h"
#include "proto/vec16.h"
#include "shm/lpm.h"
#include "shm/neighbours.h"

#define STEP 64u /* packets worked on together, as many as a lookup takes */
#define HEAD (BP_ETHER_HDR + BP_IP4_HDR)

/* The link word that a packet really follows: a flow's member of a group, a neighbour's MAC. */
static __rte_noinline uint64_t follow(struct bp_worker *w, const struct rte_mbuf *m, uint64_t link)
{
	const struct bp_router *r = &w->router;

	if (bp_link_kind(link) == BP_LINK_GROUP)
		link = bp_next_hop_of_group(r, link, bp_flow_hash4(r->fib, m));
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
		bp_cut_behind(m, total);
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

/*
 * The 16 octets from the EtherType on, each with its bounds: IPv4, no options, a TTL of 2 or more,
 * a source that is unicast (its first octet 1..223; 127 is asked for apart).
 */
#define AT_BOUNDED 12u
static const bp_v16 least = {0x08, 0x00, 0x45, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0};
static const bp_v16 most = {0x08, 0x00, 0x45, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	0xff, 0xff, 223, 0xff};

/* IPv4 without options for us, more hops to go, addresses that may be forwarded, nothing behind it,
 * and a right checksum. No branches: nearly all are. */
static inline bool is_usual(const struct bp_worker *w, const struct rte_mbuf *m, uint32_t dst)
{
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *), *h = p + BP_ETHER_HDR;
	const bp_v16 v = bp_v16_load(p + AT_BOUNDED);
	uint32_t end = BP_ETHER_HDR + bp_be16(h + BP_IP4_TOTAL), len = m->pkt_len;
	bool ok;

	ok = bp_v16_all((bp_v16)((v >= least) & (v <= most)));
	ok &= (bp_load_le64(p) & BP_LINK_MAC_MASK) == w->router.rx_mac[m->port];
	ok &= m->data_len >= HEAD;
	ok &= end >= HEAD;
	ok &= end == len || (end < len && len <= ETHER_MIN);
	ok &= dst - 0x01000000u < 0xdf000000u; /* 1.0.0.0 .. 223.255.255.255 */
	ok &= dst >> 24 != 127;
	ok &= h[BP_IP4_SRC] != 127;
	return ok & bp_ip4_checksum_ok20(h);
}

/* IPv6 for us: node ip6 looks at the rest. */
static inline bool is_ip6(const struct bp_worker *w, const struct rte_mbuf *m)
{
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
	bool ok = bp_be16(p + 12) == BP_ETHER_IP6;

	ok &= (bp_load_le64(p) & BP_LINK_MAC_MASK) == w->router.rx_mac[m->port];
	return ok & (m->data_len >= BP_ETHER_HDR);
}

static bool all_ip6(const struct bp_worker *w, struct rte_mbuf **m, uint32_t n)
{
	bool all = true;

	for (uint32_t i = 0; i < n; i++)
		all &= is_ip6(w, m[i]);
	return all;
}

/* The packets that are not usual (their bit is 0) are routed one by one; the others close up. */
static __rte_noinline uint32_t set_aside(struct rte_graph *graph, struct rte_node *node,
	struct bp_worker *w, struct rte_mbuf **m, uint32_t *dst, uint32_t n, uint64_t usual)
{
	uint32_t left = (uint32_t)__builtin_ctzll(~usual), n_six = 0;
	void *six[STEP];

	for (uint32_t i = left; i < n; i++) {
		rte_edge_t edge;

		if (usual >> i & 1) {
			dst[left] = dst[i];
			m[left++] = m[i];
			continue;
		}
		if (is_ip6(w, m[i])) {
			six[n_six++] = m[i];
			continue;
		}
		edge = route_any(w, m[i]);
		bp_count(w, BP_C_FORWARD4, edge == BP_EDGE_FORWARD);
		rte_node_enqueue_x1(graph, node, edge, m[i]);
	}
	if (n_six != 0)
		rte_node_enqueue(graph, node, BP_EDGE_IP6, six, (uint16_t)n_six);
	return left;
}

/* Up to STEP frames: those that leave are added to `way`. */
static void route_step(struct rte_graph *graph, struct rte_node *node, struct bp_worker *w,
	void **objs, struct rte_mbuf **m, uint32_t n, struct bp_way *way)
{
	const struct bp_router *r = &w->router;
	uint32_t dst[STEP], nexthop[STEP], bytes = 0;
	uint64_t usual = 0;

	for (uint32_t i = 0; i < n; i++) {
		dst[i] = bp_be32(
			rte_pktmbuf_mtod_offset(m[i], const uint8_t *, BP_ETHER_HDR + BP_IP4_DST));
		usual |= (uint64_t)is_usual(w, m[i], dst[i]) << i;
	}
	if (unlikely(usual != UINT64_MAX >> (STEP - n)))
		n = set_aside(graph, node, w, m, dst, n, usual);
	bp_lpm4_lookup(r->fib, dst, nexthop, n);
	for (uint32_t i = 0; i < n; i++)
		rte_prefetch0(bp_next_hop(r, nexthop[i]));
	for (uint32_t i = 0; i < n; i++) {
		struct rte_mbuf *one = m[i];
		uint8_t *p = rte_pktmbuf_mtod(one, uint8_t *);
		uint32_t total = bp_be16(p + BP_ETHER_HDR + BP_IP4_TOTAL);
		uint64_t link = bp_next_hop_use(r, nexthop[i]);
		uint8_t out;

		if (unlikely(bp_link_kind(link) != BP_LINK_RESOLVED))
			link = follow(w, one, link);
		out = bp_link_interface(link);
		if (unlikely(bp_link_kind(link) != BP_LINK_RESOLVED || total > r->tx_mtu[out])) {
			rte_node_enqueue_x1(
				graph, node, bp_next_hop_other(w, one, link, total), one);
			continue;
		}
		if (unlikely(r->edge[out] != way->edge)) {
			way->bytes += bytes;
			bytes = 0;
			bp_way_flush(w, graph, node, objs, way);
			way->edge = r->edge[out];
		}
		bp_ip4_decrement_ttl(p + BP_ETHER_HDR);
		bp_ethernet_rewrite(p, link, r->tx_mac[out]);
		one->port =
			out; /* a bridge must know that it does not come from one of its ports */
		bytes += one->pkt_len;
		objs[way->n++] = one;
	}
	way->bytes += bytes;
}

static uint16_t ip4_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_worker *w = bp_node_ctx(node)->worker;
	struct rte_mbuf **m = (struct rte_mbuf **)objs;
	struct bp_way way = {.edge = BP_EDGE_DROP};

	if (is_ip6(w, m[0]) && all_ip6(w, m, nb_objs)) {
		rte_node_next_stream_move(graph, node, BP_EDGE_IP6);
		return nb_objs;
	}
	for (uint32_t i = 0; i < nb_objs; i += STEP)
		route_step(graph, node, w, objs, m + i, RTE_MIN(nb_objs - i, STEP), &way);
	bp_count(w, BP_C_FORWARD4, way.n);
	bp_way_end(w, graph, node, objs, nb_objs, &way);
	return nb_objs;
}

struct rte_node_register bp_node_ip4 = {
	.name = "bp_ip4",
	.process = ip4_process,
	.nb_edges = 0,
};
RTE_NODE_REGISTER(bp_node_ip4)
