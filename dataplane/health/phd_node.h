/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_HEALTH_PHD_NODE_H
#define BP_DATAPLANE_HEALTH_PHD_NODE_H

#include "dataplane/health/datagram.h"
#include "dataplane/health/egress.h"
#include "dataplane/health/worker.h"
#include "dataplane/nodes/edge_batch.h"

/* State that the steps of node phd share. */

#define BP_PHD_STEP 64u /* datagrams processed together */

/* Sums over the reports of a burst that matched a template. */
struct bp_phd_template_sums {
	uint64_t reports, confirmed, observations, unacknowledged;
};

/* A burst that the node processes. */
struct bp_phd_burst {
	struct rte_graph *graph;
	struct rte_node *node;
	struct bp_worker *w;
	struct bp_phd_worker *h;
	struct bp_edge_batch out; /* requests that are written into the mbufs of the devices */
	struct bp_egress cse;     /* path to the CSE */
	bool cse_known;           /* whether `cse` is valid */
	uint32_t room;            /* maximum bytes of a frame for that path and for a new mbuf */
	struct bp_answers answers;

	/* over reports that match a template */
	struct bp_phd_template_sums sums;
	uint64_t ether_first; /* bp_ethernet_write() */
	uint32_t ether_rest;
	uint16_t sent_time; /* bp_phd_sent_time() of the current time */
	bool stored;        /* `confirm: stored` */
};

/* The datagrams of a step. */
struct bp_phd_heads {
	struct bp_datagram d[BP_PHD_STEP];
	uint64_t from[BP_PHD_STEP][2]; /* words of the source address */
	uint64_t hash[BP_PHD_STEP];
	uint32_t candidate[BP_PHD_STEP]; /* the most likely slot of the sender */
};

/* ---- same_template.c ---- */

/*
 * The fast path of node phd, for almost all reports: those of a session that is operating and
 * READY, with the shape of the template of the layout (services/health/template.h), that are not
 * repetitions, and with space for the request in their own mbuf. A worker learns the template from
 * reports of the general path. The result and the counters of both paths are the same.
 */

/* Called before and after the steps of a burst. */
void bp_phd_same_template_begin(struct bp_phd_burst *t);
void bp_phd_same_template_end(struct bp_phd_burst *t);

/*
 * Processes the datagrams i to n - 1 of the step, up to the first that does not match its template:
 * writes their requests into their mbufs m[], and collects them in the batch of `t`. Returns their
 * number.
 */
uint32_t bp_phd_same_template_take(struct bp_phd_burst *t, const struct bp_phd_heads *heads,
	struct rte_mbuf **m, uint32_t i, uint32_t n);

/*
 * Called after a report of a session with layout number n, `l` in the copy of this worker, was
 * converted on the general path to h->conversion: its shape may become the template.
 */
void bp_phd_same_template_learn(struct bp_phd_worker *h, uint16_t n, const struct bp_phd_layout *l,
	const uint8_t *apdu, uint32_t len);

/* Maximum bytes of a frame in this mbuf, from its current data offset. */
static inline uint32_t bp_frame_tailroom(const struct rte_mbuf *m)
{
	return (uint32_t)m->buf_len - m->data_off;
}

/*
 * Writes part i of the report in h->conversion as a frame to `m`, without the Ethernet addresses.
 * `apdu`: the report, which may be in the memory of the mbuf if h->conversion.in_place is set. The
 * caller has checked that the headers and part[i].len bytes fit.
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
