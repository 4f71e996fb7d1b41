/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_MQTT_READING_H
#define BP_DATAPLANE_MQTT_READING_H

#include "dataplane/mqtt/segment_frame.h"
#include "dataplane/workers/mbuf_fast_free.h"
#include "services/mqtt/burst.h"

/* A burst of mbufs as bp_mqtt_burst_read() reads it. */

/* Context of the callbacks of bp_mqtt_burst_read(). */
struct bp_reading {
	struct bp_worker *w;
	struct rte_mbuf **m;
	struct bp_mqtt_burst b;
};

/* The kind of a plain frame with a checksum verdict of the driver. */
static __rte_noinline uint8_t bp_kind_of(
	const struct bp_worker *w, const struct rte_mbuf *m, const uint8_t *frame)
{
	switch (bp_rx_sum(w, m, frame + BP_ETHER_HDR, BP_IP4_HDR)) {
	case BP_SUM_GOOD:
		return BP_BURST_VERIFIED;
	case BP_SUM_UNKNOWN:
		return BP_BURST_UNVERIFIED;
	case BP_SUM_BAD:
		break;
	}
	return BP_BURST_PARSED;
}

static __rte_noinline void bp_reading_add_other(struct bp_reading *r, uint32_t i)
{
	const struct rte_mbuf *m = r->m[i];

	r->b.kind[i] = BP_BURST_PARSED;
	if (m->hash.fdir.hi & BP_HINT_DEFAULT)
		r->b.kind[i] = bp_kind_of(r->w, m, r->b.frame[i]);
	if (r->b.kind[i] == BP_BURST_PARSED)
		bp_hinted_frame(r->w, m, &r->b.parsed[i]);
}

/* A traced frame takes the general path, which reports each evaluated rule. */
static __rte_noinline void bp_reading_generally(struct bp_reading *r, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++) {
		if (r->b.kind[i] != BP_BURST_PARSED)
			bp_hinted_frame(r->w, r->m[i], &r->b.parsed[i]);
		r->b.kind[i] = BP_BURST_PARSED;
	}
}

/* Frames of different ports. */
static __rte_noinline void bp_reading_networks(struct bp_reading *r, uint16_t n)
{
	uint8_t differ = 0;

	for (uint16_t i = 0; i < n; i++) {
		r->b.network[i] = r->w->network[r->m[i]->port];
		differ |= r->b.network[i] ^ r->b.network[0];
	}
	r->b.networks_differ = differ != 0;
}

/* Flags of the checksum verdict of a driver, if any. */
#define BP_SUM_FLAGS (RTE_MBUF_F_RX_L4_CKSUM_MASK | RTE_MBUF_F_RX_IP_CKSUM_MASK)

/* Fills r->b, with no writable frame. Returns the differences between the mbufs, as bp_mbuf_rearm()
 * has their fields. */
static inline uint64_t bp_reading_begin(
	struct bp_reading *r, struct bp_worker *w, struct rte_mbuf **m, uint16_t n)
{
	const uint64_t first = bp_mbuf_rearm(m[0]);
	uint64_t differ = 0;

	r->w = w;
	r->m = m;
	r->b.n = n;
	r->b.writable = 0;
	/* the value of almost all frames; the others are overwritten */
	memset(r->b.kind, w->trust_checksum ? BP_BURST_VERIFIED : BP_BURST_UNVERIFIED,
		sizeof(r->b.kind));
	for (uint32_t i = 0; i < n; i++) {
		/* data offset and port in one word */
		const uint64_t rearm = bp_mbuf_rearm(m[i]);

		differ |= rearm ^ first;
		r->b.frame[i] = (const uint8_t *)m[i]->buf_addr + (uint16_t)rearm;
		if (unlikely(!(m[i]->hash.fdir.hi & BP_HINT_DEFAULT) ||
			     (m[i]->ol_flags & BP_SUM_FLAGS) != 0))
			bp_reading_add_other(r, i);
	}
	r->b.network[0] = w->network[m[0]->port];
	r->b.networks_differ = false;
	if (unlikely(differ >> BP_MBUF_REARM_PORT != 0))
		bp_reading_networks(r, n);
	if (unlikely(w->tracing))
		bp_reading_generally(r, n);
	return differ;
}

/* For `general` of bp_mqtt_burst_read(): parses frame i. False: it must not be read, counted. */
static inline bool bp_reading_frame(struct bp_reading *r, uint32_t i, struct bp_piece *piece)
{
	struct bp_frame *f = &r->b.parsed[i];

	if (r->b.kind[i] != BP_BURST_PARSED)
		bp_hinted_frame(r->w, r->m[i], f);
	return bp_segment_frame(r->w, r->m[i], f, piece);
}

/* Enqueues frames behind the node by their input ports. */
static __rte_noinline void bp_forward_runs(struct rte_graph *graph, struct rte_node *node,
	const struct bp_worker *w, void **objs, uint16_t n)
{
	struct rte_mbuf **m = (struct rte_mbuf **)objs;
	rte_edge_t run = bp_forward_edge(w, m[0]->port);
	uint16_t begin = 0;

	for (uint16_t i = 1; i < n; i++) {
		rte_edge_t edge = bp_forward_edge(w, m[i]->port);

		if (edge != run) {
			rte_node_enqueue(graph, node, run, &objs[begin], (uint16_t)(i - begin));
			begin = i;
			run = edge;
		}
	}
	rte_node_enqueue(graph, node, run, &objs[begin], (uint16_t)(n - begin));
}

#endif
