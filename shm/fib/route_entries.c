/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/fib/fib_routes.h"

#include <stdlib.h>
#include <string.h>

#include "shm/hash.h"

static uint64_t prefix_hash(const struct bp_routes *t, const struct bp_prefix *p)
{
	return bp_hash_bytes(t->f->hash_key, p, sizeof(*p));
}

static uint64_t hash_of(const void *arg, uint32_t i)
{
	const struct bp_routes *t = arg;

	return prefix_hash(t, &t->entry[i].prefix);
}

static bool prefix_equal(const struct bp_prefix *a, const struct bp_prefix *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* ---- entries ---- */

struct bp_route_entry *bp_route_find(
	const struct bp_routes *t, const struct bp_prefix *p, uint8_t origin)
{
	for (uint32_t i = bp_index_first(&t->index, prefix_hash(t, p)); i != BP_INDEX_END;
		i = bp_index_next(&t->index, i)) {
		struct bp_route_entry *e = &t->entry[i];

		if (e->origin == origin && prefix_equal(&e->prefix, p))
			return e;
	}
	return NULL;
}

struct bp_route_entry *bp_route_other_origin(
	const struct bp_routes *t, const struct bp_route_entry *e)
{
	return bp_route_find(
		t, &e->prefix, e->origin == BP_ORIGIN_STATIC ? BP_ORIGIN_KERNEL : BP_ORIGIN_STATIC);
}

bool bp_route_is_active(const struct bp_routes *t, const struct bp_route_entry *e)
{
	return e->origin == BP_ORIGIN_STATIC || !bp_route_other_origin(t, e);
}

static bool grow(struct bp_routes *t)
{
	const uint32_t more = t->capacity ? 2 * t->capacity : 1024;
	struct bp_route_entry *grown = realloc(t->entry, more * sizeof(*grown));

	if (!grown)
		return false;
	t->entry = grown;
	if (!bp_index_grow(&t->index, more, hash_of, t))
		return false;
	t->capacity = more;
	return true;
}

struct bp_route_entry *bp_route_entry_new(
	struct bp_routes *t, const struct bp_prefix *p, uint8_t origin)
{
	uint32_t i = t->free;

	if (i != BP_INDEX_END) {
		t->free = t->entry[i].after;
	} else {
		if (t->n == t->capacity && !grow(t))
			return NULL;
		i = t->n++;
	}
	struct bp_route_entry *e = &t->entry[i];

	*e = (struct bp_route_entry){.prefix = *p,
		.origin = origin,
		.object = BP_INDEX_END,
		.record = BP_INDEX_END,
		.before = BP_INDEX_END,
		.after = BP_INDEX_END};
	bp_index_add(&t->index, hash_of(t, i), i);
	return e;
}

/* ---- waiting entries ---- */

static enum bp_route_queue queue_of(const struct bp_route_entry *e, uint8_t wants)
{
	if (wants & BP_WANTS_ROOM)
		return e->prefix.family == 4 ? BP_WAIT_ROOM4 : BP_WAIT_ROOM6;
	return BP_WAIT_HOPS;
}

void bp_routes_figures(struct bp_routes *t)
{
	struct bp_fib_control *c = t->f->control;

	atomic_store_explicit(
		&c->routes4_refused, t->waiting[BP_WAIT_ROOM4].n, memory_order_relaxed);
	atomic_store_explicit(
		&c->routes6_refused, t->waiting[BP_WAIT_ROOM6].n, memory_order_relaxed);
	atomic_store_explicit(&c->nexthops_refused,
		t->waiting[BP_WAIT_HOPS].n + t->objects->waiting, memory_order_relaxed);
}

void bp_route_dequeue(struct bp_routes *t, struct bp_route_entry *e)
{
	struct bp_route_list *q = &t->waiting[queue_of(e, e->wants)];

	if (e->before != BP_INDEX_END)
		t->entry[e->before].after = e->after;
	else
		q->first = e->after;
	if (e->after != BP_INDEX_END)
		t->entry[e->after].before = e->before;
	else
		q->last = e->before;
	q->n--;
	e->before = e->after = BP_INDEX_END;
}

void bp_route_join_queue(struct bp_routes *t, struct bp_route_entry *e)
{
	const uint32_t i = (uint32_t)(e - t->entry);
	struct bp_route_list *q = &t->waiting[queue_of(e, e->wants)];

	e->before = q->last;
	e->after = BP_INDEX_END;
	if (q->last != BP_INDEX_END)
		t->entry[q->last].after = i;
	else
		q->first = i;
	q->last = i;
	q->n++;
}

static void wants_set(struct bp_routes *t, struct bp_route_entry *e, uint8_t wants)
{
	if (e->wants == wants)
		return;
	if (e->wants != 0)
		bp_route_dequeue(t, e);
	else
		atomic_fetch_add_explicit(&t->f->control->rejected_total, 1, memory_order_relaxed);
	e->wants = wants;
	if (wants != 0)
		bp_route_join_queue(t, e);
	bp_routes_figures(t);
}

void bp_route_wants_add(struct bp_routes *t, struct bp_route_entry *e, uint8_t want)
{
	wants_set(t, e, e->wants | want);
}

void bp_route_wants_no_more(struct bp_routes *t, struct bp_route_entry *e, uint8_t want)
{
	wants_set(t, e, e->wants & (uint8_t)~want);
}

void bp_route_object_unlink(struct bp_routes *t, uint32_t object)
{
	if (object != BP_INDEX_END)
		bp_object_unlink(t->objects, object);
}

void bp_route_entry_discard(struct bp_routes *t, struct bp_route_entry *e)
{
	const uint32_t i = (uint32_t)(e - t->entry);

	wants_set(t, e, 0);
	bp_index_remove(&t->index, hash_of(t, i), i);
	bp_nexthop_unref(t->nexthops, e->nexthop);
	bp_route_object_unlink(t, e->object);
	free(e->hop);
	*e = (struct bp_route_entry){.after = t->free}; /* family 0: free */
	t->free = i;
}
