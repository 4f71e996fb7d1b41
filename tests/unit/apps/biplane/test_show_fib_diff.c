/* SPDX-License-Identifier: BSD-3-Clause */
/* show --diff: where the tables and the kernel differ; and what no one routes. */
#include "fib_view.h"

#include "apps/biplane/show/status_view.h"
#include "apps/biplane/show/fib_diff.h"

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
	k[5] = of_type("172.16.0.0/12", BP_ROUTE_UNREACHABLE); /* a static route has precedence */
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

static struct bp_neighbor_info neighbor(
	const char *ip, unsigned interface_number, const uint8_t mac[6])
{
	struct bp_neighbor_info n = {.address = address(ip),
		.interface = (uint8_t)interface_number,
		.state = BP_NEIGHBOR_REACHABLE};

	memcpy(n.mac, mac, sizeof(n.mac));
	return n;
}

static void differences_of_neighbors(void **state)
{
	struct bp_neighbor_info *k = kernel_neighbor;

	(void)state;
	put_neighbor("10.0.0.2", LAN, mac_a, BP_NEIGHBOR_REACHABLE);
	put_neighbor("10.0.0.3", LAN, mac_a, BP_NEIGHBOR_REACHABLE);
	put_neighbor("10.1.0.2", WAN, mac_a, BP_NEIGHBOR_PERMANENT);
	put_neighbor("10.1.0.3", WAN, mac_a, BP_NEIGHBOR_PERMANENT);
	k[0] = neighbor("10.0.0.2", LAN, mac_a);
	k[1] = neighbor("10.0.0.3", LAN, mac_a);
	k[2] = neighbor("10.0.0.4", LAN, mac_a);
	k[2].state = BP_NEIGHBOR_FAILED;
	k[3] = neighbor("10.1.0.3", WAN, mac_b); /* the file says otherwise */
	kernel.n_neighbors = 4;
	assert_diff(&bp_show_neighbors, "no difference: 2 neighbors as in the kernel, 2 static\n");

	memcpy(k[1].mac, mac_b, sizeof(mac_b));
	k[2].state = BP_NEIGHBOR_REACHABLE;
	k++;
	kernel.neighbor = k;
	kernel.n_neighbors = 3;
	assert_diff(&bp_show_neighbors,
		"+ biplane only: 10.0.0.2 dev lan lladdr 02:00:00:00:01:02\n"
		"~ differs: 10.0.0.3 dev lan: kernel lladdr 02:00:00:00:01:03; biplane lladdr "
		"02:00:00:00:01:02\n"
		"- kernel only: 10.0.0.4 dev lan lladdr 02:00:00:00:01:02\n"
		"3 differences, 0 neighbors as in the kernel, 2 static\n");
}

static void differences_of_interfaces(void **state)
{
	struct bp_interface_info *wan = &kernel.interface[WAN];
	struct bp_interface_info off = interface("off", 0, "10.5.0.1");

	(void)state;
	off.flags = BP_IF_PRESENT | BP_IF_UP; /* host_interface.backend: off */
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

	json_t *view = bp_fib_diff_json(&now), *j = view;

	assert_true(json_is_false(json_object_get(j, "equal")));
	j = json_object_get(j, "differences");
	assert_int_equal(json_array_size(j), 1);
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(j, 0), "kind")), "biplane_only");
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(j, 0), "entry")), "stays");
	json_decref(view);
	bp_fib_diff_free(&before);
	bp_fib_diff_free(&now);
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
	s = bp_segment_anonymous(specs, bp_shm_specs(&config, specs), err, sizeof(err));
	assert_non_null(s);
	assert_int_equal(bp_shm_map(&bridged, s, err, sizeof(err)), 0);
	source.shm = &bridged;
	assert_routes("no routes: all ports are in bridges\n");
	source.address = address("10.0.0.1");
	assert_routes("10.0.0.1: no route\n");
	text = view_text(&bp_show_interfaces);
	assert_string_equal(text, "no routed interfaces\n");
	free(text);
	text = view_text(&bp_status_view);
	assert_null(strstr(text, "sync"));
	free(text);
	text = view_text(&bp_show_neighbors);
	assert_string_equal(text, "no neighbors\n");
	free(text);
	memset(&kernel, 0, sizeof(kernel));
	source.address.family = 0;
	assert_diff(&bp_show_routes, "no difference: 0 routes as in the kernel, 0 static\n");
	assert_diff(&bp_show_neighbors, "no difference: 0 neighbors as in the kernel, 0 static\n");
	assert_diff(
		&bp_show_interfaces, "no difference: 0 interfaces as in the kernel, 0 static\n");
	bp_segment_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(equal_routes_do_not_differ),
		CASE(every_kind_of_difference_of_routes),
		CASE(differences_of_neighbors),
		CASE(differences_of_interfaces),
		CASE(what_one_look_alone_sees_is_under_way),
		CASE(nothing_routes),
	};

	return cmocka_run_group_tests_name("show_fib_diff", tests, NULL, NULL);
}
