/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/fib_static.h"

#include <stdio.h>
#include <string.h>

#include "tests/unit/fib_fake/fib_fake.h"
#include "tests/unit/shm/test.h"
#include "tests/unit/text_address.h"

static struct bp_prefix prefix(const char *text, unsigned length)
{
	return bp_prefix_of(address(text), length);
}

static void give(struct bp_config_interface *f, const char *text, uint8_t length)
{
	f->address[f->n_addresses++] =
		(struct bp_interface_address){.address = address(text), .length = length};
}

/* lan 10.0.0.1/24 and fd00::1/64, wan 10.1.0.1/31 with a MAC; a bridge of two with a host. */
static void two_ports(struct bp_config *c)
{
	static const uint8_t mac[6] = {0x02, 0x11, 0x22, 0x33, 0x44, 0x55};

	memset(c, 0, sizeof(*c));
	c->n_ports = 4;
	strcpy(c->port[0].name, "lan");
	strcpy(c->port[1].name, "wan");
	strcpy(c->port[2].name, "a");
	strcpy(c->port[3].name, "b");
	give(&c->port[0].interface, "10.0.0.1", 24);
	give(&c->port[0].interface, "fd00::1", 64);
	give(&c->port[1].interface, "10.1.0.1", 31);
	c->port[1].has_mac = true;
	c->port[1].mtu = 1400;
	memcpy(c->port[1].mac, mac, sizeof(mac));
	c->n_bridges = 1;
	c->bridge[0] =
		(struct bp_config_bridge){.n = 2, .port = {2, 3}, .has_host_interface = true};
	strcpy(c->bridge[0].name, "br");
	give(&c->bridge[0].host_interface, "192.0.2.1", 32);
}

static uint8_t type_of(struct bp_fib_writer *w, const char *text, unsigned length)
{
	struct bp_prefix p = prefix(text, length);
	const struct bp_route *r = fib_fake_route(w, &p, BP_ORIGIN_STATIC);

	return r != NULL ? r->type : 0xff;
}

static void interfaces_and_their_routes(void **state)
{
	struct bp_fib_writer *w = fib_fake_new();
	struct bp_config c;
	char err[256];
	struct bp_prefix p = prefix("10.0.0.0", 24);
	static const uint8_t made_mac[6] = {0x02, 0, 0, 0, 1, 0};

	(void)state;
	two_ports(&c);
	assert_int_equal(bp_fib_static_apply(w, &c, false, NULL, err, sizeof(err)), 0);

	const struct bp_interface_info *lan = fib_fake_interface(w, 0);
	assert_string_equal(lan->name, "lan");
	assert_int_equal(lan->flags, BP_IF_PRESENT | BP_IF_UP | BP_IF_CARRIER);
	assert_int_equal(lan->mtu, 1500);
	assert_int_equal(lan->n_addresses, 3);
	assert_int_equal(fib_fake_interface(w, 1)->mtu, 1400);
	assert_int_equal(fib_fake_interface(w, 2)->flags, 0);
	assert_memory_equal(fib_fake_interface(w, BP_MAX_PORTS)->mac, made_mac, 6);

	assert_int_equal(type_of(w, "10.0.0.0", 24), BP_ROUTE_UNICAST);
	assert_int_equal(fib_fake_route(w, &p, BP_ORIGIN_STATIC)->hop[0].gateway.family, 0);
	assert_int_equal(type_of(w, "10.0.0.1", 32), BP_ROUTE_LOCAL);
	assert_int_equal(type_of(w, "10.0.0.255", 32), BP_ROUTE_LOCAL);
	assert_int_equal(type_of(w, "fd00::", 128), BP_ROUTE_LOCAL);
	assert_int_equal(type_of(w, "fd00::1", 128), BP_ROUTE_LOCAL);
	/* a subnet of two has no broadcast address, a host address no subnet */
	assert_int_equal(type_of(w, "10.1.0.0", 31), BP_ROUTE_UNICAST);
	assert_int_equal(type_of(w, "10.1.0.0", 32), 0xff);
	assert_int_equal(type_of(w, "192.0.2.1", 32), BP_ROUTE_LOCAL);
	/* link-local: RFC 4291's example of the universal bit; no connected route */
	assert_int_equal(type_of(w, "fe80::11:22ff:fe33:4455", 128), BP_ROUTE_LOCAL);
	assert_int_equal(type_of(w, "fe80::", 64), 0xff);
	bp_fib_writer_free(w);
}

