/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Routes IPv4 (RFC 1812). All frames of routed ports arrive here first, with any protocol. The fast
 * path handles IPv4 packets to this router without options and with valid headers, in steps over
 * the whole burst, so that the memory latency of one packet is hidden by the others; the slow path
 * handles the other frames one by one. A packet is not modified before it is certain that it is
 * forwarded: the kernel gets the original.
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
#include "proto/net/vec16.h"
#include "shm/fib/lpm/lpm.h"
#include "shm/fib/neighbors.h"

#define STEP 64u /* packets processed together, the maximum of a lookup */
#define HEAD (BP_ETHER_HDR + BP_IP4_HDR)

/*
 * Resolves the link word that a packet follows: the member of a group for its flow, the MAC of a
 * neighbor.
 */
static __rte_noinline uint64_t follow(struct bp_worker *w, const struct rte_mbuf *m, uint64_t link)
{
	const struct bp_router *r = &w->router;

	if (bp_link_kind(link) == BP_LINK_GROUP)
		link = bp_next_hop_of_group(r, link, bp_flow_hash4(r->fib, m));
	if (bp_link_kind(link) == BP_LINK_CONNECTED) {
		uint32_t dst;

		memcpy(&dst, rte_pktmbuf_mtod_offset(m, const uint8_t *, BP_ETHER_HDR + BP_IP4_DST),
			4);
		link = bp_neighbor4_use(r->fib, bp_link_interface(link), dst, r->now_s);
	}
	return link;
}

/* ---- slow path ---- */

/* Verifies a header of any length. */
static bool checksum_ok(const uint8_t *h, uint32_t header)
{
	return bp_sum_ok(bp_sum(h, header, 0));
}

/*
 * Checks the addresses of a packet that is not for this machine. Returns the drop reason;
 * BP_C_COUNT: valid.
 */
static bp_counter_t forbidden(const struct bp_worker *w, const struct rte_mbuf *m)
{
	const uint8_t *h = rte_pktmbuf_mtod_offset(m, const uint8_t *, BP_ETHER_HDR);

	if (bp_ip4_is_link_local(h + BP_IP4_SRC) || bp_ip4_is_link_local(h + BP_IP4_DST))
		return BP_C_DROP_LINK_LOCAL;
	return w->router.flags[m->port] & BP_IF_NO_FORWARD4 ? BP_C_DROP_FORWARDING_OFF : BP_C_COUNT;
}

/* Checks the lengths, checksum and addresses of an IPv4 packet. BP_EDGE_IP4: it may be routed. */
static rte_edge_t validate_one(struct bp_worker *w, struct rte_mbuf *m, bool unicast)
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
		/* a host without an address sends from 0.0.0.0 */
		if (src != BP_IP4_UNICAST && bp_be32(h + BP_IP4_SRC) != 0)
			return bp_drop(m, BP_C_DROP_MARTIAN);
		return bp_punt(w, m, BP_C_PUNT_MULTICAST,
			bp_exception_classify(w->router.classes, frame, m->data_len, true));
	}
	if (src != BP_IP4_UNICAST || dst != BP_IP4_UNICAST)
		return bp_drop(m, BP_C_DROP_MARTIAN);
	/* RFC 1812 5.3.4: a frame sent to all hosts of a link is not forwarded */
	if (!unicast) {
		const uint8_t vrf = bp_router_vrf(&w->router, m->port);

		if (bp_lpm4_lookup_in(w->router.fib, vrf, h + BP_IP4_DST) != BP_NH_LOCAL)
			return bp_drop(m, BP_C_DROP_MARTIAN);
	}
	return BP_EDGE_IP4;
}

