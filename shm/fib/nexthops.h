/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_FIB_NEXTHOPS_H
#define BP_SHM_FIB_NEXTHOPS_H

#include "shm/index.h"
#include "shm/fib/nh_groups.h"
#include "shm/fib/reuse.h"

/*
 * The writer of the next hops. Next hops that are the same (gateway and interface; members and
 * weights) are one element with a reference count; an object of the kernel is an element of its
 * own, so that it can change without the routes that refer to it. Called only by shm/fib_*.c.
 *
 * An element is a single hop, a group, or a fixed one (an object of type blackhole, for example),
 * which the kind of its link word says.
 */
struct bp_nexthops {
	struct bp_fib *f;
	struct bp_epoch *epoch;
	uint32_t *refs;
	struct bp_index by_content; /* single hops by (gateway, interface), groups that are no
				       object's by their members */
	struct bp_reuse slots;
	struct bp_nh_groups groups;
	uint32_t count; /* beyond the fixed ones */
};

/* Allocates the writer's memory and sets *n; false: no memory. In the functions below 0, which is
 * never the number of an element, means that the table is full. */
bool bp_nexthops_init(struct bp_nexthops *n, struct bp_fib *f, struct bp_epoch *e);
void bp_nexthops_free(struct bp_nexthops *n);
/* Writes a fixed element in zeroed memory. */
void bp_nexthop_init_fixed(struct bp_fib *f, uint32_t number);

/*
 * Adopts the existing next hops, after the neighbors; returns the number of repairs. Only members
 * of groups count as referenced: each user of an element references it (bp_nexthop_ref), then
 * bp_nexthops_reap() frees the elements without references.
 */
uint64_t bp_nexthops_load(struct bp_nexthops *n);
void bp_nexthops_reap(struct bp_nexthops *n);
/* Whether a route may refer to `number`. */
bool bp_nexthop_valid(const struct bp_nexthops *n, uint32_t number);

/* The element with that content, created when there is none; the caller gets a reference. */
uint32_t bp_nexthop_single(struct bp_nexthops *n, const struct bp_hop *hop);
/* Flows that `like` (a number, or 0) has on one of these hops stay there as far as the weights
 * allow. n_hops is 2..BP_HOPS_MAX. */
uint32_t bp_nexthop_group(
	struct bp_nexthops *n, const struct bp_hop *hop, uint32_t n_hops, uint32_t like);
void bp_nexthop_ref(struct bp_nexthops *n, uint32_t number);
void bp_nexthop_unref(struct bp_nexthops *n, uint32_t number);

/* Allocates an element for an object: blackhole at first; the caller gets a reference. */
uint32_t bp_nexthop_object(struct bp_nexthops *n, uint32_t object);
/* Each replaces its content with one store. False: no space for the group or its members, and the
 * element punts to the kernel. *changed: whether the content is different from before. */
bool bp_nexthop_object_hops(struct bp_nexthops *n, uint32_t number, const struct bp_hop *hop,
	uint32_t n_hops, bool *changed);
void bp_nexthop_object_fixed(
	struct bp_nexthops *n, uint32_t number, enum bp_link_kind kind, bool *changed);

/* The neighbor changed: its next hops follow. */
void bp_nexthops_follow(struct bp_nexthops *n, uint8_t interface, const struct bp_address *a);
/* When a worker last used one towards it. */
uint32_t bp_nexthops_used(
	const struct bp_nexthops *n, uint8_t interface, const struct bp_address *a);

/* Gives back what all workers have left; returns whether some still wait. */
bool bp_nexthops_settle(struct bp_nexthops *n);

#endif
