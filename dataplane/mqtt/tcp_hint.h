/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_MQTT_TCP_HINT_H
#define BP_DATAPLANE_MQTT_TCP_HINT_H

#include <rte_mbuf.h>

#include "dataplane/workers/worker.h"
#include "proto/net/frame.h"

/*
 * Results of node ethernet for a frame, used by node mqtt: offsets and direction, in the half of
 * the hash of the mbuf that RSS does not write. In the first cache line, no dynamic field.
 */
#define BP_HINT_L3_BITS 6
#define BP_HINT_L4_BITS 10
#define BP_HINT_IP6 (1u << 16)
#define BP_HINT_TO_BROKER (1u << 17)
/*
 * Untagged IPv4 without options to the broker, in one mbuf: the frames of the fast path of
 * inspection.
 */
#define BP_HINT_DEFAULT (1u << 18)

/* Whether the offsets fit: legitimate traffic has no deeper headers. */
static inline bool bp_hint_encodable(uint32_t l3, uint32_t l4)
{
	return l3 < 1u << BP_HINT_L3_BITS && l4 < 1u << BP_HINT_L4_BITS;
}

static inline void bp_hint_set(
	struct rte_mbuf *m, uint32_t l3, uint32_t l4, bool ip6, bool to_broker)
{
	m->hash.fdir.hi = l3 | l4 << BP_HINT_L3_BITS | (ip6 ? BP_HINT_IP6 : 0) |
			  (to_broker ? BP_HINT_TO_BROKER : 0);
}

static inline void bp_hint_set_default(struct rte_mbuf *m)
{
	m->hash.fdir.hi = BP_ETHER_HDR | (BP_ETHER_HDR + 20u) << BP_HINT_L3_BITS |
			  BP_HINT_TO_BROKER | BP_HINT_DEFAULT;
}

/* Restores the frame. Its lengths were checked when the hint was set. */
static inline void bp_hint_get(const struct rte_mbuf *m, struct bp_frame *f)
{
	uint32_t hint = m->hash.fdir.hi;
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	uint32_t l3 = hint & ((1u << BP_HINT_L3_BITS) - 1);
	uint32_t l4 = hint >> BP_HINT_L3_BITS & ((1u << BP_HINT_L4_BITS) - 1);
	uint32_t end;

	f->data = data;
	f->contiguous = m->data_len;
	f->l2 = f->l3 = (uint16_t)l3;
	f->l4 = (uint16_t)l4;
	f->vlan_outer = f->vlan_inner = 0;
	f->tunnel = 0;
	f->n_more = 0;
	f->more = NULL;
	f->port = f->network = 0;
	if (unlikely(l3 > BP_ETHER_HDR))
		(void)bp_frame_link(data, m->data_len, f); /* parses tags and tunnels again */
	f->ip6 = hint & BP_HINT_IP6;
	f->to_broker = hint & BP_HINT_TO_BROKER;
	end = f->ip6 ? l3 + 40u + bp_be16(data + l3 + 4) : l3 + bp_be16(data + l3 + 2);
	(void)bp_frame_tcp(f, end - l4);
}

/* The inspection state of a worker; NULL: inspection is not configured. */
static inline struct bp_mqtt_worker *bp_mqtt_worker_of(const struct bp_worker *w)
{
	return w->service[BP_SERVICE_MQTT];
}

#endif
