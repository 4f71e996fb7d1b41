/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/fib/fib_routes.h"

#include <stdlib.h>
#include <string.h>

#define FAILURES_MAX 16u    /* of one call of bp_routes_retry(): a full table costs little */
#define SUCCESSES_MAX 4096u /* of one call: a table that empties costs no more than a batch */

bool bp_routes_init(struct bp_routes *t, struct bp_fib *f, struct bp_lpm_writer *lpm,
	struct bp_nexthops *nexthops, struct bp_objects *objects)
{
	*t = (struct bp_routes){
		.f = f, .lpm = lpm, .nexthops = nexthops, .objects = objects, .free = BP_INDEX_END};
	for (unsigned q = 0; q < BP_WAIT_QUEUES; q++)
		t->waiting[q] = (struct bp_route_list){BP_INDEX_END, BP_INDEX_END, 0};
	if (bp_index_init(&t->index, 0) && bp_route_records_init(&t->records, f))
		return true;
	bp_routes_free(t);
	return false;
}

void bp_routes_free(struct bp_routes *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		free(t->entry[i].hop);
	free(t->entry);
	bp_index_free(&t->index);
	bp_route_records_free(&t->records);
	*t = (struct bp_routes){0};
}

/* ---- in the segment ---- */

static struct bp_route_record record_of(const struct bp_route_entry *e)
{
	struct bp_route_record r = {.nexthop = e->nexthop,
		.metric = e->metric,
		.generation = e->generation,
		.family = e->prefix.family,
		.length = e->prefix.length,
		.vrf = e->prefix.vrf,
		.type = e->type,
		.origin = e->origin,
		.protocol = e->protocol};

	memcpy(r.bytes, e->prefix.bytes, sizeof(r.bytes));
	return r;
}

static enum bp_fib_result refuse(
	struct bp_routes *t, struct bp_route_entry *e, enum bp_fib_result why)
{
	e->placed = false;
	bp_route_wants_add(t, e, BP_WANTS_ROOM);
	return why;
}

static enum bp_fib_result lpm_place(struct bp_routes *t, struct bp_route_entry *e)
{
	const enum bp_fib_result r = bp_lpm_set(t->lpm, &e->prefix, e->nexthop);

	if (r == BP_FIB_DONE || r == BP_FIB_SAME) {
		e->placed = true;
		bp_route_wants_no_more(t, e, BP_WANTS_ROOM);
		return BP_FIB_DONE;
	}
	/* the tables must match the records */
	bp_route_record_remove(&t->records, e->prefix.family, e->record);
	e->record = BP_INDEX_END;
	return refuse(t, e, r);
}

/*
 * Gives the active entry its own record, in place of `old` (or BP_INDEX_END), and its prefix in the
 * LPM table. The record is written first: another writer trusts it.
 */
static enum bp_fib_result install(struct bp_routes *t, struct bp_route_entry *e, uint32_t old)
{
	const struct bp_route_record what = record_of(e);

	if (old == BP_INDEX_END && !bp_route_records_room(&t->records, e->prefix.family)) {
		bp_lpm_refuse(t->lpm, &e->prefix);
		return refuse(t, e, BP_FIB_FULL);
	}
	e->record = bp_route_record_put(&t->records, &what, old);
	return lpm_place(t, e);
}

/* Its next hop alone is another one. */
static enum bp_fib_result lead(struct bp_routes *t, struct bp_route_entry *e)
{
	if (e->record == BP_INDEX_END)
		return install(t, e, BP_INDEX_END);
	bp_route_record_nexthop(&t->records, e->prefix.family, e->record, e->nexthop);
	return lpm_place(t, e);
}

/* Replaces the entry of the other origin, which is no longer active; may be NULL. */
static enum bp_fib_result supersede(
	struct bp_routes *t, struct bp_route_entry *e, struct bp_route_entry *other)
{
	uint32_t old = BP_INDEX_END;

	if (other) {
		old = other->record;
		other->record = BP_INDEX_END;
		other->placed = false;
		bp_route_wants_no_more(t, other, BP_WANTS_ROOM);
	}
	return install(t, e, old);
}

/* ---- targets of routes ---- */

uint32_t bp_route_fixed_nexthop(uint8_t type)
{
	switch (type) {
	case BP_ROUTE_LOCAL:
		return BP_NH_LOCAL;
	case BP_ROUTE_BLACKHOLE:
		return BP_NH_BLACKHOLE;
	case BP_ROUTE_UNREACHABLE:
		return BP_NH_UNREACHABLE;
	case BP_ROUTE_PROHIBIT:
		return BP_NH_PROHIBIT;
	case BP_ROUTE_PUNT:
		return BP_NH_PUNT;
	default:
		return 0;
	}
}

struct target {
	uint8_t type;
	uint32_t object; /* joined, or BP_INDEX_END */
	const struct bp_hop *hop;
	uint32_t n_hops;
};

