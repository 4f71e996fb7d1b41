/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/fib/nexthops.h"

#include <string.h>

#include "shm/fib/nexthop_element.h"

/*
 * Invalid elements. Workers may reach them until the tables are repaired, so they lead to the
 * kernel. (Elements that the other writer had retired remain unchanged for the workers.)
 */
static void drop(struct bp_nexthops *n, uint32_t number, uint64_t *repaired)
{
	if (bp_nh_slot(n, number) != BP_SLOT_RETIRED && bp_nh_slot(n, number) != BP_SLOT_WRITING) {
		bp_nh_link_set(n, number, bp_link_make(BP_LINK_PUNT, 0, 0));
		++*repaired;
	}
	bp_nh_retire(n, number);
}

static bool load_single(struct bp_nexthops *n, uint32_t number, uint64_t *repaired)
{
	struct bp_nexthop *e = bp_nh_element(n, number);
	const uint8_t family = e->hop.gateway.family;

	/* An object's change was broken off: its link word is right, its hop is not known. */
	if (bp_nh_slot(n, number) == BP_SLOT_CHANGING)
		return e->object != 0 &&
		       bp_link_interface(bp_nh_link(n, number)) < BP_ALL_INTERFACES;
	if (e->hop.interface >= BP_ALL_INTERFACES || (family != 0 && family != 4 && family != 6))
		return false;
	const struct bp_hop h = bp_nh_normalize(&e->hop);

	if (memcmp(&h, &e->hop, sizeof(h)) != 0)
		return false;
	if (bp_nh_link(n, number) != bp_nh_hop_link(n, &h)) {
		bp_nh_link_set(n, number, bp_nh_hop_link(n, &h));
		++*repaired;
	}
	bp_index_add(&n->by_content, bp_nh_hop_hash(n, h.interface, &h.gateway), number);
	return true;
}

static bool load_one(struct bp_nexthops *n, uint32_t number, uint64_t *repaired)
{
	const struct bp_nexthop *e = bp_nh_element(n, number);
	const enum bp_slot slot = bp_nh_slot(n, number);

	if (slot != BP_SLOT_LIVE && slot != BP_SLOT_CHANGING)
		return false;
	if (bp_nh_is_single(n, number))
		return load_single(n, number, repaired);
	switch (bp_link_kind(bp_nh_link(n, number))) {
	case BP_LINK_GROUP: /* load_group(), when its members are known */
		return true;
	case BP_LINK_BLACKHOLE:
	case BP_LINK_PUNT:
	case BP_LINK_UNREACHABLE:
	case BP_LINK_PROHIBIT:
		return e->object != 0;
	default:
		return false;
	}
}

static bool can_be_member(const void *arg, uint32_t number)
{
	const struct bp_nexthops *n = arg;

	return number >= BP_NH_FIXED && bp_nexthop_valid(n, number) && bp_nh_is_single(n, number) &&
	       bp_nh_element(n, number)->object == 0;
}

static void load_group(struct bp_nexthops *n, uint32_t number, uint64_t *repaired)
{
	struct bp_nexthop *e = bp_nh_element(n, number);
	struct bp_nh_members m;
	bool changed;

	if (bp_nh_link(n, number) >> 32 != bp_link_make(BP_LINK_GROUP, 0, 0) >> 32 ||
		!bp_nh_group_load(
			&n->groups, bp_nh_group_of(n, number), can_be_member, n, &m, &changed)) {
		bp_nh_count_add(n, -1);
		drop(n, number, repaired);
		return;
	}
	*repaired += changed;
	for (uint32_t i = 0; i < m.n; i++)
		n->refs[m.member[i]]++;
	if (e->object == 0)
		bp_index_add(&n->by_content, bp_nh_members_hash(n, &m), number);
	bp_slot_set(&e->state, BP_SLOT_LIVE);
}

uint64_t bp_nexthops_load(struct bp_nexthops *n)
{
	uint64_t repaired = 0;

	for (uint32_t i = 0; i < BP_NH_FIXED; i++) {
		repaired += bp_nh_link(n, i) != bp_link_make(bp_nh_fixed_kind[i], 0, 0);
		bp_nexthop_init_fixed(n->f, i);
	}
	for (uint32_t i = n->f->max_nexthops; i-- > BP_NH_FIXED;) {
		if (bp_nh_slot(n, i) == BP_SLOT_FREE) {
			bp_reuse_give(&n->slots, i);
		} else if (load_one(n, i, &repaired)) {
			bp_nh_count_add(n, 1);
		} else {
			drop(n, i, &repaired);
		}
	}
	for (uint32_t i = BP_NH_FIXED; i < n->f->max_nexthops; i++) {
		if (bp_nexthop_valid(n, i) && bp_nh_is_group(n, i))
			load_group(n, i, &repaired);
	}
	bp_nh_groups_reap(&n->groups);
	return repaired;
}

void bp_nexthops_reap(struct bp_nexthops *n)
{
	for (uint32_t i = BP_NH_FIXED; i < n->f->max_nexthops; i++) {
		if (bp_nexthop_valid(n, i) && n->refs[i] == 0)
			bp_nh_release(n, i);
	}
	bp_nh_count_add(n, 0);
}
