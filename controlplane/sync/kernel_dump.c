/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/sync/kernel_dump.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/sync/load.h"
#include "controlplane/sync/nl_cache.h"
#include "controlplane/sync/netlink.h"

/* Timeout of an answer. */
#define ANSWER_MS 10000
/* Maximum number of repetitions of a dump that changes interrupted. */
#define REPEATS 5u

static int failed(char *err, size_t err_size, enum bp_netlink_dump what, int error)
{
	snprintf(err, err_size, "cannot read the kernel's %s: %s", bp_netlink_dump_name[what],
		strerror(-error));
	return -1;
}

static int dump(struct bp_netlink *n, struct bp_nl_cache *cache, enum bp_netlink_dump what,
	char *err, size_t err_size)
{
	struct pollfd p = {.fd = n->fd, .events = POLLIN};
	struct bp_load load;
	unsigned repeats = 0;

	for (;;) {
		int result = bp_load_begin(&load, n, what);

		while (result == 0 && !load.done) {
			if (poll(&p, 1, ANSWER_MS) == 0)
				result = -ETIMEDOUT;
			else
				result = bp_load_some(&load, n, cache);
		}
		if (result != 0)
			return failed(err, err_size, what, result);
		if (!load.interrupted || ++repeats == REPEATS)
			return 0;
	}
}

static int collect_routes(struct bp_nl_cache *cache, struct bp_kernel_state *out)
{
	out->route = calloc(cache->prefixes.n + 1u, sizeof(*out->route));
	if (out->route == NULL)
		return -1;
	for (uint32_t b = 0; b < cache->prefixes.buckets; b++)
		for (struct bp_map_node *n = cache->prefixes.bucket[b]; n != NULL; n = n->next) {
			struct bp_route *r = &out->route[out->n_routes];

			if (!bp_nl_prefix_translate(cache, (struct bp_nl_prefix *)n, r))
				continue;
			out->n_routes++;
			out->punted += r->type == BP_ROUTE_PUNT;
		}
	return 0;
}

static int collect_neighbors(struct bp_nl_cache *cache, struct bp_kernel_state *out)
{
	out->neighbor = calloc(cache->neighbors.n + 1u, sizeof(*out->neighbor));
	if (out->neighbor == NULL)
		return -1;
	for (const struct bp_nl_neighbor *nb = cache->oldest; nb != NULL; nb = nb->newer)
		if (bp_nl_neighbor_info(cache, nb, &out->neighbor[out->n_neighbors]))
			out->n_neighbors++;
	return 0;
}

int bp_kernel_route_order(const struct bp_route *a, const struct bp_route *b)
{
	int by_bytes;

	if (a->prefix.vrf != b->prefix.vrf)
		return a->prefix.vrf < b->prefix.vrf ? -1 : 1;
	if (a->prefix.family != b->prefix.family)
		return a->prefix.family < b->prefix.family ? -1 : 1;
	by_bytes = memcmp(a->prefix.bytes, b->prefix.bytes, sizeof(a->prefix.bytes));
	if (by_bytes != 0)
		return by_bytes;
	return (int)a->prefix.length - (int)b->prefix.length;
}

int bp_kernel_neighbor_order(const struct bp_neighbor_info *a, const struct bp_neighbor_info *b)
{
	if (a->interface != b->interface)
		return a->interface < b->interface ? -1 : 1;
	if (a->address.family != b->address.family)
		return a->address.family < b->address.family ? -1 : 1;
	return memcmp(a->address.bytes, b->address.bytes, sizeof(a->address.bytes));
}

static int route_order(const void *a, const void *b)
{
	return bp_kernel_route_order(a, b);
}

static int neighbor_order(const void *a, const void *b)
{
	return bp_kernel_neighbor_order(a, b);
}

static int gather(struct bp_nl_cache *cache, struct bp_kernel_state *out)
{
	for (unsigned i = 0; i < BP_ALL_INTERFACES; i++)
		if (cache->own[i].ifindex != 0)
			out->interface[i] = cache->own[i].info;
	if (collect_routes(cache, out) != 0 || collect_neighbors(cache, out) != 0)
		return -1;
	qsort(out->route, out->n_routes, sizeof(*out->route), route_order);
	qsort(out->neighbor, out->n_neighbors, sizeof(*out->neighbor), neighbor_order);
	return 0;
}

int bp_kernel_dump(const struct bp_config *c, const struct bp_fib *f, struct bp_kernel_state *out,
	char *err, size_t err_size)
{
	struct bp_nl_cache *cache = bp_nl_cache_new(c);
	struct bp_netlink n = {.fd = -1};
	int result = cache == NULL ? -1 : bp_netlink_open(&n, err, err_size);

	memset(out, 0, sizeof(*out));
	if (cache != NULL && f != NULL) {
		bp_nl_subinterfaces_adopt_table(cache, f);
		bp_nl_vrfs_adopt_table(cache, f);
	}
	for (unsigned what = 0; result == 0 && what < BP_DUMPS; what++)
		result = dump(&n, cache, (enum bp_netlink_dump)what, err, err_size);
	if (cache == NULL || (result == 0 && (gather(cache, out) != 0 || cache->no_memory))) {
		snprintf(err, err_size, "not enough memory for the kernel's tables");
		result = -1;
	}
	if (result != 0)
		bp_kernel_state_free(out);
	bp_netlink_close(&n);
	bp_nl_cache_free(cache);
	return result;
}

void bp_kernel_state_free(struct bp_kernel_state *s)
{
	free(s->route);
	free(s->neighbor);
	memset(s, 0, sizeof(*s));
}
