/* SPDX-License-Identifier: BSD-3-Clause */
/* show interfaces, neighbours and routes, over forwarding tables that the real writer filled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apps/fib_diff.h"
#include "apps/fib_text.h"
#include "apps/netns.h"
#include "apps/show.h"
#include "controlplane/sync/sync.h"
#include "shm/fib_writer.h"

enum { LAN, WAN };

static struct bp_shm shm;
static struct bp_show_source source;
static struct bp_fib_writer *writer;
static struct bp_kernel_state kernel;
static struct bp_route kernel_route[16];
static struct bp_neighbour_info kernel_neighbour[16];
static char err[512];

static const uint8_t mac_a[6] = {2, 0, 0, 0, 1, 2}, mac_b[6] = {2, 0, 0, 0, 1, 3};

static struct bp_address address(const char *text)
{
	struct bp_address a = {.family = strchr(text, ':') ? 6 : 4};

	assert_int_equal(inet_pton(a.family == 4 ? AF_INET : AF_INET6, text, a.bytes), 1);
	return a;
}

static struct bp_prefix prefix(const char *text)
{
	struct bp_prefix p;
	bool has_length;

	assert_true(bp_text_to_prefix(text, &p, &has_length));
	return p;
}

static struct bp_interface_info interface(const char *name, uint32_t ifindex, const char *ip)
{
	struct bp_interface_info i = {
		.flags = BP_IF_PRESENT | BP_IF_UP | BP_IF_CARRIER | BP_IF_KERNEL,
		.ifindex = ifindex,
		.mtu = 1500,
		.mac = {2, 0, 0, 0, 0, (uint8_t)ifindex},
		.n_addresses = 1,
		.address[0] = {.address = address(ip), .length = 24},
	};

	snprintf(i.name, sizeof(i.name), "%s", name);
	return i;
}

static int set_up(void **state)
{
	static struct bp_config config;
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	struct bp_interface_info info;

	(void)state;
	memset(&config, 0, sizeof(config));
	config.n_workers = 1;
	config.n_ports = 2; /* in no bridge: they route */
	config.routing = (struct bp_config_routing){
		.routes4 = 64, .routes6 = 64, .neighbours = 64, .nexthops = 64, .groups = 8};

	struct bp_segment *s =
		bp_segment_anonymous(specs, bp_shm_specs(&config, 0, specs), err, sizeof(err));

	if (!s || bp_shm_map(&shm, s, err, sizeof(err)))
		return -1;
	writer = bp_fib_writer_new(&shm.fib, NULL, NULL, err, sizeof(err));
	if (!writer)
		return -1;
	info = interface("lan", 7, "10.0.0.1");
	assert_int_equal(bp_fib_interface_set(writer, LAN, &info), BP_FIB_DONE);
	info = interface("wan", 8, "10.1.0.1");
	assert_int_equal(bp_fib_interface_set(writer, WAN, &info), BP_FIB_DONE);
	source = (struct bp_show_source){.shm = &shm, .mono_ns = 5000000000ull};
	memset(&kernel, 0, sizeof(kernel));
	kernel.route = kernel_route;
	kernel.neighbour = kernel_neighbour;
	kernel.interface[LAN] = interface("lan", 7, "10.0.0.1");
	kernel.interface[WAN] = interface("wan", 8, "10.1.0.1");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	bp_fib_writer_free(writer);
	bp_segment_close(shm.segment);
	return 0;
}

static struct bp_route route(const char *to, const char *via, unsigned interface_number)
{
	struct bp_route r = {.prefix = prefix(to),
		.protocol = 186,
		.metric = 20,
		.n_hops = 1,
		.hop[0] = {.interface = (uint8_t)interface_number, .weight = 1}};

	if (via)
		r.hop[0].gateway = address(via);
	return r;
}

static struct bp_route of_type(const char *to, enum bp_route_type type)
{
	return (struct bp_route){.prefix = prefix(to), .type = (uint8_t)type, .protocol = 3};
}

