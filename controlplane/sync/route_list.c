/* SPDX-License-Identifier: BSD-3-Clause */
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/sync/nl_cache.h"

/*
 * The routes of one prefix, in the kernel's order of preference; events update the list. The choice
 * among several routes of one prefix, table, TOS and metric follows the kernel: fib_table_insert()
 * and fib_table_delete() for IPv4, fib6_add_rt2node() and fib6_del_route() for IPv6. When an event
 * contradicts the list, the cache requests a new dump.
 */

static const char unexpected[] = "an event contradicts the known routes";

void bp_nl_route_free(struct bp_nl_cache *cache, struct bp_nl_route *r)
{
	for (unsigned i = 0; i < r->n_hops; i++)
		bp_nl_link_use(cache, r->hop[i].ifindex, -1);
	if (r->object != 0)
		bp_nl_nh_object_use(cache, r->object, -1);
	if (r->preferred)
		cache->preferred--;
	free(r);
}

void bp_nl_routes_free(struct bp_nl_cache *cache)
{
	for (uint32_t b = 0; b < cache->prefixes.buckets; b++)
		while (cache->prefixes.bucket[b] != NULL) {
			struct bp_nl_prefix *p = (struct bp_nl_prefix *)cache->prefixes.bucket[b];

			cache->prefixes.bucket[b] = p->node.next;
			while (p->first != NULL) {
				struct bp_nl_route *r = p->first;

				p->first = r->next;
				bp_nl_route_free(cache, r);
			}
			free(p);
		}
	bp_map_free(&cache->prefixes);
}

static void remove_at(struct bp_nl_cache *cache, struct bp_nl_route **at)
{
	struct bp_nl_route *r = *at;

	*at = r->next;
	bp_nl_route_free(cache, r);
}

static void insert_at(struct bp_nl_cache *cache, struct bp_nl_route **at, struct bp_nl_route *r)
{
	for (unsigned i = 0; i < r->n_hops; i++)
		bp_nl_link_use(cache, r->hop[i].ifindex, 1);
	if (r->object != 0)
		bp_nl_nh_object_use(cache, r->object, 1);
	if (r->preferred)
		cache->preferred++;
	r->next = *at;
	*at = r;
}

/* Routes that the kernel distinguishes only by their order: a block of the list. */
static bool same_key(const struct bp_nl_route *a, const struct bp_nl_route *b)
{
	return a->from_main == b->from_main && a->metric == b->metric &&
	       a->qualifier == b->qualifier;
}

static bool before(const struct bp_nl_route *a, const struct bp_nl_route *b)
{
	if (a->from_main != b->from_main)
		return !a->from_main;
	if (a->metric != b->metric)
		return a->metric < b->metric;
	return a->qualifier < b->qualifier;
}

static bool same_hop(const struct bp_nl_hop *a, const struct bp_nl_hop *b)
{
	return a->ifindex == b->ifindex && a->family == b->family &&
	       memcmp(a->gateway, b->gateway, sizeof(a->gateway)) == 0;
}

static bool same_route(const struct bp_nl_route *a, const struct bp_nl_route *b)
{
	if (!same_key(a, b) || a->type != b->type || a->object != b->object)
		return false;
	if (a->object != 0) /* its hops may have changed since */
		return a->protocol == b->protocol;
	if (a->n_hops != b->n_hops || a->protocol != b->protocol)
		return false;
	for (unsigned i = 0; i < a->n_hops; i++)
		if (!same_hop(&a->hop[i], &b->hop[i]) || a->hop[i].weight != b->hop[i].weight)
			return false;
	return true;
}

/* Returns the first route of the block of `like`, or the position for it. */
static struct bp_nl_route **block_of(struct bp_nl_prefix *p, const struct bp_nl_route *like)
{
	struct bp_nl_route **at = &p->first;

	while (*at != NULL && before(*at, like))
		at = &(*at)->next;
	return at;
}

static bool in_block(struct bp_nl_route *const *at, const struct bp_nl_route *like)
{
	return *at != NULL && same_key(*at, like);
}

static struct bp_nl_route **block_end(struct bp_nl_route **at, const struct bp_nl_route *like)
{
	while (in_block(at, like))
		at = &(*at)->next;
	return at;
}

/* Returns the same route in the block; the end of the block when it is not there. */
static struct bp_nl_route **same_in_block(struct bp_nl_route **at, const struct bp_nl_route *like)
{
	while (in_block(at, like) && !same_route(*at, like))
		at = &(*at)->next;
	return at;
}

static void take_same(
	struct bp_nl_cache *cache, struct bp_nl_route **block, const struct bp_nl_route *like)
{
	struct bp_nl_route **at = same_in_block(block, like);

	if (in_block(at, like))
		remove_at(cache, at);
}

/* ---- IPv4 ---- */

/*
 * The route replaces the first route of the block (NLM_F_REPLACE), or it is an existing route that
 * the kernel repeats because its next-hop object has changed.
 */
