/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/fib/fib.h"

#include <string.h>

#include "shm/fib/fib_neighbors.h"
#include "shm/fib/lpm/lpm.h"
#include "shm/fib/reuse.h"
#include "shm/words.h"

/* A writer that changes one element continuously must not block a reader; an abandoned copy is
 * treated as a missing element. */
#define ATTEMPTS 1000

const char *const bp_route_type_name[BP_ROUTE_TYPES] = {
	[BP_ROUTE_UNICAST] = "unicast",
	[BP_ROUTE_LOCAL] = "local",
	[BP_ROUTE_BLACKHOLE] = "blackhole",
	[BP_ROUTE_UNREACHABLE] = "unreachable",
	[BP_ROUTE_PROHIBIT] = "prohibit",
	[BP_ROUTE_PUNT] = "punt",
};

static bool unchanged(const _Atomic uint32_t *state, uint32_t before)
{
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(state, memory_order_relaxed) == before;
}

/* Copies what a writer changes while *seq is odd. */
static void copy_info(const _Atomic uint32_t *seq, void *out, const void *info, size_t n)
{
	for (unsigned i = 0; i < ATTEMPTS; i++) {
		const uint32_t before = atomic_load_explicit(seq, memory_order_acquire);

		bp_words_load(out, info, n);
		if (before % 2 == 0 && unchanged(seq, before))
			return;
	}
}

bool bp_fib_interface(const struct bp_fib *f, unsigned interface, struct bp_interface_info *out)
{
	const struct bp_interface *e;

	if (interface >= BP_ALL_INTERFACES)
		return false;
	e = &f->interfaces[interface];
	copy_info(&e->seq, out, &e->info, sizeof(*out));
	out->name[sizeof(out->name) - 1] = '\0';
	if (out->n_addresses > BP_ADDRESSES_MAX)
		out->n_addresses = 0;
	return out->flags & BP_IF_PRESENT;
}

bool bp_fib_vrf(const struct bp_fib *f, unsigned vrf, struct bp_vrf_info *out)
{
	const struct bp_vrf *e;

	if (vrf == BP_VRF_MAIN || vrf > BP_MAX_VRFS)
		return false;
	e = &f->vrfs[vrf - 1];
	copy_info(&e->seq, out, &e->info, sizeof(*out));
	out->name[sizeof(out->name) - 1] = '\0';
	return out->table != 0;
}

/* A single next hop, whole. */
static bool hop_copy(const struct bp_fib *f, uint32_t number, struct bp_hop *out)
{
	const struct bp_nexthop *e;

	if (number < BP_NH_FIXED || number >= f->max_nexthops)
		return false;
	e = &f->nexthops[number];
	for (unsigned i = 0; i < ATTEMPTS; i++) {
		const uint32_t state = atomic_load_explicit(&e->state, memory_order_acquire);
		const uint64_t link = atomic_load_explicit(&e->link, memory_order_relaxed);
		const enum bp_link_kind kind = bp_link_kind(link);

		if (kind != BP_LINK_RESOLVED && kind != BP_LINK_CONNECTED &&
			kind != BP_LINK_UNRESOLVED)
			return false;
		bp_words_load(out, &e->hop, sizeof(*out));
		if (bp_slot(state) == BP_SLOT_LIVE && unchanged(&e->state, state))
			return true;
		/* left in change by a writer that died: only the link word is valid */
		memset(out, 0, sizeof(*out));
		out->interface = bp_link_interface(link);
		out->weight = 1;
	}
	return true;
}

static bool group_copy(const struct bp_fib *f, uint32_t number, struct bp_route *out)
{
	const struct bp_nexthop_group *e;

	if (number >= f->max_groups)
		return false;
	e = &f->groups[number];
	for (unsigned i = 0; i < ATTEMPTS; i++) {
		const uint32_t state = atomic_load_explicit(&e->state, memory_order_acquire);
		const uint32_t n = __atomic_load_n(&e->n, __ATOMIC_RELAXED);

		out->n_hops = n < BP_HOPS_MAX ? n : BP_HOPS_MAX;
		for (uint32_t h = 0; h < out->n_hops; h++) {
			if (!hop_copy(f, __atomic_load_n(&e->member[h], __ATOMIC_RELAXED),
				    &out->hop[h]))
				break;
			out->hop[h].weight = __atomic_load_n(&e->weight[h], __ATOMIC_RELAXED);
		}
		if (unchanged(&e->state, state))
			return true;
	}
	return true;
}

/* The hops behind a next hop's number. */
static void hops_copy(const struct bp_fib *f, uint32_t number, struct bp_route *out)
{
	const struct bp_nexthop *e;
	uint64_t link;

	out->n_hops = 0;
	if (number < BP_NH_FIXED || number >= f->max_nexthops)
		return;
	e = &f->nexthops[number];
	out->object = __atomic_load_n(&e->object, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < ATTEMPTS; i++) {
		link = atomic_load_explicit(&e->link, memory_order_acquire);
		if (bp_link_kind(link) == BP_LINK_GROUP)
			group_copy(f, (uint32_t)link, out);
		else
			out->n_hops = hop_copy(f, number, &out->hop[0]) ? 1 : 0;
		atomic_thread_fence(memory_order_acquire);
		if (bp_link_kind(atomic_load_explicit(&e->link, memory_order_relaxed)) ==
			bp_link_kind(link))
			return;
	}
}

