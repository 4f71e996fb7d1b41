/* SPDX-License-Identifier: BSD-3-Clause */
/* show interfaces, neighbors and routes, over forwarding tables that the real writer filled. */
#include "apps/biplane/show/status_view.h"
#include "fib_view.h"

#include <sys/wait.h>
#include <unistd.h>

#include "apps/biplane/netns.h"

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
	source.limit = 1;
	assert_routes("0.0.0.0/0 proto bgp metric 20\n"
		      "\tnexthop via 10.1.0.2 dev wan weight 1\n"
		      "\tnexthop via 10.1.0.3 dev wan weight 3\n"
		      "\n1 of 7 routes; -n 0 shows all\n");
	source.limit = 0;
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
	source.limit = 2;
	text = routes_text(true, true);
	v = json_loads(text, 0, NULL);
	assert_int_equal(json_integer_value(json_object_get(v, "total")), 7);
	assert_int_equal(json_array_size(json_object_get(v, "routes")), 2);
	json_decref(v);
	free(text);
	source.limit = 0;
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

static void routes_of_vrfs(void **state)
{
	const struct bp_vrf_info blue = {.table = 10, .name = "blue"}, unnamed = {.table = 20};
	struct bp_route r = {.prefix = prefix("10.2.0.0/16"),
		.protocol = 4,
		.n_hops = 1,
		.hop = {{.interface = LAN, .weight = 1}}};
	struct bp_fib_filter filter;

	(void)state;
	assert_int_equal(bp_fib_vrf_set(writer, 1, &blue), BP_FIB_DONE);
	assert_int_equal(bp_fib_vrf_set(writer, 2, &unnamed), BP_FIB_DONE);
	r.prefix.vrf = 1;
	put(&r);
	r.hop[0].interface = WAN;
	r.prefix.vrf = 2;
	put(&r);
	r.prefix.vrf = BP_VRF_MAIN;
	put(&r);
	assert_routes("10.2.0.0/16 dev wan proto static\n"
		      "10.2.0.0/16 dev lan vrf blue proto static\n"
		      "10.2.0.0/16 dev wan vrf vrf2 proto static\n");
	source.vrf = "blue";
	assert_routes("10.2.0.0/16 dev lan vrf blue proto static\n");
	source.address = address("10.2.0.9");
	assert_routes("10.2.0.9: 10.2.0.0/16 dev lan vrf blue proto static\n"
		      "\tpunt (no_neighbor) dev lan\n");
	source.vrf = NULL;
	assert_routes("10.2.0.9: 10.2.0.0/16 dev wan proto static\n\tpunt (no_neighbor) dev wan\n");
	source.address.family = 0;
	source.vrf = "main";
	assert_routes("10.2.0.0/16 dev wan proto static\n");
	source.vrf = "vrf";
	assert_false(bp_show_routes_filter(&source, &filter, err, sizeof(err)));
	assert_non_null(strstr(err, "no VRF 'vrf'"));
	source.vrf = "";
	assert_false(bp_show_routes_filter(&source, &filter, err, sizeof(err)));
	source.vrf = NULL;
}

static void one_address_as_a_worker_finds_it(void **state)
{
	(void)state;
	put_some_routes();
	put_neighbor("10.1.0.2", WAN, mac_a, BP_NEIGHBOR_REACHABLE);
	put_neighbor("10.0.0.9", LAN, mac_b, BP_NEIGHBOR_REACHABLE);
	source.address = address("10.9.1.1");
	assert_routes("10.9.1.1: 10.9.0.0/16 via 10.1.0.2 dev wan proto bgp metric 20\n"
		      "\tforward via 10.1.0.2 dev wan lladdr 02:00:00:00:01:02\n");
	source.address = address("10.9.0.1");
	assert_routes("10.9.0.1: blackhole 10.9.0.0/24 proto boot\n\tdrop (blackhole)\n");
	source.address = address("10.0.0.9");
	assert_routes("10.0.0.9: 10.0.0.0/24 dev lan proto kernel\n"
		      "\tforward dev lan lladdr 02:00:00:00:01:03\n");
	source.address = address("10.0.0.10");
	assert_routes("10.0.0.10: 10.0.0.0/24 dev lan proto kernel\n"
		      "\tpunt (no_neighbor) dev lan\n");
	source.address = address("8.8.8.8");
	assert_routes(
		"8.8.8.8: 0.0.0.0/0 proto bgp metric 20 nexthop via 10.1.0.2 dev wan weight 1 "
		"nexthop via 10.1.0.3 dev wan weight 3\n"
		"\tforward via 10.1.0.2 dev wan lladdr 02:00:00:00:01:02 share 64/256\n"
		"\tpunt (no_neighbor) via 10.1.0.3 dev wan share 192/256\n");
	source.address = address("2001:db9::1");
	assert_routes("2001:db9::1: no route\n\tpunt (no_route)\n");
}

