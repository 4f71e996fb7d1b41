/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Routes IPv6 (RFC 8200). Node ip4 sends every frame with its EtherType here. Otherwise as in node
 * ip4: a fast path in steps over the burst, a slow path for single packets, and no modification
 * before it is certain that a packet is forwarded.
 */
#include "biplane/counters/general.h"
#include "dataplane/exception/exception_class.h"
#include "dataplane/nodes/edge_batch.h"
#include "dataplane/nodes/flow_hash.h"
#include "dataplane/nodes/next_hop.h"
#include "dataplane/nodes/nodes.h"
#include "dataplane/nodes/rewrite.h"
#include "dataplane/health/worker.h"
#include "proto/net/ip.h"
#include "proto/net/nd.h"
#include "proto/net/vec16.h"
#include "shm/fib/lpm/lpm.h"
#include "shm/fib/neighbors.h"

#define STEP 64u /* packets processed together, the maximum of a lookup */
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
		link = bp_neighbor6_use(r->fib, bp_link_interface(link), destination(m), r->now_s);
	return link;
}

static inline bool may_be_source(const uint8_t *a)
{
	return !bp_ip6_is_multicast(a) && !bp_ip6_is_martian(a);
}

/* ---- slow path ---- */

/* For a group, or for all hosts of the link. */
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
	bp_counter_t wrong;
	rte_edge_t edge;
	uint64_t link;

	wrong = bp_source6(&w->router.source, w->router.fib, m->port, h + BP_IP6_SRC);
	if (wrong != BP_C_COUNT && !bp_is_originated(m))
		return bp_drop(m, wrong);
	if (bp_ip6_is_link_local(dst)) { /* never leaves its link (RFC 4291 2.5.6) */
		nexthop = BP_NH_LOCAL;
	} else {
		nexthop = bp_lpm6_lookup_in(w->router.fib, bp_router_vrf(&w->router, m->port), dst);
	}
	link = follow(w, m, bp_next_hop_use(&w->router, nexthop));
	if (bp_link_kind(link) != BP_LINK_LOCAL) {
		if (!unicast)
			return bp_drop(m, BP_C_DROP_MARTIAN);
		if (w->router.flags[m->port] & BP_IF_NO_FORWARD6)
			return bp_drop(m, BP_C_DROP_FORWARDING_OFF);
		/* the kernel reports that it is beyond the scope of its source (RFC 4443 3.1) */
		if (bp_ip6_is_link_local(h + BP_IP6_SRC))
			return bp_punt(w, m, BP_C_PUNT_SCOPE, BP_EX_OTHER);
	}
	if (bp_link_kind(link) == BP_LINK_RESOLVED || bp_link_kind(link) == BP_LINK_UNRESOLVED) {
		if (h[BP_IP6_NEXT] == BP_PROTO_HOP_BY_HOP)
			return bp_punt(w, m, BP_C_PUNT_IP_OPTIONS, BP_EX_OTHER);
		if (h[BP_IP6_HOPS] <= 1)
			return bp_punt(w, m, BP_C_PUNT_TTL_EXPIRED, BP_EX_OTHER);
	}
	edge = bp_next_hop_other(w, m, link, total);
	if (edge == BP_EDGE_FORWARD) {
		bp_trim_payload_end(m, total);
		h[BP_IP6_HOPS]--;
	}
	return edge;
}

/* Node ip4 has checked the Ethernet header. */
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

/* ---- fast path ---- */

/*
 * The 16 bytes from the EtherType, each with a lower and an upper bound: IPv6, a next header that
 * is not hop-by-hop options (0), a hop limit of at least 2, and a source whose first byte is
 * neither that of fe80::/10 and ff00::/8 nor 0, which may be a martian.
 */
#define AT_BOUNDED 12u
static const bp_v16 lowest = {0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, BP_PROTO_HOP_BY_HOP + 1, 2, 1};
static const bp_v16 most = {0x86, 0xdd, 0x6f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfd, 0xff,
	0xff, 0xff, 0xff, 0xff};

/*
 * Whether the packet has no hop-by-hop options, a hop limit above 1, addresses of global scope, and
 * no trailing bytes. There are no branches, since almost all packets are valid.
 */