static void put(const struct bp_route *r)
{
	assert_int_equal(bp_fib_route_set(writer, r), BP_FIB_DONE);
}

static void put_neighbour(const char *ip, unsigned interface_number, const uint8_t mac[6],
	enum bp_neighbour_state state)
{
	struct bp_address a = address(ip);

	assert_int_equal(
		bp_fib_neighbour_set(writer, interface_number, &a, mac, state), BP_FIB_DONE);
}

static char *routes_text(bool json, bool compact)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_int_equal(bp_show_routes.write(&source, json, compact, out, err, sizeof(err)), 0);
	fclose(out);
	return text;
}

static void assert_routes(const char *expected)
{
	char *text = routes_text(false, false);

	assert_string_equal(text, expected);
	free(text);
}

static char *view_text(const struct bp_show_view *view)
{
	json_t *v = view->collect(&source, err, sizeof(err));
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(v);
	view->print(v, false, out);
	fclose(out);
	json_decref(v);
	return text;
}

static void put_some_routes(void)
{
	struct bp_route r = route("2001:db8::/32", "fe80::9", WAN);

	put(&r);
	r = route("10.9.0.0/16", "10.1.0.2", WAN);
	put(&r);
	r = route("10.0.0.0/24", NULL, LAN);
	r.protocol = 2;
	r.metric = 0;
	put(&r);
	r = of_type("10.0.0.1/32", BP_ROUTE_LOCAL);
	put(&r);
	r = of_type("10.9.0.0/24", BP_ROUTE_BLACKHOLE);
	put(&r);
	r = route("0.0.0.0/0", "10.1.0.2", WAN);
	r.n_hops = 2;
	r.hop[1] = r.hop[0];
	r.hop[1].gateway = address("10.1.0.3");
	r.hop[1].weight = 3;
	put(&r);
	r = route("172.16.0.0/12", "10.1.0.2", WAN);
	r.origin = BP_ORIGIN_STATIC;
	r.protocol = 0;
	r.metric = 0;
	put(&r);
}

static void routes_as_ip_writes_them(void **state)
{
	(void)state;
	put_some_routes();
	assert_routes("0.0.0.0/0 proto bgp metric 20\n"
		      "\tnexthop via 10.1.0.2 dev wan weight 1\n"
		      "\tnexthop via 10.1.0.3 dev wan weight 3\n"
		      "10.0.0.0/24 dev lan proto kernel\n"
		      "local 10.0.0.1 proto boot\n"
		      "10.9.0.0/16 via 10.1.0.2 dev wan proto bgp metric 20\n"
		      "blackhole 10.9.0.0/24 proto boot\n"
		      "172.16.0.0/12 via 10.1.0.2 dev wan origin static\n"
		      "2001:db8::/32 via fe80::9 dev wan proto bgp metric 20\n");
	source.filter.family = 6;
	assert_routes("2001:db8::/32 via fe80::9 dev wan proto bgp metric 20\n");
	source.filter = (struct bp_fib_filter){.within = prefix("10.9.0.0/16")};
	assert_routes("10.9.0.0/16 via 10.1.0.2 dev wan proto bgp metric 20\n"
		      "blackhole 10.9.0.0/24 proto boot\n");
	source.filter.within = prefix("10.9.0.0/17");
	assert_routes("blackhole 10.9.0.0/24 proto boot\n");
	source.filter.within = prefix("192.0.2.0/24");
	assert_routes("no routes\n");
}

static void routes_of_next_hop_objects(void **state)
{
	struct bp_hop hop = {.gateway = address("fe80::2"), .interface = WAN, .weight = 1};
	struct bp_route r = {.prefix = prefix("10.2.0.0/16"), .object = 5, .protocol = 11};

	(void)state;
	assert_int_equal(bp_fib_object_set(writer, 5, BP_ROUTE_UNICAST, &hop, 1), BP_FIB_DONE);
	put(&r);
	assert_routes("10.2.0.0/16 nhid 5 via inet6 fe80::2 dev wan proto zebra\n");
}

