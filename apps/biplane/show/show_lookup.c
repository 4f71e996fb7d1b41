/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "apps/biplane/show/fib_text.h"
#include "apps/biplane/show/show.h"
#include "apps/biplane/text.h"
#include "shm/fib/neighbors.h"

/*
 * The lookup of one address: the next hop that the longest-prefix match of a worker finds, and the
 * expected route from the route records. The two are read independently, to reveal an
 * inconsistency.
 */
struct lookup {
	const struct bp_fib *f;
	const struct bp_address *dst;
	uint8_t vrf;
	struct bp_interface_names names;
};

/* What a worker does with a packet, and why it does not forward it: the reason of the counter
 * punt_REASON, or the type of the route. */
static const struct {
	const char *action, *reason;
} kind_text[BP_LINK_KINDS] = {
	[BP_LINK_NONE] = {"punt", "no_route"},
	[BP_LINK_RESOLVED] = {"forward", NULL},
	[BP_LINK_CONNECTED] = {"forward", NULL},
	[BP_LINK_UNRESOLVED] = {"punt", "no_neighbor"},
	[BP_LINK_LOCAL] = {"punt", "local"},
	[BP_LINK_BLACKHOLE] = {"drop", "blackhole"},
	[BP_LINK_UNREACHABLE] = {"punt", "unreachable"},
	[BP_LINK_PROHIBIT] = {"punt", "prohibit"},
	[BP_LINK_PUNT] = {"punt", "foreign_interface"},
	[BP_LINK_GROUP] = {"forward", NULL},
};

static void mac_of_link(uint64_t link, uint8_t mac[6])
{
	for (unsigned i = 0; i < 6; i++)
		mac[i] = (uint8_t)(bp_link_mac(link) >> 8 * i);
}

/* What a worker reads of a next hop that is not a group. */
static json_t *nexthop(const struct lookup *l, uint32_t number, unsigned shares)
{
	const struct bp_nexthop *e = &l->f->nexthops[number];
	uint64_t link = atomic_load_explicit(&e->link, memory_order_acquire);
	enum bp_link_kind kind = bp_link_kind(link);
	struct bp_hop hop = {.interface = bp_link_interface(link), .weight = 1};
	bool connected = kind == BP_LINK_CONNECTED, has_mac = kind == BP_LINK_RESOLVED;
	uint8_t mac[6] = {0};
	char text[BP_TEXT_MAC];
	json_t *j;

	if (has_mac || kind == BP_LINK_UNRESOLVED)
		hop.gateway = e->hop.gateway;
	if (connected)
		has_mac = bp_neighbor_find(l->f, hop.interface, bp_neighbor_key(l->dst), &link) !=
			  NULL;
	mac_of_link(link, mac);
	if (connected && !has_mac)
		kind = BP_LINK_UNRESOLVED;
	bp_text_mac(mac, text);
	j = kind == BP_LINK_RESOLVED || kind == BP_LINK_CONNECTED || kind == BP_LINK_UNRESOLVED
		    ? bp_json_hop(&hop, &l->names)
		    : json_object();
	json_object_del(j, "weight");
	json_object_update_new(
		j, json_pack("{ss? ss?}", "action",
			   kind < BP_LINK_KINDS ? kind_text[kind].action : NULL, "reason",
			   kind < BP_LINK_KINDS ? kind_text[kind].reason : NULL));
	json_object_set_new(j, "lladdr", has_mac ? json_string(text) : json_null());
	json_object_set_new(j, "shares", json_integer(shares));
	return j;
}

/* Each member of a group once, with its number of the 256 shares. */
static void add_group(const struct lookup *l, uint32_t number, json_t *nexthops)
{
	uint32_t member[BP_GROUP_SHARES];
	unsigned shares[BP_GROUP_SHARES], n = 0;

	if (number >= l->f->max_groups)
		return;
	for (unsigned i = 0; i < BP_GROUP_SHARES; i++) {
		uint32_t m = atomic_load_explicit(
			&l->f->groups[number].nexthop[i], memory_order_relaxed);
		unsigned k = 0;

		while (k < n && member[k] != m)
			k++;
		if (k == n) {
			member[n] = m;
			shares[n++] = 0;
		}
		shares[k]++;
	}
	for (unsigned k = 0; k < n; k++)
		if (member[k] < l->f->max_nexthops)
			json_array_append_new(nexthops, nexthop(l, member[k], shares[k]));
}

