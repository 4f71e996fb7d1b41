/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/health/egress.h"

#include "biplane/counters/general.h"
#include "biplane/counters/health.h"
#include "dataplane/health/datagram.h"
#include "dataplane/nodes/frame_mark.h"
#include "dataplane/nodes/next_hop.h"
#include "proto/net/ip.h"
#include "proto/health/phd_apdu.h"
#include "shm/fib/lpm/lpm.h"
#include "shm/fib/neighbors.h"
#include "shm/hash.h"

/* Selects the member of a group for an address, always the same. */
static uint32_t hash_of(const uint8_t address[16])
{
	return (uint32_t)(bp_mix64(bp_load64(address) ^ bp_load64(address + 8)) >> 32);
}

bool bp_egress_of(const struct bp_router *r, uint32_t nexthop, const uint8_t address[16], bool ip6,
	struct bp_egress *out)
{
	uint64_t link = bp_next_hop_use(r, nexthop);

	if (bp_link_kind(link) == BP_LINK_GROUP)
		link = bp_next_hop_of_group(r, link, hash_of(address));
	if (bp_link_kind(link) == BP_LINK_CONNECTED) {
		uint32_t dst;

		memcpy(&dst, address + 12, sizeof(dst));
		link = ip6 ? bp_neighbor6_use(r->fib, bp_link_interface(link), address, r->now_s)
			   : bp_neighbor4_use(r->fib, bp_link_interface(link), dst, r->now_s);
	}
	out->link = link;
	out->interface = bp_link_interface(link);
	out->mtu = r->tx_mtu[out->interface];
	if (bp_link_kind(link) != BP_LINK_RESOLVED || out->mtu == 0)
		return false;
	out->edge = r->edge[out->interface];
	return true;
}

bool bp_egress_lookup(
	const struct bp_router *r, const uint8_t address[16], bool ip6, struct bp_egress *out)
{
	const uint32_t dst4 = bp_be32(address + 12);
	uint32_t nexthop;

	if (ip6)
		bp_lpm6_lookup(r->fib, &address, &nexthop, 1);
	else
		bp_lpm4_lookup(r->fib, &dst4, &nexthop, 1);
	return bp_egress_of(r, nexthop, address, ip6, out);
}

/* ---- answers to devices ---- */

static bool is_mapped4(const uint8_t address[16])
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(address, prefix, sizeof(prefix)) == 0;
}

void bp_answers_add(struct bp_answers *a, const struct bp_phd_worker *h, struct rte_mbuf *m,
	uint64_t token, enum bp_m2m_outcome outcome)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *), *ip = frame + BP_ETHER_HDR;
	struct bp_answer *one = &a->of[a->n++];
	const struct bp_phd_session *s;
	struct bp_phd_token t;
	uint32_t head, len;
	uint8_t own;

	bp_phd_token_open(token, &t);
	s = &h->t->sessions[t.slot];
	own = bp_phd_word_own(atomic_load_explicit(&s->word, memory_order_relaxed));
	*one = (struct bp_answer){.m = m,
		.token = token,
		.slot = t.slot,
		.outcome = (uint8_t)outcome,
		.ip6 = !is_mapped4(s->address)};
	head = bp_datagram_head(
		frame, one->ip6, h->t->control->own[own], s->address, h->plan.listen_udp, s->port);
	len = (uint32_t)bp_phd_answer_write(
		frame + head, outcome, t.invoke_id, (uint16_t)(BP_PHD_SCAN_FIXED + t.type));
	bp_datagram_seal(frame, head, one->ip6, len, 0,
		one->ip6 ? 0 : bp_sum_fold(bp_sum(ip, BP_IP4_HDR, 0)),
		bp_sum_fold(bp_sum(frame + head - BP_UDP_HDR, BP_UDP_HDR,
			bp_datagram_peers_sum(ip, one->ip6))));
	m->data_len = (uint16_t)(head + len);
	m->pkt_len = m->data_len;
	m->ol_flags = 0;
}

bool bp_phd_event_send(struct bp_worker *w, enum bp_phd_event_kind kind, uint64_t token,
	enum bp_m2m_outcome outcome)
{
	struct bp_ring *events = bp_phd_worker_of(w)->events;
	struct bp_phd_event_record *e;
	struct bp_phd_token t;
	uint64_t mark;

