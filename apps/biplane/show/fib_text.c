/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/fib_text.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int af(uint8_t family)
{
	return family == 4 ? AF_INET : AF_INET6;
}

void bp_text_ip(const struct bp_address *a, char out[BP_TEXT_IP])
{
	if (a->family != 4 && a->family != 6)
		snprintf(out, BP_TEXT_IP, "-");
	else
		inet_ntop(af(a->family), a->bytes, out, BP_TEXT_IP);
}

void bp_text_prefix(const struct bp_prefix *p, char out[BP_TEXT_PREFIX])
{
	inet_ntop(af(p->family), p->bytes, out, BP_TEXT_IP);

	size_t at = strlen(out);

	snprintf(out + at, BP_TEXT_PREFIX - at, "/%u", p->length);
}

bool bp_text_to_prefix(const char *text, struct bp_prefix *p, bool *has_length)
{
	char address[BP_TEXT_IP];
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);
	struct bp_address a = {.family = strchr(text, ':') ? 6 : 4};
	unsigned length = bp_address_bits(a.family);

	if (len >= sizeof(address))
		return false;
	memcpy(address, text, len);
	address[len] = 0;
	if (inet_pton(af(a.family), address, a.bytes) != 1)
		return false;
	if (slash) {
		char *end;
		unsigned long n = strtoul(slash + 1, &end, 10);

		if (slash[1] < '0' || slash[1] > '9' || *end || n > length)
			return false;
		length = (unsigned)n;
	}
	*p = bp_prefix_of(a, length);
	*has_length = slash != NULL;
	return true;
}

void bp_text_protocol(uint8_t protocol, char out[BP_TEXT_PROTOCOL])
{
	static const char *const name[256] = {
		[1] = "redirect",
		[2] = "kernel",
		[3] = "boot",
		[4] = "static",
		[9] = "ra",
		[11] = "zebra",
		[12] = "bird",
		[16] = "dhcp",
		[18] = "keepalived",
		[42] = "babel",
		[99] = "openr",
		[186] = "bgp",
		[187] = "isis",
		[188] = "ospf",
		[189] = "rip",
		[192] = "eigrp",
	};

	if (name[protocol])
		snprintf(out, BP_TEXT_PROTOCOL, "%s", name[protocol]);
	else
		snprintf(out, BP_TEXT_PROTOCOL, "%u", protocol);
}

const char *bp_text_neighbor_state(uint8_t state)
{
	switch (state) {
	case BP_NEIGHBOR_REACHABLE:
		return "reachable";
	case BP_NEIGHBOR_PERMANENT:
		return "static";
	case BP_NEIGHBOR_FAILED:
		return "failed";
	default:
		return "unknown";
	}
}

/* The segment is another process's memory, and the reader a terminal. */
static void make_plain(char *text)
{
	for (; *text; text++)
		if (*text <= 0x20 || *text >= 0x7f)
			*text = '?';
}

void bp_interface_names_read(const struct bp_fib *f, struct bp_interface_names *names)
{
	memset(names, 0, sizeof(*names));
	for (unsigned i = 0; i < BP_ALL_INTERFACES; i++) {
		struct bp_interface_info info;

		if (!bp_fib_interface(f, i, &info))
			continue;
		memcpy(names->name[i], info.name, BP_NAME_MAX);
		make_plain(names->name[i]);
	}
	for (unsigned vrf = 1; vrf <= BP_MAX_VRFS; vrf++) {
		struct bp_vrf_info info;

		if (!bp_fib_vrf(f, vrf, &info))
			continue;
		memcpy(names->vrf[vrf], info.name, BP_VRF_NAME_MAX);
		make_plain(names->vrf[vrf]);
	}
}

const char *bp_interface_name(
	const struct bp_interface_names *names, unsigned interface, char spare[8])
{
	if (interface < BP_ALL_INTERFACES && names->name[interface][0])
		return names->name[interface];
	snprintf(spare, 8, "if%u", interface & 0xffu);
	return spare;
}

const char *bp_vrf_name(const struct bp_interface_names *names, unsigned vrf, char spare[8])
{
	if (vrf == BP_VRF_KERNEL)
		return "unsupported";
	if (vrf <= BP_MAX_VRFS && names->vrf[vrf][0])
		return names->vrf[vrf];
	snprintf(spare, 8, "vrf%u", vrf & 0xffu);
	return spare;
}

