/* SPDX-License-Identifier: BSD-3-Clause */
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "controlplane/sync/nl_cache.h"
#include "tests/unit/controlplane/test.h"
#include "tests/unit/fib_fake/fib_fake.h"

/*
 * VRFs, by messages as the kernel sends them: also on kernels without VRFs. In the guest of
 * scripts/test-vm, tests/vm/test_route_vrf.py has the messages of a kernel.
 */

#define SUB BP_MAX_INTERFACES
enum { LAN = 2, WAN, BRIDGE, BLUE, RED, V = 10 }; /* ifindex */

struct fixture {
	struct bp_config config;
	struct bp_fib_writer *writer;
	struct bp_nl_cache *cache;
};

/* A link in a message of the kernel; 0: without the attribute. */
struct link {
	const char *name;
	uint32_t ifindex, device_table, master, table, parent;
	const char *master_kind;
	bool deleted, short_table;
};

static void put_info(struct nl_msg *m, const struct link *l)
{
	struct nlattr *info = nla_nest_start(m, IFLA_LINKINFO), *data;

	if (l->device_table != 0 || l->parent != 0) {
		nla_put_string(m, IFLA_INFO_KIND, l->parent != 0 ? "vlan" : "vrf");
		data = nla_nest_start(m, IFLA_INFO_DATA);
		if (l->parent != 0)
			nla_put_u16(m, IFLA_VLAN_ID, 100);
		else
			nla_put_u32(m, IFLA_VRF_TABLE, l->device_table);
		nla_nest_end(m, data);
	}
	if (l->master != 0) {
		nla_put_string(
			m, IFLA_INFO_SLAVE_KIND, l->master_kind != NULL ? l->master_kind : "vrf");
		data = nla_nest_start(m, IFLA_INFO_SLAVE_DATA);
		if (l->short_table)
			nla_put_u8(m, IFLA_VRF_PORT_TABLE, (uint8_t)l->table);
		else
			nla_put_u32(m, IFLA_VRF_PORT_TABLE, l->table);
		nla_nest_end(m, data);
	}
	nla_nest_end(m, info);
}

static void say_link(struct bp_nl_cache *cache, struct link l, bool dump)
{
	struct nl_msg *m = nlmsg_alloc_simple(l.deleted ? RTM_DELLINK : RTM_NEWLINK, 0);
	struct ifinfomsg ifi = {
		.ifi_index = (int)l.ifindex, .ifi_flags = IFF_UP | IFF_LOWER_UP | IFF_RUNNING};

	nlmsg_append(m, &ifi, sizeof(ifi), NLMSG_ALIGNTO);
	nla_put_string(m, IFLA_IFNAME, l.name);
	if (l.master != 0)
		nla_put_u32(m, IFLA_MASTER, l.master);
	if (l.parent != 0)
		nla_put_u32(m, IFLA_LINK, l.parent);
	put_info(m, &l);
	bp_nl_cache_message(cache, nlmsg_hdr(m), dump);
	nlmsg_free(m);
}

static const struct link lan = {.name = "lan", .ifindex = LAN},
			 wan = {.name = "wan", .ifindex = WAN},
			 blue = {.name = "blue", .ifindex = BLUE, .device_table = 10},
			 red = {.name = "red", .ifindex = RED, .device_table = 20},
			 lan_in_blue = {.name = "lan", .ifindex = LAN, .master = BLUE, .table = 10},
			 wan_in_red = {.name = "wan", .ifindex = WAN, .master = RED, .table = 20};

static void is_there(struct fixture *f, struct link l)
{
	say_link(f->cache, l, false);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->config.n_ports = 2;
	f->config.netlink.route_table = RT_TABLE_MAIN;
	strcpy(f->config.port[0].name, "lan");
	strcpy(f->config.port[1].name, "wan");
	f->cache = bp_nl_cache_new(&f->config);
	f->writer = fib_fake_new();
	assert_non_null(f->cache);
	say_link(f->cache, lan, true);
	say_link(f->cache, wan, true);
	bp_nl_cache_publish(f->cache, f->writer);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	bp_nl_cache_free(f->cache);
	bp_fib_writer_free(f->writer);
	free(f);
	return 0;
}

/* As sync/resync.c: another cache takes over. */
static struct bp_nl_cache *load_begin(struct fixture *f, bool all)
{
	struct bp_nl_cache *next = bp_nl_cache_new(&f->config);

