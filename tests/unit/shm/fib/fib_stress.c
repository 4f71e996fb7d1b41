/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/shm/fib/fib_stress.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "shm/fib/lpm/lpm.h"
#include "shm/fib/neighbors.h"
#include "tests/unit/shm/test.h"

enum kind { ROUTE4, ROUTE6, NEIGHBOR, OBJECT };

static enum kind kind_of(unsigned item, unsigned *n)
{
	*n = item;
	if (*n < ROUTES4)
		return ROUTE4;
	*n -= ROUTES4;
	if (*n < ROUTES6)
		return ROUTE6;
	*n -= ROUTES6;
	if (*n < NEIGHBORS)
		return NEIGHBOR;
	*n -= NEIGHBORS;
	return OBJECT;
}

/* Kinds of versions, in this order. */
enum look { ABSENT, ONE, GROUP, CHANGED_METRIC, BLACKHOLE, STATIC_ONE, LOOKS };

static enum look look(uint32_t version)
{
	return (enum look)(version % LOOKS);
}

/* The gateway of a version, and its MAC: CHANGED_METRIC has the one of GROUP's first. */
static uint32_t gateway_number(uint32_t version)
{
	if (look(version) == CHANGED_METRIC)
		version--;
	return version % GATEWAYS;
}

/* IPv6, as IPv4 routes may have it too. */
static struct bp_address gateway(uint32_t number)
{
	const uint8_t b[16] = {0xfd, [14] = (uint8_t)(number >> 8), (uint8_t)number};

	return bp_address6(b);
}

static void mac_of(uint32_t number, uint8_t mac[6])
{
	memset(mac, 0, 6);
	mac[0] = 2;
	mac[4] = (uint8_t)(number >> 8);
	mac[5] = (uint8_t)number;
}

static uint64_t link_to(unsigned interface, uint32_t number)
{
	uint8_t mac[6];

	mac_of(number, mac);
	return bp_link_make(BP_LINK_RESOLVED, (uint8_t)interface, bp_mac_word(mac));
}

/* Prefixes of many lengths, none within another. */
static struct bp_prefix prefix_of(enum kind kind, unsigned n)
{
	struct bp_address a = {.family = kind == ROUTE6 ? 6 : 4};

	if (kind == ROUTE6) {
		a.bytes[0] = 0x20;
		a.bytes[3] = (uint8_t)n;
		a.bytes[15] = 1;
		return bp_prefix_of(a, 32 + n * 2);
	}
	a.bytes[0] = (uint8_t)(kind == ROUTE4 ? 20 : kind == NEIGHBOR ? 30 : 40);
	a.bytes[1] = (uint8_t)n;
	a.bytes[3] = 0xf0;
	return bp_prefix_of(a, kind == ROUTE4 ? 16 + n % 17 : 24);
}

/* A neighbor that changes, and the destination that is routed by it. */
static struct bp_address neighbor(unsigned n)
{
	const uint8_t b[4] = {10, 2, 0, (uint8_t)n};

	return bp_address4(b);
}

static struct bp_route route(enum kind kind, unsigned n)
{
	struct bp_route r;

	memset(&r, 0, sizeof(r));
	r.prefix = prefix_of(kind, n);
	r.n_hops = 1;
	r.hop[0].interface = 1;
	r.hop[0].weight = 1;
	return r;
}

static void hops_of(struct bp_hop *hop, uint32_t *n, uint32_t version)
{
	memset(hop, 0, 2 * sizeof(*hop));
	*n = look(version) == GROUP ? 2 : 1;
	for (unsigned i = 0; i < *n; i++) {
		hop[i].gateway = gateway(gateway_number(version));
		hop[i].interface = (uint8_t)(1 + i); /* the same MAC on two interfaces */
		hop[i].weight = (uint16_t)(1 + i);
	}
}

static bool fine(enum bp_fib_result r)
{
	return r == BP_FIB_DONE || r == BP_FIB_SAME || r == BP_FIB_ABSENT;
}

static bool apply_route(struct bp_fib_writer *w, enum kind kind, unsigned n, uint32_t version)
{
	struct bp_route r = route(kind, n);
	bool ok;

	hops_of(r.hop, &r.n_hops, version);
	if (look(version) == ABSENT) {
		ok = fine(bp_fib_route_delete(w, &r.prefix, BP_ORIGIN_KERNEL));
		return fine(bp_fib_route_delete(w, &r.prefix, BP_ORIGIN_STATIC)) && ok;
	}
	if (look(version) == STATIC_ONE) {
		r.origin = BP_ORIGIN_STATIC;
		return fine(bp_fib_route_set(w, &r));
	}
	if (look(version) == BLACKHOLE)
		r.type = BP_ROUTE_BLACKHOLE;
	if (look(version) == CHANGED_METRIC)
		r.metric = 1 + version % 5;
	ok = fine(bp_fib_route_set(w, &r));
	return fine(bp_fib_route_delete(w, &r.prefix, BP_ORIGIN_STATIC)) && ok;
}

