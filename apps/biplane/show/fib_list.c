/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/fib_list.h"

#include <stdlib.h>
#include <string.h>

int bp_prefix_order(const struct bp_prefix *a, const struct bp_prefix *b)
{
	int order;

	if (a->vrf != b->vrf)
		return a->vrf - b->vrf;
	if (a->family != b->family)
		return a->family - b->family;
	order = memcmp(a->bytes, b->bytes, sizeof(a->bytes));
	return order ? order : a->length - b->length;
}

int bp_neighbor_order(const struct bp_neighbor_info *a, const struct bp_neighbor_info *b)
{
	if (a->interface != b->interface)
		return a->interface - b->interface;
	if (a->address.family != b->address.family)
		return a->address.family - b->address.family;
	return memcmp(a->address.bytes, b->address.bytes, sizeof(a->address.bytes));
}

bool bp_prefix_within(const struct bp_prefix *inner, const struct bp_prefix *outer)
{
	struct bp_address a = {.family = inner->family};
	struct bp_prefix cut;

	if (inner->family != outer->family || inner->length < outer->length)
		return false;
	memcpy(a.bytes, inner->bytes, sizeof(a.bytes));
	cut = bp_prefix_of(a, outer->length);
	return memcmp(cut.bytes, outer->bytes, sizeof(cut.bytes)) == 0;
}

/* Room for `more` elements after the first n; false without memory. */
static bool room(void **array, uint32_t *capacity, uint32_t n, uint32_t more, size_t size)
{
	uint64_t want = *capacity ? *capacity : 256;
	void *grown;

	if (more <= *capacity - n)
		return true;
	while (want - n < more)
		want *= 2;
	if (want > UINT32_MAX)
		return false;
	grown = realloc(*array, want * size);
	if (!grown)
		return false;
	*array = grown;
	*capacity = (uint32_t)want;
	return true;
}

bool bp_fib_wanted(const struct bp_fib_filter *filter, const struct bp_prefix *p)
{
	if ((filter->family && p->family != filter->family) ||
		(filter->one_vrf && p->vrf != filter->vrf))
		return false;
	return !filter->within.family || bp_prefix_within(p, &filter->within);
}

static bool take_route(struct bp_route_list *l, const struct bp_route *r)
{
	uint32_t n = r->n_hops < BP_HOPS_MAX ? r->n_hops : BP_HOPS_MAX;

	if (!room((void **)&l->item, &l->capacity, l->n, 1, sizeof(*l->item)) ||
		!room((void **)&l->hop, &l->hop_capacity, l->n_hops, n, sizeof(*l->hop)))
		return false;
	l->item[l->n++] = (struct bp_route_item){
		.prefix = r->prefix,
		.type = r->type,
		.origin = r->origin,
		.protocol = r->protocol,
		.metric = r->metric,
		.object = r->object,
		.first_hop = l->n_hops,
		.n_hops = n,
	};
	if (n)
		memcpy(l->hop + l->n_hops, r->hop, n * sizeof(*l->hop));
	l->n_hops += n;
	return true;
}

static int compare_routes(const void *a, const void *b)
{
	const struct bp_route_item *x = a, *y = b;
	int order = bp_prefix_order(&x->prefix, &y->prefix);

	return order ? order : x->origin - y->origin;
}

/* A route that changes has two records for a moment: one is shown. */
static void remove_twins(struct bp_route_list *l)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->n; i++)
		if (n == 0 || compare_routes(&l->item[n - 1], &l->item[i]) != 0)
			l->item[n++] = l->item[i];
	l->n = n;
}

int bp_route_list_read(
	struct bp_route_list *l, const struct bp_fib *f, const struct bp_fib_filter *filter)
{
	uint32_t cursor = 0;
	struct bp_route r;

	memset(l, 0, sizeof(*l));
	if (f->max_routes == 0)
		return 0;
	while (bp_fib_next_route(f, &cursor, &r)) {
		if (bp_fib_wanted(filter, &r.prefix) && !take_route(l, &r)) {
			bp_route_list_free(l);
			return -1;
		}
	}
	if (l->n > 1)
		qsort(l->item, l->n, sizeof(*l->item), compare_routes);
	remove_twins(l);
	return 0;
}

void bp_route_list_get(const struct bp_route_list *l, uint32_t i, struct bp_route *out)
{
	const struct bp_route_item *r = &l->item[i];

	memset(out, 0, offsetof(struct bp_route, hop));
	out->prefix = r->prefix;
	out->type = r->type;
	out->origin = r->origin;
	out->protocol = r->protocol;
	out->metric = r->metric;
	out->object = r->object;
	out->n_hops = r->n_hops;
	if (r->n_hops)
		memcpy(out->hop, l->hop + r->first_hop, r->n_hops * sizeof(*out->hop));
}

void bp_route_list_free(struct bp_route_list *l)
{
	free(l->item);
	free(l->hop);
	memset(l, 0, sizeof(*l));
}

static int compare_neighbors(const void *a, const void *b)
{
	return bp_neighbor_order(a, b);
}

/* A gateway is used by way of its next hops. */
static void take_use(struct bp_neighbor_list *l, const struct bp_fib *f)
{
	uint32_t cursor = 0, used_s;
	struct bp_hop hop;

	while (bp_fib_next_hop(f, &cursor, &hop, &used_s)) {
		struct bp_neighbor_info *n,
			key = {.address = hop.gateway, .interface = hop.interface};

		if (!used_s || !hop.gateway.family)
			continue;
		n = bsearch(&key, l->item, l->n, sizeof(*l->item), compare_neighbors);
		if (n && used_s > n->used_s)
			n->used_s = used_s;
	}
}

int bp_neighbor_list_read(
	struct bp_neighbor_list *l, const struct bp_fib *f, const struct bp_fib_filter *filter)
{
	struct bp_neighbor_info n;
	uint32_t cursor = 0;

	memset(l, 0, sizeof(*l));
	if (f->max_routes == 0)
		return 0;
	while (bp_fib_next_neighbor(f, &cursor, &n)) {
		struct bp_prefix p = bp_prefix_of(n.address, bp_address_bits(n.address.family));

		if (!bp_fib_wanted(filter, &p))
			continue;
		if (!room((void **)&l->item, &l->capacity, l->n, 1, sizeof(*l->item))) {
			bp_neighbor_list_free(l);
			return -1;
		}
		l->item[l->n++] = n;
	}
	if (l->n > 1)
		qsort(l->item, l->n, sizeof(*l->item), compare_neighbors);
	if (l->n)
		take_use(l, f);
	return 0;
}

void bp_neighbor_list_free(struct bp_neighbor_list *l)
{
	free(l->item);
	memset(l, 0, sizeof(*l));
}