static rte_edge_t route_one(struct bp_worker *w, struct rte_mbuf *m)
{
	uint8_t *h = rte_pktmbuf_mtod_offset(m, uint8_t *, BP_ETHER_HDR);
	uint32_t total = bp_be16(h + BP_IP4_TOTAL), nexthop;
	bp_counter_t wrong;
	rte_edge_t edge;
	uint64_t link;

	wrong = bp_source4(&w->router.source, w->router.fib, m->port, h + BP_IP4_SRC);
	if (wrong != BP_C_COUNT && !bp_is_originated(m))
		return bp_drop(m, wrong);
	nexthop = bp_lpm4_lookup_in(
		w->router.fib, bp_router_vrf(&w->router, m->port), h + BP_IP4_DST);
	link = follow(w, m, bp_next_hop_use(&w->router, nexthop));
	wrong = bp_link_kind(link) == BP_LINK_LOCAL ? BP_C_COUNT : forbidden(w, m);
	if (wrong != BP_C_COUNT)
		return bp_drop(m, wrong);
	if (bp_link_kind(link) == BP_LINK_RESOLVED || bp_link_kind(link) == BP_LINK_UNRESOLVED) {
		if ((h[0] & 0xf) != 5)
			return bp_punt(w, m, BP_C_PUNT_IP_OPTIONS, BP_EX_OTHER);
		if (h[BP_IP4_TTL] <= 1)
			return bp_punt(w, m, BP_C_PUNT_TTL_EXPIRED, BP_EX_OTHER);
	}
	edge = bp_next_hop_other(w, m, link, total);
	if (edge == BP_EDGE_FORWARD) {
		bp_trim_payload_end(m, total);
		bp_ip4_decrement_ttl(h);
	}
	return edge;
}

/* For any frame received on a routed interface. */
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
		return bp_drop(m, BP_C_DROP_DST_MAC_MISMATCH);
	switch (bp_be16(frame + 12)) {
	case BP_ETHER_IP4:
		edge = validate_one(w, m, unicast);
		return edge == BP_EDGE_IP4 ? route_one(w, m) : edge;
	case BP_ETHER_IP6:
		return BP_EDGE_IP6;
	case BP_ETHER_ARP:
		return bp_punt(w, m, BP_C_PUNT_ARP, BP_EX_ROUTING);
	case BP_ETHER_VLAN:
	case BP_ETHER_QINQ:
		return bp_punt(w, m, BP_C_PUNT_VLAN, BP_EX_OTHER);
	default:
		return bp_punt(w, m, BP_C_PUNT_ETHERTYPE,
			bp_exception_classify(w->router.classes, frame, m->data_len, false));
	}
}

/* ---- fast path ---- */

/* Header fields of the packets of a step, in order. */
struct heads {
	uint32_t src[STEP];   /* byte order of the packet */
	uint32_t dst[STEP];   /* host byte order */
	uint32_t total[STEP]; /* bytes from the IP header */
	uint32_t hop[STEP];   /* TTL, protocol and checksum of the output packet */
	uint32_t nexthop[STEP];
};

/*
 * Validates four frames. Bit i is set if m[i] is IPv4 without options to this router, with a TTL
 * above 1, addresses that may be forwarded, no trailing bytes, and a right checksum. There are no
 * branches, since almost all frames are valid.
 */
static __rte_always_inline uint64_t validate_x4(
	const struct bp_router *r, struct rte_mbuf *const m[4], struct heads *h, uint32_t at)
{
	const bp_v16 *const expect[4] = {&r->rx_head[m[0]->port], &r->rx_head[m[1]->port],
		&r->rx_head[m[2]->port], &r->rx_head[m[3]->port]};
	const uint8_t *const frame[4] = {rte_pktmbuf_mtod(m[0], const uint8_t *),
		rte_pktmbuf_mtod(m[1], const uint8_t *), rte_pktmbuf_mtod(m[2], const uint8_t *),
		rte_pktmbuf_mtod(m[3], const uint8_t *)};
	const bp_v4 len = {m[0]->pkt_len, m[1]->pkt_len, m[2]->pkt_len, m[3]->pkt_len};
	const bp_v4 first = {m[0]->data_len, m[1]->data_len, m[2]->data_len, m[3]->data_len};

	return bp_ip4_four(frame, expect, len, first, ETHER_MIN, &h->src[at], &h->dst[at],
		&h->total[at], &h->hop[at]);
}

/* Returns a bit for each packet of the fast path. */
static __rte_noinline uint64_t validate_burst(
	const struct bp_router *r, struct rte_mbuf **m, struct heads *h, uint32_t n)
{
	/* in a large table, whose memory is loaded while the next packets are validated */
	const bool prefetch = r->nodes4 != 0;
	uint64_t valid = 0;
	uint32_t i;

	for (i = 0; i + 4 <= n; i += 4) {
		valid |= validate_x4(r, m + i, h, i) << i;
		if (prefetch)
			bp_lpm4_prefetch(r->fib, &h->dst[i], 4);
	}
	if (i < n) {
		struct rte_mbuf *const rest[4] = {
			m[i], m[RTE_MIN(i + 1, n - 1)], m[RTE_MIN(i + 2, n - 1)], m[n - 1]};

		valid |= validate_x4(r, rest, h, i) << i;
	}
	return valid & UINT64_MAX >> (STEP - n);
}