static inline bool is_valid_fast(const struct rte_mbuf *m)
{
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *), *h = p + BP_ETHER_HDR;
	const bp_v16 v = bp_v16_load(p + AT_BOUNDED);
	uint32_t end = BP_ETHER_HDR + total_length(h), len = m->pkt_len;
	bool ok = bp_v16_all((bp_v16)((v >= lowest) & (v <= most)));

	ok &= !(p[0] & 1);
	ok &= m->data_len >= HEAD;
	ok &= end == len || (end < len && len <= ETHER_MIN);
	return ok & ((uint8_t)(h[BP_IP6_DST] - 1) < 0xfd);
}

/*
 * Routes the packets that are not on the fast path (their bit is 0) one by one; the others move up.
 */
static __rte_noinline uint32_t to_slow_path(struct rte_graph *graph, struct rte_node *node,
	struct bp_worker *w, struct rte_mbuf **m, uint32_t n, uint64_t valid)
{
	uint32_t left = (uint32_t)__builtin_ctzll(~valid);

	for (uint32_t i = left; i < n; i++) {
		rte_edge_t edge;

		if (valid >> i & 1) {
			m[left++] = m[i];
			continue;
		}
		edge = route_any(w, m[i]);
		bp_count(w, BP_C_FORWARDED_IP6, edge == BP_EDGE_FORWARD);
		rte_node_enqueue_x1(graph, node, edge, m[i]);
	}
	return left;
}

/* Adds a packet for node phd or cse to the batch, unmodified. */
static bool keep(struct bp_edge_batch *batch, struct rte_mbuf *m, uint32_t *local)
{
	const rte_edge_t edge = bp_phd_edge_ip6(batch->worker, m);

	if (edge == BP_EDGE_EXCEPTION)
		return false;
	if (edge != batch->edge)
		bp_edge_batch_set_edge(batch, edge);
	++*local;
	batch->frames[batch->n++] = m;
	return true;
}

static inline const uint8_t *source_of(const struct rte_mbuf *m)
{
	return rte_pktmbuf_mtod_offset(m, const uint8_t *, BP_ETHER_HDR + BP_IP6_SRC);
}

/* Returns a bit for each fast-path packet whose source may be an address of this machine. */
static __rte_noinline uint64_t local_source_candidates(
	const struct bp_source_filter *s, struct rte_mbuf *const *m, uint32_t n)
{
	uint64_t maybe = 0;

	for (uint32_t i = 0; i < n; i++)
		maybe |= bp_local_maybe(s, bp_local_hash6(source_of(m[i]))) << i;
	return maybe;
}

/* The same; almost always there is none. */
static inline uint64_t maybe_local_source(
	const struct bp_source_filter *s, struct rte_mbuf *const *m, uint32_t n)
{
	uint64_t any = 0;

	for (uint32_t i = 0; i < n; i++)
		any |= bp_local_maybe(s, bp_local_hash6(source_of(m[i])));
	return likely(any == 0) ? 0 : local_source_candidates(s, m, n);
}

/* As in node ip4. */
static __rte_noinline uint32_t filter_sources(struct rte_graph *graph, struct rte_node *node,
	struct bp_worker *w, struct rte_mbuf **m, uint32_t n, uint64_t maybe)
{
	const struct bp_source_filter *s = &w->router.source;
	const uint8_t *src[STEP];
	uint32_t nexthop[STEP], left = 0;

	for (uint32_t i = 0; i < n; i++)
		src[i] = source_of(m[i]);
	if (s->any_vrf)
		bp_router_lookup6(&w->router, m, src, nexthop, n);
	else
		bp_lpm6_lookup(w->router.fib, src, nexthop, n);
	for (uint32_t i = 0; i < n; i++) {
		const enum bp_rpf rpf = s->rpf6[m[i]->port];
		bp_counter_t wrong = BP_C_COUNT;

		if ((rpf != BP_RPF_OFF || maybe >> i & 1) && !bp_is_originated(m[i]))
			wrong = bp_source_verdict(w->router.fib, nexthop[i], m[i]->port, rpf);
		if (likely(wrong == BP_C_COUNT))
			m[left++] = m[i];
		else
			rte_node_enqueue_x1(graph, node, bp_drop(m[i], wrong), m[i]);
	}
	return left;
}

/* Returns a bit for each packet received on an interface that forwards. */
static __rte_noinline uint64_t may_forward(
	const struct bp_router *r, struct rte_mbuf *const *m, uint32_t n)
{
	uint64_t may = 0;

	for (uint32_t i = 0; i < n; i++)
		may |= (uint64_t) !(r->flags[m[i]->port] & BP_IF_NO_FORWARD6) << i;
	return may;
}

/*
 * Processes up to STEP frames: those that leave are added to the batch. *local counts those for our
 * own nodes, which are not forwarded.
 */