static void with_a_kernel_only_those_without(void **state)
{
	struct bp_fib_writer *w = fib_fake_new();
	struct bp_config c;
	char err[256];
	struct bp_fib_link link[BP_MAX_INTERFACES] = {{0}};

	(void)state;
	two_ports(&c);
	c.port[1].interface.backend = BP_BACKEND_OFF;
	link[1] = (struct bp_fib_link){
		.known = true, .up = false, .mac = {2, 0, 0, 0, 0, 9}, .mtu = 9000};
	assert_int_equal(bp_fib_static_apply(w, &c, true, link, err, sizeof(err)), 0);
	assert_int_equal(fib_fake_interface(w, 0)->flags, 0);
	assert_int_equal(fib_fake_interface(w, 1)->flags, BP_IF_PRESENT | BP_IF_UP);
	assert_int_equal(fib_fake_interface(w, 1)->mtu, 9000);
	assert_int_equal(fib_fake_interface(w, 1)->mac[5], 9);
	assert_int_equal(type_of(w, "10.0.0.1", 32), 0xff);
	assert_int_equal(type_of(w, "10.1.0.1", 32), BP_ROUTE_LOCAL);
	/* no one is to learn a MAC that it may not have */
	link[1].known = false;
	assert_int_equal(bp_fib_static_apply(w, &c, true, link, err, sizeof(err)), 0);
	assert_int_equal(fib_fake_interface(w, 1)->flags, BP_IF_PRESENT);
	bp_fib_writer_free(w);
}

static void the_files_routes_and_neighbors(void **state)
{
	struct bp_fib_writer *w = fib_fake_new();
	struct bp_config c;
	char err[256];
	struct bp_prefix p = prefix("10.2.0.0", 16);
	struct bp_address gateway = address("10.1.0.0");
	struct bp_config_static_route routes[2] = {
		{.prefix = p, .type = BP_ROUTE_UNICAST, .hop = {.gateway = gateway}},
		{.prefix = prefix("10.3.0.0", 16), .type = BP_ROUTE_BLACKHOLE},
	};
	struct bp_config_static_neighbor neighbor = {
		.address = gateway, .interface = 1, .mac = {2, 0, 0, 0, 0, 7}};

	(void)state;
	two_ports(&c);
	c.fixed = (struct bp_config_static){
		.n_routes = 2, .n_neighbors = 1, .route = routes, .neighbor = &neighbor};
	assert_int_equal(bp_fib_static_apply(w, &c, false, NULL, err, sizeof(err)), 0);
	/* the gateway is on wan: no port was named */
	assert_int_equal(fib_fake_route(w, &p, BP_ORIGIN_STATIC)->hop[0].interface, 1);
	assert_int_equal(fib_fake_route(w, &p, BP_ORIGIN_STATIC)->hop[0].weight, 1);
	assert_int_equal(type_of(w, "10.3.0.0", 16), BP_ROUTE_BLACKHOLE);
	assert_int_equal(fib_fake_neighbor(w, 1, &gateway)->state, BP_NEIGHBOR_PERMANENT);

	/* again with fewer routes: the missing ones are removed, and no others change */
	c.fixed.n_routes = 1;
	c.fixed.n_neighbors = 0;
	uint64_t before = fib_fake_changes(w);
	assert_int_equal(bp_fib_static_apply(w, &c, false, NULL, err, sizeof(err)), 0);
	assert_int_equal(fib_fake_changes(w) - before, 2);
	assert_int_equal(type_of(w, "10.3.0.0", 16), 0xff);
	assert_int_equal(type_of(w, "10.2.0.0", 16), BP_ROUTE_UNICAST);

	/* an invalid route is reported, the others remain */
	routes[0].hop.gateway = address("203.0.113.1");
	c.fixed.n_routes = 2;
	assert_int_equal(bp_fib_static_apply(w, &c, false, NULL, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "10.2.0.0"));
	assert_int_equal(type_of(w, "10.3.0.0", 16), BP_ROUTE_BLACKHOLE);
	bp_fib_writer_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interfaces_and_their_routes),
		cmocka_unit_test(with_a_kernel_only_those_without),
		cmocka_unit_test(the_files_routes_and_neighbors),
	};

	return cmocka_run_group_tests_name("fib_static", tests, NULL, NULL);
}