/* Appends; what does not fit is cut, which BP_TEXT_ROUTE excludes. */
static void add(char *out, size_t *at, const char *text)
{
	size_t len = strlen(text), room = BP_TEXT_ROUTE - 1 - *at;

	if (len > room)
		len = room;
	memcpy(out + *at, text, len);
	*at += len;
	out[*at] = 0;
}

static void add_number(char *out, size_t *at, const char *word, uint32_t n)
{
	char text[32];

	snprintf(text, sizeof(text), " %s %u", word, n);
	add(out, at, text);
}

static void add_hop(char *out, size_t *at, const struct bp_hop *h, uint8_t family,
	const struct bp_interface_names *names)
{
	char ip[BP_TEXT_IP], spare[8];

	if (h->gateway.family) {
		bp_text_ip(&h->gateway, ip);
		add(out, at, " via ");
		if (h->gateway.family != family)
			add(out, at, "inet6 ");
		add(out, at, ip);
	}
	add(out, at, " dev ");
	add(out, at, bp_interface_name(names, h->interface, spare));
}

static uint32_t hops_of(const struct bp_route *r)
{
	return r->n_hops < BP_HOPS_MAX ? r->n_hops : BP_HOPS_MAX;
}

static const char *type_name(const struct bp_route *r)
{
	return r->type < BP_ROUTE_TYPES ? bp_route_type_name[r->type] : "unknown";
}

void bp_text_route(const struct bp_route *r, const struct bp_interface_names *names,
	const char *between, char out[BP_TEXT_ROUTE])
{
	char prefix[BP_TEXT_PREFIX], protocol[BP_TEXT_PROTOCOL], spare[8];
	uint32_t n = hops_of(r);
	size_t at = 0;

	out[0] = 0;
	if (r->type != BP_ROUTE_UNICAST) {
		add(out, &at, type_name(r));
		add(out, &at, " ");
	}
	bp_text_prefix(&r->prefix, prefix);
	/* ip writes one address without a length */
	if (r->prefix.length == bp_address_bits(r->prefix.family))
		*strchr(prefix, '/') = 0;
	add(out, &at, prefix);
	if (r->object)
		add_number(out, &at, "nhid", r->object);
	if (n == 1)
		add_hop(out, &at, &r->hop[0], r->prefix.family, names);
	if (r->prefix.vrf != BP_VRF_MAIN) {
		add(out, &at, " vrf ");
		add(out, &at, bp_vrf_name(names, r->prefix.vrf, spare));
	}
	if (r->protocol) {
		bp_text_protocol(r->protocol, protocol);
		add(out, &at, " proto ");
		add(out, &at, protocol);
	}
	if (r->metric)
		add_number(out, &at, "metric", r->metric);
	if (r->origin == BP_ORIGIN_STATIC)
		add(out, &at, " origin static");
	for (uint32_t h = 0; n > 1 && h < n; h++) {
		add(out, &at, between);
		add(out, &at, "nexthop");
		add_hop(out, &at, &r->hop[h], r->prefix.family, names);
		add_number(out, &at, "weight", r->hop[h].weight);
	}
}

json_t *bp_json_hop(const struct bp_hop *h, const struct bp_interface_names *names)
{
	char ip[BP_TEXT_IP], spare[8];

	bp_text_ip(&h->gateway, ip);
	return json_pack("{so ss si}", "via", h->gateway.family ? json_string(ip) : json_null(),
		"dev", bp_interface_name(names, h->interface, spare), "weight", (int)h->weight);
}

json_t *bp_json_route(const struct bp_route *r, const struct bp_interface_names *names)
{
	char prefix[BP_TEXT_PREFIX], protocol[BP_TEXT_PROTOCOL], spare[8];
	json_t *hops = json_array();

	for (uint32_t h = 0; h < hops_of(r); h++)
		json_array_append_new(hops, bp_json_hop(&r->hop[h], names));
	bp_text_prefix(&r->prefix, prefix);
	bp_text_protocol(r->protocol, protocol);
	return json_pack("{ss so ss ss so sI so so}", "prefix", prefix, "vrf",
		r->prefix.vrf != BP_VRF_MAIN ? json_string(bp_vrf_name(names, r->prefix.vrf, spare))
					     : json_null(),
		"type", type_name(r), "origin", r->origin == BP_ORIGIN_STATIC ? "static" : "kernel",
		"protocol", r->protocol ? json_string(protocol) : json_null(), "metric",
		(json_int_t)r->metric, "nhid",
		r->object ? json_integer((json_int_t)r->object) : json_null(), "nexthops", hops);
}
