/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_SHOW_FIB_LIST_H
#define BP_APPS_BIPLANE_SHOW_FIB_LIST_H

#include "shm/fib/fib.h"

/* Copies of the tables, sorted. Each entry is true as of one instant; the tables may change between
 * two of them. */

/* Which entries are meant. */
struct bp_fib_filter {
	uint8_t family;          /* 4 or 6; 0: both */
	struct bp_prefix within; /* family 0: all */
	bool one_vrf;            /* only routes of `vrf` */
	uint8_t vrf;
};

bool bp_fib_wanted(const struct bp_fib_filter *filter, const struct bp_prefix *p);

/* A million routes of one hop are 60 MB: the struct bp_route of each would be ten times that. */
struct bp_route_item {
	struct bp_prefix prefix;
	uint8_t type, origin, protocol;
	uint32_t metric, object;
	uint32_t first_hop, n_hops;
};

struct bp_route_list {
	uint32_t n, capacity;
	struct bp_route_item *item; /* by VRF, family, address and length */
	uint32_t n_hops, hop_capacity;
	struct bp_hop *hop;
};

/* 0, or -1 without memory; then there is nothing to free. */
int bp_route_list_read(
	struct bp_route_list *l, const struct bp_fib *f, const struct bp_fib_filter *filter);
void bp_route_list_get(const struct bp_route_list *l, uint32_t i, struct bp_route *out);
void bp_route_list_free(struct bp_route_list *l);

struct bp_neighbor_list {
	uint32_t n, capacity;
	struct bp_neighbor_info *item; /* by interface, family and address */
};
int bp_neighbor_list_read(
	struct bp_neighbor_list *l, const struct bp_fib *f, const struct bp_fib_filter *filter);
void bp_neighbor_list_free(struct bp_neighbor_list *l);

/* As memcmp() returns, in the orders above. */
int bp_prefix_order(const struct bp_prefix *a, const struct bp_prefix *b);
int bp_neighbor_order(const struct bp_neighbor_info *a, const struct bp_neighbor_info *b);

/* Whether `inner` is `outer` or part of it, in any VRF. */
bool bp_prefix_within(const struct bp_prefix *inner, const struct bp_prefix *outer);

#endif
