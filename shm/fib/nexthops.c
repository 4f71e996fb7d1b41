/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/fib/nexthops.h"

#include <stdlib.h>
#include <string.h>

#include "shm/fib/fib_neighbors.h"
#include "shm/fib/nexthop_element.h"
#include "shm/words.h"

void bp_nh_count_add(struct bp_nexthops *n, int d)
{
	n->count += (uint32_t)d;
	atomic_store_explicit(&n->f->control->nexthops, n->count, memory_order_relaxed);
}

/* A hop with unused bytes cleared, so that equal hops are equal byte by byte. */
struct bp_hop bp_nh_normalize(const struct bp_hop *hop)
{
	struct bp_hop h;

	memset(&h, 0, sizeof(h));
	if (hop->gateway.family != 0) {
		h.gateway.family = hop->gateway.family;
		memcpy(h.gateway.bytes, hop->gateway.bytes,
			bp_address_bits(hop->gateway.family) / 8);
	}
	h.interface = hop->interface;
	h.weight = 1;
	return h;
}

uint64_t bp_nh_hop_link(const struct bp_nexthops *n, const struct bp_hop *hop)
{
	if (hop->gateway.family == 0)
		return bp_link_make(BP_LINK_CONNECTED, hop->interface, 0);
	return bp_neighbors_link(n->f, hop->interface, &hop->gateway);
}

uint64_t bp_nh_hop_hash(
	const struct bp_nexthops *n, uint8_t interface, const struct bp_address *gateway)
{
	return bp_hash_bytes(n->f->hash_key, gateway, sizeof(*gateway)) ^ bp_mix64(interface);
}

uint64_t bp_nh_members_hash(const struct bp_nexthops *n, const struct bp_nh_members *m)
{
	return bp_hash_bytes(n->f->hash_key, m->member, m->n * sizeof(m->member[0])) +
	       bp_hash_bytes(n->f->hash_key, m->weight, m->n * sizeof(m->weight[0]));
}

static bool members_equal(const struct bp_nh_members *a, const struct bp_nh_members *b)
{
	return a->n == b->n && memcmp(a->member, b->member, a->n * sizeof(a->member[0])) == 0 &&
	       memcmp(a->weight, b->weight, a->n * sizeof(a->weight[0])) == 0;
}

bool bp_nexthops_init(struct bp_nexthops *n, struct bp_fib *f, struct bp_epoch *e)
{
	*n = (struct bp_nexthops){.f = f, .epoch = e};
	n->refs = calloc(f->max_nexthops, sizeof(*n->refs));
	if (n->refs && bp_index_init(&n->by_content, f->max_nexthops) &&
		bp_reuse_init(&n->slots, f->max_nexthops) && bp_nh_groups_init(&n->groups, f))
		return true;
	bp_nexthops_free(n);
	return false;
}

void bp_nexthops_free(struct bp_nexthops *n)
{
	free(n->refs);
	bp_index_free(&n->by_content);
	bp_reuse_free(&n->slots);
	bp_nh_groups_free(&n->groups);
	*n = (struct bp_nexthops){0};
}

const enum bp_link_kind bp_nh_fixed_kind[BP_NH_FIXED] = {
	[BP_NH_NONE] = BP_LINK_NONE,
	[BP_NH_PUNT] = BP_LINK_PUNT,
	[BP_NH_LOCAL] = BP_LINK_LOCAL,
	[BP_NH_BLACKHOLE] = BP_LINK_BLACKHOLE,
	[BP_NH_UNREACHABLE] = BP_LINK_UNREACHABLE,
	[BP_NH_PROHIBIT] = BP_LINK_PROHIBIT,
};

void bp_nexthop_init_fixed(struct bp_fib *f, uint32_t number)
{
	struct bp_nexthop *e = &f->nexthops[number];

	atomic_store(&e->link, bp_link_make(bp_nh_fixed_kind[number], 0, 0));
	atomic_store(&e->state, BP_SLOT_LIVE);
}

