/* SPDX-License-Identifier: BSD-3-Clause */
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/sync/nl_cache.h"

/* Next-hop objects, RTM_NEWNEXTHOP and RTM_DELNEXTHOP: linux/nexthop.h. A resilient group is
 * treated as a group: only the kernel knows the bucket of a flow. */

static uint64_t object_hash(uint32_t id)
{
	return bp_map_hash(&id, sizeof(id));
}

struct bp_nl_nh_object *bp_nl_nh_object_find(const struct bp_nl_cache *cache, uint32_t id)
{
	for (struct bp_map_node *n = bp_map_chain(&cache->objects, object_hash(id)); n != NULL;
		n = n->next)
		if (((struct bp_nl_nh_object *)n)->id == id)
			return (struct bp_nl_nh_object *)n;
	return NULL;
}

static struct bp_nl_nh_object *ensure(struct bp_nl_cache *cache, uint32_t id)
{
	struct bp_nl_nh_object *o = bp_nl_nh_object_find(cache, id);

	if (o != NULL)
		return o;
	o = calloc(1, sizeof(*o));
	if (o == NULL || bp_map_add(&cache->objects, &o->node, object_hash(id)) != 0) {
		free(o);
		cache->no_memory = true;
		return NULL;
	}
	o->id = id;
	return o;
}

static void group_unlist(struct bp_nl_cache *cache, const struct bp_nl_nh_object *o)
{
	for (struct bp_nl_nh_object **at = &cache->groups; *at != NULL; at = &(*at)->next_group)
		if (*at == o) {
			*at = o->next_group;
			return;
		}
}

/* Removes the next hops of the object. */
static void object_clear(struct bp_nl_cache *cache, struct bp_nl_nh_object *o)
{
	if (o->n_members != 0)
		group_unlist(cache, o);
	else if (o->there && !o->blackhole)
		bp_nl_link_use(cache, o->hop.ifindex, -1);
	free(o->member);
	o->member = NULL;
	o->n_members = 0;
	o->blackhole = o->encap = o->there = false;
	memset(&o->hop, 0, sizeof(o->hop));
}

static void object_free(struct bp_nl_cache *cache, struct bp_nl_nh_object *o)
{
	object_clear(cache, o);
	bp_map_remove(&cache->objects, &o->node);
	free(o);
}

void bp_nl_nh_objects_free(struct bp_nl_cache *cache)
{
	for (uint32_t b = 0; b < cache->objects.buckets; b++)
		while (cache->objects.bucket[b] != NULL)
			object_free(cache, (struct bp_nl_nh_object *)cache->objects.bucket[b]);
	bp_map_free(&cache->objects);
}

void bp_nl_path_add(const struct bp_nl_cache *cache, struct bp_nl_path *path,
	const struct bp_nl_hop *hop, uint16_t weight)
{
	const struct bp_nl_link *l = bp_nl_link_find(cache, hop->ifindex);
	struct bp_hop *h;

	if (hop->dead || (l != NULL && l->known && !l->up))
		return;
	if (l == NULL || l->number == BP_NO_INTERFACE) {
		path->foreign++;
		return;
	}
	if (path->n == BP_HOPS_MAX) {
		path->too_many = true;
		return;
	}
	h = &path->hop[path->n++];
	memset(h, 0, sizeof(*h));
	h->interface = l->number;
	h->weight = weight;
	h->gateway.family = hop->family;
	memcpy(h->gateway.bytes, hop->gateway, sizeof(h->gateway.bytes));
}

static uint8_t group_path(
	const struct bp_nl_cache *cache, const struct bp_nl_nh_object *o, struct bp_nl_path *path)
{
	bool encap = false;

	for (uint32_t i = 0; i < o->n_members; i++) {
		const struct bp_nl_nh_object *one = bp_nl_nh_object_find(cache, o->member[i].id);

		if (one == NULL || !one->there || one->n_members != 0)
			continue;
		if (one->blackhole) /* a blackhole is the only member of its group */
			return BP_ROUTE_BLACKHOLE;
		encap |= one->encap;
		bp_nl_path_add(cache, path, &one->hop, o->member[i].weight);
	}
	return encap || path->foreign != 0 || path->too_many || path->n == 0 ? BP_ROUTE_PUNT
									     : BP_ROUTE_UNICAST;
}

uint8_t bp_nl_nh_object_path(
	const struct bp_nl_cache *cache, const struct bp_nl_nh_object *o, struct bp_nl_path *path)
{
	uint8_t type;

	path->n = path->foreign = 0;
	path->too_many = path->usable = false;
	if (!o->there) {
		type = BP_ROUTE_PUNT;
	} else if (o->n_members != 0) {
		type = group_path(cache, o, path);
	} else if (o->blackhole) {
		type = BP_ROUTE_BLACKHOLE;
	} else {
		bp_nl_path_add(cache, path, &o->hop, 1);
		type = o->encap || path->n == 0 ? BP_ROUTE_PUNT : BP_ROUTE_UNICAST;
	}
	path->usable = type == BP_ROUTE_BLACKHOLE || path->n != 0 || path->foreign != 0;
	if (type != BP_ROUTE_UNICAST)
		path->n = 0;
	if (path->n == 1)
		path->hop[0].weight = 1;
	return type;
}

static void publish(struct bp_nl_cache *cache, struct bp_nl_nh_object *o)
{
	struct bp_nl_path path;
	uint8_t type;

	if (cache->writer == NULL)
		return;
	type = bp_nl_nh_object_path(cache, o, &path);
	bp_nl_cache_fib_result(
		cache, bp_fib_object_set(cache->writer, o->id, type, path.hop, path.n));
	o->published = true;
	/* routes that use the object become usable or unusable with it */
	if (o->usable != path.usable && o->routes != 0)
		cache->revisit = true;
	o->usable = path.usable;
}

