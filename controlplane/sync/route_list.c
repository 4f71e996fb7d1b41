/* SPDX-License-Identifier: BSD-3-Clause */
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/sync/nl_cache.h"

/*
 * The routes of one prefix, in the kernel's order of preference; events update the list. The choice
 * among several routes of one prefix, table, TOS and metric follows the kernel: fib_table_insert()
 * and fib_table_delete() for IPv4, fib6_add_rt2node() and fib6_del_route() for IPv6. When an event
 * contradicts the list, the mirror requests a new dump.
 */

static const char unexpected[] = "an event contradicts the known routes";

void bp_mirror_route_free(struct bp_mirror *m, struct bp_mirror_route *r)
{
	for (unsigned i = 0; i < r->n_hops; i++)
		bp_mirror_link_use(m, r->hop[i].ifindex, -1);
	if (r->object != 0)
		bp_mirror_object_use(m, r->object, -1);
	if (r->preferred)
		m->preferred--;
	free(r);
}

void bp_mirror_routes_free(struct bp_mirror *m)
{
	for (uint32_t b = 0; b < m->prefixes.buckets; b++)
		while (m->prefixes.bucket[b] != NULL) {
			struct bp_mirror_prefix *p =
				(struct bp_mirror_prefix *)m->prefixes.bucket[b];

			m->prefixes.bucket[b] = p->node.next;
			while (p->first != NULL) {
				struct bp_mirror_route *r = p->first;

				p->first = r->next;
				bp_mirror_route_free(m, r);
			}
			free(p);
		}
	bp_map_free(&m->prefixes);
}

static void take_at(struct bp_mirror *m, struct bp_mirror_route **at)
{
	struct bp_mirror_route *r = *at;

	*at = r->next;
	bp_mirror_route_free(m, r);
}

static void insert_at(struct bp_mirror *m, struct bp_mirror_route **at, struct bp_mirror_route *r)
{
	for (unsigned i = 0; i < r->n_hops; i++)
		bp_mirror_link_use(m, r->hop[i].ifindex, 1);
	if (r->object != 0)
		bp_mirror_object_use(m, r->object, 1);
	if (r->preferred)
		m->preferred++;
	r->next = *at;
	*at = r;
}

/* Routes that the kernel distinguishes only by their order: a block of the list. */
static bool same_key(const struct bp_mirror_route *a, const struct bp_mirror_route *b)
{
	return a->from_main == b->from_main && a->metric == b->metric &&
	       a->qualifier == b->qualifier;
}

static bool before(const struct bp_mirror_route *a, const struct bp_mirror_route *b)
{
	if (a->from_main != b->from_main)
		return !a->from_main;
	if (a->metric != b->metric)
		return a->metric < b->metric;
	return a->qualifier < b->qualifier;
}

static bool same_hop(const struct bp_mirror_hop *a, const struct bp_mirror_hop *b)
{
	return a->ifindex == b->ifindex && a->family == b->family &&
	       memcmp(a->gateway, b->gateway, sizeof(a->gateway)) == 0;
}

static bool same_route(const struct bp_mirror_route *a, const struct bp_mirror_route *b)
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
static struct bp_mirror_route **block_of(
	struct bp_mirror_prefix *p, const struct bp_mirror_route *like)
{
	struct bp_mirror_route **at = &p->first;

	while (*at != NULL && before(*at, like))
		at = &(*at)->next;
	return at;
}

static bool in_block(struct bp_mirror_route *const *at, const struct bp_mirror_route *like)
{
	return *at != NULL && same_key(*at, like);
}

static struct bp_mirror_route **block_end(
	struct bp_mirror_route **at, const struct bp_mirror_route *like)
{
	while (in_block(at, like))
		at = &(*at)->next;
	return at;
}

/* Returns the same route in the block; the end of the block when it is not there. */
static struct bp_mirror_route **same_in_block(
	struct bp_mirror_route **at, const struct bp_mirror_route *like)
{
	while (in_block(at, like) && !same_route(*at, like))
		at = &(*at)->next;
	return at;
}

static void take_same(
	struct bp_mirror *m, struct bp_mirror_route **block, const struct bp_mirror_route *like)
{
	struct bp_mirror_route **at = same_in_block(block, like);

	if (in_block(at, like))
		take_at(m, at);
}

/* ---- IPv4 ---- */

/*
 * The route replaces the first route of the block (NLM_F_REPLACE), or it is an existing route that
 * the kernel repeats because its next-hop object has changed.
 */
static void replace4(struct bp_mirror *m, struct bp_mirror_route **block, struct bp_mirror_route *r)
{
	struct bp_mirror_route **at = same_in_block(block, r);

	if (!in_block(at, r)) {
		at = block;
		/* an event from before the dump may have been about another route */
		if (m->replaying && in_block(at, r) && in_block(&(*at)->next, r))
			bp_mirror_invalidate(m, unexpected);
	}
	if (in_block(at, r))
		take_at(m, at);
	insert_at(m, at, r);
}

