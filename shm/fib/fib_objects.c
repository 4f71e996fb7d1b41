/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/fib/fib_objects.h"

#include <stdlib.h>
#include <string.h>

#include "shm/hash.h"

static uint64_t hash_of(const void *arg, uint32_t i)
{
	const struct bp_objects *o = arg;

	return bp_mix64(o->object[i].id ^ o->nexthops->f->hash_key[0]);
}

bool bp_objects_init(struct bp_objects *o, struct bp_nexthops *nexthops)
{
	*o = (struct bp_objects){.nexthops = nexthops, .free = BP_INDEX_END};
	return bp_index_init(&o->index, 0);
}

void bp_objects_free(struct bp_objects *o)
{
	for (uint32_t i = 0; i < o->n; i++)
		free(o->object[i].hop);
	free(o->object);
	bp_index_free(&o->index);
	*o = (struct bp_objects){0};
}

static uint32_t find(const struct bp_objects *o, uint32_t id)
{
	uint32_t i = bp_index_first(&o->index, bp_mix64(id ^ o->nexthops->f->hash_key[0]));

	while (i != BP_INDEX_END && o->object[i].id != id)
		i = bp_index_next(&o->index, i);
	return i;
}

static bool grow(struct bp_objects *o)
{
	const uint32_t more = o->capacity ? 2 * o->capacity : 64;
	struct bp_object *grown = realloc(o->object, more * sizeof(*grown));

	if (!grown)
		return false;
	o->object = grown;
	if (!bp_index_grow(&o->index, more, hash_of, o))
		return false;
	o->capacity = more;
	return true;
}

static uint32_t new_object(struct bp_objects *o, uint32_t id)
{
	uint32_t i = o->free;

	if (i != BP_INDEX_END) {
		o->free = o->object[i].next_free;
	} else {
		if (o->n == o->capacity && !grow(o))
			return BP_INDEX_END;
		i = o->n++;
	}
	o->object[i] = (struct bp_object){.id = id, .generation = o->now};
	bp_index_add(&o->index, hash_of(o, i), i);
	return i;
}

static void waiting_set(struct bp_objects *o, struct bp_object *b, bool waiting)
{
	if (b->waiting == waiting)
		return;
	b->waiting = waiting;
	o->waiting += waiting ? 1u : UINT32_MAX;
	if (waiting)
		atomic_fetch_add_explicit(
			&o->nexthops->f->control->rejected_total, 1, memory_order_relaxed);
}

/* Deleted, and no route names it. */
static void forget(struct bp_objects *o, uint32_t i)
{
	struct bp_object *b = &o->object[i];

	if (b->live || b->routes > 0)
		return;
	waiting_set(o, b, false);
	bp_index_remove(&o->index, hash_of(o, i), i);
	bp_nexthop_unref(o->nexthops, b->nexthop);
	free(b->hop);
	*b = (struct bp_object){.next_free = o->free};
	o->free = i;
}

static bool hops_keep(struct bp_object *b, const struct bp_hop *hop, uint32_t n_hops)
{
	struct bp_hop *copy = NULL;

	if (hop == b->hop)
		return true;
	if (n_hops > 0) {
		copy = malloc(n_hops * sizeof(*copy));
		if (!copy)
			return false;
		memcpy(copy, hop, n_hops * sizeof(*copy));
	}
	free(b->hop);
	b->hop = copy;
	b->n_hops = n_hops;
	return true;
}

static enum bp_link_kind kind_of(uint8_t type)
{
	switch (type) {
	case BP_ROUTE_BLACKHOLE:
		return BP_LINK_BLACKHOLE;
	case BP_ROUTE_UNREACHABLE:
		return BP_LINK_UNREACHABLE;
	case BP_ROUTE_PROHIBIT:
		return BP_LINK_PROHIBIT;
	default:
		return BP_LINK_PUNT;
	}
}

/* Makes the next hop element match the object. */
static enum bp_fib_result apply(
	struct bp_objects *o, struct bp_object *b, const struct bp_hop *hop, uint32_t n_hops)
{
	const bool made = b->nexthop == 0;
	bool changed, room = true;

