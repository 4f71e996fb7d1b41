/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Routes IPv6 (RFC 8200). Gets from node ip4 every frame with its EtherType; else as there: the
 * usual in steps over the burst, the rest one by one, nothing changed before it is certain to be
 * forwarded.
 */
#include "dataplane/exception_class.h"
#include "dataplane/nodes/flow_hash.h"
#include "dataplane/nodes/next_hop.h"
#include "dataplane/nodes/nodes.h"
#include "proto/ip.h"
#include "proto/nd.h"
#include "shm/lpm.h"
#include "shm/neighbours.h"

#define STEP 64u
#define ETHER_MIN 60u
#define HEAD (BP_ETHER_HDR + BP_IP6_HDR)

static inline const uint8_t *destination(const struct rte_mbuf *m)
{
	return rte_pktmbuf_mtod_offset(m, const uint8_t *, BP_ETHER_HDR + BP_IP6_DST);
}

static inline uint32_t total_length(const uint8_t *h)
{
	return BP_IP6_HDR + bp_be16(h + BP_IP6_PAYLOAD);
}

static __rte_noinline uint64_t follow(struct bp_worker *w, const struct rte_mbuf *m, uint64_t link)
{
	const struct bp_router *r = &w->router;

	if (bp_link_kind(link) == BP_LINK_GROUP)
		link = bp_next_hop_of_group(r, link, bp_flow_hash6(r->fib, m));
	if (bp_link_kind(link) == BP_LINK_CONNECTED)
		link = bp_neighbour6_use(r->fib, bp_link_interface(link), destination(m), r->now_s);
	return link;
}

static inline bool may_be_source(const uint8_t *a)
{
	return !bp_ip6_is_multicast(a) && !bp_ip6_is_martian(a);
}

/* ---- what is not usual ---- */

/* For a group, or for everybody on the link. */
static rte_edge_t to_group(struct bp_worker *w, struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	enum bp_exception_class class =
		bp_exception_classify(w->router.classes, frame, m->data_len, true);

	return bp_punt(w, m,
		bp_exception_is_nd(frame, m->data_len) ? BP_C_PUNT_ND : BP_C_PUNT_MULTICAST, class);
}

static rte_edge_t route_one(struct bp_worker *w, struct rte_mbuf *m, bool unicast)
{
	uint8_t *h = rte_pktmbuf_mtod_offset(m, uint8_t *, BP_ETHER_HDR);
	const uint8_t *dst = destination(m);
	uint32_t nexthop, total = total_length(h);
	rte_edge_t edge;
	uint64_t link;

	if (bp_ip6_is_link_local(dst)) { /* never leaves its link (RFC 4291 2.5.6) */
		nexthop = BP_NH_LOCAL;
	} else {
		bp_lpm6_lookup(w->router.fib, &dst, &nexthop, 1);
	}
	link = follow(w, m, bp_next_hop_use(&w->router, nexthop));
	if (bp_link_kind(link) != BP_LINK_LOCAL &&
		(!unicast || bp_ip6_is_link_local(h + BP_IP6_SRC)))
		return bp_drop(m, BP_C_DROP_MARTIAN);
	if (bp_link_kind(link) == BP_LINK_RESOLVED || bp_link_kind(link) == BP_LINK_UNRESOLVED) {
		if (h[BP_IP6_NEXT] == BP_PROTO_HOP_BY_HOP)
			return bp_punt(w, m, BP_C_PUNT_OPTIONS, BP_EX_OTHER);
		if (h[BP_IP6_HOPS] <= 1)
			return bp_punt(w, m, BP_C_PUNT_TTL, BP_EX_OTHER);
	}
	edge = bp_next_hop_other(w, m, link, total);
	if (edge == BP_EDGE_FORWARD) {
		if (m->pkt_len > BP_ETHER_HDR + total && m->pkt_len > ETHER_MIN && m->nb_segs == 1)
			rte_pktmbuf_trim(m,
				(uint16_t)(m->pkt_len - RTE_MAX(BP_ETHER_HDR + total, ETHER_MIN)));
		h[BP_IP6_HOPS]--;
	}
	return edge;
}