static void add4(struct bp_mirror *m, struct bp_mirror_route **block, struct bp_mirror_route *r,
	uint16_t flags, bool dump)
{
	struct bp_mirror_route **at;

	if (dump) {
		at = same_in_block(block, r);
		if (in_block(at, r)) /* the dump is repeated */
			take_at(m, at);
		insert_at(m, at, r);
	} else if (flags & NLM_F_REPLACE) {
		replace4(m, block, r);
	} else if (flags & NLM_F_APPEND) {
		take_same(m, block, r);
		insert_at(m, block_end(block, r), r);
	} else {
		/* Exclusive: the route is the first with its key, so known routes with that key are
		 * removed. */
		while ((flags & NLM_F_EXCL) && in_block(block, r))
			take_at(m, block);
		take_same(m, block, r);
		insert_at(m, block, r);
	}
}

static void take4(
	struct bp_mirror *m, struct bp_mirror_route **block, const struct bp_mirror_route *like)
{
	struct bp_mirror_route **at = same_in_block(block, like);

	if (in_block(at, like))
		take_at(m, at);
	else if (!m->replaying && in_block(block, like))
		bp_mirror_invalidate(m, unexpected);
}

/* ---- IPv6 ---- */

/* Routes that the kernel merges into one multipath route: rt6_qualify_for_ecmp(). */
static bool joins(const struct bp_mirror_route *r)
{
	if (r->object != 0 || r->protocol == RTPROT_RA || r->n_hops == 0)
		return false;
	for (unsigned i = 0; i < r->n_hops; i++)
		if (r->hop[i].family == 0)
			return false;
	return true;
}

static struct bp_mirror_route **joining_in_block(
	struct bp_mirror_route **at, const struct bp_mirror_route *like)
{
	while (in_block(at, like) && !joins(*at))
		at = &(*at)->next;
	return at;
}

static void add6(struct bp_mirror *m, struct bp_mirror_route **block, struct bp_mirror_route *r,
	uint16_t flags, bool dump)
{
	const bool replace = !dump && (flags & NLM_F_REPLACE) != 0;
	struct bp_mirror_route **at;

	if (joins(r)) {
		/* An event and a dump contain the whole multipath route. */
		at = joining_in_block(block, r);
		if (in_block(at, r))
			take_at(m, at);
		else if (replace && in_block(block, r))
			take_at(m, at = block);
		insert_at(m, at, r);
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
		take_at(m, at);
	insert_at(m, at, r);
}

/* The event lists the removed hops, one or all. */
static void take_hops(
	struct bp_mirror *m, struct bp_mirror_route **at, const struct bp_mirror_route *like)
{
	struct bp_mirror_route *r = *at;
	unsigned found = 0;

	for (unsigned i = 0; i < like->n_hops; i++)
		for (unsigned k = 0; k < r->n_hops; k++) {
			if (!same_hop(&r->hop[k], &like->hop[i]))
				continue;
			bp_mirror_link_use(m, r->hop[k].ifindex, -1);
			r->n_hops--;
			memmove(&r->hop[k], &r->hop[k + 1], (r->n_hops - k) * sizeof(r->hop[0]));
			found++;
			break;
		}
	if ((found < like->n_hops && !m->replaying) || r->too_many)
		bp_mirror_invalidate(m, unexpected);
	if (r->n_hops == 0)
		take_at(m, at);
}

static void take6(
	struct bp_mirror *m, struct bp_mirror_route **block, const struct bp_mirror_route *like)
{
	struct bp_mirror_route **at;

	if (joins(like)) {
		at = joining_in_block(block, like);
		if (in_block(at, like)) {
			take_hops(m, at, like);
			return;
		}
	} else {
		at = same_in_block(block, like);
		if (in_block(at, like)) {
			take_at(m, at);
			return;
		}
	}
	if (!m->replaying && in_block(block, like))
		bp_mirror_invalidate(m, unexpected);
}

void bp_mirror_route_add(struct bp_mirror *m, struct bp_mirror_prefix *p, struct bp_mirror_route *r,
	uint16_t nlmsg_flags, bool dump)
{
	if (p->family == 4)
		add4(m, block_of(p, r), r, nlmsg_flags, dump);
	else
		add6(m, block_of(p, r), r, nlmsg_flags, dump);
}

void bp_mirror_route_take(
	struct bp_mirror *m, struct bp_mirror_prefix *p, const struct bp_mirror_route *like)
{
	if (p->family == 4)
		take4(m, block_of(p, like), like);
	else
		take6(m, block_of(p, like), like);
}
