/* SPDX-License-Identifier: BSD-3-Clause */
#include <linux/lwtunnel.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "controlplane/sync/nl_cache.h"
#include "shm/hash.h"

/* RTM_NEWROUTE and RTM_DELROUTE: rtnetlink(7), linux/rtnetlink.h. */

/* Buckets of the table that one step publishes. */
#define GIVE_BUCKETS 64u

/* A route as in the message. */
struct draft {
	struct bp_prefix prefix;
	union {
		struct bp_nl_route route;
		uint8_t room[sizeof(struct bp_nl_route) + BP_HOPS_MAX * sizeof(struct bp_nl_hop)];
	};
};

static bool is_link_local(const struct bp_prefix *p)
{
	return p->family == 6 && p->length >= 10 && p->bytes[0] == 0xfe &&
	       (p->bytes[1] & 0xc0) == 0x80;
}

static bool is_loopback(const struct bp_prefix *p)
{
	static const uint8_t loopback6[16] = {[15] = 1};

	if (p->family == 4)
		return p->length >= 8 && p->bytes[0] == 127;
	return p->length == 128 && memcmp(p->bytes, loopback6, sizeof(loopback6)) == 0;
}

static bool is_multicast(const struct bp_prefix *p)
{
	return p->family == 4 ? p->length >= 4 && (p->bytes[0] & 0xf0) == 0xe0
			      : p->length >= 8 && p->bytes[0] == 0xff;
}

static bool is_for_us(uint8_t type)
{
	return type == RTN_LOCAL || type == RTN_BROADCAST || type == RTN_ANYCAST;
}

/* Reads the bytes of an address attribute of either family. */
static bool read_address(const struct nlattr *a, uint8_t bytes[16], uint8_t *family)
{
	const int len = nla_len(a);

	if (len != 4 && len != 16)
		return false;
	memcpy(bytes, nla_data(a), (size_t)len);
	*family = len == 4 ? 4 : 6;
	return true;
}

/* RTA_GATEWAY, or RTA_VIA: the gateway of an IPv4 route with an IPv6 address (RFC 5549). */
static void read_gateway(struct bp_nl_hop *hop, struct nlattr *const *tb)
{
	if (tb[RTA_GATEWAY] != NULL) {
		read_address(tb[RTA_GATEWAY], hop->gateway, &hop->family);
	} else if (tb[RTA_VIA] != NULL) {
		const struct rtvia *via = nla_data(tb[RTA_VIA]);
		const int len = nla_len(tb[RTA_VIA]) - (int)sizeof(*via);

		if ((via->rtvia_family == AF_INET && len == 4) ||
			(via->rtvia_family == AF_INET6 && len == 16)) {
			memcpy(hop->gateway, via->rtvia_addr, (size_t)len);
			hop->family = len == 4 ? 4 : 6;
		}
	}
}

static struct bp_nl_hop *next_hop(struct draft *d)
{
	if (d->route.n_hops == BP_HOPS_MAX) {
		d->route.too_many = true;
		return NULL;
	}
	struct bp_nl_hop *hop = &d->route.hop[d->route.n_hops++];

	memset(hop, 0, sizeof(*hop));
	return hop;
}

static void read_multipath(struct draft *d, const struct nlattr *a)
{
	const struct rtnexthop *nh = nla_data(a);
	int left = nla_len(a);

	while (left >= (int)sizeof(*nh) && nh->rtnh_len >= sizeof(*nh) && nh->rtnh_len <= left) {
		struct nlattr *tb[RTA_MAX + 1];
		struct bp_nl_hop *hop;

		if (nla_parse(tb, RTA_MAX, (struct nlattr *)(uintptr_t)RTNH_DATA(nh),
			    nh->rtnh_len - (int)sizeof(*nh), NULL) < 0)
			return;
		if (tb[RTA_ENCAP] != NULL || tb[RTA_ENCAP_TYPE] != NULL)
			d->route.encap = true;
		hop = next_hop(d);
		if (hop != NULL) {
			hop->ifindex = (uint32_t)nh->rtnh_ifindex;
			hop->weight = (uint16_t)(nh->rtnh_hops + 1);
			hop->dead = (nh->rtnh_flags & RTNH_F_DEAD) != 0;
			read_gateway(hop, tb);
		}
		left -= (int)RTNH_ALIGN(nh->rtnh_len);
		nh = RTNH_NEXT(nh);
	}
}

