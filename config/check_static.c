/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "config/schema.h"

/* Static routes and neighbors: finds the output interface of each route, and reports duplicate
 * entries. */

/* Returns the node of a setting of `e` that is given and valid, or NULL. */
static const struct bp_yaml *good(const struct bp_yaml *e, const char *key)
{
	const struct bp_yaml *n = bp_yaml_find(e, key);

	return n != NULL && !n->bad ? n : NULL;
}

/* Returns whether a setting is valid, or is not given and has its default. */
static bool fine(const struct bp_yaml *e, const char *key)
{
	return bp_yaml_find(e, key) == good(e, key);
}

static bool is_link_local(const struct bp_address *a)
{
	return a->family == 6 && a->bytes[0] == 0xfe && (a->bytes[1] & 0xc0) == 0x80;
}

static void fault_at(struct bp_reader *r, const struct bp_yaml *n, const char *list, uint32_t i,
	const char *key, const char *what)
{
	bp_error(r->messages, n->line, n->column, "routing.%s[%u].%s: %s", list, i, key, what);
}

/* The result of a search for the interface of a gateway. */
struct found {
	uint8_t interface, length;
	bool several;
};

static void check_interface(const struct bp_config_interface *of, uint8_t interface,
	const struct bp_address *gateway, struct found *f)
{
	for (uint32_t k = 0; k < of->n_addresses; k++) {
		const struct bp_interface_address *a = &of->address[k];
		struct bp_prefix p = bp_prefix_of(a->address, a->length);

		if (!bp_prefix_contains(&p, gateway))
			continue;
		if (f->interface == BP_NO_INTERFACE || a->length > f->length)
			*f = (struct found){interface, a->length, false};
		else if (a->length == f->length && f->interface != interface)
			f->several = true;
	}
}

/* Finds the interface whose addresses contain the gateway in the longest prefix. */
static struct found find_interface(const struct bp_config *c, const struct bp_address *gateway)
{
	struct found f = {.interface = BP_NO_INTERFACE};

	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++) {
		const char *name;
		const struct bp_config_interface *of = bp_config_interface(c, i, &name);

		if (of != NULL)
			check_interface(of, (uint8_t)i, gateway, &f);
	}
	return f;
}

static bool is_own(const struct bp_config *c, const struct bp_address *a)
{
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++) {
		const char *name;
		const struct bp_config_interface *of = bp_config_interface(c, i, &name);

		for (uint32_t k = 0; of != NULL && k < of->n_addresses; k++) {
			if (memcmp(&of->address[k].address, a, sizeof(*a)) == 0)
				return true;
		}
	}
	return false;
}

/* An error in an interface drops its addresses, and a gateway may then appear to have no
 * interface. */
static bool interfaces_are_right(const struct bp_reader *r)
{
	const struct bp_yaml *ports = bp_yaml_find(r->root, "ports");
	const struct bp_yaml *bridges = bp_yaml_find(r->root, "bridges");

	return ports != NULL && !ports->faulty && (bridges == NULL || !bridges->faulty);
}

static void resolve(struct bp_reader *r, const struct bp_yaml *via, uint32_t i,
	struct bp_config_static_route *route)
{
	struct found f;

	if (is_link_local(&route->hop.gateway)) {
		fault_at(r, via, "static_routes", i, "via",
			"a link-local next hop needs an interface; expected interface");
		return;
	}
	f = find_interface(r->config, &route->hop.gateway);
	route->hop.interface = f.interface;
	if (f.interface == BP_NO_INTERFACE && interfaces_are_right(r))
		fault_at(r, via, "static_routes", i, "via",
			"no interface has this address in its prefixes; expected an interface "
			"address in the same prefix, or interface");
	else if (f.several)
		fault_at(r, via, "static_routes", i, "via",
			"several interfaces have this address in their prefixes; expected "
			"interface");
}