/* Publishes the object and the groups that contain it. */
static void publish_with_groups(struct bp_nl_cache *cache, struct bp_nl_nh_object *o)
{
	publish(cache, o);
	for (struct bp_nl_nh_object *g = cache->groups; g != NULL; g = g->next_group)
		for (uint32_t i = 0; i < g->n_members; i++)
			if (g->member[i].id == o->id) {
				publish(cache, g);
				break;
			}
}

void bp_nl_nh_objects_publish(struct bp_nl_cache *cache)
{
	for (uint32_t b = 0; b < cache->objects.buckets; b++)
		for (struct bp_map_node *n = cache->objects.bucket[b]; n != NULL; n = n->next)
			publish(cache, (struct bp_nl_nh_object *)n);
}

/* Frees an object that no route uses and the kernel does not have. */
static void drop(struct bp_nl_cache *cache, struct bp_nl_nh_object *o)
{
	if (cache->writer != NULL && o->published)
		bp_nl_cache_fib_result(cache, bp_fib_object_delete(cache->writer, o->id));
	object_free(cache, o);
}

void bp_nl_nh_object_use(struct bp_nl_cache *cache, uint32_t id, int change)
{
	struct bp_nl_nh_object *o = ensure(cache, id);

	if (o == NULL)
		return;
	o->routes += (uint32_t)change;
	if (o->routes == 0 && !o->there)
		drop(cache, o);
}

static bool read_group(struct bp_nl_nh_object *o, const struct nlattr *a)
{
	const struct nexthop_grp *entry = nla_data(a);
	const uint32_t n = (uint32_t)nla_len(a) / sizeof(*entry);

	o->member = n != 0 ? calloc(n, sizeof(*o->member)) : NULL;
	if (o->member == NULL)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		/* the next byte, reserved before Linux 6.12, is the high byte since */
		const uint8_t *low = &entry[i].weight;
		uint32_t weight = ((uint32_t)low[1] << 8 | low[0]) + 1;

		o->member[i].id = entry[i].id;
		o->member[i].weight = (uint16_t)(weight > 256 ? 256 : weight);
	}
	o->n_members = n;
	return true;
}

static void read_hop(struct bp_nl_nh_object *o, const struct nhmsg *nh, struct nlattr *const *tb)
{
	struct nlattr *gateway = tb[NHA_GATEWAY];

	o->hop.weight = 1;
	o->hop.dead = (nh->nh_flags & RTNH_F_DEAD) != 0;
	if (tb[NHA_OIF] != NULL)
		o->hop.ifindex = nla_get_u32(tb[NHA_OIF]);
	o->encap = tb[NHA_ENCAP] != NULL || tb[NHA_ENCAP_TYPE] != NULL;
	if (gateway == NULL || (nla_len(gateway) != 4 && nla_len(gateway) != 16))
		return;
	o->hop.family = nla_len(gateway) == 4 ? 4 : 6;
	memcpy(o->hop.gateway, nla_data(gateway), (size_t)nla_len(gateway));
}

static void object_new(
	struct bp_nl_cache *cache, uint32_t id, const struct nhmsg *nh, struct nlattr *const *tb)
{
	struct bp_nl_nh_object *o = ensure(cache, id);

	if (o == NULL)
		return;
	object_clear(cache, o);
	if (tb[NHA_GROUP] != NULL) {
		if (!read_group(o, tb[NHA_GROUP])) {
			cache->no_memory = true;
			return;
		}
		o->next_group = cache->groups;
		cache->groups = o;
	} else if (tb[NHA_BLACKHOLE] != NULL) {
		o->blackhole = true;
	} else {
		read_hop(o, nh, tb);
		bp_nl_link_use(cache, o->hop.ifindex, 1);
	}
	o->there = true;
	publish_with_groups(cache, o);
}

static void object_delete(struct bp_nl_cache *cache, uint32_t id)
{
	struct bp_nl_nh_object *o = bp_nl_nh_object_find(cache, id);

	if (o == NULL)
		return;
	object_clear(cache, o);
	/* The kernel removes the routes that use the object, those of IPv4 without an event. Until
	 * they are found, the kernel forwards their traffic. */
	if (o->routes != 0) {
		publish_with_groups(cache, o);
		cache->revisit = true;
		bp_nl_cache_invalidate(cache, "a next-hop object of routes was removed");
		return;
	}
	o->routes = 1; /* kept while the groups are updated */
	publish_with_groups(cache, o);
	o->routes = 0;
	drop(cache, o);
}

void bp_nl_nh_object_message(struct bp_nl_cache *cache, const struct nlmsghdr *h)
{
	struct nlattr *tb[NHA_MAX + 1];
	const struct nhmsg *nh = nlmsg_data(h);
	static struct nla_policy policy[NHA_MAX + 1] = {
		[NHA_ID] = {.type = NLA_U32},
		[NHA_OIF] = {.type = NLA_U32},
	};

	if (nlmsg_parse((struct nlmsghdr *)(uintptr_t)h, sizeof(*nh), tb, NHA_MAX, policy) < 0 ||
		tb[NHA_ID] == NULL || tb[NHA_FDB] != NULL || nla_get_u32(tb[NHA_ID]) == 0)
		return;
	if (h->nlmsg_type == RTM_NEWNEXTHOP)
		object_new(cache, nla_get_u32(tb[NHA_ID]), nh, tb);
	else
		object_delete(cache, nla_get_u32(tb[NHA_ID]));
}
