/* SPDX-License-Identifier: BSD-3-Clause */
/* Each change of the forwarding tables, and their limits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/shm/fib/fib_rig.h"
#include "shm/fib/nh_groups.h"

static struct fib_rig x;

static uint64_t unresolved(unsigned interface)
{
	return bp_link_make(BP_LINK_UNRESOLVED, (uint8_t)interface, 0);
}

static enum bp_fib_result neighbor(unsigned interface, const char *a, unsigned mac)
{
	const struct bp_address address = fib_address(a);

	return bp_fib_neighbor_set(x.w, interface, &address, fib_mac(mac), BP_NEIGHBOR_REACHABLE);
}

static enum bp_fib_result route(const char *prefix, unsigned interface, const char *gateway)
{
	const struct bp_route r = fib_route(prefix, interface, gateway);

	return bp_fib_route_set(x.w, &r);
}

static enum bp_fib_result delete (const char *prefix) {
	const struct bp_prefix p = fib_prefix(prefix);

	return bp_fib_route_delete(x.w, &p, BP_ORIGIN_KERNEL);
}

static uint32_t number_of(const char *address)
{
	const struct bp_address a = fib_address(address);

	return bp_fib_lookup(x.f, BP_VRF_MAIN, &a);
}

static int start(void **state)
{
	fib_open(&x, 16, 16, 64, 16, 4);
	return 0;
}

static int end(void **state)
{
	fib_close(&x);
	return 0;
}

static void next_hops_follow_their_neighbor(void **state)
{
	const struct bp_address a = fib_address("10.0.0.1");
	uint32_t number;

	route("20.0.0.0/8", 1, "10.0.0.1");
	assert_int_equal(fib_link(x.f, "20.0.0.1", 0), unresolved(1));
	number = number_of("20.0.0.1");
	neighbor(1, "10.0.0.1", 1);
	assert_int_equal(fib_link(x.f, "20.0.0.1", 0), fib_resolved(1, 1));
	neighbor(2, "10.0.0.1", 3); /* another interface */
	assert_int_equal(fib_link(x.f, "20.0.0.1", 0), fib_resolved(1, 1));
	neighbor(1, "10.0.0.1", 2);
	assert_int_equal(fib_link(x.f, "20.0.0.1", 0), fib_resolved(1, 2));
	bp_fib_neighbor_set(x.w, 1, &a, NULL, BP_NEIGHBOR_FAILED);
	assert_int_equal(fib_link(x.f, "20.0.0.1", 0), unresolved(1));
	assert_int_equal(number_of("20.0.0.1"), number); /* no route was touched */
}

static void a_route_without_gateway_is_connected(void **state)
{
	route("20.0.0.0/8", 3, "");
	assert_int_equal(fib_link(x.f, "20.0.0.1", 0), bp_link_make(BP_LINK_CONNECTED, 3, 0));
	neighbor(3, "20.0.0.1", 1);
	assert_int_equal(fib_link(x.f, "20.0.0.1", 0), bp_link_make(BP_LINK_CONNECTED, 3, 0));
}

static void an_ipv4_route_may_go_by_an_ipv6_gateway(void **state)
{
	neighbor(1, "fe80::1", 7);
	assert_int_equal(route("20.0.0.0/8", 1, "fe80::1"), BP_FIB_DONE);
	assert_int_equal(fib_link(x.f, "20.0.0.1", 0), fib_resolved(1, 7));
	assert_int_equal(route("2001:db8::/32", 1, "10.0.0.1"), BP_FIB_INVALID);
}

static void routes_that_lead_the_same_way_share_a_next_hop(void **state)
{
	route("20.0.0.0/8", 1, "10.0.0.1");
	route("30.0.0.0/8", 1, "10.0.0.1");
	route("40.0.0.0/8", 1, "10.0.0.2");
	assert_int_equal(number_of("20.0.0.1"), number_of("30.0.0.1"));
	assert_int_not_equal(number_of("20.0.0.1"), number_of("40.0.0.1"));
	assert_int_equal(x.f->control->nexthops, 2);
	delete ("20.0.0.0/8");
	assert_int_equal(x.f->control->nexthops, 2);
	delete ("30.0.0.0/8");
	assert_int_equal(x.f->control->nexthops, 1);
}

static unsigned shares_of(uint32_t group, uint64_t link)
{
	unsigned n = 0;

	for (unsigned s = 0; s < BP_GROUP_SHARES; s++)
		n += x.f->nexthops[x.f->groups[group].nexthop[s]].link == link;
	return n;
}