static int hop_order(const void *x, const void *y)
{
	const struct bp_nl_hop *a = x, *b = y;

	if (a->ifindex != b->ifindex)
		return a->ifindex < b->ifindex ? -1 : 1;
	return memcmp(a->gateway, b->gateway, sizeof(a->gateway));
}

static void read_hops(struct draft *d, const struct rtmsg *rtm, struct nlattr *const *tb)
{
	struct bp_nl_hop *hop;

	d->route.encap = tb[RTA_ENCAP] != NULL || tb[RTA_ENCAP_TYPE] != NULL;
	if (tb[RTA_MULTIPATH] != NULL) {
		read_multipath(d, tb[RTA_MULTIPATH]);
		/* in IPv6, events begin with another hop than dumps */
		if (d->prefix.family == 6)
			qsort(d->route.hop, d->route.n_hops, sizeof(d->route.hop[0]), hop_order);
		return;
	}
	if (tb[RTA_OIF] == NULL)
		return;
	hop = next_hop(d);
	hop->ifindex = nla_get_u32(tb[RTA_OIF]);
	hop->weight = 1;
	hop->dead = (rtm->rtm_flags & RTNH_F_DEAD) != 0;
	read_gateway(hop, tb);
}

/* Returns a nonzero number for routes that match only one TOS or source. */
static uint32_t read_qualifier(const struct rtmsg *rtm, struct nlattr *const *tb)
{
	uint64_t h = bp_mix64((uint64_t)rtm->rtm_src_len << 8 | rtm->rtm_tos);

	if (rtm->rtm_src_len == 0)
		return rtm->rtm_tos;
	if (tb[RTA_SRC] != NULL)
		h ^= bp_map_hash(nla_data(tb[RTA_SRC]), (size_t)nla_len(tb[RTA_SRC]));
	return (uint32_t)h | 1u;
}

static uint32_t u32_or_0(const struct nlattr *a)
{
	return a != NULL ? nla_get_u32(a) : 0;
}

static bool read_prefix(
	struct bp_prefix *p, const struct rtmsg *rtm, const struct nlattr *destination)
{
	uint8_t family;

	memset(p, 0, sizeof(*p));
	p->family = rtm->rtm_family == AF_INET ? 4 : 6;
	p->length = rtm->rtm_dst_len;
	if (p->length > bp_address_bits(p->family))
		return false;
	if (destination == NULL)
		return p->length == 0;
	return read_address(destination, p->bytes, &family) && family == p->family;
}

/* Returns whether a route of this table, type and prefix belongs in the FIB; sets p->vrf. */
static bool wanted(
	const struct bp_nl_cache *cache, struct bp_prefix *p, uint32_t table, uint8_t type)
{
	p->vrf = bp_nl_vrf_of_table(cache, table);
	if (table == RT_TABLE_LOCAL) {
		if (!is_for_us(type))
			return false;
	} else if ((table != cache->config->netlink.route_table && p->vrf == BP_VRF_MAIN) ||
		   type == RTN_UNSPEC || type == RTN_MULTICAST) {
		return false;
	} else if (is_link_local(p) && !is_for_us(type)) {
		return false;
	}
	return !is_loopback(p) && !is_multicast(p);
}

static bool read_route(const struct bp_nl_cache *cache, const struct nlmsghdr *h, struct draft *d)
{
	static struct nla_policy policy[RTA_MAX + 1] = {
		[RTA_OIF] = {.type = NLA_U32},
		[RTA_PRIORITY] = {.type = NLA_U32},
		[RTA_TABLE] = {.type = NLA_U32},
		[RTA_NH_ID] = {.type = NLA_U32},
		[RTA_VIA] = {.minlen = sizeof(struct rtvia)},
	};
	struct nlattr *tb[RTA_MAX + 1];
	const struct rtmsg *rtm = nlmsg_data(h);
	uint32_t table;

	if (nlmsg_parse((struct nlmsghdr *)(uintptr_t)h, sizeof(*rtm), tb, RTA_MAX, policy) < 0 ||
		(rtm->rtm_family != AF_INET && rtm->rtm_family != AF_INET6) ||
		(rtm->rtm_flags & RTM_F_CLONED) != 0 || !read_prefix(&d->prefix, rtm, tb[RTA_DST]))
		return false;
	table = tb[RTA_TABLE] != NULL ? nla_get_u32(tb[RTA_TABLE]) : rtm->rtm_table;
	if (!wanted(cache, &d->prefix, table, rtm->rtm_type))
		return false;
	memset(&d->route, 0, sizeof(d->route));
	d->route.from_main = table != RT_TABLE_LOCAL;
	d->route.metric = u32_or_0(tb[RTA_PRIORITY]);
	d->route.object = u32_or_0(tb[RTA_NH_ID]);
	d->route.qualifier = read_qualifier(rtm, tb);
	d->route.type = rtm->rtm_type;
	d->route.protocol = rtm->rtm_protocol;
	/* an event reports the removal of the kernel's own routes */
	d->route.preferred = tb[RTA_PREFSRC] != NULL && rtm->rtm_protocol != RTPROT_KERNEL;
	read_hops(d, rtm, tb);
	return true;
}

