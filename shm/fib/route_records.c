/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/fib/route_records.h"

#include <stdlib.h>
#include <string.h>

#include "shm/words.h"

static unsigned index_of(uint8_t family)
{
	return family == 4 ? 0 : 1;
}

bool bp_route_records_init(struct bp_route_records *r, struct bp_fib *f)
{
	*r = (struct bp_route_records){.f = f};
	r->free[0] = malloc(((size_t)f->max_routes4 + 1) * sizeof(*r->free[0]));
	r->free[1] = malloc(((size_t)f->max_routes6 + 1) * sizeof(*r->free[1]));
	if (r->free[0] && r->free[1])
		return true;
	bp_route_records_free(r);
	return false;
}

void bp_route_records_free(struct bp_route_records *r)
{
	free(r->free[0]);
	free(r->free[1]);
	*r = (struct bp_route_records){0};
}

static void count_add(struct bp_route_records *r, uint8_t family, int d)
{
	_Atomic uint32_t *shown = family == 4 ? &r->f->control->routes4 : &r->f->control->routes6;
	uint32_t *count = &r->count[index_of(family)];

	*count += (uint32_t)d;
	atomic_store_explicit(shown, *count, memory_order_relaxed);
}

static void give(struct bp_route_records *r, uint8_t family, uint32_t number)
{
	const unsigned i = index_of(family);

	r->free[i][r->n_free[i]++] = number;
}

/*
 * Even and not 0. It is derived from the total number of changes, which the segment keeps: a reader
 * that compares it before and after its copy detects a record that was freed and allocated again,
 * also by another writer.
 */
static uint32_t next_state(struct bp_route_records *r)
{
	const uint64_t changes =
		atomic_fetch_add_explicit(&r->f->control->changes, 1, memory_order_relaxed) + 1;
	const uint32_t state = (uint32_t)changes << 1;

	return state != 0 ? state : next_state(r);
}

bool bp_route_records_room(const struct bp_route_records *r, uint8_t family)
{
	return r->count[index_of(family)] < bp_route_records_max(r->f, family);
}

static void erase(struct bp_route_records *r, uint8_t family, uint32_t number)
{
	atomic_store_explicit(
		&bp_route_record(r->f, family, number)->state, 0, memory_order_release);
	atomic_thread_fence(memory_order_release); /* before it is written to again */
	give(r, family, number);
}

uint32_t bp_route_record_put(
	struct bp_route_records *r, const struct bp_route_record *what, uint32_t old)
{
	const unsigned i = index_of(what->family);
	const uint32_t number = r->free[i][--r->n_free[i]]; /* one more than max. routes */
	struct bp_route_record *e = bp_route_record(r->f, what->family, number);
	const size_t head = offsetof(struct bp_route_record, metric);

	bp_words_store(&e->metric, &what->metric, sizeof(*e) - head);
	atomic_store_explicit(&e->nexthop, what->nexthop, memory_order_relaxed);
	atomic_store_explicit(&e->state, next_state(r), memory_order_release);
	if (old == UINT32_MAX)
		count_add(r, what->family, 1);
	else
		erase(r, what->family, old);
	return number;
}

void bp_route_record_nexthop(
	struct bp_route_records *r, uint8_t family, uint32_t number, uint32_t nexthop)
{
	atomic_store_explicit(
		&bp_route_record(r->f, family, number)->nexthop, nexthop, memory_order_release);
	atomic_fetch_add_explicit(&r->f->control->changes, 1, memory_order_relaxed);
}

void bp_route_record_remove(struct bp_route_records *r, uint8_t family, uint32_t number)
{
	erase(r, family, number);
	count_add(r, family, -1);
	atomic_fetch_add_explicit(&r->f->control->changes, 1, memory_order_relaxed);
}

static bool sensible(const struct bp_fib *f, const struct bp_route_record *e, uint8_t family)
{
	struct bp_address a = {.family = family};
	struct bp_prefix p;

	if (e->family != family || e->length > bp_address_bits(family) ||
		e->type >= BP_ROUTE_TYPES || e->origin > BP_ORIGIN_STATIC ||
		e->vrf > bp_fib_vrfs(f))
		return false;
	memcpy(a.bytes, e->bytes, sizeof(a.bytes));
	p = bp_prefix_of(a, e->length);
	return memcmp(p.bytes, e->bytes, sizeof(p.bytes)) == 0;
}

bool bp_route_record_load(
	struct bp_route_records *r, uint8_t family, uint32_t number, bool *repaired)
{
	struct bp_route_record *e = bp_route_record(r->f, family, number);
	const uint32_t state = atomic_load_explicit(&e->state, memory_order_acquire);

	*repaired = false;
	if (state != 0 && state % 2 == 0 && sensible(r->f, e, family)) {
		count_add(r, family, 1);
		return true;
	}
	*repaired = state != 0;
	erase(r, family, number);
	return false;
}