static void routes_as_json(void **state)
{
	char *text;
	json_t *v, *r, *hops;

	(void)state;
	put_some_routes();
	for (int compact = 0; compact < 2; compact++) {
		text = routes_text(true, compact);
		v = json_loads(text, 0, NULL);
		assert_non_null(v);
		assert_int_equal(strchr(text, '\n') == text + strlen(text) - 1, compact);
		assert_int_equal(json_integer_value(json_object_get(v, "total")), 7);
		assert_int_equal(json_array_size(json_object_get(v, "routes")), 7);
		r = json_array_get(json_object_get(v, "routes"), 0);
		assert_string_equal(json_string_value(json_object_get(r, "prefix")), "0.0.0.0/0");
		assert_string_equal(json_string_value(json_object_get(r, "type")), "unicast");
		assert_string_equal(json_string_value(json_object_get(r, "protocol")), "bgp");
		assert_string_equal(json_string_value(json_object_get(r, "origin")), "kernel");
		assert_int_equal(json_integer_value(json_object_get(r, "metric")), 20);
		hops = json_object_get(r, "nexthops");
		assert_int_equal(json_array_size(hops), 2);
		assert_string_equal(
			json_string_value(json_object_get(json_array_get(hops, 1), "via")),
			"10.1.0.3");
		assert_int_equal(
			json_integer_value(json_object_get(json_array_get(hops, 1), "weight")), 3);
		json_decref(v);
		free(text);
	}
	source.filter.within = prefix("192.0.2.0/24");
	text = routes_text(true, false);
	v = json_loads(text, 0, NULL);
	assert_int_equal(json_array_size(json_object_get(v, "routes")), 0);
	assert_true(json_is_array(json_object_get(v, "routes")));
	json_decref(v);
	free(text);
}

static void one_address_as_a_worker_finds_it(void **state)
{
	(void)state;
	put_some_routes();
	put_neighbour("10.1.0.2", WAN, mac_a, BP_NEIGHBOUR_REACHABLE);
	put_neighbour("10.0.0.9", LAN, mac_b, BP_NEIGHBOUR_REACHABLE);
	source.address = address("10.9.1.1");
	assert_routes("10.9.1.1: 10.9.0.0/16 via 10.1.0.2 dev wan proto bgp metric 20\n"
		      "\tforward via 10.1.0.2 dev wan lladdr 02:00:00:00:01:02\n");
	source.address = address("10.9.0.1");
	assert_routes("10.9.0.1: blackhole 10.9.0.0/24 proto boot\n\tdrop, as blackhole\n");
	source.address = address("10.0.0.9");
	assert_routes("10.0.0.9: 10.0.0.0/24 dev lan proto kernel\n"
		      "\tforward dev lan lladdr 02:00:00:00:01:03\n");
	source.address = address("10.0.0.10");
	assert_routes("10.0.0.10: 10.0.0.0/24 dev lan proto kernel\n"
		      "\tto the kernel, which finds the neighbour dev lan\n");
	source.address = address("8.8.8.8");
	assert_routes(
		"8.8.8.8: 0.0.0.0/0 proto bgp metric 20 nexthop via 10.1.0.2 dev wan weight 1 "
		"nexthop via 10.1.0.3 dev wan weight 3\n"
		"\tforward via 10.1.0.2 dev wan lladdr 02:00:00:00:01:02 share 64/256\n"
		"\tto the kernel, which finds the neighbour via 10.1.0.3 dev wan share "
		"192/256\n");
	source.address = address("2001:db9::1");
	assert_routes("2001:db9::1: no route\n\tno route\n");
}