static void route_step(
	struct bp_edge_batch *batch, struct rte_mbuf **m, uint32_t n, uint32_t *local)
{
	struct rte_graph *graph = batch->graph;
	struct rte_node *node = batch->node;
	struct bp_worker *w = batch->worker;
	const struct bp_router *r = &w->router;
	const uint8_t *dst[STEP];
	uint32_t nexthop[STEP], bytes = 0;
	uint64_t valid = 0, maybe;

	for (uint32_t i = 0; i < n; i++)
		valid |= (uint64_t)is_valid_fast(m[i]) << i;
	if (unlikely(r->any_no_forward6))
		valid &= may_forward(r, m, n);
	if (unlikely(valid != UINT64_MAX >> (STEP - n)))
		n = to_slow_path(graph, node, w, m, n, valid);
	maybe = maybe_local_source(&r->source, m, n);
	if (unlikely(maybe != 0 || r->source.any6))
		n = filter_sources(graph, node, w, m, n, maybe);
	for (uint32_t i = 0; i < n; i++)
		dst[i] = destination(m[i]);
	if (unlikely(r->source.any_vrf))
		bp_router_lookup6(r, m, dst, nexthop, n);
	else
		bp_lpm6_lookup(r->fib, dst, nexthop, n);
	for (uint32_t i = 0; i < n; i++)
		rte_prefetch0(bp_next_hop(r, nexthop[i]));
	for (uint32_t i = 0; i < n; i++) {
		struct rte_mbuf *one = m[i];
		uint8_t *p = rte_pktmbuf_mtod(one, uint8_t *);
		uint32_t total = total_length(p + BP_ETHER_HDR);
		uint64_t link = bp_next_hop_use(r, nexthop[i]);
		uint8_t out;

		if (unlikely(bp_link_kind(link) != BP_LINK_RESOLVED))
			link = follow(w, one, link);
		if (unlikely(bp_link_kind(link) == BP_LINK_LOCAL && bp_phd_worker_of(w) != NULL)) {
			batch->bytes += bytes;
			bytes = 0;
			if (keep(batch, one, local))
				continue;
		}
		out = bp_link_interface(link);
		if (unlikely(out == one->port) && bp_link_kind(link) == BP_LINK_RESOLVED &&
			!bp_is_originated(one) && bp_router_redirects(w, BP_IF_REDIRECTS6, out)) {
			rte_node_enqueue_x1(
				graph, node, bp_punt(w, one, BP_C_PUNT_REDIRECT, BP_EX_OTHER), one);
			continue;
		}
		if (unlikely(bp_link_kind(link) != BP_LINK_RESOLVED || total > r->tx_mtu[out])) {
			rte_node_enqueue_x1(
				graph, node, bp_next_hop_other(w, one, link, total), one);
			continue;
		}
		if (unlikely(r->edge[out] != batch->edge)) {
			batch->bytes += bytes;
			bytes = 0;
			bp_edge_batch_set_edge(batch, r->edge[out]);
		}
		p[BP_ETHER_HDR + BP_IP6_HOPS]--;
		bp_ethernet_rewrite(p, link, r->tx_mac[out]);
		/* read by the next node */
		if (unlikely(batch->edge < BP_EDGE_PORT))
			bp_mark_output(one, batch->edge, out);
		bytes += one->pkt_len;
		batch->frames[batch->n++] = one;
	}
	batch->bytes += bytes;
}

static uint16_t ip6_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_worker *w = bp_node_ctx(node)->worker;
	struct rte_mbuf **m = (struct rte_mbuf **)objs;
	struct bp_edge_batch batch;
	uint32_t local = 0;

	bp_edge_batch_begin(&batch, w, graph, node, objs, nb_objs, BP_EDGE_DROP);
	for (uint32_t i = 0; i < nb_objs; i += STEP)
		route_step(&batch, m + i, RTE_MIN(nb_objs - i, STEP), &local);
	bp_count(w, BP_C_FORWARDED_IP6, batch.n - local);
	bp_edge_batch_end(&batch);
	return nb_objs;
}

struct rte_node_register bp_node_ip6 = {
	.name = "bp_ip6",
	.process = ip6_process,
	.nb_edges = 0,
};
BP_NODE_REGISTER(bp_node_ip6, BP_EDGE_DROP, BP_EDGE_FORWARD, BP_EDGE_EXCEPTION, BP_EDGE_PHD,
	BP_EDGE_CSE, BP_NEXT_INTERFACE)