bool bp_nexthop_valid(const struct bp_nexthops *n, uint32_t number)
{
	if (number >= n->f->max_nexthops)
		return false;
	return number < BP_NH_FIXED || bp_nh_slot(n, number) == BP_SLOT_LIVE ||
	       bp_nh_slot(n, number) == BP_SLOT_CHANGING;
}

/* ---- one element ---- */

static bool new_group(
	struct bp_nexthops *n, const struct bp_nh_members *m, uint32_t like, uint32_t *group)
{
	if (n->groups.slots.n_free == 0)
		bp_nexthops_settle(n);
	return bp_nh_group_new(&n->groups, m, like, group);
}

static uint32_t new_element(
	struct bp_nexthops *n, uint64_t link, uint32_t object, const struct bp_hop *hop)
{
	struct bp_nexthop *e;
	uint32_t number;

	if (n->slots.n_free == 0)
		bp_nexthops_settle(n);
	if (!bp_reuse_take(&n->slots, &number))
		return 0;
	e = bp_nh_element(n, number);
	bp_slot_set(&e->state, BP_SLOT_WRITING);
	atomic_store_explicit(&e->used_s, 0, memory_order_relaxed);
	__atomic_store_n(&e->object, object, __ATOMIC_RELAXED);
	bp_words_store(&e->hop, hop, sizeof(*hop));
	bp_nh_link_set(n, number, link);
	bp_slot_set(&e->state, BP_SLOT_LIVE);
	n->refs[number] = 1;
	bp_nh_count_add(n, 1);
	return number;
}

/* Removes it from the index, while its contents are those that it was inserted with. */
static void index_out(struct bp_nexthops *n, uint32_t number)
{
	const struct bp_nexthop *e = bp_nh_element(n, number);

	if (bp_nh_is_single(n, number)) {
		if (bp_nh_slot(n, number) != BP_SLOT_CHANGING)
			bp_index_remove(&n->by_content,
				bp_nh_hop_hash(n, e->hop.interface, &e->hop.gateway), number);
	} else if (bp_nh_is_group(n, number) && e->object == 0) {
		struct bp_nh_members m;

		bp_nh_group_members(&n->groups, bp_nh_group_of(n, number), &m);
		bp_index_remove(&n->by_content, bp_nh_members_hash(n, &m), number);
	}
}

static void members_unref(struct bp_nexthops *n, const struct bp_nh_members *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		bp_nexthop_unref(n, m->member[i]);
}

/* The group has no references any more. */
static void group_release(struct bp_nexthops *n, uint32_t group)
{
	struct bp_nh_members m;

	bp_nh_group_members(&n->groups, group, &m);
	bp_nh_group_retire(&n->groups, group);
	members_unref(n, &m);
}

void bp_nh_retire(struct bp_nexthops *n, uint32_t number)
{
	bp_slot_set(&bp_nh_element(n, number)->state, BP_SLOT_RETIRED);
	bp_reuse_retire(&n->slots, number);
}

void bp_nh_release(struct bp_nexthops *n, uint32_t number)
{
	index_out(n, number);
	bp_nh_retire(n, number);
	bp_nh_count_add(n, -1);
	if (bp_nh_is_group(n, number))
		group_release(n, bp_nh_group_of(n, number));
}

void bp_nexthop_ref(struct bp_nexthops *n, uint32_t number)
{
	if (number >= BP_NH_FIXED)
		n->refs[number]++;
}

void bp_nexthop_unref(struct bp_nexthops *n, uint32_t number)
{
	if (number >= BP_NH_FIXED && --n->refs[number] == 0)
		bp_nh_release(n, number);
}

/* ---- by content ---- */

uint32_t bp_nexthop_single(struct bp_nexthops *n, const struct bp_hop *hop)
{
	const struct bp_hop h = bp_nh_normalize(hop);
	const uint64_t hash = bp_nh_hop_hash(n, h.interface, &h.gateway);
	uint32_t i;

	for (i = bp_index_first(&n->by_content, hash); i != BP_INDEX_END;
		i = bp_index_next(&n->by_content, i)) {
		const struct bp_nexthop *e = bp_nh_element(n, i);

		if (e->object == 0 && bp_nh_is_single(n, i) &&
			memcmp(&e->hop, &h, sizeof(h)) == 0) {
			n->refs[i]++;
			return i;
		}
	}
	i = new_element(n, bp_nh_hop_link(n, &h), 0, &h);
	if (i != 0)
		bp_index_add(&n->by_content, hash, i);
	return i;
}