/* Takes a reference to the next hop; 0: the table is full. */
static uint32_t resolve(struct bp_routes *t, const struct target *to, uint32_t like)
{
	if (to->type != BP_ROUTE_UNICAST)
		return bp_route_fixed_nexthop(to->type);
	if (to->object != BP_INDEX_END) {
		const uint32_t n = t->objects->object[to->object].nexthop;

		bp_nexthop_ref(t->nexthops, n);
		return n;
	}
	if (to->n_hops == 1)
		return bp_nexthop_single(t->nexthops, to->hop);
	return bp_nexthop_group(t->nexthops, to->hop, to->n_hops, like);
}

static bool hops_valid(const struct bp_route *r)
{
	if (r->n_hops < 1 || r->n_hops > BP_HOPS_MAX)
		return false;
	for (uint32_t i = 0; i < r->n_hops; i++) {
		const struct bp_hop *h = &r->hop[i];
		const uint8_t family = h->gateway.family;

		/* an IPv4 route may have an IPv6 gateway (RFC 8950), but not vice versa */
		if (h->interface >= BP_ALL_INTERFACES ||
			(family != 0 && family != 6 && family != r->prefix.family))
			return false;
	}
	return true;
}

static bool prefix_valid(const struct bp_fib *f, const struct bp_prefix *p, struct bp_prefix *plain)
{
	struct bp_address a = {.family = p->family};

	if ((p->family != 4 && p->family != 6) || p->length > bp_address_bits(p->family) ||
		p->vrf > bp_fib_vrfs(f))
		return false;
	memcpy(a.bytes, p->bytes, bp_address_bits(p->family) / 8);
	*plain = bp_prefix_of(a, p->length);
	plain->vrf = p->vrf;
	return memcmp(plain->bytes, a.bytes, sizeof(a.bytes)) == 0;
}

static void hops_forget(struct bp_route_entry *e)
{
	free(e->hop);
	e->hop = NULL;
	e->n_hops = 0;
}

static bool hops_keep(struct bp_route_entry *e, const struct target *to)
{
	const size_t bytes = to->n_hops * sizeof(*to->hop);
	struct bp_hop *copy = NULL;

	if (to->object == BP_INDEX_END && to->n_hops > 0) {
		copy = malloc(bytes);
		if (!copy)
			return false;
		memcpy(copy, to->hop, bytes);
	}
	free(e->hop);
	e->hop = copy;
	e->n_hops = copy ? to->n_hops : 0;
	return true;
}

/* ---- changes ---- */

/* Whether the attributes of the entry equal those of `r`, apart from the target. */
static bool words_same(const struct bp_route_entry *e, const struct bp_route *r)
{
	return e->type == r->type && e->protocol == r->protocol && e->metric == r->metric;
}

/* Updates the tables from the entry. */
static enum bp_fib_result publish(
	struct bp_routes *t, struct bp_route_entry *e, bool words, bool nexthop)
{
	struct bp_route_entry *other = bp_route_other_origin(t, e);

	if (other && e->origin == BP_ORIGIN_KERNEL)
		return BP_FIB_DONE; /* when the static one goes */
	if (e->record == BP_INDEX_END)
		return supersede(t, e, other);
	if (!words)
		return nexthop ? lead(t, e) : BP_FIB_DONE;
	const struct bp_route_record what = record_of(e);

	e->record = bp_route_record_put(&t->records, &what, e->record);
	return nexthop ? lpm_place(t, e) : BP_FIB_DONE;
}

static enum bp_fib_result change(struct bp_routes *t, struct bp_route_entry *e,
	const struct bp_route *r, const struct target *to)
{
	const uint32_t old = e->nexthop, old_object = e->object;
	const bool words = !words_same(e, r);
	uint32_t number = resolve(t, to, old);
	const bool room = number != 0;
	enum bp_fib_result result;

	if (!room && !hops_keep(e, to)) {
		bp_route_object_unlink(t, to->object);
		return BP_FIB_NO_MEMORY;
	}
	if (!room)
		number = BP_NH_PUNT;
	else
		hops_forget(e);
	e->type = r->type;
	e->protocol = r->protocol;
	e->metric = r->metric;
	e->object = to->object;
	e->nexthop = number;
	if (room && number == old && !words && old_object == to->object && e->wants == 0)
		result = BP_FIB_SAME;
	else
		result = publish(t, e, words, number != old || !e->placed);
	if (room)
		bp_route_wants_no_more(t, e, BP_WANTS_HOPS);
	else
		bp_route_wants_add(t, e, BP_WANTS_HOPS);
	/* the former target, if no other route uses it */
	bp_nexthop_unref(t->nexthops, old);
	bp_route_object_unlink(t, old_object);
	if (!room && (result == BP_FIB_DONE || result == BP_FIB_SAME))
		return BP_FIB_FULL;
	return result;
}