/* Returns a bit for each fast-path packet whose source may be an address of this machine. */
static __rte_noinline uint64_t local_source_candidates(
	const struct bp_source_filter *s, const uint32_t *src, uint32_t n)
{
	uint64_t maybe = 0;

	for (uint32_t i = 0; i < n; i++)
		maybe |= bp_local_maybe(s, bp_local_hash4(src[i])) << i;
	return maybe;
}

/* The same; almost always there is none. */
static inline uint64_t maybe_local_source(
	const struct bp_source_filter *s, const uint32_t *src, uint32_t n)
{
	uint64_t any = 0;

	for (uint32_t i = 0; i < n; i++)
		any |= bp_local_maybe(s, bp_local_hash4(src[i]));
	return likely(any == 0) ? 0 : local_source_candidates(s, src, n);
}

/*
 * Drops the packets with an invalid source address, among those in `maybe` and those received on an
 * interface with a reverse path filter; the others move up.
 */
static __rte_noinline uint32_t filter_sources(struct rte_graph *graph, struct rte_node *node,
	struct bp_worker *w, struct rte_mbuf **m, struct heads *h, uint32_t n, uint64_t maybe)
{
	const struct bp_source_filter *s = &w->router.source;
	uint32_t src[STEP], nexthop[STEP], left = 0;

	for (uint32_t i = 0; i < n; i++)
		src[i] = rte_be_to_cpu_32(h->src[i]);
	if (s->any_vrf)
		bp_router_lookup4(&w->router, m, src, nexthop, n);
	else
		bp_lpm4_lookup(w->router.fib, src, nexthop, n);
	for (uint32_t i = 0; i < n; i++) {
		const enum bp_rpf rpf = s->rpf4[m[i]->port];
		bp_counter_t wrong = BP_C_COUNT;

		if ((rpf != BP_RPF_OFF || maybe >> i & 1) && !bp_is_originated(m[i]))
			wrong = bp_source_verdict(w->router.fib, nexthop[i], m[i]->port, rpf);
		if (unlikely(wrong != BP_C_COUNT)) {
			rte_node_enqueue_x1(graph, node, bp_drop(m[i], wrong), m[i]);
			continue;
		}
		h->src[left] = h->src[i];
		h->dst[left] = h->dst[i];
		h->total[left] = h->total[i];
		h->hop[left] = h->hop[i];
		m[left++] = m[i];
	}
	return left;
}

/*
 * Removes the tags of frames for subinterfaces, which are not valid before. Returns whether there
 * is one.
 */
static __rte_noinline bool untag_burst(
	const struct bp_router *r, struct rte_mbuf **m, uint32_t n, uint64_t valid)
{
	bool any = false;

	for (uint32_t i = 0; i < n; i++)
		if (!(valid >> i & 1))
			any |= bp_vlan_pop(r, m[i]);
	return any;
}

/* Whether it is IPv6 to this router: node ip6 checks the rest. */
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

/*
 * Routes the packets that are not on the fast path (their bit is 0) one by one; the others move up.
 */
static __rte_noinline uint32_t to_slow_path(struct rte_graph *graph, struct rte_node *node,
	struct bp_worker *w, struct rte_mbuf **m, struct heads *h, uint32_t n, uint64_t valid)
{
	uint32_t left = (uint32_t)__builtin_ctzll(~valid), n_six = 0;
	void *six[STEP];

	for (uint32_t i = left; i < n; i++) {
		rte_edge_t edge;

		if (valid >> i & 1) {
			h->src[left] = h->src[i];
			h->dst[left] = h->dst[i];
			h->total[left] = h->total[i];
			h->hop[left] = h->hop[i];
			m[left++] = m[i];
			continue;
		}
		if (is_ip6(w, m[i])) {
			six[n_six++] = m[i];
			continue;
		}
		edge = route_any(w, m[i]);
		bp_count(w, BP_C_FORWARDED_IP4, edge == BP_EDGE_FORWARD);
		rte_node_enqueue_x1(graph, node, edge, m[i]);
	}
	if (n_six != 0)
		rte_node_enqueue(graph, node, BP_EDGE_IP6, six, (uint16_t)n_six);
	return left;
}