static void neighbours_are_listed_in_order(void **state)
{
	char *text;

	(void)state;
	put_neighbour("10.1.0.20", WAN, mac_b, BP_NEIGHBOUR_PERMANENT);
	put_neighbour("fe80::2", WAN, mac_a, BP_NEIGHBOUR_REACHABLE);
	put_neighbour("10.1.0.3", WAN, mac_a, BP_NEIGHBOUR_REACHABLE);
	put_neighbour("10.9.0.2", LAN, mac_a, BP_NEIGHBOUR_REACHABLE);
	text = view_text(&bp_show_neighbours);
	assert_string_equal(text,
		"ADDRESS    INTERFACE  MAC                STATE      USED-S-AGO\n"
		"10.9.0.2   lan        02:00:00:00:01:02  reachable           -\n"
		"10.1.0.3   wan        02:00:00:00:01:02  reachable           -\n"
		"10.1.0.20  wan        02:00:00:00:01:03  static              -\n"
		"fe80::2    wan        02:00:00:00:01:02  reachable           -\n");
	free(text);
	source.filter.family = 6;
	text = view_text(&bp_show_neighbours);
	assert_null(strstr(text, "10.1.0.3"));
	assert_non_null(strstr(text, "fe80::2"));
	free(text);
}

static void a_neighbour_was_used_by_its_next_hop(void **state)
{
	struct bp_route r = route("10.9.0.0/16", "10.1.0.2", WAN);
	struct bp_address dst = address("10.9.0.1");
	char *text;

	(void)state;
	put_neighbour("10.1.0.2", WAN, mac_a, BP_NEIGHBOUR_REACHABLE);
	put(&r);
	source.mono_ns = 1000000000000ull;
	atomic_store(&shm.fib.nexthops[bp_fib_lookup(&shm.fib, &dst)].used_s, 958);
	text = view_text(&bp_show_neighbours);
	assert_non_null(strstr(text, "reachable          42\n"));
	free(text);
}

static void interfaces_and_how_full_the_tables_are(void **state)
{
	struct bp_interface_info info = interface("wan", 8, "10.1.0.1");
	char *text;
	json_t *v;

	(void)state;
	info.flags = BP_IF_PRESENT;
	info.ifindex = 0;
	info.address[info.n_addresses++] =
		(struct bp_interface_address){.address = address("fd00::1"), .length = 64};
	assert_int_equal(bp_fib_interface_set(writer, WAN, &info), BP_FIB_DONE);
	put_some_routes();
	text = view_text(&bp_show_interfaces);
	assert_non_null(strstr(text,
		"lan        -             7  02:00:00:00:00:07  1500  up,carrier,kernel           "
		"10.0.0.1/24\n"));
	assert_non_null(strstr(text,
		"wan        -             -  02:00:00:00:00:08  1500  no-up,no-carrier,no-kernel  "
		"10.1.0.1/24 fd00::1/64\n"));
	assert_non_null(strstr(text, "\ntables: 6 of 64 IPv4 routes, 1 of 64 IPv6 routes, "));
	assert_null(strstr(text, "warning"));
	free(text);
	v = bp_show_interfaces.collect(&source, err, sizeof(err));
	assert_int_equal(json_integer_value(json_object_get(
				 json_object_get(json_object_get(v, "tables"), "routes4"), "used")),
		6);
	json_decref(v);
}

static void planes_tell_of_the_mirror(void **state)
{
	struct bp_shm_global *g = shm.global;
	char *text;

	(void)state;
	atomic_store(&g->cp_sync_state, BP_SYNC_SYNCED);
	atomic_store(&g->cp_sync_events, 12);
	atomic_store(&g->cp_sync_resyncs, 2);
	atomic_store(&g->cp_sync_overruns, 1);
	atomic_store(&g->cp_sync_loaded_ns, 1234567);
	text = view_text(&bp_show_planes);
	assert_non_null(strstr(text,
		"sync      synced, events 12, resyncs 2, overruns 1, load_us 1234, unmirrored 0, "
		"probes 0, refused 0\n"));
	free(text);
	atomic_store(&g->cp_sync_state, 77);
	text = view_text(&bp_show_planes);
	assert_non_null(strstr(text, "sync      unknown, "));
	free(text);
}

