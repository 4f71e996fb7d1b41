/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_MQTT_SEGMENT_FRAME_H
#define BP_DATAPLANE_MQTT_SEGMENT_FRAME_H

#include "biplane/counters/mqtt.h"
#include "dataplane/nodes/driver_sum.h"
#include "dataplane/nodes/frame_mark.h"
#include "dataplane/mqtt/tcp_hint.h"

/* From an mbuf to a segment that inspection may read. */

#define BP_PIECES_MAX 8

/*
 * Whether the checksums are right. A segment that its receiver discards must not be inspected: it
 * is retransmitted, possibly with other bytes.
 */
static inline enum bp_sum_verdict bp_rx_sum(
	const struct bp_worker *w, const struct rte_mbuf *m, const uint8_t *ip4, uint32_t len)
{
	enum bp_sum_verdict v = bp_driver_sum(m, ip4, len);

	return v == BP_SUM_UNKNOWN && w->trust_checksum ? BP_SUM_GOOD : v;
}

/* A jumbo frame is in several mbufs: its payload is read segment by segment. */
static __rte_noinline bool bp_gather(
	const struct rte_mbuf *m, struct bp_frame *f, struct bp_piece *piece)
{
	uint32_t here = f->contiguous - f->payload;
	uint32_t left = f->payload_len > here ? f->payload_len - here : 0;

	for (const struct rte_mbuf *s = m->next; s != NULL && left != 0; s = s->next) {
		if (f->n_more == BP_PIECES_MAX)
			return false;
		piece[f->n_more].data = rte_pktmbuf_mtod(s, const uint8_t *);
		piece[f->n_more].len = s->data_len < left ? s->data_len : left;
		left -= piece[f->n_more].len;
		f->n_more++;
	}
	f->more = piece;
	return left == 0;
}

/* Whether the tag of vlan_outer, which may be behind priority tags, is of 802.1Q. */
static inline bool bp_vlan_is_8021q(const struct bp_frame *f)
{
	for (uint32_t at = 12; at + 2 < f->l2; at += BP_VLAN_TAG)
		if ((bp_be16(f->data + at + 2) & 0x0fff) != 0)
			return bp_be16(f->data + at) == BP_ETHER_VLAN;
	return false;
}

/*
 * A connection through subinterfaces has another VLAN, or none, in its other direction: only its
 * addresses and its VRF identify it. A priority tag has no VLAN: the kernel, to which a frame with
 * one and another tag is punted, strips it.
 */
static __rte_noinline void bp_forget_vlan(
	const struct bp_worker *w, const struct rte_mbuf *m, struct bp_frame *f)
{
	uint8_t sub;

	if (m->port >= BP_MAX_PORTS || bp_is_originated(m) || w->onward[m->port] != BP_EDGE_IP4 ||
		f->vlan_inner != 0 || !bp_vlan_is_8021q(f))
		return;
	sub = w->router.vlan[m->port][f->vlan_outer];
	if (!bp_is_subinterface(sub))
		return;
	f->vlan_outer = 0;
	f->network = w->sub_network[sub - BP_MAX_INTERFACES];
}

/* The frame of an mbuf with a hint, as inspection identifies its connection. */
static inline void bp_hinted_frame(
	const struct bp_worker *w, const struct rte_mbuf *m, struct bp_frame *f)
{
	bp_hint_get(m, f);
	f->network = w->network[m->port];
	if (unlikely(f->vlan_outer != 0))
		bp_forget_vlan(w, m, f);
}

/* Completes a frame of bp_hinted_frame(); `piece`: BP_PIECES_MAX of them. False: it must not be
 * read, counted. */
static inline bool bp_segment_frame(
	struct bp_worker *w, const struct rte_mbuf *m, struct bp_frame *f, struct bp_piece *piece)
{
	enum bp_sum_verdict sum;

	if (m->nb_segs != 1 && !bp_gather(m, f, piece)) {
		bp_count(w, BP_C_SEG_BAD_HEADER, 1);
		return false;
	}
	if ((w->checks_ingress || f->to_broker) && !bp_is_originated(m)) {
		f->port = (uint8_t)(m->port + 1);
		f->routed = w->checks_ingress && w->onward[m->port] == BP_EDGE_IP4;
	}
	sum = bp_rx_sum(
		w, m, f->ip6 ? NULL : f->data + f->l3, (uint32_t)(f->data[f->l3] & 0x0f) * 4);
	if (sum == BP_SUM_BAD || (sum == BP_SUM_UNKNOWN && !bp_frame_checksum_ok(f))) {
		bp_count(w, BP_C_SEG_BAD_CHECKSUM, 1);
		return false;
	}
	return true;
}

#endif