/* Node ip4 has looked at the Ethernet header. */
static __rte_noinline rte_edge_t route_any(struct bp_worker *w, struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *), *h = frame + BP_ETHER_HDR;

	if (m->data_len < HEAD || h[0] >> 4 != 6 || BP_ETHER_HDR + total_length(h) > m->pkt_len)
		return bp_drop(m, BP_C_DROP_IP_HEADER);
	if (bp_ip6_is_multicast(h + BP_IP6_SRC))
		return bp_drop(m, BP_C_DROP_MARTIAN);
	if (bp_ip6_is_multicast(h + BP_IP6_DST)) /* also from ::, as duplicate address detection */
		return to_group(w, m);
	if (!may_be_source(h + BP_IP6_SRC) || bp_ip6_is_martian(h + BP_IP6_DST))
		return bp_drop(m, BP_C_DROP_MARTIAN);
	return route_one(w, m, !(frame[0] & 1));
}

/* ---- the usual ---- */

/* No hop-by-hop options, more hops to go, addresses of wide scope, nothing behind it. */
static inline bool is_usual(const struct rte_mbuf *m)
{
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *), *h = p + BP_ETHER_HDR;
	bool ok = m->data_len >= HEAD;

	ok &= h[0] >> 4 == 6;
	ok &= !(p[0] & 1);
	ok &= h[BP_IP6_HOPS] > 1;
	ok &= h[BP_IP6_NEXT] != BP_PROTO_HOP_BY_HOP;
	ok &= BP_ETHER_HDR + total_length(h) == m->pkt_len;
	/* fe80::/10 and ff00::/8 begin with 1111 1110 or 1111 1111; what begins with a zero octet
	 * may be a martian */
	ok &= (uint8_t)(h[BP_IP6_SRC] - 1) < 0xfd;
	ok &= (uint8_t)(h[BP_IP6_DST] - 1) < 0xfd;
	return ok;
}

static void send_other(struct rte_graph *graph, struct rte_node *node, rte_edge_t edge,
	struct rte_mbuf *m, struct rte_mbuf **forward, uint32_t *n_forward)
{
	if (edge == BP_EDGE_FORWARD)
		forward[(*n_forward)++] = m;
	else
		rte_node_enqueue_x1(graph, node, edge, m);
}

static uint32_t route_step(struct rte_graph *graph, struct rte_node *node, struct bp_worker *w,
	struct rte_mbuf **m, uint32_t n, struct rte_mbuf **forward)
{
	const struct bp_router *r = &w->router;
	struct rte_mbuf *usual[STEP], *other[STEP];
	const uint8_t *dst[STEP];
	uint32_t nexthop[STEP], n_usual = 0, n_other = 0, n_forward = 0;

	for (uint32_t i = 0; i < n; i++) {
		bool ok = is_usual(m[i]);

		usual[n_usual] = m[i];
		dst[n_usual] = destination(m[i]);
		n_usual += ok;
		other[n_other] = m[i];
		n_other += !ok;
	}
	bp_lpm6_lookup(r->fib, dst, nexthop, n_usual);
	for (uint32_t i = 0; i < n_usual; i++)
		rte_prefetch0(bp_next_hop(r, nexthop[i]));
	for (uint32_t i = 0; i < n_usual; i++) {
		uint8_t *h = rte_pktmbuf_mtod_offset(usual[i], uint8_t *, BP_ETHER_HDR);
		uint32_t total = total_length(h);
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
		h[BP_IP6_HOPS]--;
		forward[n_forward++] = usual[i];
	}
	for (uint32_t i = 0; i < n_other; i++)
		send_other(graph, node, route_any(w, other[i]), other[i], forward, &n_forward);
	return n_forward;
}

static uint16_t ip6_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_worker *w = bp_node_ctx(node)->worker;
	struct rte_mbuf **m = (struct rte_mbuf **)objs;
	uint32_t n_forward = 0;

	for (uint32_t i = 0; i < nb_objs; i += STEP)
		n_forward += route_step(
			graph, node, w, m + i, RTE_MIN(nb_objs - i, STEP), m + n_forward);
	bp_count(w, BP_C_FORWARD6, n_forward);
	if (likely(n_forward == nb_objs))
		rte_node_next_stream_move(graph, node, BP_EDGE_FORWARD);
	else if (n_forward != 0)
		rte_node_enqueue(graph, node, BP_EDGE_FORWARD, objs, (uint16_t)n_forward);
	return nb_objs;
}

struct rte_node_register bp_node_ip6 = {
	.name = "bp_ip6",
	.process = ip6_process,
	.nb_edges = 0,
};
RTE_NODE_REGISTER(bp_node_ip6)