static void what_found_no_room_is_said(void **state)
{
	char *text;

	(void)state;
	for (unsigned i = 0; i < 66; i++) {
		struct bp_route r = of_type("10.0.0.0/24", BP_ROUTE_BLACKHOLE);

		r.prefix.bytes[2] = (uint8_t)i;
		assert_int_equal(bp_fib_route_set(writer, &r), i < 64 ? BP_FIB_DONE : BP_FIB_FULL);
	}
	text = view_text(&bp_show_interfaces);
	assert_non_null(strstr(text, "warning: there is no room for 2 more IPv4 routes"));
	free(text);
	text = routes_text(false, false);
	assert_non_null(strstr(text, "warning: there is no room for 2 more IPv4 routes"));
	free(text);
}

/* ---- --diff ---- */

static char *diff_text(const struct bp_show_view *view)
{
	struct bp_fib_diff d = {0};
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_true(view->diff(&source, &kernel, &d));
	bp_fib_diff_print(&d, view->name, out);
	fclose(out);
	bp_fib_diff_free(&d);
	return text;
}

static void assert_diff(const struct bp_show_view *view, const char *expected)
{
	char *text = diff_text(view);

	assert_string_equal(text, expected);
	free(text);
}

static void equal_routes_do_not_differ(void **state)
{
	struct bp_route *k = kernel_route;

	(void)state;
	put_some_routes();
	k[0] = route("0.0.0.0/0", "10.1.0.3", WAN); /* the same hops the other way round */
	k[0].hop[0].weight = 3;
	k[0].n_hops = 2;
	k[0].hop[1] = (struct bp_hop){address("10.1.0.2"), WAN, 1};
	k[1] = route("10.0.0.0/24", NULL, LAN);
	k[1].protocol = 2;
	k[1].metric = 0;
	k[2] = of_type("10.0.0.1/32", BP_ROUTE_LOCAL);
	k[3] = route("10.9.0.0/16", "10.1.0.2", WAN);
	k[3].hop[0].weight = 7; /* of a single hop */
	k[4] = of_type("10.9.0.0/24", BP_ROUTE_BLACKHOLE);
	k[5] = of_type("172.16.0.0/12", BP_ROUTE_UNREACHABLE); /* a static one stands before it */
	k[6] = route("2001:db8::/32", "fe80::9", WAN);
	kernel.n_routes = 7;
	assert_diff(&bp_show_routes, "no difference: 6 routes as in the kernel, 1 static\n");
	/* nor when only a part is compared */
	source.filter.family = 6;
	assert_diff(&bp_show_routes, "no difference: 1 routes as in the kernel, 0 static\n");
	source.filter = (struct bp_fib_filter){.within = prefix("10.9.0.0/16")};
	assert_diff(&bp_show_routes, "no difference: 2 routes as in the kernel, 0 static\n");
}

static void every_kind_of_difference_of_routes(void **state)
{
	struct bp_route *k = kernel_route, r;

	(void)state;
	r = route("10.2.0.0/16", "10.1.0.2", WAN);
	put(&r);
	r = route("10.3.0.0/16", "10.1.0.2", WAN);
	put(&r);
	r = route("10.4.0.0/16", "10.1.0.2", WAN);
	put(&r);
	k[0] = route("10.1.0.0/16", "10.1.0.3", WAN);
	k[1] = route("10.2.0.0/16", "10.1.0.3", WAN);
	k[2] = route("10.3.0.0/16", "10.1.0.2", WAN);
	k[2].metric = 30;
	k[3] = of_type("10.5.0.0/16", BP_ROUTE_PROHIBIT);
	kernel.n_routes = 4;
	assert_diff(&bp_show_routes,
		"- kernel only: 10.1.0.0/16 via 10.1.0.3 dev wan proto bgp metric 20\n"
		"~ differs: kernel 10.2.0.0/16 via 10.1.0.3 dev wan proto bgp metric 20; biplane "
		"10.2.0.0/16 via 10.1.0.2 dev wan proto bgp metric 20\n"
		"~ differs: kernel 10.3.0.0/16 via 10.1.0.2 dev wan proto bgp metric 30; biplane "
		"10.3.0.0/16 via 10.1.0.2 dev wan proto bgp metric 20\n"
		"+ biplane only: 10.4.0.0/16 via 10.1.0.2 dev wan proto bgp metric 20\n"
		"- kernel only: prohibit 10.5.0.0/16 proto boot\n"
		"5 differences, 0 routes as in the kernel, 0 static\n");
}