	if (made)
		b->nexthop = bp_nexthop_object(o->nexthops, b->id);
	if (b->nexthop == 0)
		room = false;
	else if (b->type != BP_ROUTE_UNICAST)
		bp_nexthop_object_fixed(o->nexthops, b->nexthop, kind_of(b->type), &changed);
	else
		room = bp_nexthop_object_hops(o->nexthops, b->nexthop, hop, n_hops, &changed);
	if (!room && !hops_keep(b, hop, n_hops))
		return BP_FIB_NO_MEMORY;
	waiting_set(o, b, !room);
	if (!room)
		return BP_FIB_FULL;
	hops_keep(b, NULL, 0);
	return made || changed ? BP_FIB_DONE : BP_FIB_SAME;
}

enum bp_fib_result bp_object_set(
	struct bp_objects *o, uint32_t id, uint8_t type, const struct bp_hop *hop, uint32_t n_hops)
{
	uint32_t i = find(o, id);
	enum bp_fib_result r;

	if (i == BP_INDEX_END)
		i = new_object(o, id);
	if (i == BP_INDEX_END)
		return BP_FIB_NO_MEMORY;
	struct bp_object *b = &o->object[i];

	b->live = true;
	b->generation = o->now;
	b->type = type;
	r = apply(o, b, hop, n_hops);
	if (r == BP_FIB_NO_MEMORY && b->nexthop == 0) {
		b->live = false;
		forget(o, i);
	}
	return r;
}

enum bp_fib_result bp_object_delete(struct bp_objects *o, uint32_t id)
{
	const uint32_t i = find(o, id);
	bool changed;

	if (i == BP_INDEX_END || !o->object[i].live)
		return BP_FIB_ABSENT;
	struct bp_object *b = &o->object[i];

	b->live = false;
	waiting_set(o, b, false);
	if (b->nexthop != 0 && b->routes > 0)
		bp_nexthop_object_fixed(o->nexthops, b->nexthop, BP_LINK_BLACKHOLE, &changed);
	forget(o, i);
	return BP_FIB_DONE;
}

uint32_t bp_object_join(struct bp_objects *o, uint32_t id)
{
	const uint32_t i = find(o, id);

	if (i == BP_INDEX_END || !o->object[i].live)
		return BP_INDEX_END;
	o->object[i].routes++;
	return i;
}

void bp_object_unlink(struct bp_objects *o, uint32_t number)
{
	o->object[number].routes--;
	forget(o, number);
}

uint32_t bp_objects_sweep(struct bp_objects *o)
{
	uint32_t swept = 0;

	for (uint32_t i = 0; i < o->n; i++) {
		const struct bp_object *b = &o->object[i];

		if (b->live && b->generation != o->now)
			swept += bp_object_delete(o, b->id) == BP_FIB_DONE;
	}
	return swept;
}

bool bp_objects_retry(struct bp_objects *o)
{
	bool any = false;

	if (o->waiting == 0 || o->nexthops->slots.n_free == 0)
		return false;
	for (uint32_t i = 0; i < o->n; i++) {
		struct bp_object *b = &o->object[i];

		if (b->waiting)
			any |= apply(o, b, b->hop, b->n_hops) != BP_FIB_FULL;
	}
	return any;
}

bool bp_objects_load(struct bp_objects *o)
{
	const struct bp_fib *f = o->nexthops->f;

	for (uint32_t n = BP_NH_FIXED; n < f->max_nexthops; n++) {
		const uint32_t id = f->nexthops[n].object;
		uint32_t i;

		if (id == 0 || !bp_nexthop_valid(o->nexthops, n) || find(o, id) != BP_INDEX_END)
			continue;
		i = new_object(o, id);
		if (i == BP_INDEX_END)
			return false;
		o->object[i].live = true;
		o->object[i].nexthop = n;
		bp_nexthop_ref(o->nexthops, n);
	}
	return true;
}
