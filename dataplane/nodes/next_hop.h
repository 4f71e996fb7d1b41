/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_NODES_NEXT_HOP_H
#define BP_DATAPLANE_NODES_NEXT_HOP_H

#include "dataplane/nodes/frame_mark.h"
#include "shm/fib/fib.h"

/* Code that IPv4 and IPv6 share once the number of the next hop is known. */

/* Minimum frame length without FCS (IEEE 802.3); bytes after the packet are padding. */
#define ETHER_MIN 60u

static inline const struct bp_nexthop *bp_next_hop(const struct bp_router *r, uint32_t number)
{
	return &r->fib->nexthops[number];
}

/* The link word of a next hop, marked as used. The mark is stored once a second. */
static inline uint64_t bp_nexthop_use(struct bp_nexthop *n, uint32_t now_s)
{
	if (unlikely(atomic_load_explicit(&n->used_s, memory_order_relaxed) != now_s))
		atomic_store_explicit(&n->used_s, now_s, memory_order_relaxed);
	return atomic_load_explicit(&n->link, memory_order_acquire);
}

static inline uint64_t bp_next_hop_use(const struct bp_router *r, uint32_t number)
{
	return bp_nexthop_use(&r->fib->nexthops[number], r->now_s);
}

/* The member of a group for a flow with this hash; 0 (no route) if a damaged word has an invalid
 * index. */
static inline uint64_t bp_next_hop_of_group(const struct bp_router *r, uint64_t link, uint32_t hash)
{
	const struct bp_nexthop_group *g = &r->fib->groups[(uint32_t)link];
	uint32_t number;

	if (unlikely((uint32_t)link >= r->fib->max_groups))
		return 0;
	number = atomic_load_explicit(&g->nexthop[hash >> 24], memory_order_relaxed);
	return likely(number < r->fib->max_nexthops) ? bp_next_hop_use(r, number) : 0;
}

/*
 * Returns the edge of a packet whose link word is not a resolved neighbor, or that exceeds the MTU
 * of the interface. `bytes`: its length from the IP header. The packet is not modified.
 * BP_EDGE_FORWARD: forward it; its mark is set.
 */
rte_edge_t bp_next_hop_other(
	struct bp_worker *w, struct rte_mbuf *m, uint64_t link, uint32_t bytes);

/*
 * Removes the bytes after an IP packet of `bytes` in a frame of one buffer or several that needed
 * no padding: they are not part of the packet, and no MTU counts them. The frame contains the whole
 * packet.
 */
void bp_trim_payload_end(struct rte_mbuf *m, uint32_t bytes);

#endif