static struct bp_neighbour_info neighbour(
	const char *ip, unsigned interface_number, const uint8_t mac[6])
{
	struct bp_neighbour_info n = {.address = address(ip),
		.interface = (uint8_t)interface_number,
		.state = BP_NEIGHBOUR_REACHABLE};

	memcpy(n.mac, mac, sizeof(n.mac));
	return n;
}

static void differences_of_neighbours(void **state)
{
	struct bp_neighbour_info *k = kernel_neighbour;

	(void)state;
	put_neighbour("10.0.0.2", LAN, mac_a, BP_NEIGHBOUR_REACHABLE);
	put_neighbour("10.0.0.3", LAN, mac_a, BP_NEIGHBOUR_REACHABLE);
	put_neighbour("10.1.0.2", WAN, mac_a, BP_NEIGHBOUR_PERMANENT);
	put_neighbour("10.1.0.3", WAN, mac_a, BP_NEIGHBOUR_PERMANENT);
	k[0] = neighbour("10.0.0.2", LAN, mac_a);
	k[1] = neighbour("10.0.0.3", LAN, mac_a);
	k[2] = neighbour("10.0.0.4", LAN, mac_a);
	k[2].state = BP_NEIGHBOUR_FAILED;
	k[3] = neighbour("10.1.0.3", WAN, mac_b); /* the file says otherwise */
	kernel.n_neighbours = 4;
	assert_diff(
		&bp_show_neighbours, "no difference: 2 neighbours as in the kernel, 2 static\n");

	memcpy(k[1].mac, mac_b, sizeof(mac_b));
	k[2].state = BP_NEIGHBOUR_REACHABLE;
	k++;
	kernel.neighbour = k;
	kernel.n_neighbours = 3;
	assert_diff(&bp_show_neighbours,
		"+ biplane only: 10.0.0.2 dev lan lladdr 02:00:00:00:01:02\n"
		"~ differs: 10.0.0.3 dev lan: kernel lladdr 02:00:00:00:01:03; biplane lladdr "
		"02:00:00:00:01:02\n"
		"- kernel only: 10.0.0.4 dev lan lladdr 02:00:00:00:01:02\n"
		"3 differences, 0 neighbours as in the kernel, 2 static\n");
}

static void differences_of_interfaces(void **state)
{
	struct bp_interface_info *wan = &kernel.interface[WAN];
	struct bp_interface_info off = interface("off", 0, "10.5.0.1");

	(void)state;
	off.flags = BP_IF_PRESENT | BP_IF_UP; /* kernel: off */
	assert_int_equal(bp_fib_interface_set(writer, 2, &off), BP_FIB_DONE);
	assert_diff(
		&bp_show_interfaces, "no difference: 2 interfaces as in the kernel, 1 static\n");
	wan->flags &= ~BP_IF_UP;
	wan->mtu = 1400;
	wan->mac[5] = 9;
	wan->ifindex = 9;
	wan->address[0].length = 16;
	assert_diff(&bp_show_interfaces,
		"~ differs: interface wan: kernel down,carrier; biplane up,carrier\n"
		"~ differs: interface wan: kernel ifindex 9; biplane ifindex 8\n"
		"~ differs: interface wan: kernel mtu 1400; biplane mtu 1500\n"
		"~ differs: interface wan: kernel mac 02:00:00:00:00:09; biplane mac "
		"02:00:00:00:00:08\n"
		"- kernel only: interface wan: address 10.1.0.1/16\n"
		"+ biplane only: interface wan: address 10.1.0.1/24\n"
		"6 differences, 1 interfaces as in the kernel, 1 static\n");
	memset(wan, 0, sizeof(*wan));
	kernel.interface[3] = interface("new", 10, "10.6.0.1");
	assert_diff(&bp_show_interfaces,
		"+ biplane only: interface wan\n"
		"- kernel only: interface new\n"
		"2 differences, 1 interfaces as in the kernel, 1 static\n");
}

