/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_APPS_BIPLANE_FIB_VIEW_H
#define BP_TESTS_UNIT_APPS_BIPLANE_FIB_VIEW_H

#include <stdlib.h>
#include <string.h>

#include "config/segment.h"
#include "apps/biplane/show/fib_text.h"
#include "apps/biplane/show/show.h"
#include "controlplane/sync/kernel_dump.h"
#include "controlplane/sync/sync.h"
#include "shm/fib/fib_writer.h"
#include "tests/unit/text_address.h"

/* Forwarding tables that the real writer filled, and what views print of them. */

enum { LAN, WAN };

static struct bp_shm shm;
static struct bp_show_source source;
static struct bp_fib_writer *writer;
static struct bp_kernel_state kernel;
static struct bp_route kernel_route[16];
static struct bp_neighbor_info kernel_neighbor[16];
static char err[512];

static const uint8_t mac_a[6] = {2, 0, 0, 0, 1, 2}, mac_b[6] = {2, 0, 0, 0, 1, 3};

static inline struct bp_prefix prefix(const char *text)
{
	struct bp_prefix p;
	bool has_length;

	assert_true(bp_text_to_prefix(text, &p, &has_length));
	return p;
}

static inline struct bp_interface_info interface(const char *name, uint32_t ifindex, const char *ip)
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

static inline int set_up(void **state)
{
	static struct bp_config config;
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	struct bp_interface_info info;

	(void)state;
	memset(&config, 0, sizeof(config));
	config.n_workers = 1;
	config.n_ports = 2; /* in no bridge: they route */
	config.routing = (struct bp_config_routing){.max_ipv4_routes = 64,
		.max_ipv6_routes = 64,
		.max_neighbors = 64,
		.max_nexthops = 64,
		.max_nexthop_groups = 8};

	struct bp_segment *s =
		bp_segment_anonymous(specs, bp_shm_specs(&config, specs), err, sizeof(err));

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
	kernel.neighbor = kernel_neighbor;
	kernel.interface[LAN] = interface("lan", 7, "10.0.0.1");
	kernel.interface[WAN] = interface("wan", 8, "10.1.0.1");
	return 0;
}

static inline int tear_down(void **state)
{
	(void)state;
	bp_fib_writer_free(writer);
	bp_segment_close(shm.segment);
	return 0;
}

static inline struct bp_route route(const char *to, const char *via, unsigned interface_number)
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

static inline struct bp_route of_type(const char *to, enum bp_route_type type)
{
	return (struct bp_route){.prefix = prefix(to), .type = (uint8_t)type, .protocol = 3};
}

static inline void put(const struct bp_route *r)
{
	assert_int_equal(bp_fib_route_set(writer, r), BP_FIB_DONE);
}

static inline void put_neighbor(const char *ip, unsigned interface_number, const uint8_t mac[6],
	enum bp_neighbor_state state)
{
	struct bp_address a = address(ip);

	assert_int_equal(
		bp_fib_neighbor_set(writer, interface_number, &a, mac, state), BP_FIB_DONE);
}

static inline char *routes_text(bool json, bool compact)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_int_equal(bp_show_routes.write(&source, json, compact, out, err, sizeof(err)), 0);
	fclose(out);
	return text;
}

static inline void assert_routes(const char *expected)
{
	char *text = routes_text(false, false);

	assert_string_equal(text, expected);
	free(text);
}

static inline char *view_text(const struct bp_show_view *view)
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

static inline void put_some_routes(void)
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

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
