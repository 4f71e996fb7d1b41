/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/fib_static.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define MTU_DEFAULT 1500u

/* State while a configuration is applied to the FIB. */
struct apply {
	struct bp_fib_writer *w;
	const struct bp_config *c;
	char *err;
	size_t err_size;
	bool failed;
};

void bp_fib_static_mac(unsigned interface, uint8_t mac[6])
{
	const uint8_t made[6] = {0x02, 0, 0, 0, interface < BP_MAX_PORTS ? 0 : 1,
		(uint8_t)(interface % BP_MAX_PORTS)};

	memcpy(mac, made, sizeof(made));
}

struct bp_address bp_fib_link_local(const uint8_t mac[6])
{
	const uint8_t bytes[16] = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, (uint8_t)(mac[0] ^ 2), mac[1],
		mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]};

	return bp_address6(bytes);
}

static bool is_link_local(const struct bp_address *a)
{
	return a->family == 6 && a->bytes[0] == 0xfe && (a->bytes[1] & 0xc0) == 0x80;
}

bool bp_fib_static_only(const struct bp_config *c, unsigned i, bool kernel)
{
	const char *name;
	const struct bp_config_interface *f = bp_config_interface(c, i, &name);

	return f != NULL && (!kernel || f->backend == BP_BACKEND_OFF);
}

static void set_mac(const struct bp_config *c, unsigned i, const struct bp_fib_link *link,
	struct bp_interface_info *info)
{
	static const uint8_t none[6];

	if (link != NULL && link->known && memcmp(link->mac, none, sizeof(none)) != 0)
		memcpy(info->mac, link->mac, sizeof(info->mac));
	else if (i < BP_MAX_PORTS && c->port[i].has_mac)
		memcpy(info->mac, c->port[i].mac, sizeof(info->mac));
	else
		bp_fib_static_mac(i, info->mac);
}

static void set_mtu(const struct bp_config *c, unsigned i, const struct bp_fib_link *link,
	struct bp_interface_info *info)
{
	info->mtu = i < BP_MAX_PORTS ? c->port[i].mtu : 0;
	if (link != NULL && link->known && link->mtu != 0)
		info->mtu = link->mtu;
	if (info->mtu == 0)
		info->mtu = MTU_DEFAULT;
}

void bp_fib_static_interface(const struct bp_config *c, unsigned i, const struct bp_fib_link *link,
	struct bp_interface_info *info)
{
	const char *name = "";
	const struct bp_config_interface *f = bp_config_interface(c, i, &name);
	bool has_link_local = false;

	memset(info, 0, sizeof(*info));
	if (f == NULL)
		return;
	snprintf(info->name, sizeof(info->name), "%s", name);
	info->flags = BP_IF_PRESENT;
	/* Not before the MAC address is known: neighbors would cache a wrong one. */
	if (link == NULL || link->known)
		info->flags |= BP_IF_UP;
	if (link == NULL || (link->known && link->up))
		info->flags |= BP_IF_CARRIER;
	set_mac(c, i, link, info);
	set_mtu(c, i, link, info);
	for (uint32_t k = 0; k < f->n_addresses && k < BP_ADDRESSES_MAX; k++) {
		info->address[info->n_addresses++] = f->address[k];
		has_link_local |= is_link_local(&f->address[k].address);
	}
	/* Neighbor discovery needs a link-local address on every interface (RFC 4291, 2.8), even
	 * without another IPv6 address: a host may still send solicitations. */
	if (!has_link_local && info->n_addresses < BP_ADDRESSES_MAX)
		info->address[info->n_addresses++] = (struct bp_interface_address){
			.address = bp_fib_link_local(info->mac), .length = 64};
}

static void refused(struct apply *a, enum bp_fib_result result, const char *what,
	const uint8_t *bytes, uint8_t family, const char *hint)
{
	char text[INET6_ADDRSTRLEN] = "?";

	if (a->failed)
		return;
	a->failed = true;
	inet_ntop(family == 4 ? AF_INET : AF_INET6, bytes, text, sizeof(text));
	snprintf(a->err, a->err_size, "%s %s cannot be added: %s", what, text,
		result == BP_FIB_NO_MEMORY ? "not enough memory" : hint);
}

static bool is_refused(enum bp_fib_result r)
{
	return r == BP_FIB_INVALID || r == BP_FIB_NO_MEMORY;
}

static void route(struct apply *a, const struct bp_route *r, const char *hint)
{
	enum bp_fib_result result = bp_fib_route_set(a->w, r);

	if (is_refused(result))
		refused(a, result, "static route to", r->prefix.bytes, r->prefix.family, hint);
}

static void local_route(struct apply *a, struct bp_address address)
{
	const struct bp_route r = {.prefix = bp_prefix_of(address, bp_address_bits(address.family)),
		.type = BP_ROUTE_LOCAL,
		.origin = BP_ORIGIN_STATIC};

	route(a, &r, "the address has no valid form");
}

/* IPv4: the last address of the subnet is its broadcast address (RFC 919); IPv6: the first address
 * is the subnet-router anycast address (RFC 4291, 2.6.1). */