static void check_gateway(struct bp_reader *r, const struct bp_yaml *via, uint32_t i,
	struct bp_config_static_route *route)
{
	if (is_own(r->config, &route->hop.gateway))
		fault_at(r, via, "static_routes", i, "via",
			"this is an address of this gateway; expected the address of the next hop");
	else if (route->prefix.family == 6 && route->hop.gateway.family == 4)
		fault_at(r, via, "static_routes", i, "via",
			"an IPv4 next hop cannot be used for an IPv6 prefix; expected an IPv6 "
			"address");
	else if (!route->has_interface)
		resolve(r, via, i, route);
}

static void check_route(struct bp_reader *r, const struct bp_yaml *e, uint32_t i,
	struct bp_config_static_route *route)
{
	static const char *const keys[] = {"via", "interface", "weight"};

	if (!route->has_interface)
		route->hop.interface = BP_NO_INTERFACE;
	if (!fine(e, "type") || !fine(e, "via") || !fine(e, "interface"))
		return;
	if (route->type == BP_ROUTE_UNICAST) {
		if (route->hop.gateway.family != 0)
			check_gateway(r, good(e, "via"), i, route);
		else if (!route->has_interface)
			bp_error(r->messages, e->line, e->column,
				"routing.static_routes[%u] has neither 'via' nor 'interface'; "
				"expected one of "
				"them, or a type other than unicast",
				i);
		return;
	}
	for (uint32_t k = 0; k < 3; k++) {
		if (good(e, keys[k]) == NULL)
			continue;
		fault_at(r, bp_yaml_find(e, keys[k])->key, "static_routes", i, keys[k],
			"a route of this type has no next hop; expected no via, interface or "
			"weight, or type unicast");
		return;
	}
}

/* Entries sorted by prefix or address, to find duplicates. */
struct entry {
	const void *item;
	const struct bp_yaml *node;
	uint32_t i;
};

static int by_prefix(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	const struct bp_config_static_route *p = x->item, *q = y->item;
	int order = memcmp(&p->prefix, &q->prefix, sizeof(p->prefix));

	return order != 0 ? order : (x->i > y->i) - (x->i < y->i);
}

static int by_neighbor(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	const struct bp_config_static_neighbor *p = x->item, *q = y->item;
	int order = memcmp(&p->address, &q->address, sizeof(p->address));

	if (order == 0)
		order = (int)p->interface - (int)q->interface;
	return order != 0 ? order : (x->i > y->i) - (x->i < y->i);
}

/* Collects the entries whose settings are all valid; NULL when there are none. */
static struct entry *entries(struct bp_reader *r, const struct bp_yaml *list, const void *items,
	size_t size, uint32_t *count)
{
	struct entry *all = calloc(list->n, sizeof(*all));
	uint32_t i = 0;

	*count = 0;
	if (all == NULL) {
		bp_error(r->messages, list->line, list->column,
			"out of memory; expected fewer entries or more free memory");
		return NULL;
	}
	for (const struct bp_yaml *e = list->first; e != NULL; e = e->next, i++) {
		if (!e->faulty)
			all[(*count)++] = (struct entry){(const char *)items + i * size, e, i};
	}
	return all;
}

static bool same_hop(const struct bp_hop *a, const struct bp_hop *b)
{
	return a->interface == b->interface &&
	       memcmp(&a->gateway, &b->gateway, sizeof(a->gateway)) == 0;
}

/* Entries of one prefix: each is a next hop, and no next hop is repeated. */
static void check_group(struct bp_reader *r, const struct entry *g, uint32_t n)
{
	char text[BP_ADDRESS_TEXT];

	for (uint32_t i = 1; i < n; i++) {
		const struct bp_config_static_route *a = g[i].item;

		bp_prefix_text(&a->prefix, text);
		if (i >= BP_HOPS_MAX) {
			bp_error(r->messages, g[i].node->line, g[i].node->column,
				"routing.static_routes[%u]: %s has %u entries; expected at most %u "
				"of one "
				"prefix",
				g[i].i, text, n, BP_HOPS_MAX);
			return;
		}
		for (uint32_t k = 0; k < i; k++) {
			const struct bp_config_static_route *b = g[k].item;
			bool unicast = a->type == BP_ROUTE_UNICAST && b->type == BP_ROUTE_UNICAST;

			if (unicast && !same_hop(&a->hop, &b->hop))
				continue;
			bp_error(r->messages, g[i].node->line, g[i].node->column,
				"routing.static_routes[%u]: %s is given twice%s; expected one "
				"entry, or "
				"entries of type unicast that differ in via or interface (the "
				"other is "
				"on line %u)",
				g[i].i, text, unicast ? " with the same next hop" : "",
				bp_messages_line(r->messages, g[k].node->line));
			break;
		}
	}
}

