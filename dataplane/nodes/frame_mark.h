/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_NODES_FRAME_MARK_H
#define BP_DATAPLANE_NODES_FRAME_MARK_H

#include <rte_mbuf.h>

#include "biplane/counters/general.h"
#include "biplane/exception.h"
#include "dataplane/nodes/vlan.h"
#include "dataplane/workers/worker.h"

/*
 * Data that a routing node passes with a frame to the next node, in the 8 bytes of the mbuf's hash,
 * which are in its first cache line and unused afterwards: the link word of its next hop for node
 * forward, the output subinterface for node vlan, or the class and the interface for node
 * exception.
 */
static inline void bp_mark_link(struct rte_mbuf *m, uint64_t link)
{
	memcpy(&m->hash, &link, sizeof(link));
}

static inline uint64_t bp_mark_link_get(const struct rte_mbuf *m)
{
	uint64_t link;

	memcpy(&link, &m->hash, sizeof(link));
	return link;
}

static inline void bp_mark_exception(
	struct rte_mbuf *m, enum bp_exception_class class, uint32_t interface)
{
	m->hash.fdir.lo = class;
	m->hash.fdir.hi = interface;
}

/*
 * The output interface, for the next node by edge `edge`: m->port for node bridge, which must not
 * take the frame for one from a port of the bridge. For node vlan it is in the hash, since a frame
 * that leaves by a port keeps its input interface in m->port: node lcl selects the flow by it.
 */
static inline void bp_mark_output(struct rte_mbuf *m, rte_edge_t edge, uint16_t interface)
{
	if (edge == BP_EDGE_VLAN)
		m->hash.fdir.hi = interface;
	else
		m->port = interface;
}

static inline uint32_t bp_mark_output_get(const struct rte_mbuf *m)
{
	return m->hash.fdir.hi;
}

/*
 * A frame that biplane originated, from one of its own addresses: an aggregate, or a result that is
 * sent back. Its source must not be validated. Drivers write this field of each mbuf that they
 * fill, and allocation clears it.
 */
#define BP_ORIGINATED 0xb1b1b1b1u

static inline void bp_mark_originated(struct rte_mbuf *m)
{
	m->packet_type = BP_ORIGINATED;
}

static inline bool bp_is_originated(const struct rte_mbuf *m)
{
	return m->packet_type == BP_ORIGINATED;
}

static inline rte_edge_t bp_drop(struct rte_mbuf *m, bp_counter_t reason)
{
	bp_drop_reason_set(m, reason);
	return BP_EDGE_DROP;
}

/*
 * Punts to the kernel interface of the input interface, for this reason (group PUNT). The kernel
 * finds a subinterface by the tag.
 */
static inline rte_edge_t bp_punt(
	struct bp_worker *w, struct rte_mbuf *m, bp_counter_t reason, enum bp_exception_class class)
{
	if (unlikely(bp_is_subinterface(m->port))) {
		if (!bp_vlan_push(&w->router, m, m->port))
			return bp_drop(m, BP_C_DROP_VLAN_NO_HEADROOM);
		m->port = bp_vlan_port(&w->router, m->port);
	}
	bp_count(w, reason, 1);
	bp_mark_exception(m, class, m->port);
	return BP_EDGE_EXCEPTION;
}

#endif