/* Takes a reference to each member of a group; false: the table is full, and no reference is
 * held. */
static bool members_make(
	struct bp_nexthops *n, const struct bp_hop *hop, uint32_t n_hops, struct bp_nh_members *m)
{
	for (m->n = 0; m->n < n_hops; m->n++) {
		const struct bp_hop *h = &hop[m->n];

		m->member[m->n] = bp_nexthop_single(n, h);
		m->weight[m->n] = h->weight == 0 ? 1 : h->weight > 256 ? 256 : h->weight;
		if (m->member[m->n] == 0) {
			members_unref(n, m);
			return false;
		}
	}
	return true;
}

static uint32_t group_find(const struct bp_nexthops *n, const struct bp_nh_members *m)
{
	uint32_t i;

	for (i = bp_index_first(&n->by_content, bp_nh_members_hash(n, m)); i != BP_INDEX_END;
		i = bp_index_next(&n->by_content, i)) {
		struct bp_nh_members other;

		if (!bp_nh_is_group(n, i))
			continue;
		bp_nh_group_members(&n->groups, bp_nh_group_of(n, i), &other);
		if (members_equal(m, &other))
			return i;
	}
	return 0;
}

uint32_t bp_nexthop_group(
	struct bp_nexthops *n, const struct bp_hop *hop, uint32_t n_hops, uint32_t like)
{
	static const struct bp_hop none;
	struct bp_nh_members m;
	uint32_t number, group;

	if (!members_make(n, hop, n_hops, &m))
		return 0;
	number = group_find(n, &m);
	if (number != 0) {
		n->refs[number]++;
		members_unref(n, &m);
		return number;
	}
	like = like >= BP_NH_FIXED && bp_nh_is_group(n, like) ? bp_nh_group_of(n, like)
							      : UINT32_MAX;
	if (!new_group(n, &m, like, &group)) {
		members_unref(n, &m);
		return 0;
	}
	number = new_element(n, bp_link_make(BP_LINK_GROUP, 0, group), 0, &none);
	if (number == 0)
		group_release(n, group);
	else
		bp_index_add(&n->by_content, bp_nh_members_hash(n, &m), number);
	return number;
}

/* ---- objects ---- */

uint32_t bp_nexthop_object(struct bp_nexthops *n, uint32_t object)
{
	static const struct bp_hop none;

	return new_element(n, bp_link_make(BP_LINK_BLACKHOLE, 0, 0), object, &none);
}

/*
 * Sets another link word. References to the members of the former group are released after the last
 * reader has left.
 */
static void object_link(struct bp_nexthops *n, uint32_t number, uint64_t link)
{
	const bool was_group = bp_nh_is_group(n, number);
	const uint32_t group = bp_nh_group_of(n, number);

	index_out(n, number);
	bp_nh_link_set(n, number, link);
	if (was_group)
		group_release(n, group);
}

void bp_nexthop_object_fixed(
	struct bp_nexthops *n, uint32_t number, enum bp_link_kind kind, bool *changed)
{
	const uint64_t link = bp_link_make(kind, 0, 0);

	*changed = bp_nh_link(n, number) != link;
	if (!*changed)
		return;
	object_link(n, number, link);
	bp_slot_set(&bp_nh_element(n, number)->state, BP_SLOT_LIVE);
}

static void object_single(
	struct bp_nexthops *n, uint32_t number, const struct bp_hop *hop, bool *changed)
{
	const struct bp_hop h = bp_nh_normalize(hop);
	struct bp_nexthop *e = bp_nh_element(n, number);
	const bool was_group = bp_nh_is_group(n, number);
	const uint32_t group = bp_nh_group_of(n, number);