static bool apply_neighbor(struct bp_fib_writer *w, unsigned n, uint32_t version)
{
	const struct bp_address a = neighbor(n);
	struct bp_route r = route(NEIGHBOR, n);
	uint8_t mac[6];

	r.hop[0].gateway = a;
	if (!fine(bp_fib_route_set(w, &r)))
		return false;
	mac_of(version % GATEWAYS, mac);
	if (look(version) == ABSENT)
		return fine(bp_fib_neighbor_delete(w, 1, &a));
	return fine(bp_fib_neighbor_set(w, 1, &a, mac, BP_NEIGHBOR_REACHABLE));
}

static bool apply_object(struct bp_fib_writer *w, unsigned n, uint32_t version)
{
	struct bp_route r = route(OBJECT, n);
	struct bp_hop hop[2];
	uint32_t n_hops;

	hops_of(hop, &n_hops, version);
	r.object = n + 1;
	if (look(version) == ABSENT || look(version) == BLACKHOLE) /* one element more or less */
		return fine(bp_fib_object_set(w, n + 1, BP_ROUTE_BLACKHOLE, NULL, 0)) &&
		       fine(bp_fib_route_set(w, &r));
	return fine(bp_fib_object_set(w, n + 1, BP_ROUTE_UNICAST, hop, n_hops)) &&
	       fine(bp_fib_route_set(w, &r));
}

static bool item_apply(struct bp_fib_writer *w, unsigned item, uint32_t version)
{
	unsigned n;
	const enum kind kind = kind_of(item, &n);

	if (kind == NEIGHBOR)
		return apply_neighbor(w, n, version);
	if (kind == OBJECT)
		return apply_object(w, n, version);
	return apply_route(w, kind, n, version);
}

/* The result of a worker's lookup: the link word, for a group that of one of its shares. */
static uint64_t item_find(struct stress *s, unsigned item, bool slowly)
{
	unsigned n;
	const enum kind kind = kind_of(item, &n);
	const struct bp_prefix p = prefix_of(kind, n);
	const uint8_t *six = p.bytes;
	const uint32_t four = (uint32_t)p.bytes[0] << 24 | (uint32_t)p.bytes[1] << 16 |
			      (uint32_t)p.bytes[2] << 8 | p.bytes[3];
	uint32_t number;
	uint64_t link;

	if (kind == NEIGHBOR && test_below(&s->rnd, 2)) {
		uint32_t dst;

		memcpy(&dst, neighbor(n).bytes, 4);
		return bp_neighbor4_use(s->f, 1, dst, 7);
	}
	if (p.family == 6)
		bp_lpm6_lookup(s->f, &six, &number, 1);
	else
		bp_lpm4_lookup(s->f, &four, &number, 1);
	if (number >= s->f->max_nexthops)
		return UINT64_MAX;
	if (slowly)
		sched_yield();
	link = atomic_load_explicit(&s->f->nexthops[number].link, memory_order_acquire);
	if (bp_link_kind(link) != BP_LINK_GROUP)
		return link;
	if ((uint32_t)link >= s->f->max_groups)
		return UINT64_MAX;
	number = atomic_load_explicit(
		&s->f->groups[(uint32_t)link].nexthop[test_below(&s->rnd, BP_GROUP_SHARES)],
		memory_order_acquire);
	if (number >= s->f->max_nexthops)
		return UINT64_MAX;
	return atomic_load_explicit(&s->f->nexthops[number].link, memory_order_acquire);
}

/* Whether a lookup in this version can have this result. */
static bool item_is(unsigned item, uint32_t version, uint64_t link)
{
	unsigned n;
	const enum kind kind = kind_of(item, &n);

	if (kind == NEIGHBOR)
		return link == (look(version) == ABSENT ? bp_link_make(BP_LINK_UNRESOLVED, 1, 0)
							: link_to(1, version % GATEWAYS));
	switch (look(version)) {
	case ABSENT:
		return bp_link_kind(link) == (kind == OBJECT ? BP_LINK_BLACKHOLE : BP_LINK_NONE);
	case BLACKHOLE:
		return bp_link_kind(link) == BP_LINK_BLACKHOLE;
	case GROUP:
		return link == link_to(1, gateway_number(version)) ||
		       link == link_to(2, gateway_number(version));
	default:
		return link == link_to(1, gateway_number(version));
	}
}

