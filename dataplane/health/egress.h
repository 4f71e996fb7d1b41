/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_HEALTH_EGRESS_H
#define BP_DATAPLANE_HEALTH_EGRESS_H

#include <rte_graph.h>
#include <rte_mbuf.h>

#include "dataplane/forwarding/router.h"
#include "dataplane/health/worker.h"
#include "dataplane/nodes/rewrite.h"
#include "dataplane/workers/worker.h"
#include "services/health/token.h"

/* How what biplane itself sends leaves: by the forwarding tables, as if a host here had sent it. */
struct bp_egress {
	uint64_t link; /* BP_LINK_RESOLVED, or why not */
	uint32_t mtu;  /* bytes of an IP packet */
	rte_edge_t edge;
	uint8_t interface;
};

/* The way of a next hop's number, to an address (IPv4 as ::ffff:a.b.c.d) of that family. False: the
 * kernel must help; then only `link` is set. */
bool bp_egress_of(const struct bp_router *r, uint32_t nexthop, const uint8_t address[16], bool ip6,
	struct bp_egress *out);
/* The same for one whose next hop is not known yet. */
bool bp_egress_lookup(
	const struct bp_router *r, const uint8_t address[16], bool ip6, struct bp_egress *out);

/* The frame gets its Ethernet addresses, and the mark of where it leaves. */
static inline void bp_egress_apply(
	const struct bp_router *r, const struct bp_egress *way, struct rte_mbuf *m)
{
	bp_ethernet_rewrite(rte_pktmbuf_mtod(m, uint8_t *), way->link, r->tx_mac[way->interface]);
	/* a bridge must know that it does not come from one of its ports */
	m->port = way->interface;
}

/*
 * What devices are told of their reports: frames that are collected over a burst, and leave
 * together by the forwarding tables.
 */
#define BP_ANSWERS_MAX 64u

struct bp_answer {
	struct rte_mbuf *m;
	uint64_t token;
	uint32_t slot;
	uint8_t outcome; /* enum bp_m2m_outcome */
	bool ip6;
};

struct bp_answers {
	uint32_t n;
	struct bp_answer of[BP_ANSWERS_MAX];
};

/* There is room for one more. */
static inline bool bp_answers_has_capacity(const struct bp_answers *a)
{
	return a->n < BP_ANSWERS_MAX;
}

/*
 * `m`, whose content is lost, becomes the answer that a token (services/health/token.h) and an
 * outcome mean, to the device of the session in the token's slot. There is room.
 */
void bp_answers_add(struct bp_answers *a, const struct bp_phd_worker *h, struct rte_mbuf *m,
	uint64_t token, enum bp_m2m_outcome outcome);

/*
 * Sends all. Those whose way the tables do not know are handed to the control plane, as an event,
 * so that the kernel finds it out.
 */
void bp_answers_send(
	struct rte_graph *graph, struct rte_node *node, struct bp_worker *w, struct bp_answers *a);

/* An event for the control plane. False: the ring is full; counted. */
bool bp_phd_event_send(struct bp_worker *w, enum bp_phd_event_kind kind, uint64_t token,
	enum bp_m2m_outcome outcome);

#endif