static void neighbors_are_listed_in_order(void **state)
{
	char *text;

	(void)state;
	put_neighbor("10.1.0.20", WAN, mac_b, BP_NEIGHBOR_PERMANENT);
	put_neighbor("fe80::2", WAN, mac_a, BP_NEIGHBOR_REACHABLE);
	put_neighbor("10.1.0.3", WAN, mac_a, BP_NEIGHBOR_REACHABLE);
	put_neighbor("10.9.0.2", LAN, mac_a, BP_NEIGHBOR_REACHABLE);
	text = view_text(&bp_show_neighbors);
	assert_string_equal(text,
		"ADDRESS    INTERFACE  MAC                STATE      LAST-USED-S\n"
		"10.9.0.2   lan        02:00:00:00:01:02  reachable            -\n"
		"10.1.0.3   wan        02:00:00:00:01:02  reachable            -\n"
		"10.1.0.20  wan        02:00:00:00:01:03  static               -\n"
		"fe80::2    wan        02:00:00:00:01:02  reachable            -\n");
	free(text);
	source.limit = 2;
	text = view_text(&bp_show_neighbors);
	assert_non_null(strstr(text, "10.1.0.3 "));
	assert_null(strstr(text, "10.1.0.20"));
	assert_non_null(strstr(text, "\n2 of 4 neighbors; -n 0 shows all\n"));
	free(text);
	source.limit = 0;
	source.filter.family = 6;
	text = view_text(&bp_show_neighbors);
	assert_null(strstr(text, "10.1.0.3"));
	assert_non_null(strstr(text, "fe80::2"));
	free(text);
}

static void a_neighbor_was_used_by_its_next_hop(void **state)
{
	struct bp_route r = route("10.9.0.0/16", "10.1.0.2", WAN);
	struct bp_address dst = address("10.9.0.1");
	char *text;

	(void)state;
	put_neighbor("10.1.0.2", WAN, mac_a, BP_NEIGHBOR_REACHABLE);
	put(&r);
	source.mono_ns = 1000000000000ull;
	atomic_store(&shm.fib.nexthops[bp_fib_lookup(&shm.fib, BP_VRF_MAIN, &dst)].used_s, 958);
	text = view_text(&bp_show_neighbors);
	assert_non_null(strstr(text, "reachable           42\n"));
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
	assert_non_null(strstr(text, "lan        -                     7  02:00:00:00:00:07  1500  "
				     "up,carrier,kernel           "
				     "10.0.0.1/24\n"));
	assert_non_null(strstr(text, "wan        -                     -  02:00:00:00:00:08  1500  "
				     "no-up,no-carrier,no-kernel  "
				     "10.1.0.1/24 fd00::1/64\n"));
	assert_non_null(strstr(text, "\ntables: 6 of 64 IPv4 routes, 1 of 64 IPv6 routes, "));
	assert_null(strstr(text, "warning"));
	free(text);
	v = bp_show_interfaces.collect(&source, err, sizeof(err));
	assert_int_equal(
		json_integer_value(json_object_get(
			json_object_get(json_object_get(v, "tables"), "ipv4_routes"), "used")),
		6);
	json_decref(v);
}

static void planes_tell_of_the_mirror(void **state)
{
	struct bp_shm_control *g = shm.control;
	char *text;

	(void)state;
	atomic_store(&g->cp_sync_state, BP_SYNC_SYNCED);
	atomic_store(&g->cp_sync_events, 12);
	atomic_store(&g->cp_sync_resyncs, 2);
	atomic_store(&g->cp_sync_overruns, 1);
	atomic_store(&g->cp_sync_loaded_ns, 1234567);
	text = view_text(&bp_status_view);
	assert_non_null(strstr(text, "netlink    synced, events 12, resyncs 2, overruns 1, load_us "
				     "1234, punted_prefixes 0, "
				     "probes 0, refused 0\n"));
	free(text);
	atomic_store(&g->cp_sync_state, 77);
	text = view_text(&bp_status_view);
	assert_non_null(strstr(text, "netlink    unknown, "));
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
	assert_non_null(strstr(text, "warning: table full, 2 IPv4 routes not installed"));
	free(text);
	text = routes_text(false, false);
	assert_non_null(strstr(text, "warning: table full, 2 IPv4 routes not installed"));
	free(text);
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

static void network_namespaces_are_distinguished(void **state)
{
	pid_t gone = fork();

	(void)state;
	if (gone == 0)
		_exit(0);
	waitpid(gone, NULL, 0);
	assert_int_equal(bp_netns_of((uint64_t)getpid()), BP_NETNS_SAME);
	assert_int_equal(bp_netns_of((uint64_t)gone), BP_NETNS_REMOVED);
	assert_int_equal(bp_netns_of(0), BP_NETNS_REMOVED);
	assert_int_equal(bp_netns_of(UINT64_MAX), BP_NETNS_REMOVED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(routes_as_ip_writes_them),
		CASE(routes_of_next_hop_objects),
		CASE(routes_of_vrfs),
		CASE(routes_as_json),
		CASE(one_address_as_a_worker_finds_it),
		CASE(neighbors_are_listed_in_order),
		CASE(a_neighbor_was_used_by_its_next_hop),
		CASE(interfaces_and_how_full_the_tables_are),
		CASE(planes_tell_of_the_mirror),
		CASE(what_found_no_room_is_said),
		cmocka_unit_test(prefixes_are_read_and_written),
		cmocka_unit_test(the_longest_route_fits),
		CASE(names_from_the_segment_are_made_plain),
		cmocka_unit_test(network_namespaces_are_distinguished),
	};

	return cmocka_run_group_tests_name("show_fib", tests, NULL, NULL);
}