static void several_hops_share_by_weight(void **state)
{
	struct bp_route r = fib_route("20.0.0.0/8", 1, "10.0.0.1");
	struct bp_nexthop_group before;
	unsigned moved = 0;
	uint32_t group;

	for (unsigned i = 1; i <= 3; i++) {
		char a[16];

		snprintf(a, sizeof(a), "10.0.0.%u", i);
		neighbor(1, a, i);
		r.hop[i - 1] = fib_hop(1, a, i);
	}
	r.n_hops = 3;
	assert_int_equal(bp_fib_route_set(x.w, &r), BP_FIB_DONE);
	group = (uint32_t)x.f->nexthops[number_of("20.0.0.1")].link;
	/* 42.67, 85.33, 128: largest remainder */
	assert_int_equal(shares_of(group, fib_resolved(1, 1)), 43);
	assert_int_equal(shares_of(group, fib_resolved(1, 2)), 85);
	assert_int_equal(shares_of(group, fib_resolved(1, 3)), 128);
	memcpy(&before, &x.f->groups[group], sizeof(before));
	r.n_hops = 2; /* flows of those that stay, stay */
	assert_int_equal(bp_fib_route_set(x.w, &r), BP_FIB_DONE);
	group = (uint32_t)x.f->nexthops[number_of("20.0.0.1")].link;
	assert_int_equal(shares_of(group, fib_resolved(1, 1)), 85);
	assert_int_equal(shares_of(group, fib_resolved(1, 2)), 171);
	for (unsigned s = 0; s < BP_GROUP_SHARES; s++)
		moved += before.nexthop[s] != x.f->groups[group].nexthop[s];
	assert_int_equal(moved, 128);
	assert_int_equal(x.f->control->groups, 1);
	r.n_hops = 1;
	assert_int_equal(bp_fib_route_set(x.w, &r), BP_FIB_DONE);
	assert_int_equal(x.f->control->groups, 0);
	assert_int_equal(x.f->control->nexthops, 1);
}

static void shares_stay_where_they_may(void **state)
{
	struct bp_nh_members m = {.n = 4, .member = {11, 12, 13, 14}, .weight = {1, 1, 1, 1}};
	uint32_t old[BP_GROUP_SHARES], now[BP_GROUP_SHARES];
	unsigned moved = 0;

	bp_nh_shares(&m, NULL, old);
	m.n = 5;
	m.member[4] = 15;
	m.weight[4] = 1;
	bp_nh_shares(&m, old, now);
	for (unsigned s = 0; s < BP_GROUP_SHARES; s++) {
		moved += old[s] != now[s];
		assert_true(old[s] == now[s] || now[s] == 15);
	}
	assert_in_range(moved, 51, 52);
	m = (struct bp_nh_members){.n = 2, .member = {11, 12}, .weight = {256, 1}};
	bp_nh_shares(&m, old, now);
	assert_int_equal(now[255], 11);
}

static void a_route_follows_its_object(void **state)
{
	const struct bp_hop two[] = {fib_hop(1, "10.0.0.1", 1), fib_hop(1, "10.0.0.2", 1)};
	struct bp_route r = fib_route("20.0.0.0/8", 1, "");
	uint32_t number, group;
	bool changed = false;

	neighbor(1, "10.0.0.1", 1);
	neighbor(1, "10.0.0.2", 2);
	r.object = 100;
	assert_int_equal(bp_fib_route_set(x.w, &r), BP_FIB_INVALID); /* not set yet */
	assert_int_equal(bp_fib_object_set(x.w, 100, BP_ROUTE_UNICAST, &two[0], 1), BP_FIB_DONE);
	assert_int_equal(bp_fib_route_set(x.w, &r), BP_FIB_DONE);
	number = number_of("20.0.0.1");
	assert_int_equal(fib_link(x.f, "20.0.0.1", 0), fib_resolved(1, 1));
	bp_fib_object_set(x.w, 100, BP_ROUTE_UNICAST, &two[1], 1);
	assert_int_equal(fib_link(x.f, "20.0.0.1", 0), fib_resolved(1, 2));
	neighbor(1, "10.0.0.2", 22);
	assert_int_equal(fib_link(x.f, "20.0.0.1", 0), fib_resolved(1, 22));
	bp_fib_object_set(x.w, 100, BP_ROUTE_UNICAST, two, 2);
	group = (uint32_t)x.f->nexthops[number].link;
	assert_int_equal(shares_of(group, fib_resolved(1, 1)), 128);
	assert_int_equal(shares_of(group, fib_resolved(1, 22)), 128);
	bp_fib_object_set(x.w, 100, BP_ROUTE_BLACKHOLE, NULL, 0);
	assert_int_equal(bp_link_kind(fib_link(x.f, "20.0.0.1", 0)), BP_LINK_BLACKHOLE);
	bp_fib_object_set(x.w, 100, BP_ROUTE_UNICAST, two, 2);
	assert_int_equal(number_of("20.0.0.1"), number);
	assert_int_equal(bp_fib_object_delete(x.w, 100), BP_FIB_DONE);
	assert_int_equal(bp_link_kind(fib_link(x.f, "20.0.0.1", 0)), BP_LINK_BLACKHOLE);
	assert_int_equal(x.f->control->groups, 0);
	assert_int_equal(bp_fib_route_set(x.w, &r), BP_FIB_INVALID);
	assert_int_equal(delete ("20.0.0.0/8"), BP_FIB_DONE);
	while (bp_fib_settle(x.w))
		changed = true;
	assert_false(changed && x.f->control->nexthops);
	assert_int_equal(x.f->control->nexthops, 0);
}