static json_t *nexthops_of(const struct lookup *l, uint32_t number)
{
	json_t *nexthops = json_array();
	uint64_t link;

	if (number >= l->f->max_nexthops)
		return nexthops;
	link = atomic_load_explicit(&l->f->nexthops[number].link, memory_order_acquire);
	if (bp_link_kind(link) == BP_LINK_GROUP)
		add_group(l, (uint32_t)link, nexthops);
	else
		json_array_append_new(nexthops, nexthop(l, number, BP_GROUP_SHARES));
	return nexthops;
}

/* The longest prefix in the records that holds the address. */
static bool longest_route(const struct lookup *l, struct bp_route *best)
{
	const struct bp_prefix p = bp_prefix_of(*l->dst, bp_address_bits(l->dst->family));
	uint32_t cursor = 0;
	struct bp_route r;
	bool found = false;

	while (bp_fib_next_route(l->f, &cursor, &r)) {
		if (r.prefix.vrf != l->vrf || !bp_prefix_within(&p, &r.prefix))
			continue;
		if (found && r.prefix.length < best->prefix.length)
			continue;
		if (found && r.prefix.length == best->prefix.length && r.origin < best->origin)
			continue; /* a static route precedes a kernel route */
		*best = r;
		found = true;
	}
	return found;
}

json_t *bp_show_lookup(const struct bp_show_source *s, char *err, size_t err_size)
{
	struct lookup l = {.f = &s->shm->fib, .dst = &s->address};
	char ip[BP_TEXT_IP], text[BP_TEXT_ROUTE];
	uint32_t number = BP_NH_NONE;
	struct bp_route route;
	struct bp_fib_filter filter;
	bool found = false;
	json_t *view;

	if (!bp_show_routes_filter(s, &filter, err, err_size))
		return NULL;
	l.vrf = filter.vrf;
	bp_text_ip(l.dst, ip);
	if (l.f->max_routes) {
		bp_interface_names_read(l.f, &l.names);
		number = bp_fib_lookup(l.f, l.vrf, l.dst);
		found = longest_route(&l, &route);
	}
	if (found)
		bp_text_route(&route, &l.names, " ", text);
	view = json_pack("{ss sI so so so}", "address", ip, "nexthop", (json_int_t)number,
		"nexthops", l.f->max_routes ? nexthops_of(&l, number) : json_array(), "route",
		found ? bp_json_route(&route, &l.names) : json_null(), "route_text",
		found ? json_string(text) : json_null());
	if (!view)
		snprintf(err, err_size, "not enough memory");
	return view;
}

static void print_nexthop(const json_t *hop, bool several, FILE *out)
{
	const char *action = json_string_value(json_object_get(hop, "action"));
	const char *reason = json_string_value(json_object_get(hop, "reason"));
	const char *via = json_string_value(json_object_get(hop, "via"));
	const char *dev = json_string_value(json_object_get(hop, "dev"));
	const char *mac = json_string_value(json_object_get(hop, "lladdr"));

	fprintf(out, "\t%s", action ? action : "unknown");
	if (reason)
		fprintf(out, " (%s)", reason);
	if (via)
		fprintf(out, " via %s", via);
	if (dev)
		fprintf(out, " dev %s", dev);
	if (mac)
		fprintf(out, " lladdr %s", mac);
	if (several)
		fprintf(out, " share %d/%d", (int)bp_show_int(hop, "shares"), BP_GROUP_SHARES);
	fputc('\n', out);
}

void bp_show_lookup_print(const json_t *view, FILE *out)
{
	const json_t *nexthops = json_object_get(view, "nexthops");
	const char *route = json_string_value(json_object_get(view, "route_text"));
	size_t n = json_array_size(nexthops);

	fprintf(out, "%s: %s\n", json_string_value(json_object_get(view, "address")),
		route ? route : "no route");
	for (size_t i = 0; i < n; i++)
		print_nexthop(json_array_get(nexthops, i), n > 1, out);
}