/* ---- prefixes ---- */

static uint64_t prefix_hash(const struct bp_prefix *p)
{
	return bp_map_hash(p, sizeof(*p));
}

static struct bp_nl_prefix *find(const struct bp_nl_cache *cache, const struct bp_prefix *p)
{
	const uint64_t hash = prefix_hash(p);

	for (struct bp_map_node *n = bp_map_chain(&cache->prefixes, hash); n != NULL; n = n->next) {
		struct bp_nl_prefix *mp = (struct bp_nl_prefix *)n;

		if (n->hash == hash && mp->length == p->length && mp->family == p->family &&
			mp->vrf == p->vrf && memcmp(mp->bytes, p->bytes, sizeof(p->bytes)) == 0)
			return mp;
	}
	return NULL;
}

static struct bp_nl_prefix *ensure(struct bp_nl_cache *cache, const struct bp_prefix *p)
{
	struct bp_nl_prefix *mp = find(cache, p);

	if (mp != NULL)
		return mp;
	mp = calloc(1, sizeof(*mp));
	if (mp == NULL || bp_map_add(&cache->prefixes, &mp->node, prefix_hash(p)) != 0) {
		free(mp);
		cache->no_memory = true;
		return NULL;
	}
	memcpy(mp->bytes, p->bytes, sizeof(mp->bytes));
	mp->family = p->family;
	mp->length = p->length;
	mp->vrf = p->vrf;
	return mp;
}

/* ---- translation ---- */

static void set_punted(struct bp_nl_cache *cache, struct bp_nl_prefix *p, bool is)
{
	if (p->punted != is)
		cache->punted += is ? 1 : (uint64_t)-1;
	p->punted = is;
}

static void take_hops(struct bp_route *out, const struct bp_nl_path *path)
{
	out->n_hops = path->n;
	memcpy(out->hop, path->hop, path->n * sizeof(path->hop[0]));
	if (path->n == 1) /* the only live hop of several: no weight is needed */
		out->hop[0].weight = 1;
}

/* Type unicast. False: no hop is live. */
static bool translate_unicast(
	const struct bp_nl_cache *cache, const struct bp_nl_route *r, struct bp_route *out)
{
	struct bp_nl_path path;

	if (r->object != 0) {
		const struct bp_nl_nh_object *o = bp_nl_nh_object_find(cache, r->object);

		if (o == NULL)
			return false;
		bp_nl_nh_object_path(cache, o, &path);
		out->type = BP_ROUTE_UNICAST; /* the object defines the hops */
		out->object = r->object;
		take_hops(out, &path);
		return path.usable;
	}
	path.n = path.foreign = 0;
	path.too_many = r->too_many;
	for (unsigned i = 0; i < r->n_hops; i++)
		bp_nl_path_add(cache, &path, &r->hop[i], r->hop[i].weight);
	if (path.n == 0 && path.foreign == 0)
		return false;
	out->type = BP_ROUTE_UNICAST;
	if (path.foreign != 0 || path.too_many || r->encap)
		out->type = BP_ROUTE_PUNT;
	else
		take_hops(out, &path);
	return true;
}

/* Translates one route of the kernel. False: it is unusable now. */
static bool translate_one(
	const struct bp_nl_cache *cache, const struct bp_nl_route *r, struct bp_route *out)
{
	out->protocol = r->protocol;
	out->metric = r->metric;
	switch (r->type) {
	case RTN_UNICAST:
		return translate_unicast(cache, r, out);
	case RTN_LOCAL:
	case RTN_BROADCAST:
	case RTN_ANYCAST:
		out->type = BP_ROUTE_LOCAL;
		return true;
	case RTN_BLACKHOLE:
		/* the kernel also reports a blackhole object this path; the object may change */
		if (r->object != 0)
			return translate_unicast(cache, r, out);
		out->type = BP_ROUTE_BLACKHOLE;
		return true;
	case RTN_UNREACHABLE:
		out->type = BP_ROUTE_UNREACHABLE;
		return true;
	case RTN_PROHIBIT:
		out->type = BP_ROUTE_PROHIBIT;
		return true;
	default: /* throw, and all other types */
		out->type = BP_ROUTE_PUNT;
		return true;
	}
}

