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

struct bp_mirror_object *bp_mirror_object_find(const struct bp_mirror *m, uint32_t id)
{
	for (struct bp_map_node *n = bp_map_chain(&m->objects, object_hash(id)); n != NULL;
		n = n->next)
		if (((struct bp_mirror_object *)n)->id == id)
			return (struct bp_mirror_object *)n;
	return NULL;
}

static struct bp_mirror_object *ensure(struct bp_mirror *m, uint32_t id)
{
	struct bp_mirror_object *o = bp_mirror_object_find(m, id);

	if (o != NULL)
		return o;
	o = calloc(1, sizeof(*o));
	if (o == NULL || bp_map_add(&m->objects, &o->node, object_hash(id)) != 0) {
		free(o);
		m->no_memory = true;
		return NULL;
	}
	o->id = id;
	return o;
}

static void group_unlist(struct bp_mirror *m, const struct bp_mirror_object *o)
{
	for (struct bp_mirror_object **at = &m->groups; *at != NULL; at = &(*at)->next_group)
		if (*at == o) {
			*at = o->next_group;
			return;
		}
}

/* Removes the next hops of the object. */
static void object_clear(struct bp_mirror *m, struct bp_mirror_object *o)
{
	if (o->n_members != 0)
		group_unlist(m, o);
	else if (o->there && !o->blackhole)
		bp_mirror_link_use(m, o->hop.ifindex, -1);
	free(o->member);
	o->member = NULL;
	o->n_members = 0;
	o->blackhole = o->encap = o->there = false;
	memset(&o->hop, 0, sizeof(o->hop));
}

static void object_free(struct bp_mirror *m, struct bp_mirror_object *o)
{
	object_clear(m, o);
	bp_map_remove(&m->objects, &o->node);
	free(o);
}

void bp_mirror_objects_free(struct bp_mirror *m)
{
	for (uint32_t b = 0; b < m->objects.buckets; b++)
		while (m->objects.bucket[b] != NULL)
			object_free(m, (struct bp_mirror_object *)m->objects.bucket[b]);
	bp_map_free(&m->objects);
}

void bp_mirror_path_add(const struct bp_mirror *m, struct bp_mirror_path *way,
	const struct bp_mirror_hop *hop, uint16_t weight)
{
	const struct bp_mirror_link *l = bp_mirror_link_find(m, hop->ifindex);
	struct bp_hop *h;

	if (hop->dead || (l != NULL && l->known && !l->up))
		return;
	if (l == NULL || l->number == BP_NO_INTERFACE) {
		way->foreign++;
		return;
	}
	if (way->n == BP_HOPS_MAX) {
		way->too_many = true;
		return;
	}
	h = &way->hop[way->n++];
	memset(h, 0, sizeof(*h));
	h->interface = l->number;
	h->weight = weight;
	h->gateway.family = hop->family;
	memcpy(h->gateway.bytes, hop->gateway, sizeof(h->gateway.bytes));
}

static uint8_t group_path(
	const struct bp_mirror *m, const struct bp_mirror_object *o, struct bp_mirror_path *way)
{
	bool encap = false;

	for (uint32_t i = 0; i < o->n_members; i++) {
		const struct bp_mirror_object *one = bp_mirror_object_find(m, o->member[i].id);

		if (one == NULL || !one->there || one->n_members != 0)
			continue;
		if (one->blackhole) /* a blackhole is the only member of its group */
			return BP_ROUTE_BLACKHOLE;
		encap |= one->encap;
		bp_mirror_path_add(m, way, &one->hop, o->member[i].weight);
	}
	return encap || way->foreign != 0 || way->too_many || way->n == 0 ? BP_ROUTE_PUNT
									  : BP_ROUTE_UNICAST;
}

