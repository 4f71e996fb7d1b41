/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_FIB_NH_GROUPS_H
#define BP_SHM_FIB_NH_GROUPS_H

#include "shm/fib/fib.h"
#include "shm/fib/reuse.h"

/* The elements of table nh_groups: 256 shares of each, and whose they are. Called by
 * shm/fib/nexthops.c alone; each group belongs to one next hop. */
struct bp_nh_groups {
	struct bp_fib *f;
	struct bp_reuse slots;
	uint8_t *taken; /* while another writer's are taken over */
	uint32_t count;
};

/* Members (numbers of single next hops) and their weights, 1..256. */
struct bp_nh_members {
	uint32_t n;
	uint32_t member[BP_HOPS_MAX];
	uint16_t weight[BP_HOPS_MAX];
};

bool bp_nh_groups_init(struct bp_nh_groups *g, struct bp_fib *f);
void bp_nh_groups_free(struct bp_nh_groups *g);

/*
 * Divides the shares by weight: each member has its part of 256, rounded by the largest remainder
 * method. A share keeps its member in `old` (NULL: none) where this member still has shares to get.
 */
void bp_nh_shares(const struct bp_nh_members *m, const uint32_t *old, uint32_t *shares);

/* Creates a group; like: `old` of bp_nh_shares(), a group's number or UINT32_MAX. False: table
 * full. */
bool bp_nh_group_new(
	struct bp_nh_groups *g, const struct bp_nh_members *m, uint32_t like, uint32_t *number);
/* Replaces the members in place: every share is the old or the new one at any moment. */
void bp_nh_group_change(struct bp_nh_groups *g, uint32_t number, const struct bp_nh_members *m);
/* Retires a group without references. */
void bp_nh_group_retire(struct bp_nh_groups *g, uint32_t number);
void bp_nh_group_members(const struct bp_nh_groups *g, uint32_t number, struct bp_nh_members *m);
bool bp_nh_groups_settle(struct bp_nh_groups *g, struct bp_epoch *e);

/*
 * Adopts a group of an earlier writer that a next hop refers to; false: it is no group, or it is
 * adopted already. `single`: whether a number can be a member. *repaired: the group was
 * inconsistent. When all are adopted, bp_nh_groups_reap() frees the others.
 */
bool bp_nh_group_load(struct bp_nh_groups *g, uint32_t number,
	bool (*single)(const void *arg, uint32_t nexthop), const void *arg, struct bp_nh_members *m,
	bool *repaired);
void bp_nh_groups_reap(struct bp_nh_groups *g);

#endif
