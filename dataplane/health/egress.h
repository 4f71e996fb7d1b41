/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_HEALTH_EGRESS_H
#define BP_DATAPLANE_HEALTH_EGRESS_H

#include <rte_graph.h>
#include <rte_mbuf.h>

#include "dataplane/forwarding/router.h"
#include "dataplane/health/worker.h"
#include "dataplane/nodes/frame_mark.h"
#include "dataplane/nodes/rewrite.h"
#include "dataplane/workers/worker.h"
#include "services/health/token.h"

/*
 * The path of a frame that biplane originates: by the forwarding tables, as if a host had sent it.
 */
struct bp_egress {
	uint64_t link; /* BP_LINK_RESOLVED, or the reason why not */
	uint32_t mtu;  /* maximum IP packet, bytes */
	rte_edge_t edge;
	uint8_t interface;
};

/*
 * Returns the path by next hop `nexthop` to an address (IPv4 as ::ffff:a.b.c.d) of that IP version.
 * False: the kernel must resolve it; then only `link` is set.
 */
bool bp_egress_of(const struct bp_router *r, uint32_t nexthop, const uint8_t address[16], bool ip6,
	struct bp_egress *out);
/* The same, with a lookup of the next hop. */
bool bp_egress_lookup(
	const struct bp_router *r, const uint8_t address[16], bool ip6, struct bp_egress *out);

/* Sets the output interface of a frame. */
static inline void bp_egress_mark(struct rte_mbuf *m, uint8_t interface)
{
	/* the bridge must not take it for a frame from one of its ports */
	m->port = interface;
	bp_mark_output(m, BP_EDGE_VLAN, interface); /* read by node vlan only */
}

/* Writes the Ethernet addresses and the output interface of a frame. */
static inline void bp_egress_apply(
	const struct bp_router *r, const struct bp_egress *way, struct rte_mbuf *m)
{
	bp_ethernet_rewrite(rte_pktmbuf_mtod(m, uint8_t *), way->link, r->tx_mac[way->interface]);
	bp_egress_mark(m, way->interface);
}

/*
 * Responses to devices, which are collected over a burst and sent together by the forwarding
 * tables.
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

/* Whether another response fits. */
static inline bool bp_answers_has_capacity(const struct bp_answers *a)
{
	return a->n < BP_ANSWERS_MAX;
}

/*
 * Converts `m`, whose content is lost, into the response given by a token (services/health/token.h)
 * and an outcome, to the device of the session in the slot of the token. The caller has checked the
 * capacity.
 */
void bp_answers_add(struct bp_answers *a, const struct bp_phd_worker *h, struct rte_mbuf *m,
	uint64_t token, enum bp_m2m_outcome outcome);

/*
 * Sends all responses. Those without a path in the tables are handed to the control plane, as an
 * event, so that the kernel resolves it.
 */
void bp_answers_send(
	struct rte_graph *graph, struct rte_node *node, struct bp_worker *w, struct bp_answers *a);

/* Sends an event to the control plane. False: the ring is full, which is counted. */
bool bp_phd_event_send(struct bp_worker *w, enum bp_phd_event_kind kind, uint64_t token,
	enum bp_m2m_outcome outcome);

#endif
