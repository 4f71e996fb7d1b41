/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <net/if.h>
#include <string.h>

#include "apps/biplane/show/fib_diff.h"
#include "apps/biplane/show/fib_text.h"
#include "apps/biplane/netns.h"
#include "apps/biplane/show/show.h"
#include "apps/biplane/table.h"
#include "apps/biplane/text.h"

static json_int_t get(const _Atomic uint32_t *n)
{
	return (json_int_t)atomic_load_explicit((_Atomic uint32_t *)n, memory_order_relaxed);
}

static json_t *addresses(const struct bp_interface_info *info)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < info->n_addresses && i < BP_ADDRESSES_MAX; i++) {
		char ip[BP_TEXT_IP];

		bp_text_ip(&info->address[i].address, ip);
		json_array_append_new(
			list, json_sprintf("%s/%u", ip, (unsigned)info->address[i].length));
	}
	return list;
}

/* Its number means something only in the namespace of the control plane's kernel interfaces. */
static json_t *kernel_name(const struct bp_interface_info *info, bool same_netns)
{
	char name[IF_NAMESIZE];

	if (!same_netns || !info->ifindex || !if_indextoname(info->ifindex, name))
		return json_null();
	return bp_text_json(name, sizeof(name));
}

/* Name of the port of a subinterface. */
static json_t *port(const struct bp_fib *f, const struct bp_interface_info *info)
{
	struct bp_interface_info parent;

	if (info->vlan_id == 0 || info->parent >= BP_MAX_PORTS ||
		!bp_fib_interface(f, info->parent, &parent))
		return json_null();
	return bp_text_json(parent.name, sizeof(parent.name));
}

/* Name of the VRF; null: the main one. */
static json_t *vrf(const struct bp_fib *f, const struct bp_interface_info *info)
{
	struct bp_interface_names names;
	char spare[8];

	if (info->vrf == BP_VRF_MAIN)
		return json_null();
	bp_interface_names_read(f, &names);
	return json_string(bp_vrf_name(&names, info->vrf, spare));
}

static json_t *interface(const struct bp_fib *f, unsigned number,
	const struct bp_interface_info *info, bool same_netns)
{
	char mac[BP_TEXT_MAC];

	bp_text_mac(info->mac, mac);
	return json_pack("{so si so so so so sI ss sI sb sb sb sb sb ss so}", "name",
		bp_text_json(info->name, sizeof(info->name)), "number", (int)number, "port",
		port(f, info), "vlan",
		info->vlan_id != 0 ? json_integer(info->vlan_id) : json_null(), "vrf", vrf(f, info),
		"host_interface", kernel_name(info, same_netns), "ifindex",
		(json_int_t)info->ifindex, "mac", mac, "mtu", (json_int_t)info->mtu, "up",
		(info->flags & BP_IF_UP) != 0, "carrier", (info->flags & BP_IF_CARRIER) != 0,
		"kernel", (info->flags & BP_IF_KERNEL) != 0, "ipv4_forwarding",
		!(info->flags & BP_IF_NO_FORWARD4), "ipv6_forwarding",
		!(info->flags & BP_IF_NO_FORWARD6), "ipv4_rp_filter",
		info->flags & BP_IF_RPF_STRICT  ? "strict"
		: info->flags & BP_IF_RPF_LOOSE ? "loose"
						: "off",
		"addresses", addresses(info));
}

static json_t *table(const _Atomic uint32_t *n, uint32_t capacity, const _Atomic uint32_t *refused)
{
	json_t *t = json_pack("{sI sI}", "used", get(n), "capacity", (json_int_t)capacity);

	if (refused)
		json_object_set_new(t, "refused", json_integer(get(refused)));
	return t;
}

static json_t *tables(const struct bp_fib *f)
{
	struct bp_fib_control *c = f->control;

	return json_pack("{so so so so so so}", "ipv4_routes",
		table(&c->routes4, f->max_routes ? f->max_routes4 : 0, &c->routes4_refused),
		"ipv6_routes", table(&c->routes6, f->max_routes6, &c->routes6_refused), "neighbors",
		table(&c->neighbors, f->max_neighbors, &c->neighbors_refused), "nexthops",
		table(&c->nexthops, f->max_nexthops, &c->nexthops_refused), "nexthop_groups",
		table(&c->groups, f->max_groups, NULL), "lpm_lines",
		table(&c->lines, f->max_lines, NULL));
}

static json_t *collect(const struct bp_show_source *s, char *err, size_t err_size)
{
	const struct bp_fib *f = &s->shm->fib;
	json_t *list = json_array(), *view;
	bool same_netns = bp_netns_of(atomic_load(&s->shm->control->cp_pid)) == BP_NETNS_SAME;

	for (unsigned i = 0; f->max_routes && i < bp_fib_interfaces(f); i++) {
		struct bp_interface_info info;

		if (bp_fib_interface(f, i, &info))
			json_array_append_new(list, interface(f, i, &info, same_netns));
	}
	view = json_pack("{so so sI sI sI}", "interfaces", list, "tables", tables(f),
		"refused_total", (json_int_t)atomic_load(&f->control->rejected_total), "changes",
		(json_int_t)atomic_load(&f->control->changes), "repairs",
		(json_int_t)atomic_load(&f->control->repairs));
	if (!view)
		snprintf(err, err_size, "not enough memory");
	return view;
}