	assert_non_null(next);
	bp_nl_vrfs_adopt(next, f->cache, all);
	return next;
}

static void load_end(struct fixture *f, struct bp_nl_cache *next)
{
	bp_nl_cache_free(f->cache);
	f->cache = next;
	bp_nl_cache_publish(f->cache, f->writer);
}

static unsigned vrf_of(const struct fixture *f, unsigned interface)
{
	return fib_fake_interface(f->writer, interface)->vrf;
}

static uint32_t table_of(const struct fixture *f, unsigned interface)
{
	return fib_fake_interface(f->writer, interface)->vrf_table;
}

static void has_vrf(const struct fixture *f, unsigned vrf, uint32_t table, const char *name)
{
	assert_int_equal(fib_fake_vrf(f->writer, vrf)->table, table);
	assert_string_equal(fib_fake_vrf(f->writer, vrf)->name, name);
}

/* A route to 10.N.0.0/16 in a table of the kernel; ifindex 0: unreachable. */
static void say_route(struct bp_nl_cache *cache, uint8_t n, uint32_t table, uint8_t type,
	uint32_t ifindex, bool deleted)
{
	struct nl_msg *m = nlmsg_alloc_simple(
		deleted ? RTM_DELROUTE : RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL);
	struct rtmsg r = {.rtm_family = AF_INET,
		.rtm_dst_len = 16,
		.rtm_table = table < 256 ? (uint8_t)table : RT_TABLE_COMPAT,
		.rtm_type = type,
		.rtm_protocol = RTPROT_STATIC};
	const uint8_t ip[4] = {10, n, 0, 0};

	nlmsg_append(m, &r, sizeof(r), NLMSG_ALIGNTO);
	nla_put(m, RTA_DST, 4, ip);
	nla_put_u32(m, RTA_TABLE, table);
	if (ifindex != 0)
		nla_put_u32(m, RTA_OIF, ifindex);
	bp_nl_cache_message(cache, nlmsg_hdr(m), false);
	nlmsg_free(m);
}

static const struct bp_route *route_in(const struct fixture *f, unsigned vrf, uint8_t n)
{
	const uint8_t ip[4] = {10, n, 0, 0};
	struct bp_prefix p = bp_prefix_of(bp_address4(ip), 16);

	p.vrf = (uint8_t)vrf;
	return fib_fake_route(f->writer, &p, BP_ORIGIN_KERNEL);
}

static void an_interface_enters_and_leaves(void **state)
{
	struct fixture *f = *state;

	is_there(f, blue);
	assert_null(f->cache->invalid_reason);
	assert_int_equal(f->cache->vrfs, 0); /* no interface is in it */
	is_there(f, lan_in_blue);
	assert_int_equal(vrf_of(f, 0), 1);
	assert_int_equal(vrf_of(f, 1), BP_VRF_MAIN);
	assert_int_equal(table_of(f, 0), 10);
	assert_int_equal(table_of(f, 1), 0);
	has_vrf(f, 1, 10, "blue");
	assert_string_equal(bp_nl_vrf_device(f->cache, 0), "blue");
	assert_string_equal(bp_nl_vrf_device(f->cache, 1), "");
	assert_true(f->cache->vrfs_changed);
	assert_int_equal(f->cache->vrf[1].ifindex, BLUE);
	assert_non_null(f->cache->invalid_reason);
	f->cache->invalid_reason = NULL;
	is_there(f, lan_in_blue); /* another change of the link */
	assert_null(f->cache->invalid_reason);
	is_there(f, lan);
	assert_int_equal(vrf_of(f, 0), BP_VRF_MAIN);
	assert_int_equal(table_of(f, 0), 0);
	assert_non_null(f->cache->invalid_reason);
}

static void a_device_is_reported_later_and_renamed(void **state)
{
	struct fixture *f = *state;
	struct link other = blue;

	is_there(f, lan_in_blue);
	assert_int_equal(vrf_of(f, 0), 1);
	has_vrf(f, 1, 10, "");
	is_there(f, blue);
	has_vrf(f, 1, 10, "blue");
	other.name = "other";
	is_there(f, other);
	has_vrf(f, 1, 10, "other");
}