static void subnet_routes(struct apply *a, const struct bp_prefix *p)
{
	struct bp_address whole = {.family = p->family};

	memcpy(whole.bytes, p->bytes, sizeof(whole.bytes));
	if (p->family == 4)
		for (unsigned bit = p->length; bit < 32; bit++)
			whole.bytes[bit / 8] |= (uint8_t)(0x80u >> bit % 8);
	/* a subnet of one or two addresses has neither (RFC 3021, RFC 6164) */
	if (p->length + 1u < bp_address_bits(p->family))
		local_route(a, whole);
}

static void address_routes(struct apply *a, unsigned i, const struct bp_interface_address *ia)
{
	unsigned bits = bp_address_bits(ia->address.family);
	struct bp_route r = {.prefix = bp_prefix_of(ia->address, ia->length),
		.type = BP_ROUTE_UNICAST,
		.origin = BP_ORIGIN_STATIC,
		.n_hops = 1};

	r.hop[0] = (struct bp_hop){.interface = (uint8_t)i, .weight = 1};
	/* Link-local destinations are not forwarded (RFC 4291, 2.5.6): no connected route. */
	if (ia->length < bits && !is_link_local(&ia->address)) {
		route(a, &r, "its interface is not known");
		subnet_routes(a, &r.prefix);
	}
	local_route(a, ia->address);
}

static void interface(struct apply *a, unsigned i, const struct bp_fib_link *link)
{
	struct bp_interface_info info;

	bp_fib_static_interface(a->c, i, link, &info);
	if (is_refused(bp_fib_interface_set(a->w, i, &info)) && !a->failed) {
		a->failed = true;
		snprintf(a->err, a->err_size, "interface '%s' cannot be added", info.name);
	}
	for (unsigned k = 0; k < info.n_addresses; k++)
		address_routes(a, i, &info.address[k]);
}

static bool covers(const struct bp_interface_address *ia, const struct bp_address *gateway)
{
	struct bp_prefix have, want;

	if (ia->address.family != gateway->family)
		return false;
	have = bp_prefix_of(ia->address, ia->length);
	want = bp_prefix_of(*gateway, ia->length);
	return memcmp(have.bytes, want.bytes, sizeof(have.bytes)) == 0;
}

/* Returns the interface whose address prefix contains the gateway; the longest prefix wins. */
static uint8_t interface_of(const struct bp_config *c, const struct bp_address *gateway)
{
	uint8_t found = BP_NO_INTERFACE;
	int longest = -1;

	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++) {
		const char *name;
		const struct bp_config_interface *f = bp_config_interface(c, i, &name);

		for (uint32_t k = 0; f != NULL && k < f->n_addresses; k++) {
			if (f->address[k].length <= longest || !covers(&f->address[k], gateway))
				continue;
			longest = f->address[k].length;
			found = (uint8_t)i;
		}
	}
	return found;
}

static void file_route(struct apply *a, const struct bp_config_static_route *f)
{
	struct bp_route r = {.prefix = f->prefix, .type = f->type, .origin = BP_ORIGIN_STATIC};

	if (f->type == BP_ROUTE_UNICAST) {
		r.n_hops = 1;
		r.hop[0] = f->hop;
		if (!f->has_interface)
			r.hop[0].interface = interface_of(a->c, &f->hop.gateway);
		if (r.hop[0].weight == 0)
			r.hop[0].weight = 1;
		if (r.hop[0].interface == BP_NO_INTERFACE) {
			refused(a, BP_FIB_INVALID, "static route to", r.prefix.bytes,
				r.prefix.family,
				"its gateway is in no prefix of an interface; give 'interface'");
			return;
		}
	}
	route(a, &r, "expected a routed interface, and a next hop of a family that it can have");
}

static void file_neighbor(struct apply *a, const struct bp_config_static_neighbor *n)
{
	enum bp_fib_result result =
		bp_fib_neighbor_set(a->w, n->interface, &n->address, n->mac, BP_NEIGHBOR_PERMANENT);

	if (is_refused(result))
		refused(a, result, "static neighbor", n->address.bytes, n->address.family,
			"expected a routed interface");
}

int bp_fib_static_apply(struct bp_fib_writer *w, const struct bp_config *c, bool kernel,
	const struct bp_fib_link *link, char *err, size_t err_size)
{
	static const struct bp_interface_info absent;
	struct apply a = {.w = w, .c = c, .err = err, .err_size = err_size};

	bp_fib_mark(w, BP_ORIGIN_STATIC);
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++) {
		const char *name;

		if (bp_fib_static_only(c, i, kernel))
			interface(&a, i, link != NULL ? &link[i] : NULL);
		else if (bp_config_interface(c, i, &name) == NULL)
			bp_fib_interface_set(w, i, &absent);
	}
	/* after the connected routes: a static route of the file replaces the one with the same
	 * prefix */
	for (uint32_t i = 0; i < c->fixed.n_routes; i++)
		file_route(&a, &c->fixed.route[i]);
	for (uint32_t i = 0; i < c->fixed.n_neighbors; i++)
		file_neighbor(&a, &c->fixed.neighbor[i]);
	bp_fib_sweep(w, BP_ORIGIN_STATIC);
	return a.failed ? -1 : 0;
}