static void what_one_look_alone_sees_is_under_way(void **state)
{
	struct bp_fib_diff before = {0}, now = {0};

	(void)state;
	assert_true(bp_fib_diff_add(&before, BP_DIFF_KERNEL_ONLY, strdup("gone")));
	assert_true(bp_fib_diff_add(&before, BP_DIFF_BIPLANE_ONLY, strdup("stays")));
	assert_true(bp_fib_diff_add(&before, BP_DIFF_KERNEL_ONLY, strdup("turns")));
	assert_true(bp_fib_diff_add(&now, BP_DIFF_BOTH, strdup("new")));
	assert_true(bp_fib_diff_add(&now, BP_DIFF_BIPLANE_ONLY, strdup("stays")));
	assert_true(bp_fib_diff_add(&now, BP_DIFF_BIPLANE_ONLY, strdup("turns")));
	bp_fib_diff_keep_common(&now, &before);
	assert_int_equal(now.n, 1);
	assert_string_equal(now.difference[0].text, "stays");

	json_t *j = bp_fib_diff_json(&now);

	assert_true(json_is_false(json_object_get(j, "equal")));
	assert_int_equal(json_array_size(json_object_get(j, "differences")), 1);
	json_decref(j);
	bp_fib_diff_free(&before);
	bp_fib_diff_free(&now);
}

/* ---- parts ---- */

static void prefixes_are_read_and_written(void **state)
{
	static const char *const bad[] = {"", "10", "10.0.0", "10.0.0.0/", "10.0.0.0/33",
		"10.0.0.0/+8", "10.0.0.0/8x", "::/129", "2001:db8::/ 8", "x", "10.0.0.0/8/8",
		"1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc"};
	char text[BP_TEXT_PREFIX];
	struct bp_prefix p;
	bool has_length;

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(bp_text_to_prefix(bad[i], &p, &has_length));
	assert_true(bp_text_to_prefix("10.1.2.3/8", &p, &has_length));
	assert_true(has_length);
	bp_text_prefix(&p, text);
	assert_string_equal(text, "10.0.0.0/8");
	assert_true(bp_text_to_prefix("2001:db8::1", &p, &has_length));
	assert_false(has_length);
	bp_text_prefix(&p, text);
	assert_string_equal(text, "2001:db8::1/128");
}

/* The longest line that there can be is whole. */
static void the_longest_route_fits(void **state)
{
	struct bp_interface_names names;
	char text[BP_TEXT_ROUTE];
	struct bp_route r = {.prefix = prefix("ffff:ffff:ffff:ffff:ffff:ffff:ffff:0/112"),
		.type = BP_ROUTE_UNREACHABLE,
		.origin = BP_ORIGIN_STATIC,
		.protocol = 255,
		.metric = UINT32_MAX,
		.object = UINT32_MAX,
		.n_hops = BP_HOPS_MAX};

	(void)state;
	memset(&names, 'x', sizeof(names));
	names.name[0][BP_NAME_MAX] = 0;
	for (unsigned h = 0; h < BP_HOPS_MAX; h++)
		r.hop[h] = (struct bp_hop){
			address("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"), 0, UINT16_MAX};
	bp_text_route(&r, &names, "\n\t", text);
	assert_true(strlen(text) < BP_TEXT_ROUTE - 1);
	assert_string_equal(text + strlen(text) - strlen(" weight 65535"), " weight 65535");
}