enum bp_fib_result bp_routes_set(struct bp_routes *t, const struct bp_route *r)
{
	struct target to = {r->type, BP_INDEX_END, r->hop, r->n_hops};
	struct bp_prefix prefix;
	struct bp_route_entry *e;
	enum bp_fib_result result;

	if (!prefix_valid(t->f, &r->prefix, &prefix) || r->type >= BP_ROUTE_TYPES ||
		r->origin > BP_ORIGIN_STATIC)
		return BP_FIB_INVALID;
	if (r->type == BP_ROUTE_UNICAST) {
		if (r->object != 0)
			to.object = bp_object_join(t->objects, r->object);
		if (r->object != 0 ? to.object == BP_INDEX_END : !hops_valid(r))
			return BP_FIB_INVALID;
	}
	e = bp_route_find(t, &prefix, r->origin);
	if (!e)
		e = bp_route_entry_new(t, &prefix, r->origin);
	if (!e) {
		bp_route_object_unlink(t, to.object);
		return BP_FIB_NO_MEMORY;
	}
	e->generation = t->now[r->origin];
	result = change(t, e, r, &to);
	if (e->nexthop == 0) /* new, and no memory for it */
		bp_route_entry_discard(t, e);
	return result;
}

static void delete_entry(struct bp_routes *t, struct bp_route_entry *e)
{
	struct bp_route_entry *other = bp_route_other_origin(t, e);

	if (other && e->origin == BP_ORIGIN_STATIC) {
		supersede(t, other, e);
	} else if (!other) {
		if (e->record != BP_INDEX_END)
			bp_route_record_remove(&t->records, e->prefix.family, e->record);
		bp_lpm_delete(t->lpm, &e->prefix);
	}
	bp_route_entry_discard(t, e);
}

enum bp_fib_result bp_routes_delete(
	struct bp_routes *t, const struct bp_prefix *p, enum bp_origin origin)
{
	struct bp_prefix prefix;
	struct bp_route_entry *e;

	if (!prefix_valid(t->f, p, &prefix))
		return BP_FIB_INVALID;
	e = bp_route_find(t, &prefix, (uint8_t)origin);
	if (!e)
		return BP_FIB_ABSENT;
	delete_entry(t, e);
	return BP_FIB_DONE;
}

uint32_t bp_routes_sweep(struct bp_routes *t, enum bp_origin origin)
{
	uint32_t swept = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		struct bp_route_entry *e = &t->entry[i];

		if (e->prefix.family == 0 || e->origin != origin || e->generation == t->now[origin])
			continue;
		delete_entry(t, e);
		swept++;
	}
	return swept;
}

/* ---- routes that did not fit ---- */

/* Returns whether nothing remains to be retried. */
static bool retry_one(struct bp_routes *t, struct bp_route_entry *e)
{
	const struct target to = {e->type, e->object, e->hop, e->n_hops};
	const uint32_t old = e->nexthop;

	if (e->wants & BP_WANTS_HOPS) {
		const uint32_t number = resolve(t, &to, old);

		if (number == 0)
			return false;
		e->nexthop = number;
		hops_forget(e);
		bp_route_wants_no_more(t, e, BP_WANTS_HOPS);
	}
	if (bp_route_is_active(t, e))
		lead(t, e);
	bp_nexthop_unref(t->nexthops, old == e->nexthop ? 0 : old);
	return e->wants == 0;
}

static bool can_retry(const struct bp_routes *t, enum bp_route_queue q)
{
	switch (q) {
	case BP_WAIT_ROOM4:
		return bp_route_records_room(&t->records, 4);
	case BP_WAIT_ROOM6:
		return bp_route_records_room(&t->records, 6);
	default:
		return true;
	}
}

static void retry_queue(struct bp_routes *t, enum bp_route_queue q)
{
	const uint32_t n = t->waiting[q].n;
	uint32_t failures = 0;

	for (uint32_t i = 0; i < n && i < SUCCESSES_MAX && failures < FAILURES_MAX; i++) {
		struct bp_route_entry *e;

		if (!can_retry(t, q) || t->waiting[q].n == 0)
			return;
		e = &t->entry[t->waiting[q].first];
		if (retry_one(t, e))
			continue;
		failures++;
		bp_route_dequeue(t, e); /* to the end of the queue */
		bp_route_join_queue(t, e);
	}
}

void bp_routes_retry(struct bp_routes *t)
{
	for (unsigned q = 0; q < BP_WAIT_QUEUES; q++)
		retry_queue(t, (enum bp_route_queue)q);
	bp_routes_figures(t);
}

bool bp_routes_waiting(const struct bp_routes *t)
{
	for (unsigned q = 0; q < BP_WAIT_QUEUES; q++) {
		if (t->waiting[q].n > 0)
			return true;
	}
	return false;
}