static void a_static_route_stands_before_the_kernels(void **state)
{
	struct bp_route k = fib_route("20.0.0.0/8", 1, "10.0.0.1"), s = k;
	uint32_t cursor = 0;
	struct bp_route shown;

	s.origin = BP_ORIGIN_STATIC;
	s.hop[0] = fib_hop(2, "10.0.0.2", 1);
	assert_int_equal(bp_fib_route_set(x.w, &k), BP_FIB_DONE);
	assert_int_equal(bp_fib_route_set(x.w, &s), BP_FIB_DONE);
	assert_int_equal(fib_link(x.f, "20.0.0.1", 0), unresolved(2));
	k.hop[0] = fib_hop(3, "10.0.0.3", 1);
	assert_int_equal(bp_fib_route_set(x.w, &k), BP_FIB_DONE); /* kept for later */
	assert_int_equal(fib_link(x.f, "20.0.0.1", 0), unresolved(2));
	assert_int_equal(x.f->control->routes4, 1);
	assert_true(bp_fib_next_route(x.f, &cursor, &shown));
	assert_int_equal(shown.origin, BP_ORIGIN_STATIC);
	assert_false(bp_fib_next_route(x.f, &cursor, &shown));
	assert_int_equal(bp_fib_route_delete(x.w, &s.prefix, BP_ORIGIN_STATIC), BP_FIB_DONE);
	assert_int_equal(fib_link(x.f, "20.0.0.1", 0), unresolved(3));
	assert_int_equal(x.f->control->routes4, 1);
	assert_int_equal(delete ("20.0.0.0/8"), BP_FIB_DONE);
	assert_int_equal(number_of("20.0.0.1"), BP_NH_NONE);
}

static void what_is_not_set_again_is_swept(void **state)
{
	const struct bp_hop hop = fib_hop(1, "10.0.0.1", 1);
	struct bp_route fixed = fib_route("50.0.0.0/8", 1, "10.0.0.1");

	fixed.origin = BP_ORIGIN_STATIC;
	bp_fib_route_set(x.w, &fixed);
	route("20.0.0.0/8", 1, "10.0.0.1");
	route("30.0.0.0/8", 1, "10.0.0.1");
	neighbor(1, "10.0.0.1", 1);
	neighbor(1, "10.0.0.2", 1);
	bp_fib_object_set(x.w, 1, BP_ROUTE_UNICAST, &hop, 1);
	bp_fib_object_set(x.w, 2, BP_ROUTE_UNICAST, &hop, 1);
	fib_take_over(&x); /* also what another writer entered */
	bp_fib_mark(x.w, BP_ORIGIN_KERNEL);
	assert_int_equal(route("20.0.0.0/8", 1, "10.0.0.1"), BP_FIB_SAME);
	assert_int_equal(neighbor(1, "10.0.0.2", 1), BP_FIB_SAME);
	assert_int_equal(bp_fib_object_set(x.w, 2, BP_ROUTE_UNICAST, &hop, 1), BP_FIB_SAME);
	assert_int_equal(bp_fib_sweep(x.w, BP_ORIGIN_KERNEL), 3);
	assert_int_equal(x.f->control->routes4, 2);
	assert_int_equal(x.f->control->neighbors, 1);
	assert_int_equal(bp_fib_object_delete(x.w, 1), BP_FIB_ABSENT);
	assert_int_equal(bp_fib_object_delete(x.w, 2), BP_FIB_DONE);
	assert_int_equal(fib_link(x.f, "20.0.0.1", 0), unresolved(1));
	bp_fib_mark(x.w, BP_ORIGIN_STATIC);
	assert_int_equal(bp_fib_sweep(x.w, BP_ORIGIN_STATIC), 1);
	assert_int_equal(number_of("50.0.0.1"), BP_NH_NONE);
}

