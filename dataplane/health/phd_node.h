/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_HEALTH_PHD_NODE_H
#define BP_DATAPLANE_HEALTH_PHD_NODE_H

#include "dataplane/health/datagram.h"
#include "dataplane/health/egress.h"
#include "dataplane/health/worker.h"
#include "dataplane/nodes/edge_batch.h"

/* What the steps of node phd share. */

#define BP_PHD_STEP 64u /* datagrams worked on together */

/* Sums of a burst's reports that matched a template. */
struct bp_phd_template_sums {
	uint64_t reports, confirmed, observations, unacknowledged;
};

/* A burst on its way through the node. */
struct bp_phd_burst {
	struct rte_graph *graph;
	struct rte_node *node;
	struct bp_worker *w;
	struct bp_phd_worker *h;
	struct bp_edge_batch out; /* the requests that are written into the devices' own mbufs */
	struct bp_egress cse;     /* where they leave */
	bool cse_known;           /* and whether that is known */
	uint32_t room;            /* octets of a frame that fit there, and into a fresh mbuf */
	struct bp_answers answers;

	/* of reports that match a template */
	struct bp_phd_template_sums sums;
	uint64_t ether_first; /* bp_ethernet_write() */
	uint32_t ether_rest;
	uint16_t sent_time; /* bp_phd_sent_time() of now */
	bool stored;        /* `confirm: stored` */
};

/* The datagrams of a step. */
struct bp_phd_heads {
	struct bp_datagram d[BP_PHD_STEP];
	uint64_t from[BP_PHD_STEP][2]; /* words of the sender's address */
	uint64_t hash[BP_PHD_STEP];
	uint32_t candidate[BP_PHD_STEP]; /* the slot that is his, most likely */
};

/* ---- same_template.c ---- */

/*
 * The fast path of node phd, which nearly all reports take: those of a session that is operating
 * and READY, with the shape of the layout's template (services/health/template.h), that are no
 * repeats, and with room for the request in their own mbuf. A worker learns the template from what
 * the general path converts. The result and the counters of both paths are the same.
 */

/* Before the steps of a burst, and behind them. */
void bp_phd_same_template_begin(struct bp_phd_burst *t);
void bp_phd_same_template_end(struct bp_phd_burst *t);

/*
 * Of the step's datagrams i to n - 1, those up to the first that does not match its template: their
 * requests are written into their mbufs m[], and are collected in t->way. Returns how many.
 */
uint32_t bp_phd_same_template_take(struct bp_phd_burst *t, const struct bp_phd_heads *heads,
	struct rte_mbuf **m, uint32_t i, uint32_t n);

/* A report of a session with layout number n, `l` as this worker has it, was converted on the
 * general path to h->conversion: its shape may become the template. */
void bp_phd_same_template_learn(struct bp_phd_worker *h, uint16_t n, const struct bp_phd_layout *l,
	const uint8_t *apdu, uint32_t len);

/* Octets that a frame may have in this mbuf, from where its data begins now. */
static inline uint32_t bp_frame_tailroom(const struct rte_mbuf *m)
{
	return (uint32_t)m->buf_len - m->data_off;
}

/*
 * Writes part i of the report that h->conversion is of as a frame to `m`, but for the Ethernet
 * addresses. `apdu`: the report; its memory may be the mbuf's own where h->conversion.in_place says
 * so. There is room for the head and part[i].len octets.
 */
static inline void bp_request_frame(struct bp_phd_worker *h, struct rte_mbuf *m,
	const struct bp_phd_layout *l, const uint8_t *apdu, unsigned i,
	const struct bp_phd_identity *id, uint16_t port)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	const uint32_t head = h->head_len;
	const uint16_t sport = __builtin_bswap16(port);
	const uint32_t len = (uint32_t)bp_phd_convert_write(l, &h->plan, apdu, &h->conversion, i,
		id, frame + head, bp_frame_tailroom(m) - head);

	if (unlikely(h->cse_is_ip6))
		memcpy(frame, h->head, BP_PHD_FRAME_HEAD_MAX);
	else
		memcpy(frame, h->head, BP_ETHER_HDR + BP_IP4_HDR + BP_UDP_HDR);
	memcpy(frame + head - BP_UDP_HDR, &sport, sizeof(sport));
	bp_datagram_seal(frame, head, h->cse_is_ip6, len, h->conversion.summed, h->ip_sum,
		bp_sum_add(h->conversion.sum, h->udp_sum + sport));
	m->data_len = (uint16_t)(head + len);
	m->pkt_len = m->data_len;
	m->ol_flags = 0;
}

#endif