static void names_from_the_segment_are_made_plain(void **state)
{
	struct bp_interface_info info = interface("a\033[2Jb\n", 7, "10.0.0.1");
	struct bp_route r = route("10.9.0.0/16", "10.1.0.2", LAN);

	(void)state;
	bp_fib_interface_set(writer, LAN, &info);
	put(&r);
	assert_routes("10.9.0.0/16 via 10.1.0.2 dev a?[2Jb? proto bgp metric 20\n");
}

static void network_namespaces_are_told_apart(void **state)
{
	pid_t gone = fork();

	(void)state;
	if (gone == 0)
		_exit(0);
	waitpid(gone, NULL, 0);
	assert_int_equal(bp_netns_of((uint64_t)getpid()), BP_NETNS_SAME);
	assert_int_equal(bp_netns_of((uint64_t)gone), BP_NETNS_GONE);
	assert_int_equal(bp_netns_of(0), BP_NETNS_GONE);
	assert_int_equal(bp_netns_of(UINT64_MAX), BP_NETNS_GONE);
}

/* A segment of a gateway that only bridges. */
static void nothing_routes(void **state)
{
	static struct bp_config config;
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	struct bp_shm bridged;
	struct bp_segment *s;
	char *text;

	(void)state;
	config.n_workers = 1;
	config.n_ports = 2;
	config.n_bridges = 1;
	config.bridge[0].n = 2;
	config.bridge[0].port[1] = 1;
	s = bp_segment_anonymous(specs, bp_shm_specs(&config, 0, specs), err, sizeof(err));
	assert_non_null(s);
	assert_int_equal(bp_shm_map(&bridged, s, err, sizeof(err)), 0);
	source.shm = &bridged;
	assert_routes("nothing routes: all ports are in bridges\n");
	source.address = address("10.0.0.1");
	assert_routes("10.0.0.1: no route\n");
	text = view_text(&bp_show_interfaces);
	assert_string_equal(text, "no interfaces: nothing routes\n");
	free(text);
	text = view_text(&bp_show_planes);
	assert_null(strstr(text, "sync"));
	free(text);
	text = view_text(&bp_show_neighbours);
	assert_string_equal(text, "no neighbours\n");
	free(text);
	memset(&kernel, 0, sizeof(kernel));
	source.address.family = 0;
	assert_diff(&bp_show_routes, "no difference: 0 routes as in the kernel, 0 static\n");
	assert_diff(
		&bp_show_neighbours, "no difference: 0 neighbours as in the kernel, 0 static\n");
	assert_diff(
		&bp_show_interfaces, "no difference: 0 interfaces as in the kernel, 0 static\n");
	bp_segment_close(s);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(routes_as_ip_writes_them),
		CASE(routes_of_next_hop_objects),
		CASE(routes_as_json),
		CASE(one_address_as_a_worker_finds_it),
		CASE(neighbours_are_listed_in_order),
		CASE(a_neighbour_was_used_by_its_next_hop),
		CASE(interfaces_and_how_full_the_tables_are),
		CASE(planes_tell_of_the_mirror),
		CASE(what_found_no_room_is_said),
		CASE(equal_routes_do_not_differ),
		CASE(every_kind_of_difference_of_routes),
		CASE(differences_of_neighbours),
		CASE(differences_of_interfaces),
		CASE(what_one_look_alone_sees_is_under_way),
		cmocka_unit_test(prefixes_are_read_and_written),
		cmocka_unit_test(the_longest_route_fits),
		CASE(names_from_the_segment_are_made_plain),
		cmocka_unit_test(network_namespaces_are_told_apart),
		CASE(nothing_routes),
	};

	return cmocka_run_group_tests_name("show_fib", tests, NULL, NULL);
}