static void complain(const char *who, unsigned item, uint64_t versions, uint64_t link)
{
	static _Atomic unsigned n;

	if (n++ > 20)
		return;
	fprintf(stderr, "%s: item %u, versions %u and %u: found %016llx\n", who, item,
		(uint32_t)(versions >> 32), (uint32_t)versions, (unsigned long long)link);
}

static bool fixed_apply(struct bp_fib_writer *w)
{
	for (uint32_t g = 0; g < GATEWAYS; g++) {
		const struct bp_address a = gateway(g);
		uint8_t mac[6];

		mac_of(g, mac);
		if (!fine(bp_fib_neighbor_set(w, 1, &a, mac, BP_NEIGHBOR_REACHABLE)) ||
			!fine(bp_fib_neighbor_set(w, 2, &a, mac, BP_NEIGHBOR_REACHABLE)))
			return false;
	}
	return true;
}

/* Readers pass soon; until then there may be no room for what the next changes need. */
static void settle(struct bp_fib_writer *w)
{
	while (bp_fib_settle(w))
		sched_yield();
}

/*
 * The tables are as the journal says, but for what was being changed, which is as before or as
 * after; then everything is said again, and nothing changes by that but what was being changed.
 */
bool stress_take_over(struct stress *s, struct bp_fib_writer *w)
{
	const bool first = atomic_load(&s->j->ready) == 0;
	uint32_t swept, broken_off = 0;

	for (unsigned i = 0; i < ITEMS && !first; i++) {
		const uint64_t v = atomic_load(&s->j->item[i]), link = item_find(s, i, false);

		if (!item_is(i, (uint32_t)(v >> 32), link) && !item_is(i, (uint32_t)v, link)) {
			complain("after taking over", i, v, link);
			return false;
		}
	}
	settle(w);
	bp_fib_mark(w, BP_ORIGIN_KERNEL);
	bp_fib_mark(w, BP_ORIGIN_STATIC);
	if (!fixed_apply(w))
		return false;
	for (unsigned i = 0; i < ITEMS; i++) {
		const uint64_t v = atomic_load(&s->j->item[i]);
		uint64_t link;

		broken_off += v >> 32 != (uint32_t)v;
		if (!item_apply(w, i, (uint32_t)v)) {
			fprintf(stderr, "item %u cannot be set\n", i);
			return false;
		}
		link = item_find(s, i, false);
		if (!item_is(i, (uint32_t)v, link)) {
			complain("set again", i, v, link);
			return false;
		}
		atomic_store(&s->j->item[i], (v & UINT32_MAX) << 32 | (v & UINT32_MAX));
	}
	/* A change to a static route may have left the kernel's before it. */
	swept = bp_fib_sweep(w, BP_ORIGIN_KERNEL) + bp_fib_sweep(w, BP_ORIGIN_STATIC);
	if (swept > broken_off)
		fprintf(stderr, "%u entries that nobody had set\n", swept);
	return swept <= broken_off;
}

bool stress_change(struct stress *s, struct bp_fib_writer *w)
{
	const unsigned i = test_below(&s->rnd, ITEMS);
	const uint64_t now = atomic_load(&s->j->item[i]) & UINT32_MAX;

	atomic_store(&s->j->item[i], now << 32 | (now + 1));
	if (!item_apply(w, i, (uint32_t)now + 1)) {
		fprintf(stderr, "item %u cannot become version %u\n", i, (uint32_t)now + 1);
		return false;
	}
	atomic_store(&s->j->item[i], (now + 1) << 32 | (now + 1));
	atomic_fetch_add(&s->j->changes, 1);
	if (test_below(&s->rnd, 64) == 0)
		settle(w);
	return true;
}

void stress_read(struct stress *s, unsigned reader)
{
	for (unsigned n = 0; n < 64; n++) {
		const unsigned i = test_below(&s->rnd, ITEMS);
		const uint64_t before = atomic_load(&s->j->item[i]);
		const uint64_t link = item_find(s, i, test_below(&s->rnd, 64) == 0);
		const uint64_t after = atomic_load(&s->j->item[i]);
		const uint32_t from = (uint32_t)(before >> 32), to = (uint32_t)after;
		bool right = false;

		atomic_fetch_add_explicit(&s->j->lookups[reader], 1, memory_order_relaxed);
		for (uint32_t v = from; v - from <= to - from && !right && v - from < LOOKS; v++)
			right = item_is(i, v, link);
		if (right)
			continue;
		if (to - from >= LOOKS) { /* too many changes meanwhile: any version is possible */
			atomic_fetch_add(&s->j->unsure[reader], 1);
			continue;
		}
		atomic_fetch_add(&s->j->wrong[reader], 1);
		complain("reader", i, (before & ~0ull << 32) | to, link);
	}
}