static void check_room(struct bp_reader *r, const struct bp_yaml *list, uint32_t n, uint32_t room,
	const char *what, const char *setting)
{
	if (n > room)
		bp_error(r->messages, list->line, list->column,
			"routing.%s: %u %s are given; expected at most %u (routing.%s)",
			list->key->text, n, what, room, setting);
}

static void check_routes(struct bp_reader *r, const struct bp_yaml *list, struct bp_config *c)
{
	uint32_t i = 0, n, to, prefixes[2] = {0};
	struct entry *all;

	for (const struct bp_yaml *e = list->first; e != NULL; e = e->next, i++) {
		if (e->kind == BP_YAML_MAP && !e->bad)
			check_route(r, e, i, &c->fixed.route[i]);
	}
	all = entries(r, list, c->fixed.route, sizeof(*c->fixed.route), &n);
	if (n > 1)
		qsort(all, n, sizeof(*all), by_prefix);
	for (i = 0; i < n; i = to) {
		const struct bp_config_static_route *first = all[i].item, *next;

		for (to = i + 1; to < n; to++) {
			next = all[to].item;
			if (memcmp(&first->prefix, &next->prefix, sizeof(first->prefix)) != 0)
				break;
		}
		prefixes[first->prefix.family == 6]++;
		check_group(r, all + i, to - i);
	}
	free(all);
	check_room(r, list, prefixes[0], c->routing.max_ipv4_routes, "IPv4 prefixes",
		"max_ipv4_routes");
	check_room(r, list, prefixes[1], c->routing.max_ipv6_routes, "IPv6 prefixes",
		"max_ipv6_routes");
}

static void check_neighbors(struct bp_reader *r, const struct bp_yaml *list, struct bp_config *c)
{
	uint32_t n;
	struct entry *all = entries(r, list, c->fixed.neighbor, sizeof(*c->fixed.neighbor), &n);

	if (n > 1)
		qsort(all, n, sizeof(*all), by_neighbor);
	for (uint32_t i = 0; i < n; i++) {
		const struct bp_config_static_neighbor *a = all[i].item, *b;

		if (is_own(c, &a->address))
			fault_at(r, good(all[i].node, "address"), "static_neighbors", all[i].i,
				"address",
				"this is an address of this gateway; expected the address of a "
				"neighbor");
		if (i == 0)
			continue;
		b = all[i - 1].item;
		if (memcmp(&a->address, &b->address, sizeof(a->address)) == 0 &&
			a->interface == b->interface)
			bp_error(r->messages, all[i].node->line, all[i].node->column,
				"routing.static_neighbors[%u]: this neighbor is given twice; "
				"expected it "
				"once (the other is on line %u)",
				all[i].i, bp_messages_line(r->messages, all[i - 1].node->line));
	}
	free(all);
	check_room(r, list, n, c->routing.max_neighbors, "neighbors", "max_neighbors");
}

void bp_check_static(struct bp_reader *r, const struct bp_yaml *n, void *base)
{
	const struct bp_yaml *routes = good(n, "static_routes"),
			     *neighbors = good(n, "static_neighbors");
	struct bp_config *c = base;

	if (routes != NULL && c->fixed.n_routes > 0)
		check_routes(r, routes, c);
	if (neighbors != NULL && c->fixed.n_neighbors > 0)
		check_neighbors(r, neighbors, c);
}