static bool route_copy(
	const struct bp_fib *f, const struct bp_route_record *r, struct bp_route *out)
{
	for (unsigned i = 0; i < ATTEMPTS; i++) {
		const uint32_t state = atomic_load_explicit(&r->state, memory_order_acquire);
		struct bp_route_record copy;

		if (state == 0 || state % 2 != 0)
			return false;
		bp_words_load(&copy, r, sizeof(copy));
		memset(out, 0, offsetof(struct bp_route, hop));
		memcpy(out->prefix.bytes, copy.bytes, sizeof(copy.bytes));
		out->prefix.family = copy.family;
		out->prefix.length = copy.length;
		out->prefix.vrf = copy.vrf;
		out->type = copy.type;
		out->origin = copy.origin;
		out->protocol = copy.protocol;
		out->metric = copy.metric;
		hops_copy(f, atomic_load_explicit(&copy.nexthop, memory_order_relaxed), out);
		if (unchanged(&r->state, state) &&
			atomic_load_explicit(&r->nexthop, memory_order_relaxed) ==
				atomic_load_explicit(&copy.nexthop, memory_order_relaxed))
			return out->type < BP_ROUTE_TYPES;
	}
	return false;
}

bool bp_fib_next_route(const struct bp_fib *f, uint32_t *cursor, struct bp_route *out)
{
	const uint32_t n4 = f->max_routes4 + 1, n6 = f->max_routes6 + 1;

	if (f->max_routes == 0)
		return false;
	while (*cursor < n4 + n6) {
		const uint32_t i = (*cursor)++;

		if (route_copy(f, i < n4 ? &f->routes4[i] : &f->routes6[i - n4], out))
			return true;
	}
	return false;
}

/* Used next hops are nearest to the beginning of the table; the control table has their number. */
static uint32_t nexthops_used(
	const struct bp_fib *f, unsigned interface, const struct bp_address *a)
{
	uint32_t left = atomic_load_explicit(&f->control->nexthops, memory_order_relaxed);
	uint32_t latest = 0;

	for (uint32_t i = BP_NH_FIXED; i < f->max_nexthops && left > 0; i++) {
		const struct bp_nexthop *e = &f->nexthops[i];
		const uint32_t used = atomic_load_explicit(&e->used_s, memory_order_relaxed);
		struct bp_hop h;

		if (bp_slot(atomic_load_explicit(&e->state, memory_order_relaxed)) != BP_SLOT_LIVE)
			continue;
		left--;
		if (used > latest && hop_copy(f, i, &h) && h.interface == interface &&
			h.gateway.family == a->family &&
			memcmp(h.gateway.bytes, a->bytes, bp_address_bits(a->family) / 8) == 0)
			latest = used;
	}
	return latest;
}

uint32_t bp_fib_neighbor_used(
	const struct bp_fib *f, unsigned interface, const struct bp_address *a)
{
	const struct bp_neighbor_entry *e;
	uint32_t used = 0, by_nexthop;
	uint64_t link;

	if (interface >= BP_ALL_INTERFACES || (a->family != 4 && a->family != 6))
		return 0;
	e = bp_neighbor_find(f, (uint8_t)interface, bp_neighbor_key(a), &link);
	if (e)
		used = atomic_load_explicit(&e->used_s, memory_order_relaxed);
	by_nexthop = nexthops_used(f, interface, a);
	return used > by_nexthop ? used : by_nexthop;
}

static bool neighbor_copy(
	const struct bp_fib *f, struct bp_neighbor_entry *e, struct bp_neighbor_info *out)
{
	for (unsigned i = 0; i < ATTEMPTS; i++) {
		const uint64_t link = atomic_load_explicit(&e->link, memory_order_acquire);
		struct bp_neighbor_key k;

		if (link == 0)
			return false;
		memset(out, 0, sizeof(*out));
		k.lo = atomic_load_explicit(&e->lo, memory_order_relaxed);
		k.hi = atomic_load_explicit(&e->hi, memory_order_relaxed);
		out->address = bp_neighbor_address(k);
		out->interface = bp_link_interface(link);
		out->state = (uint8_t)atomic_load_explicit(&e->meta, memory_order_relaxed);
		out->used_s = atomic_load_explicit(&e->used_s, memory_order_relaxed);
		for (unsigned b = 0; b < 6; b++)
			out->mac[b] = (uint8_t)(bp_link_mac(link) >> 8 * b);
		atomic_thread_fence(memory_order_acquire);
		if (atomic_load_explicit(&e->link, memory_order_relaxed) == link)
			return true;
	}
	return false;
}

bool bp_fib_next_neighbor(const struct bp_fib *f, uint32_t *cursor, struct bp_neighbor_info *out)
{
	while (*cursor < f->neighbor_lines * BP_NEIGHBOR_WAYS) {
		const uint32_t i = (*cursor)++;

		if (neighbor_copy(f,
			    &f->neighbors[i / BP_NEIGHBOR_WAYS].entry[i % BP_NEIGHBOR_WAYS], out))
			return true;
	}
	return false;
}

bool bp_fib_next_hop(const struct bp_fib *f, uint32_t *cursor, struct bp_hop *out, uint32_t *used_s)
{
	while (*cursor < f->max_nexthops) {
		const uint32_t i = (*cursor)++;
		const struct bp_nexthop *e = &f->nexthops[i];

		*used_s = atomic_load_explicit(&e->used_s, memory_order_relaxed);
		if (bp_slot(atomic_load_explicit(&e->state, memory_order_relaxed)) ==
				BP_SLOT_LIVE &&
			hop_copy(f, i, out))
			return true;
	}
	return false;
}

uint32_t bp_fib_lookup(const struct bp_fib *f, unsigned vrf, const struct bp_address *a)
{
	if (f->max_routes == 0 || (a->family != 4 && a->family != 6))
		return BP_NH_NONE;
	return a->family == 4 ? bp_lpm4_lookup_in(f, (uint8_t)vrf, a->bytes)
			      : bp_lpm6_lookup_in(f, (uint8_t)vrf, a->bytes);
}
