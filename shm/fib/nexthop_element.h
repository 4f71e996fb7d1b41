/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_FIB_NEXTHOP_ELEMENT_H
#define BP_SHM_FIB_NEXTHOP_ELEMENT_H

#include "shm/fib/nexthops.h"

/* Declarations that shm/fib/nexthops.c and shm/fib/nexthops_load.c share: one element of the
 * table. */

static inline struct bp_nexthop *bp_nh_element(const struct bp_nexthops *n, uint32_t number)
{
	return &n->f->nexthops[number];
}

static inline uint64_t bp_nh_link(const struct bp_nexthops *n, uint32_t number)
{
	return atomic_load_explicit(&bp_nh_element(n, number)->link, memory_order_relaxed);
}

static inline void bp_nh_link_set(struct bp_nexthops *n, uint32_t number, uint64_t link)
{
	atomic_store_explicit(&bp_nh_element(n, number)->link, link, memory_order_release);
}

static inline enum bp_slot bp_nh_slot(const struct bp_nexthops *n, uint32_t number)
{
	return bp_slot(
		atomic_load_explicit(&bp_nh_element(n, number)->state, memory_order_relaxed));
}

static inline bool bp_nh_kind_is_single(enum bp_link_kind kind)
{
	return kind == BP_LINK_RESOLVED || kind == BP_LINK_CONNECTED || kind == BP_LINK_UNRESOLVED;
}

static inline bool bp_nh_is_single(const struct bp_nexthops *n, uint32_t number)
{
	return bp_nh_kind_is_single(bp_link_kind(bp_nh_link(n, number)));
}

static inline bool bp_nh_is_group(const struct bp_nexthops *n, uint32_t number)
{
	return bp_link_kind(bp_nh_link(n, number)) == BP_LINK_GROUP;
}

static inline uint32_t bp_nh_group_of(const struct bp_nexthops *n, uint32_t number)
{
	return (uint32_t)bp_nh_link(n, number);
}

/* A hop with all unused fields cleared, so that two equal hops are the same bytes. */
struct bp_hop bp_nh_normalize(const struct bp_hop *hop);
/* The link word of a hop in the current state of its neighbor. */
uint64_t bp_nh_hop_link(const struct bp_nexthops *n, const struct bp_hop *hop);
/* The hashes that are the keys of the index. */
uint64_t bp_nh_hop_hash(
	const struct bp_nexthops *n, uint8_t interface, const struct bp_address *gateway);
uint64_t bp_nh_members_hash(const struct bp_nexthops *n, const struct bp_nh_members *m);

void bp_nh_count_add(struct bp_nexthops *n, int d);
/* Retires an unlinked element: it is reused after all workers have passed. */
void bp_nh_retire(struct bp_nexthops *n, uint32_t number);
/* Retires an element without references, removes it from the index, and drops its own references.
 */
void bp_nh_release(struct bp_nexthops *n, uint32_t number);

extern const enum bp_link_kind bp_nh_fixed_kind[BP_NH_FIXED];

#endif