static void routes_of_each_table(void **state)
{
	struct fixture *f = *state;

	is_there(f, blue);
	say_route(f->cache, 9, 10, RTN_UNICAST, WAN, false);
	is_there(f, red);
	assert_null(route_in(f, 1, 9)); /* until an interface is in it; then all is read again */
	is_there(f, lan_in_blue);
	is_there(f, wan_in_red);
	assert_int_equal(vrf_of(f, 1), 2);
	say_route(f->cache, 1, RT_TABLE_MAIN, RTN_UNREACHABLE, 0, false);
	say_route(f->cache, 1, 10, RTN_UNICAST, LAN, false);
	say_route(f->cache, 1, 20, RTN_UNICAST, WAN, false);
	say_route(f->cache, 2, 10, RTN_UNICAST, WAN, false); /* leaves by another VRF */
	say_route(f->cache, 3, 10, RTN_LOCAL, LAN, false);
	say_route(f->cache, 4, 10, RTN_UNICAST, RED, false); /* is looked up in red: the kernel */
	say_route(f->cache, 5, 30, RTN_UNICAST, LAN, false);
	assert_int_equal(route_in(f, 0, 1)->type, BP_ROUTE_UNREACHABLE);
	assert_int_equal(route_in(f, 1, 1)->hop[0].interface, 0);
	assert_int_equal(route_in(f, 2, 1)->hop[0].interface, 1);
	assert_int_equal(route_in(f, 1, 2)->hop[0].interface, 1);
	assert_int_equal(route_in(f, 1, 3)->type, BP_ROUTE_LOCAL);
	assert_int_equal(route_in(f, 1, 4)->type, BP_ROUTE_PUNT);
	assert_null(route_in(f, 0, 5));
	assert_int_equal(fib_fake_routes(f->writer), 6);
	say_route(f->cache, 1, 10, RTN_UNICAST, LAN, true);
	assert_null(route_in(f, 1, 1));
	assert_non_null(route_in(f, 2, 1));
	assert_non_null(route_in(f, 0, 1));
}

static void a_subinterface_in_a_vrf(void **state)
{
	struct fixture *f = *state;
	struct link v = {
		.name = "lan.100", .ifindex = V, .parent = LAN, .master = BLUE, .table = 10};

	is_there(f, v);
	assert_int_equal(fib_fake_interface(f->writer, SUB)->vlan_id, 100);
	assert_int_equal(vrf_of(f, SUB), 1);
	assert_int_equal(table_of(f, SUB), 10);
	assert_int_equal(vrf_of(f, 0), BP_VRF_MAIN);
	v.master = 0;
	is_there(f, v);
	assert_int_equal(vrf_of(f, SUB), BP_VRF_MAIN);
	assert_int_equal(table_of(f, SUB), 0);
	v.deleted = true;
	is_there(f, v);
	v.deleted = false;
	v.master = BLUE;
	is_there(f, v);
	assert_int_equal(vrf_of(f, SUB), 1);
}

static void masters_that_are_no_vrf(void **state)
{
	struct fixture *f = *state;
	struct link l = lan_in_blue;

	l.master_kind = "bridge";
	is_there(f, l);
	assert_int_equal(vrf_of(f, 0), BP_VRF_MAIN);
	l = lan_in_blue;
	l.short_table = true;
	is_there(f, l);
	assert_int_equal(vrf_of(f, 0), BP_VRF_MAIN);
	l = lan_in_blue;
	l.table = RT_TABLE_MAIN; /* the same routes as without it */
	is_there(f, l);
	assert_int_equal(vrf_of(f, 0), BP_VRF_MAIN);
	assert_int_equal(table_of(f, 0), 0);
	assert_int_equal(f->cache->vrfs, 0);
	l.table = RT_TABLE_LOCAL;
	is_there(f, l);
	assert_int_equal(vrf_of(f, 0), BP_VRF_KERNEL);
	assert_int_equal(f->cache->vrfs_refused, 1);
	assert_false(bp_nl_vrfs_waiting(f->cache)); /* a load would change nothing */
	is_there(f, lan);
	assert_int_equal(f->cache->vrfs_refused, 0);
}