static void what_cannot_be_is_refused(void **state)
{
	struct bp_route r = fib_route("20.0.0.0/8", 1, "10.0.0.1");
	struct bp_interface_info info = {.flags = BP_IF_PRESENT, .n_addresses = 17};

	r.prefix.length = 33;
	assert_int_equal(bp_fib_route_set(x.w, &r), BP_FIB_INVALID);
	r.prefix.length = 6;
	r.prefix.bytes[0] = 21; /* bits beyond the length */
	assert_int_equal(bp_fib_route_set(x.w, &r), BP_FIB_INVALID);
	r = fib_route("20.0.0.0/8", BP_ALL_INTERFACES, "10.0.0.1");
	assert_int_equal(bp_fib_route_set(x.w, &r), BP_FIB_INVALID);
	r = fib_route("20.0.0.0/8", 1, "10.0.0.1");
	r.n_hops = 0;
	assert_int_equal(bp_fib_route_set(x.w, &r), BP_FIB_INVALID);
	r.n_hops = BP_HOPS_MAX + 1;
	assert_int_equal(bp_fib_route_set(x.w, &r), BP_FIB_INVALID);
	r.n_hops = 1;
	r.type = BP_ROUTE_TYPES;
	assert_int_equal(bp_fib_route_set(x.w, &r), BP_FIB_INVALID);
	assert_int_equal(delete ("20.0.0.0/8"), BP_FIB_ABSENT);
	assert_int_equal(bp_fib_object_set(x.w, 0, BP_ROUTE_PUNT, NULL, 0), BP_FIB_INVALID);
	assert_int_equal(bp_fib_object_set(x.w, 1, BP_ROUTE_UNICAST, NULL, 0), BP_FIB_INVALID);
	assert_int_equal(bp_fib_interface_set(x.w, 0, &info), BP_FIB_INVALID);
	assert_int_equal(bp_fib_interface_set(x.w, BP_ALL_INTERFACES, &info), BP_FIB_INVALID);
	assert_int_equal(x.f->control->changes, 0);
}

static void an_interface_is_copied_whole(void **state)
{
	struct bp_interface_info info = {.name = "lan",
		.flags = BP_IF_PRESENT | BP_IF_UP,
		.ifindex = 7,
		.mtu = 1400,
		.mac = {2, 0, 0, 0, 0, 9},
		.n_addresses = 1};
	struct bp_interface_info out;

	info.address[0].address = fib_address("10.0.0.1");
	info.address[0].length = 24;
	assert_int_equal(bp_fib_interface_set(x.w, 33, &info), BP_FIB_DONE);
	assert_int_equal(bp_fib_interface_set(x.w, 33, &info), BP_FIB_SAME);
	assert_true(bp_fib_interface(x.f, 33, &out));
	assert_memory_equal(&out, &info, sizeof(out));
	assert_int_equal(x.f->interfaces[33].mac, bp_mac_word(info.mac));
	assert_int_equal(x.f->interfaces[33].mtu, 1400);
	assert_int_equal(x.f->interfaces[33].flags, BP_IF_PRESENT | BP_IF_UP);
	assert_false(bp_fib_interface(x.f, 32, &out));
	info.flags = 0;
	assert_int_equal(bp_fib_interface_set(x.w, 33, &info), BP_FIB_DONE);
	assert_false(bp_fib_interface(x.f, 33, &out));
	assert_int_equal(x.f->interfaces[33].flags, 0);
}