/* Common properties of consecutive packets with the same output. */
struct run {
	uint32_t kind;     /* upper 16 bits of their link words: kind and interface */
	uint32_t mtu;      /* of the interface */
	uint64_t mac;      /* its MAC, in the upper 16 bits of the first 8 bytes of a frame */
	uint32_t mac_rest; /* and in the following 4 bytes */
	uint16_t out;
	rte_edge_t edge; /* below BP_EDGE_PORT, the next node reads the interface: bridge, vlan */
	uint32_t local;  /* number of packets so far for our own nodes, which are not forwarded */
};

static inline void *rewrite(struct rte_mbuf *m, uint64_t link, uint32_t hop, struct run run)
{
	uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *);

	memcpy(p + BP_ETHER_HDR + BP_IP4_TTL, &hop, sizeof(hop));
	bp_ethernet_write(p, (link & BP_LINK_MAC_MASK) | run.mac, run.mac_rest);
	if (unlikely(run.edge < BP_EDGE_PORT))
		bp_mark_output(m, run.edge, run.out);
	return m;
}

/*
 * Handles a packet with this link word whose output differs from that of the packet before it.
 * Returns its resolved link word, and sets `run` for it; or 0 if the packet is not forwarded, and
 * was added to the batch.
 */
static __rte_noinline uint64_t switch_adjacency(struct bp_edge_batch *batch, struct rte_mbuf *m,
	uint32_t total, uint64_t link, struct run *run)
{
	struct rte_graph *graph = batch->graph;
	struct rte_node *node = batch->node;
	struct bp_worker *w = batch->worker;
	const struct bp_router *r = &w->router;
	uint8_t out;

	if (bp_link_kind(link) != BP_LINK_RESOLVED)
		link = follow(w, m, link);
	out = bp_link_interface(link);
	if (unlikely(out == m->port) && bp_link_kind(link) == BP_LINK_RESOLVED &&
		!bp_is_originated(m) && bp_router_redirects(w, BP_IF_REDIRECTS4, out)) {
		rte_node_enqueue_x1(graph, node, bp_punt(w, m, BP_C_PUNT_REDIRECT, BP_EX_OTHER), m);
		return 0;
	}
	if (bp_link_kind(link) != BP_LINK_RESOLVED || total > r->tx_mtu[out]) {
		rte_node_enqueue_x1(graph, node, bp_next_hop_other(w, m, link, total), m);
		return 0;
	}
	if (r->edge[out] != batch->edge)
		bp_edge_batch_set_edge(batch, r->edge[out]);
	*run = (struct run){
		.kind = (uint32_t)(link >> 48),
		.mtu = r->tx_mtu[out],
		.mac = r->tx_mac[out] << 48,
		.mac_rest = (uint32_t)(r->tx_mac[out] >> 16),
		.out = out,
		.edge = batch->edge,
		.local = run->local,
	};
	return link;
}

/*
 * Rewrites the packets [i, n) up to the first whose output differs from that of the one before it;
 * returns its index. A separate function, so that all state stays in registers.
 */
static __rte_noinline uint32_t rewrite_same_adjacency(const struct bp_router *r,
	struct rte_mbuf **m, const struct heads *h, uint32_t i, uint32_t n, const struct run *last,
	struct bp_edge_batch *batch)
{
	struct bp_nexthop *const nexthops = r->fib->nexthops;
	const uint32_t now_s = r->now_s;
	const struct run run = *last;
	void **to = batch->frames + batch->n;
	uint32_t bytes = batch->bytes;

	for (; i < n; i++) {
		uint64_t link = bp_nexthop_use(&nexthops[h->nexthop[i]], now_s);

		if (unlikely(link >> 48 != run.kind || h->total[i] > run.mtu))
			break;
		bytes += m[i]->pkt_len;
		*to++ = rewrite(m[i], link, h->hop[i], run);
	}
	batch->n = (uint32_t)(to - batch->frames);
	batch->bytes = bytes;
	return i;
}