static void a_number_is_not_reused_while_routes_may_refer_to_it(void **state)
{
	struct fixture *f = *state;
	struct bp_nl_cache *next;

	is_there(f, lan_in_blue);
	is_there(f, lan);
	is_there(f, wan_in_red);
	assert_int_equal(vrf_of(f, 1), 2);
	/* the routes of the last load are in the tables until this one has been written */
	next = load_begin(f, false);
	say_link(
		next, (struct link){.name = "lan", .ifindex = LAN, .master = V, .table = 30}, true);
	say_link(next, wan_in_red, true);
	load_end(f, next);
	assert_int_equal(vrf_of(f, 0), 3);
	assert_int_equal(vrf_of(f, 1), 2);
	assert_null(f->cache->invalid_reason);
	/* another load begins before that one has been written completely */
	next = load_begin(f, true);
	assert_int_equal(next->vrf[1].table, 10);
	bp_nl_cache_free(next);
	next = load_begin(f, false);
	say_link(next, lan_in_blue, true);
	say_link(next, wan_in_red, true);
	load_end(f, next);
	assert_int_equal(vrf_of(f, 0), 1);
	assert_int_equal(vrf_of(f, 1), 2);
	next = load_begin(f, false);
	load_end(f, next);
	next = load_begin(f, false);
	load_end(f, next);
	has_vrf(f, 1, 0, "");
	has_vrf(f, 3, 0, "");
}

static void numbers_survive_a_restart(void **state)
{
	struct fixture *f = *state;
	struct bp_fib_control control = {.vrfs = 2};
	struct bp_vrf table[BP_MAX_VRFS] = {{.info = {.table = 20}}, {.info = {.table = 10}}};
	const struct bp_fib fib = {.control = &control, .vrfs = table};

	bp_nl_vrfs_adopt_table(f->cache, &fib);
	is_there(f, lan_in_blue);
	assert_int_equal(vrf_of(f, 0), 2);
	is_there(f, wan_in_red);
	assert_int_equal(vrf_of(f, 1), 1);
}

static void more_vrfs_than_numbers(void **state)
{
	struct fixture *f = *state;
	struct bp_nl_cache *next;
	struct link l = lan_in_blue;

	for (unsigned i = 0; i < BP_MAX_VRFS; i++) {
		l.table = 100 + i;
		is_there(f, l);
		assert_int_equal(vrf_of(f, 0), 1 + i);
	}
	is_there(f, (struct link){.name = "wan", .ifindex = WAN, .master = V, .table = 90});
	assert_int_equal(vrf_of(f, 1), BP_VRF_KERNEL);
	assert_int_equal(table_of(f, 1), 90);
	is_there(f, wan_in_red); /* from one of these to another */
	assert_int_equal(vrf_of(f, 1), BP_VRF_KERNEL);
	assert_int_equal(table_of(f, 1), 20);
	/* whose settings the kernel applies */
	assert_string_equal(bp_nl_vrf_device(f->cache, 1), "");
	is_there(f, red);
	assert_string_equal(bp_nl_vrf_device(f->cache, 1), "red");
	is_there(f, wan_in_red); /* counted once */
	assert_int_equal(f->cache->vrfs_refused, 1);
	assert_false(bp_nl_vrfs_waiting(f->cache));
	say_route(f->cache, 1, 20, RTN_UNICAST, WAN, false);
	assert_int_equal(fib_fake_routes(f->writer), 0);
	for (unsigned loads = 0; loads < 2; loads++) {
		next = load_begin(f, false);
		say_link(next, l, true);
		say_link(next, wan_in_red, true);
		load_end(f, next);
		assert_int_equal(bp_nl_vrfs_waiting(f->cache), loads == 0);
	}
	assert_int_equal(vrf_of(f, 0), BP_MAX_VRFS);
	assert_int_equal(vrf_of(f, 1), 1);
	assert_int_equal(f->cache->vrfs_refused, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_interface_enters_and_leaves, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_device_is_reported_later_and_renamed, setup, teardown),
		cmocka_unit_test_setup_teardown(routes_of_each_table, setup, teardown),
		cmocka_unit_test_setup_teardown(a_subinterface_in_a_vrf, setup, teardown),
		cmocka_unit_test_setup_teardown(masters_that_are_no_vrf, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_number_is_not_reused_while_routes_may_refer_to_it, setup, teardown),
		cmocka_unit_test_setup_teardown(numbers_survive_a_restart, setup, teardown),
		cmocka_unit_test_setup_teardown(more_vrfs_than_numbers, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