/* A health device may be behind any of them. */
static void the_kernel_interfaces_are_found(void **state)
{
	const struct bp_interface_info none = {0};
	struct bp_interface_info info = {.flags = BP_IF_PRESENT, .ifindex = 7};

	assert_false(bp_fib_has_ifindex(x.f, 0)); /* that of entries without a kernel interface */
	assert_int_equal(bp_fib_interface_set(x.w, 33, &info), BP_FIB_DONE);
	for (unsigned i = 0; i < BP_MAX_SUBINTERFACES; i += BP_MAX_SUBINTERFACES - 1) {
		info.ifindex = 100 + i;
		info.vlan_id = (uint16_t)(1 + i);
		assert_false(bp_fib_has_ifindex(x.f, info.ifindex));
		assert_int_equal(
			bp_fib_interface_set(x.w, BP_MAX_INTERFACES + i, &info), BP_FIB_DONE);
		assert_true(bp_fib_has_ifindex(x.f, info.ifindex));
	}
	assert_true(bp_fib_has_ifindex(x.f, 7));
	assert_false(bp_fib_has_ifindex(x.f, 8));
	assert_false(bp_fib_has_ifindex(x.f, 0));
	assert_int_equal(bp_fib_interface_set(x.w, BP_MAX_INTERFACES, &none), BP_FIB_DONE);
	assert_false(bp_fib_has_ifindex(x.f, 100));
	assert_true(bp_fib_has_ifindex(x.f, 100 + BP_MAX_SUBINTERFACES - 1));
	x.f->interfaces[33].info.flags = 0; /* not configured */
	assert_false(bp_fib_has_ifindex(x.f, 7));
}

/* ---- limits ---- */

static void routes_beyond_the_limit_go_to_the_kernel(void **state)
{
	char p[32];

	for (unsigned i = 0; i < 20; i++) {
		snprintf(p, sizeof(p), "20.%u.0.0/16", i);
		assert_int_equal(route(p, 1, "10.0.0.1"), i < 16 ? BP_FIB_DONE : BP_FIB_FULL);
		snprintf(p, sizeof(p), "2001:%x::/32", i);
		assert_int_equal(route(p, 1, "fe80::1"), i < 16 ? BP_FIB_DONE : BP_FIB_FULL);
	}
	assert_int_equal(x.f->control->routes4, 16);
	assert_int_equal(x.f->control->routes4_refused, 4);
	assert_int_equal(x.f->control->routes6_refused, 4);
	assert_int_equal(x.f->control->rejected_total, 8);
	assert_int_equal(number_of("20.17.0.1"), BP_NH_PUNT);
	/* a change of one that has its place needs none */
	assert_int_equal(route("20.3.0.0/16", 2, "10.0.0.2"), BP_FIB_DONE);
	assert_int_equal(route("20.17.0.0/16", 1, "10.0.0.1"), BP_FIB_FULL);
	assert_int_equal(x.f->control->rejected_total, 8);
	assert_int_equal(delete ("20.16.0.0/16"), BP_FIB_DONE); /* a pending one */
	assert_int_equal(number_of("20.16.0.1"), BP_NH_NONE);
	assert_true(bp_fib_settle(x.w));
	assert_int_equal(delete ("20.0.0.0/16"), BP_FIB_DONE);
	bp_fib_settle(x.w);
	assert_int_equal(x.f->control->routes4, 16);
	assert_int_equal(x.f->control->routes4_refused, 2);
	for (unsigned i = 1; i < 4; i++) {
		snprintf(p, sizeof(p), "20.%u.0.0/16", i);
		delete (p);
	}
	bp_fib_settle(x.w);
	assert_int_equal(x.f->control->routes4_refused, 0);
	assert_int_equal(fib_link(x.f, "20.17.0.1", 0), unresolved(1));
	assert_int_equal(x.f->control->routes6_refused, 4);
}

static void next_hops_beyond_the_limit_go_to_the_kernel(void **state)
{
	struct bp_route r = fib_route("30.0.0.0/8", 1, "10.0.0.1");
	char p[32], g[32];

	for (unsigned i = 0; i < 15; i++) {
		snprintf(p, sizeof(p), "20.%u.0.0/16", i);
		snprintf(g, sizeof(g), "10.0.0.%u", i + 1);
		assert_int_equal(route(p, 1, g), BP_FIB_DONE);
	}
	r.n_hops = 2;
	r.hop[1] =
		fib_hop(1, "10.0.0.99", 1); /* takes the last, then there is none for the group */
	assert_int_equal(bp_fib_route_set(x.w, &r), BP_FIB_FULL);
	assert_int_equal(x.f->control->nexthops, 15);
	assert_int_equal(x.f->control->groups, 0);
	assert_int_equal(x.f->control->nexthops_refused, 1);
	assert_int_equal(number_of("30.0.0.1"), BP_NH_PUNT);
	assert_true(bp_fib_settle(x.w));
	assert_int_equal(bp_fib_route_set(x.w, &r), BP_FIB_FULL);
	delete ("20.7.0.0/16");
	bp_fib_settle(x.w);
	bp_fib_settle(x.w);
	assert_int_equal(x.f->control->nexthops_refused, 0);
	assert_int_equal(x.f->control->groups, 1);
	assert_int_equal(fib_link(x.f, "30.0.0.1", 0), unresolved(1));
}