/* Flags and addresses as a table's cell can hold them. */
static json_t *for_people(const json_t *interface)
{
	static const char *const flags[] = {"up", "carrier", "kernel"};
	static const char *const settings[] = {"ipv4_forwarding", "ipv6_forwarding"};
	json_t *row = json_copy((json_t *)interface);
	const json_t *list = json_object_get(interface, "addresses");
	char text[64 * (BP_ADDRESSES_MAX + 1)] = "";
	size_t at = 0;

	for (unsigned i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s%s", i ? "," : "",
			json_is_true(json_object_get(interface, flags[i])) ? "" : "no-", flags[i]);
	for (unsigned i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (!json_is_true(json_object_get(interface, settings[i])))
			at += (size_t)snprintf(text + at, sizeof(text) - at, ",no-%s", settings[i]);
	if (json_is_integer(json_object_get(interface, "vlan")))
		at += (size_t)snprintf(text + at, sizeof(text) - at, ",vlan-%" JSON_INTEGER_FORMAT,
			bp_show_int(interface, "vlan"));
	if (json_is_string(json_object_get(interface, "vrf")))
		at += (size_t)snprintf(text + at, sizeof(text) - at, ",vrf-%s",
			json_string_value(json_object_get(interface, "vrf")));
	if (strcmp(json_string_value(json_object_get(interface, "ipv4_rp_filter")), "off") != 0)
		snprintf(text + at, sizeof(text) - at, ",ipv4_rp_filter-%s",
			json_string_value(json_object_get(interface, "ipv4_rp_filter")));
	json_object_set_new(row, "flags", json_string(text));
	text[at = 0] = 0;
	for (size_t i = 0; i < json_array_size(list) && at < sizeof(text); i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", i ? " " : "",
			json_string_value(json_array_get(list, i)));
	json_object_set_new(row, "addresses", json_string(text));
	if (!bp_show_int(interface, "ifindex"))
		json_object_set_new(row, "ifindex", json_null());
	return row;
}

static void print_tables(const json_t *view, FILE *out)
{
	static const char *const label[][2] = {
		{"ipv4_routes", "IPv4 routes"},
		{"ipv6_routes", "IPv6 routes"},
		{"neighbors", "neighbors"},
		{"nexthops", "next hops"},
		{"nexthop_groups", "next-hop groups"},
		{"lpm_lines", "lookup lines"},
	};
	const json_t *all = json_object_get(view, "tables");

	for (unsigned i = 0; i < sizeof(label) / sizeof(label[0]); i++) {
		const json_t *t = json_object_get(all, label[i][0]);

		fprintf(out, "%s%" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT " %s",
			i ? ", " : "\ntables: ", bp_show_int(t, "used"), bp_show_int(t, "capacity"),
			label[i][1]);
	}
	fprintf(out,
		"; %" JSON_INTEGER_FORMAT " changes, %" JSON_INTEGER_FORMAT
		" entries repaired by a new writer\n",
		bp_show_int(view, "changes"), bp_show_int(view, "repairs"));
	for (unsigned i = 0; i < sizeof(label) / sizeof(label[0]); i++)
		bp_show_refused(bp_show_int(json_object_get(all, label[i][0]), "refused"),
			label[i][1], out);
}

static void print(const json_t *view, bool all, FILE *out)
{
	static const struct bp_column columns[] = {
		{"name", "INTERFACE", 0},
		{"host_interface", "HOST-INTERFACE", 0},
		{"ifindex", "IFINDEX", 1},
		{"mac", "MAC", 0},
		{"mtu", "MTU", 1},
		{"flags", "FLAGS", 0},
		{"addresses", "ADDRESSES", 0},
		{NULL, NULL, 0},
	};
	const json_t *list = json_object_get(view, "interfaces");
	json_t *rows = json_array();
	json_int_t routes;

	(void)all;
	for (size_t i = 0; i < json_array_size(list); i++)
		json_array_append_new(rows, for_people(json_array_get(list, i)));
	routes = bp_show_int(
		json_object_get(json_object_get(view, "tables"), "ipv4_routes"), "capacity");
	bp_table_print(out, columns, rows, routes ? "no interfaces yet" : "no routed interfaces");
	if (routes)
		print_tables(view, out);
	json_decref(rows);
}

const struct bp_show_view bp_show_interfaces = {
	.name = "interfaces",
	.summary = "routed interfaces, and the use of the forwarding tables",
	.collect = collect,
	.print = print,
	.diff = bp_fib_diff_interfaces,
};