uint8_t bp_mirror_object_path(
	const struct bp_mirror *m, const struct bp_mirror_object *o, struct bp_mirror_path *way)
{
	uint8_t type;

	way->n = way->foreign = 0;
	way->too_many = way->usable = false;
	if (!o->there) {
		type = BP_ROUTE_PUNT;
	} else if (o->n_members != 0) {
		type = group_path(m, o, way);
	} else if (o->blackhole) {
		type = BP_ROUTE_BLACKHOLE;
	} else {
		bp_mirror_path_add(m, way, &o->hop, 1);
		type = o->encap || way->n == 0 ? BP_ROUTE_PUNT : BP_ROUTE_UNICAST;
	}
	way->usable = type == BP_ROUTE_BLACKHOLE || way->n != 0 || way->foreign != 0;
	if (type != BP_ROUTE_UNICAST)
		way->n = 0;
	if (way->n == 1)
		way->hop[0].weight = 1;
	return type;
}

static void give(struct bp_mirror *m, struct bp_mirror_object *o)
{
	struct bp_mirror_path way;
	uint8_t type;

	if (m->writer == NULL)
		return;
	type = bp_mirror_object_path(m, o, &way);
	bp_mirror_answer(m, bp_fib_object_set(m->writer, o->id, type, way.hop, way.n));
	o->given = true;
	/* routes that use the object become usable or unusable with it */
	if (o->usable != way.usable && o->routes != 0)
		m->revisit = true;
	o->usable = way.usable;
}

/* Publishes the object and the groups that contain it. */
static void give_with_groups(struct bp_mirror *m, struct bp_mirror_object *o)
{
	give(m, o);
	for (struct bp_mirror_object *g = m->groups; g != NULL; g = g->next_group)
		for (uint32_t i = 0; i < g->n_members; i++)
			if (g->member[i].id == o->id) {
				give(m, g);
				break;
			}
}

void bp_mirror_objects_give(struct bp_mirror *m)
{
	for (uint32_t b = 0; b < m->objects.buckets; b++)
		for (struct bp_map_node *n = m->objects.bucket[b]; n != NULL; n = n->next)
			give(m, (struct bp_mirror_object *)n);
}

/* Frees an object that no route uses and the kernel does not have. */
static void drop(struct bp_mirror *m, struct bp_mirror_object *o)
{
	if (m->writer != NULL && o->given)
		bp_mirror_answer(m, bp_fib_object_delete(m->writer, o->id));
	object_free(m, o);
}

void bp_mirror_object_use(struct bp_mirror *m, uint32_t id, int change)
{
	struct bp_mirror_object *o = ensure(m, id);

	if (o == NULL)
		return;
	o->routes += (uint32_t)change;
	if (o->routes == 0 && !o->there)
		drop(m, o);
}

static bool read_group(struct bp_mirror_object *o, const struct nlattr *a)
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

static void read_hop(struct bp_mirror_object *o, const struct nhmsg *nh, struct nlattr *const *tb)
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
	struct bp_mirror *m, uint32_t id, const struct nhmsg *nh, struct nlattr *const *tb)
{
	struct bp_mirror_object *o = ensure(m, id);

	if (o == NULL)
		return;
	object_clear(m, o);
	if (tb[NHA_GROUP] != NULL) {
		if (!read_group(o, tb[NHA_GROUP])) {
			m->no_memory = true;
			return;
		}
		o->next_group = m->groups;
		m->groups = o;
	} else if (tb[NHA_BLACKHOLE] != NULL) {
		o->blackhole = true;
	} else {
		read_hop(o, nh, tb);
		bp_mirror_link_use(m, o->hop.ifindex, 1);
	}
	o->there = true;
	give_with_groups(m, o);
}

static void object_delete(struct bp_mirror *m, uint32_t id)
{
	struct bp_mirror_object *o = bp_mirror_object_find(m, id);

	if (o == NULL)
		return;
	object_clear(m, o);
	/* The kernel removes the routes that use the object, those of IPv4 without an event. Until
	 * they are found, the kernel forwards their traffic. */
	if (o->routes != 0) {
		give_with_groups(m, o);
		m->revisit = true;
		bp_mirror_invalidate(m, "a next-hop object of routes was removed");
		return;
	}
	o->routes = 1; /* kept while the groups are updated */
	give_with_groups(m, o);
	o->routes = 0;
	drop(m, o);
}

void bp_mirror_object_message(struct bp_mirror *m, const struct nlmsghdr *h)
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
		object_new(m, nla_get_u32(tb[NHA_ID]), nh, tb);
	else
		object_delete(m, nla_get_u32(tb[NHA_ID]));
}