static bool is_qualified(const struct bp_nl_prefix *p)
{
	for (const struct bp_nl_route *r = p->first; r != NULL; r = r->next)
		if (r->qualifier != 0)
			return true;
	return false;
}

bool bp_nl_prefix_translate(
	struct bp_nl_cache *cache, const struct bp_nl_prefix *p, struct bp_route *out)
{
	const struct bp_nl_route *r = p->first;

	memset(out, 0, sizeof(*out));
	out->prefix.family = p->family;
	out->prefix.length = p->length;
	out->prefix.vrf = p->vrf;
	memcpy(out->prefix.bytes, p->bytes, sizeof(out->prefix.bytes));
	out->origin = BP_ORIGIN_KERNEL;
	if (r != NULL && r->from_main && is_qualified(p)) {
		out->type = BP_ROUTE_PUNT;
		out->protocol = r->protocol;
		out->metric = r->metric;
		return true;
	}
	for (; r != NULL; r = r->next)
		if (translate_one(cache, r, out))
			return true;
	return false;
}

/* Publishes the result of all routes of the prefix. */
static void publish(struct bp_nl_cache *cache, struct bp_nl_prefix *p)
{
	struct bp_route r;
	bool there = bp_nl_prefix_translate(cache, p, &r);

	set_punted(cache, p, there && r.type == BP_ROUTE_PUNT);
	if (cache->writer == NULL)
		return;
	if (there) {
		bp_nl_cache_fib_result(cache, bp_fib_route_set(cache->writer, &r));
		/* the FIB writer remembers a route that did not fit, and it must be deleted
		 * there */
		p->published = true;
	} else if (p->published) {
		bp_nl_cache_fib_result(
			cache, bp_fib_route_delete(cache->writer, &r.prefix, BP_ORIGIN_KERNEL));
		p->published = false;
	}
}

/* Publishes the new state of the prefix, and frees the prefix when it has no routes. */
static void changed(struct bp_nl_cache *cache, struct bp_nl_prefix *p, bool dump)
{
	/* the routes of a dump are published when the dump is complete:
	 * bp_nl_cache_publish_routes() */
	if (!dump)
		publish(cache, p);
	if (p->first != NULL)
		return;
	set_punted(cache, p, false);
	bp_map_remove(&cache->prefixes, &p->node);
	free(p);
}

bool bp_nl_cache_publish_routes(struct bp_nl_cache *cache, uint32_t *cursor)
{
	const uint32_t end = *cursor + GIVE_BUCKETS;

	/* The table may grow meanwhile: the entries of bucket b then move to b or to b + the old
	 * size, so none is skipped. */
	for (; *cursor < end && *cursor < cache->prefixes.buckets; ++*cursor)
		for (struct bp_map_node *n = cache->prefixes.bucket[*cursor]; n != NULL;
			n = n->next)
			publish(cache, (struct bp_nl_prefix *)n);
	return *cursor < cache->prefixes.buckets;
}

/* Returns a copy of the route on the heap; NULL without memory. */
static struct bp_nl_route *draft_copy(struct bp_nl_cache *cache, const struct draft *d)
{
	const size_t size = sizeof(d->route) + d->route.n_hops * sizeof(d->route.hop[0]);
	struct bp_nl_route *r = malloc(size);

	if (r == NULL) {
		cache->no_memory = true;
		return NULL;
	}
	memcpy(r, d->room, size);
	return r;
}

void bp_nl_route_message(struct bp_nl_cache *cache, const struct nlmsghdr *h, bool dump)
{
	const bool is_new = h->nlmsg_type == RTM_NEWROUTE;
	struct draft d;
	struct bp_nl_prefix *p;
	struct bp_nl_route *r;

	if (!read_route(cache, h, &d))
		return;
	p = is_new ? ensure(cache, &d.prefix) : find(cache, &d.prefix);
	r = p != NULL ? draft_copy(cache, &d) : NULL;
	if (r != NULL && is_new) {
		bp_nl_route_add(cache, p, r, h->nlmsg_flags, dump);
	} else if (r != NULL) {
		bp_nl_route_remove(cache, p, r);
		free(r);
	}
	if (p != NULL)
		changed(cache, p, dump);
}