static void groups_beyond_the_limit_go_to_the_kernel(void **state)
{
	struct bp_route r = fib_route("30.0.0.0/8", 1, "10.0.0.1");
	const struct bp_hop two[] = {fib_hop(1, "10.0.0.1", 7), fib_hop(1, "10.0.0.2", 1)};

	r.n_hops = 2;
	r.hop[1] = fib_hop(1, "10.0.0.2", 1);
	for (unsigned i = 0; i < 5; i++) {
		r.prefix.bytes[0] = (uint8_t)(30 + i);
		r.hop[0].weight = (uint16_t)(i + 1);
		assert_int_equal(bp_fib_route_set(x.w, &r), i < 4 ? BP_FIB_DONE : BP_FIB_FULL);
	}
	assert_int_equal(x.f->control->nexthops, 6);
	assert_int_equal(bp_fib_object_set(x.w, 9, BP_ROUTE_UNICAST, two, 2), BP_FIB_FULL);
	assert_int_equal(x.f->control->nexthops_refused, 1);
	bp_fib_settle(x.w);
	assert_int_equal(x.f->control->nexthops_refused, 2);
	r = fib_route("50.0.0.0/8", 1, "");
	r.object = 9;
	assert_int_equal(bp_fib_route_set(x.w, &r), BP_FIB_DONE);
	assert_int_equal(bp_link_kind(fib_link(x.f, "50.0.0.1", 0)), BP_LINK_PUNT);
	delete ("30.0.0.0/8");
	delete ("31.0.0.0/8");
	bp_fib_settle(x.w);
	bp_fib_settle(x.w);
	assert_int_equal(x.f->control->nexthops_refused, 0);
	assert_int_equal(x.f->control->groups, 4);
	assert_int_equal(fib_link(x.f, "50.0.0.1", 0), unresolved(1));
	assert_int_equal(fib_link(x.f, "34.0.0.1", 0), unresolved(1));
}

/* The condition that the control plane waits for at its start. */
static void a_new_writer_has_room_when_the_workers_have_passed(void **state)
{
	struct bp_route r = fib_route("30.0.0.0/28", 1, "10.0.0.1");
	uint64_t known = 0;

	bp_fib_quiesce(x.f, 0, &known);
	fib_take_over(&x);
	assert_true(bp_fib_settle(x.w));
	assert_int_equal(bp_fib_route_set(x.w, &r), BP_FIB_FULL);
	bp_fib_quiesce(x.f, 0, &known);
	assert_false(bp_fib_settle(x.w));
	assert_int_equal(fib_link(x.f, "30.0.0.1", 0), unresolved(1));
	r = fib_route("40.0.0.0/28", 1, "10.0.0.1");
	assert_int_equal(bp_fib_route_set(x.w, &r), BP_FIB_DONE);
	assert_int_equal(x.f->control->rejected_total, 1);
}

static void without_routing_there_is_no_writer(void **state)
{
	struct bp_fib none = {0};
	char err[200];

	assert_null(bp_fib_writer_new(&none, NULL, NULL, err, sizeof(err)));
	assert_non_null(strstr(err, "without routed ports"));
}

#define T(f) cmocka_unit_test_setup_teardown(f, start, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(next_hops_follow_their_neighbor),
		T(a_route_without_gateway_is_connected),
		T(an_ipv4_route_may_go_by_an_ipv6_gateway),
		T(routes_that_lead_the_same_way_share_a_next_hop),
		T(several_hops_share_by_weight),
		T(shares_stay_where_they_may),
		T(a_route_follows_its_object),
		T(a_static_route_stands_before_the_kernels),
		T(what_is_not_set_again_is_swept),
		T(what_cannot_be_is_refused),
		T(an_interface_is_copied_whole),
		T(the_kernel_interfaces_are_found),
		T(routes_beyond_the_limit_go_to_the_kernel),
		T(next_hops_beyond_the_limit_go_to_the_kernel),
		T(groups_beyond_the_limit_go_to_the_kernel),
		T(a_new_writer_has_room_when_the_workers_have_passed),
		T(without_routing_there_is_no_writer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
