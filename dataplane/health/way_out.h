/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_HEALTH_WAY_OUT_H
#define BP_DATAPLANE_HEALTH_WAY_OUT_H

#include <rte_graph.h>
#include <rte_mbuf.h>

#include "dataplane/nodes/rewrite.h"
#include "dataplane/forwarding/router.h"

/* How what biplane itself sends leaves: by the forwarding tables, as if a host here had sent it. */
struct bp_way_out {
	uint64_t link; /* BP_LINK_RESOLVED, or why not */
	uint32_t mtu;  /* bytes of an IP packet */
	rte_edge_t edge;
	uint8_t interface;
};

/* The way of a next hop's number, to an address (IPv4 as ::ffff:a.b.c.d) of that family. False: the
 * kernel must help; then only `link` is set. */
bool bp_way_out(const struct bp_router *r, uint32_t nexthop, const uint8_t address[16], bool ip6,
	struct bp_way_out *out);
/* The same for one whose next hop is not known yet. */
bool bp_way_out_to(
	const struct bp_router *r, const uint8_t address[16], bool ip6, struct bp_way_out *out);

/* The frame gets its Ethernet addresses, and the mark of where it leaves. */
static inline void bp_way_out_mark(
	const struct bp_router *r, const struct bp_way_out *way, struct rte_mbuf *m)
{
	bp_ethernet_rewrite(rte_pktmbuf_mtod(m, uint8_t *), way->link, r->tx_mac[way->interface]);
	/* a bridge must know that it does not come from one of its ports */
	m->port = way->interface;
}

#endif