	*changed = !bp_nh_is_single(n, number) || bp_nh_slot(n, number) != BP_SLOT_LIVE ||
		   memcmp(&e->hop, &h, sizeof(h)) != 0;
	if (!*changed)
		return;
	index_out(n, number);
	bp_slot_set(&e->state, BP_SLOT_CHANGING);
	bp_words_store(&e->hop, &h, sizeof(h));
	bp_nh_link_set(n, number, bp_nh_hop_link(n, &h));
	bp_slot_set(&e->state, BP_SLOT_LIVE);
	bp_index_add(&n->by_content, bp_nh_hop_hash(n, h.interface, &h.gateway), number);
	if (was_group)
		group_release(n, group);
}

static bool object_group(
	struct bp_nexthops *n, uint32_t number, const struct bp_nh_members *m, bool *changed)
{
	struct bp_nh_members old;
	uint32_t group;

	*changed = true;
	if (!bp_nh_is_group(n, number)) {
		if (!new_group(n, m, UINT32_MAX, &group))
			return false;
		object_link(n, number, bp_link_make(BP_LINK_GROUP, 0, group));
		bp_slot_set(&bp_nh_element(n, number)->state, BP_SLOT_LIVE);
		return true;
	}
	group = bp_nh_group_of(n, number);
	bp_nh_group_members(&n->groups, group, &old);
	*changed = !members_equal(&old, m);
	if (*changed)
		bp_nh_group_change(&n->groups, group, m);
	members_unref(n, &old);
	return true;
}

bool bp_nexthop_object_hops(struct bp_nexthops *n, uint32_t number, const struct bp_hop *hop,
	uint32_t n_hops, bool *changed)
{
	struct bp_nh_members m;

	if (n_hops == 1) {
		object_single(n, number, hop, changed);
		return true;
	}
	if (members_make(n, hop, n_hops, &m)) {
		if (object_group(n, number, &m, changed))
			return true;
		members_unref(n, &m);
	}
	bp_nexthop_object_fixed(n, number, BP_LINK_PUNT, changed);
	return false;
}

/* ---- neighbors ---- */

void bp_nexthops_follow(struct bp_nexthops *n, uint8_t interface, const struct bp_address *a)
{
	struct bp_hop h = {.gateway = *a, .interface = interface, .weight = 1};
	uint64_t link;

	h = bp_nh_normalize(&h);
	link = bp_nh_hop_link(n, &h);
	for (uint32_t i = bp_index_first(&n->by_content, bp_nh_hop_hash(n, interface, &h.gateway));
		i != BP_INDEX_END; i = bp_index_next(&n->by_content, i)) {
		if (bp_nh_is_single(n, i) &&
			memcmp(&bp_nh_element(n, i)->hop, &h, sizeof(h)) == 0 &&
			bp_nh_link(n, i) != link)
			bp_nh_link_set(n, i, link);
	}
}

uint32_t bp_nexthops_used(
	const struct bp_nexthops *n, uint8_t interface, const struct bp_address *a)
{
	struct bp_hop h = {.gateway = *a, .interface = interface, .weight = 1};
	uint32_t latest = 0;

	h = bp_nh_normalize(&h);
	for (uint32_t i = bp_index_first(&n->by_content, bp_nh_hop_hash(n, interface, &h.gateway));
		i != BP_INDEX_END; i = bp_index_next(&n->by_content, i)) {
		const struct bp_nexthop *e = bp_nh_element(n, i);
		const uint32_t used = atomic_load_explicit(&e->used_s, memory_order_relaxed);

		if (bp_nh_is_single(n, i) && memcmp(&e->hop, &h, sizeof(h)) == 0 && used > latest)
			latest = used;
	}
	return latest;
}

bool bp_nexthops_settle(struct bp_nexthops *n)
{
	const bool groups = bp_nh_groups_settle(&n->groups, n->epoch);
	uint32_t number;

	while (bp_reuse_passed(&n->slots, n->epoch, &number)) {
		bp_slot_set(&bp_nh_element(n, number)->state, BP_SLOT_FREE);
		bp_reuse_give(&n->slots, number);
	}
	return groups || n->slots.n_waiting > 0;
}