static void replace4(struct bp_nl_cache *cache, struct bp_nl_route **block, struct bp_nl_route *r)
{
	struct bp_nl_route **at = same_in_block(block, r);

	if (!in_block(at, r)) {
		at = block;
		/* an event from before the dump may have been about another route */
		if (cache->replaying && in_block(at, r) && in_block(&(*at)->next, r))
			bp_nl_cache_invalidate(cache, unexpected);
	}
	if (in_block(at, r))
		remove_at(cache, at);
	insert_at(cache, at, r);
}

static void add4(struct bp_nl_cache *cache, struct bp_nl_route **block, struct bp_nl_route *r,
	uint16_t flags, bool dump)
{
	struct bp_nl_route **at;

	if (dump) {
		at = same_in_block(block, r);
		if (in_block(at, r)) /* the dump is repeated */
			remove_at(cache, at);
		insert_at(cache, at, r);
	} else if (flags & NLM_F_REPLACE) {
		replace4(cache, block, r);
	} else if (flags & NLM_F_APPEND) {
		take_same(cache, block, r);
		insert_at(cache, block_end(block, r), r);
	} else {
		/* Exclusive: the route is the first with its key, so known routes with that key are
		 * removed. */
		while ((flags & NLM_F_EXCL) && in_block(block, r))
			remove_at(cache, block);
		take_same(cache, block, r);
		insert_at(cache, block, r);
	}
}

static void take4(
	struct bp_nl_cache *cache, struct bp_nl_route **block, const struct bp_nl_route *like)
{
	struct bp_nl_route **at = same_in_block(block, like);

	if (in_block(at, like))
		remove_at(cache, at);
	else if (!cache->replaying && in_block(block, like))
		bp_nl_cache_invalidate(cache, unexpected);
}

/* ---- IPv6 ---- */

/* Routes that the kernel merges into one multipath route: rt6_qualify_for_ecmp(). */
static bool joins(const struct bp_nl_route *r)
{
	if (r->object != 0 || r->protocol == RTPROT_RA || r->n_hops == 0)
		return false;
	for (unsigned i = 0; i < r->n_hops; i++)
		if (r->hop[i].family == 0)
			return false;
	return true;
}

static struct bp_nl_route **joining_in_block(
	struct bp_nl_route **at, const struct bp_nl_route *like)
{
	while (in_block(at, like) && !joins(*at))
		at = &(*at)->next;
	return at;
}

static void add6(struct bp_nl_cache *cache, struct bp_nl_route **block, struct bp_nl_route *r,
	uint16_t flags, bool dump)
{
	const bool replace = !dump && (flags & NLM_F_REPLACE) != 0;
	struct bp_nl_route **at;

	if (joins(r)) {
		/* An event and a dump contain the whole multipath route. */
		at = joining_in_block(block, r);
		if (in_block(at, r))
			remove_at(cache, at);
		else if (replace && in_block(block, r))
			remove_at(cache, at = block);
		insert_at(cache, at, r);
		return;
	}
	at = same_in_block(block, r);
	if (!in_block(at, r) && replace) {
		for (at = block; in_block(at, r) && joins(*at);)
			at = &(*at)->next;
		if (!in_block(at, r))
			at = block;
	}
	if (in_block(at, r))
		remove_at(cache, at);
	insert_at(cache, at, r);
}

/* The event lists the removed hops, one or all. */
static void take_hops(
	struct bp_nl_cache *cache, struct bp_nl_route **at, const struct bp_nl_route *like)
{
	struct bp_nl_route *r = *at;
	unsigned found = 0;

	for (unsigned i = 0; i < like->n_hops; i++)
		for (unsigned k = 0; k < r->n_hops; k++) {
			if (!same_hop(&r->hop[k], &like->hop[i]))
				continue;
			bp_nl_link_use(cache, r->hop[k].ifindex, -1);
			r->n_hops--;
			memmove(&r->hop[k], &r->hop[k + 1], (r->n_hops - k) * sizeof(r->hop[0]));
			found++;
			break;
		}
	if ((found < like->n_hops && !cache->replaying) || r->too_many)
		bp_nl_cache_invalidate(cache, unexpected);
	if (r->n_hops == 0)
		remove_at(cache, at);
}

static void take6(
	struct bp_nl_cache *cache, struct bp_nl_route **block, const struct bp_nl_route *like)
{
	struct bp_nl_route **at;

	if (joins(like)) {
		at = joining_in_block(block, like);
		if (in_block(at, like)) {
			take_hops(cache, at, like);
			return;
		}
	} else {
		at = same_in_block(block, like);
		if (in_block(at, like)) {
			remove_at(cache, at);
			return;
		}
	}
	if (!cache->replaying && in_block(block, like))
		bp_nl_cache_invalidate(cache, unexpected);
}

void bp_nl_route_add(struct bp_nl_cache *cache, struct bp_nl_prefix *p, struct bp_nl_route *r,
	uint16_t nlmsg_flags, bool dump)
{
	if (p->family == 4)
		add4(cache, block_of(p, r), r, nlmsg_flags, dump);
	else
		add6(cache, block_of(p, r), r, nlmsg_flags, dump);
}

void bp_nl_route_remove(
	struct bp_nl_cache *cache, struct bp_nl_prefix *p, const struct bp_nl_route *like)
{
	if (p->family == 4)
		take4(cache, block_of(p, like), like);
	else
		take6(cache, block_of(p, like), like);
}