/*
 * Collects the packets [i, n) up to the first that is not for node phd or cse; returns its index.
 * The packets are not modified.
 */
static __rte_noinline uint32_t collect_local(struct bp_edge_batch *batch, struct rte_mbuf **m,
	const struct heads *h, uint32_t i, uint32_t n, struct run *run)
{
	for (; i < n && h->nexthop[i] == BP_NH_LOCAL; i++) {
		const rte_edge_t edge = bp_phd_edge_ip4(batch->worker, m[i]);

		if (unlikely(edge == BP_EDGE_EXCEPTION))
			break;
		if (unlikely(edge != batch->edge)) {
			bp_edge_batch_set_edge(batch, edge);
			/* the next forwarded packet starts a new run */
			run->kind = UINT32_MAX;
		}
		run->local++;
		batch->frames[batch->n++] = m[i];
	}
	return i;
}

/* Processes up to STEP frames: those that leave are added to the batch. */
static void route_step(
	struct bp_edge_batch *batch, struct rte_mbuf **m, uint32_t n, struct run *run)
{
	struct rte_graph *graph = batch->graph;
	struct rte_node *node = batch->node;
	struct bp_worker *w = batch->worker;
	const struct bp_router *r = &w->router;
	struct heads h;
	uint64_t valid, maybe;

	valid = validate_burst(r, m, &h, n);
	if (unlikely(valid != UINT64_MAX >> (STEP - n))) {
		if (untag_burst(r, m, n, valid))
			valid = validate_burst(r, m, &h, n);
		if (valid != UINT64_MAX >> (STEP - n))
			n = to_slow_path(graph, node, w, m, &h, n, valid);
	}
	maybe = maybe_local_source(&r->source, h.src, n);
	if (unlikely(maybe != 0 || r->source.any4))
		n = filter_sources(graph, node, w, m, &h, n, maybe);
	if (unlikely(r->source.any_vrf))
		bp_router_lookup4(r, m, h.dst, h.nexthop, n);
	else
		bp_lpm4_lookup_retry(r->fib, &w->router.nodes4, h.dst, h.nexthop, n);
	if (r->prefetch_nexthops)
		for (uint32_t i = 0; i < n; i++)
			rte_prefetch0(bp_next_hop(r, h.nexthop[i]));
	for (uint32_t i = 0; i < n; i++) {
		uint64_t link;

		i = rewrite_same_adjacency(r, m, &h, i, n, run, batch);
		if (i == n)
			break;
		if (bp_phd_worker_of(w) != NULL && h.nexthop[i] == BP_NH_LOCAL) {
			const uint32_t next = collect_local(batch, m, &h, i, n, run);

			if (next != i) {
				i = next - 1;
				continue;
			}
		}
		link = bp_next_hop_use(r, h.nexthop[i]);
		link = switch_adjacency(batch, m[i], h.total[i], link, run);
		if (link == 0)
			continue;
		batch->bytes += m[i]->pkt_len;
		batch->frames[batch->n++] = rewrite(m[i], link, h.hop[i], *run);
	}
}

static uint16_t ip4_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_worker *w = bp_node_ctx(node)->worker;
	struct rte_mbuf **m = (struct rte_mbuf **)objs;
	struct bp_edge_batch batch;
	struct run run = {0};

	if (is_ip6(w, m[0]) && all_ip6(w, m, nb_objs)) {
		rte_node_next_stream_move(graph, node, BP_EDGE_IP6);
		return nb_objs;
	}
	bp_edge_batch_begin(&batch, w, graph, node, objs, nb_objs, BP_EDGE_DROP);
	for (uint32_t i = 0; i < nb_objs; i += STEP)
		route_step(&batch, m + i, RTE_MIN(nb_objs - i, STEP), &run);
	bp_count(w, BP_C_FORWARDED_IP4, batch.n - run.local);
	bp_edge_batch_end(&batch);
	return nb_objs;
}

struct rte_node_register bp_node_ip4 = {
	.name = "bp_ip4",
	.process = ip4_process,
	.nb_edges = 0,
};
BP_NODE_REGISTER(bp_node_ip4, BP_EDGE_DROP, BP_EDGE_IP6, BP_EDGE_FORWARD, BP_EDGE_EXCEPTION,
	BP_EDGE_PHD, BP_EDGE_CSE, BP_NEXT_INTERFACE)
