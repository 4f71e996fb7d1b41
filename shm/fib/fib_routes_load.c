/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/fib/fib_routes.h"

#include <string.h>

static struct bp_prefix prefix_of(const struct bp_route_record *r)
{
	struct bp_prefix p = {.family = r->family, .length = r->length, .vrf = r->vrf};

	memcpy(p.bytes, r->bytes, sizeof(p.bytes));
	return p;
}

/* Two records of one prefix: it was being changed. Returns whether this one is to stay. */
static bool load_duplicate(struct bp_routes *t, uint8_t family, uint32_t number)
{
	const struct bp_route_record *r = bp_route_record(t->f, family, number);
	const struct bp_prefix p = prefix_of(r);
	struct bp_route_entry *twin = bp_route_find(t, &p, BP_ORIGIN_KERNEL);

	if (!twin)
		twin = bp_route_find(t, &p, BP_ORIGIN_STATIC);
	if (!twin)
		return true;
	const struct bp_route_record *seen = bp_route_record(t->f, family, twin->record);

	if (!bp_route_record_later(r->state, seen->state))
		return false;
	bp_route_record_remove(&t->records, family, twin->record);
	bp_route_entry_discard(t, twin);
	return true;
}

/* The next hop of a record, or the action for an invalid one. */
static uint32_t load_nexthop(const struct bp_routes *t, const struct bp_route_record *r)
{
	const uint32_t number = r->nexthop;

	if (r->type != BP_ROUTE_UNICAST)
		return bp_route_fixed_nexthop(r->type);
	if ((number >= BP_NH_FIXED || number == BP_NH_PUNT) &&
		bp_nexthop_valid(t->nexthops, number))
		return number;
	return BP_NH_PUNT;
}

static bool load_record(struct bp_routes *t, uint8_t family, uint32_t number)
{
	const struct bp_route_record *r = bp_route_record(t->f, family, number);
	const struct bp_prefix p = prefix_of(r);
	struct bp_route_entry *e;

	if (!load_duplicate(t, family, number)) {
		bp_route_record_remove(&t->records, family, number);
		return true;
	}
	e = bp_route_entry_new(t, &p, r->origin);
	if (!e)
		return false;
	e->type = r->type;
	e->protocol = r->protocol;
	e->metric = r->metric;
	e->record = number;
	return true;
}

/* Runs when the set of valid records is known: takes a reference to the entry's target. */
static bool load_target(struct bp_routes *t, struct bp_route_entry *e, uint64_t *repaired)
{
	const uint8_t family = e->prefix.family;
	const struct bp_route_record *r = bp_route_record(t->f, family, e->record);
	uint32_t id;

	e->nexthop = load_nexthop(t, r);
	if (e->nexthop != r->nexthop) {
		bp_route_record_nexthop(&t->records, family, e->record, e->nexthop);
		++*repaired;
	}
	bp_nexthop_ref(t->nexthops, e->nexthop);
	id = e->nexthop >= BP_NH_FIXED ? t->f->nexthops[e->nexthop].object : 0;
	if (id != 0)
		e->object = bp_object_join(t->objects, id);
	if (e->object != BP_INDEX_END && t->objects->object[e->object].nexthop != e->nexthop) {
		bp_object_unlink(t->objects, e->object);
		e->object = BP_INDEX_END;
	}
	e->placed = true;
	return bp_lpm_load(t->lpm, &e->prefix, e->nexthop) != BP_FIB_NO_MEMORY;
}

static bool load_family(struct bp_routes *t, uint8_t family, uint64_t *repaired)
{
	const uint32_t max = bp_route_records_max(t->f, family);

	for (uint32_t i = max + 1; i-- > 0;) {
		bool bad;

		if (bp_route_record_load(&t->records, family, i, &bad) &&
			!load_record(t, family, i))
			return false;
		*repaired += bad;
	}
	/* A damaged table can be full to the last record, which changes need. */
	for (uint32_t i = 0; i < t->n && t->records.count[family == 4 ? 0 : 1] > max; i++) {
		struct bp_route_entry *e = &t->entry[i];

		if (e->prefix.family != family)
			continue;
		bp_route_record_remove(&t->records, family, e->record);
		bp_route_entry_discard(t, e);
		++*repaired;
	}
	return true;
}

bool bp_routes_load(struct bp_routes *t, uint64_t *repaired)
{
	if (!load_family(t, 4, repaired) || !load_family(t, 6, repaired))
		return false;
	for (uint32_t i = 0; i < t->n; i++) {
		struct bp_route_entry *e = &t->entry[i];

		if (e->prefix.family != 0 && !load_target(t, e, repaired))
			return false;
	}
	bp_routes_figures(t);
	return true;
}