	e = bp_ring_reserve(events, sizeof(*e), &mark);
	if (e == NULL) {
		bp_count(w, BP_C_PHD_EVENTS_LOST, 1);
		bp_count(w, BP_C_SEGMENT_INVALID, bp_ring_corrupt_tails(events));
		return false;
	}
	bp_phd_token_open(token, &t);
	*e = (struct bp_phd_event_record){
		.kind = kind, .slot = t.slot, .token = token, .outcome = (uint8_t)outcome};
	bp_ring_commit(events, mark);
	bp_doorbell_check(&w->doorbell);
	return true;
}

/* Hands a response to the control plane, since the kernel must resolve the address. */
static void hand_over(
	struct rte_graph *graph, struct rte_node *node, struct bp_worker *w, struct bp_answer *a)
{
	if (bp_phd_event_send(w, BP_PHD_EVENT_ANSWER, a->token, (enum bp_m2m_outcome)a->outcome)) {
		bp_count(w, BP_C_PHD_RESPONSE_HANDED_OVER, 1);
		rte_pktmbuf_free(a->m);
	} else {
		rte_node_enqueue_x1(
			graph, node, bp_drop(a->m, BP_C_DROP_PHD_RESPONSE_UNSENT), a->m);
	}
}

/* Looks up the next hops of all responses, those over IPv4 together. */
static void look_up(const struct bp_worker *w, const struct bp_answers *a, uint32_t *nexthop)
{
	const struct bp_fib *fib = w->router.fib;
	uint32_t dst[BP_ANSWERS_MAX], hop[BP_ANSWERS_MAX], n = 0;

	for (uint32_t i = 0; i < a->n; i++) {
		const uint8_t *to = bp_phd_worker_of(w)->t->sessions[a->of[i].slot].address;

		if (a->of[i].ip6)
			bp_lpm6_lookup(fib, &to, &nexthop[i], 1);
		else
			dst[n++] = bp_be32(to + 12);
	}
	if (n == 0)
		return;
	bp_lpm4_lookup(fib, dst, hop, n);
	n = 0;
	for (uint32_t i = 0; i < a->n; i++)
		if (!a->of[i].ip6)
			nexthop[i] = hop[n++];
}

/* Prefetches the cache lines of neighbors on the link, so that one wait covers all. */
static void fetch_neighbors(
	const struct bp_worker *w, const struct bp_answers *a, const uint32_t *nexthop)
{
	const struct bp_fib *fib = w->router.fib;

	for (uint32_t i = 0; i < a->n; i++) {
		const uint8_t *to = bp_phd_worker_of(w)->t->sessions[a->of[i].slot].address;
		const uint64_t link =
			atomic_load_explicit(&fib->nexthops[nexthop[i]].link, memory_order_relaxed);
		uint32_t dst;

		if (bp_link_kind(link) != BP_LINK_CONNECTED)
			continue;
		memcpy(&dst, to + 12, sizeof(dst));
		if (a->of[i].ip6)
			bp_neighbor6_prefetch(fib, bp_link_interface(link), to);
		else
			bp_neighbor4_prefetch(fib, bp_link_interface(link), dst);
	}
}

void bp_answers_send(
	struct rte_graph *graph, struct rte_node *node, struct bp_worker *w, struct bp_answers *a)
{
	uint32_t nexthop[BP_ANSWERS_MAX];
	void *out[BP_ANSWERS_MAX];
	rte_edge_t run = BP_EDGE_DROP;
	uint32_t n = 0, sent = 0;

	if (a->n == 0)
		return;
	look_up(w, a, nexthop);
	fetch_neighbors(w, a, nexthop);
	for (uint32_t i = 0; i < a->n; i++) {
		struct bp_answer *one = &a->of[i];
		struct bp_egress way;

		if (!bp_egress_of(&w->router, nexthop[i],
			    bp_phd_worker_of(w)->t->sessions[one->slot].address, one->ip6, &way) ||
			one->m->pkt_len - BP_ETHER_HDR > way.mtu) {
			hand_over(graph, node, w, one);
			continue;
		}
		bp_egress_apply(&w->router, &way, one->m);
		if (way.edge != run && n != 0) {
			rte_node_enqueue(graph, node, run, out, (uint16_t)n);
			n = 0;
		}
		run = way.edge;
		out[n++] = one->m;
		sent++;
	}
	if (n != 0)
		rte_node_enqueue(graph, node, run, out, (uint16_t)n);
	bp_count(w, BP_C_PHD_RESPONSES, sent);
	a->n = 0;
}
