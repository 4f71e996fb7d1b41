/* SPDX-License-Identifier: BSD-3-Clause */
#include <linux/if_ether.h>
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
 * VLAN subinterfaces, by messages as the kernel sends them: also on kernels without 802.1Q. In the
 * guest of scripts/test-vm, tests/vm/test_route_vlan.py has the messages of a kernel.
 */

#define SUB BP_MAX_INTERFACES
#define UP (BP_IF_PRESENT | BP_IF_KERNEL | BP_IF_UP | BP_IF_CARRIER)
enum { LO = 1, LAN, WAN, OTHER, V = 10 }; /* ifindex */

struct fixture {
	struct bp_config config;
	struct bp_fib_writer *writer;
	struct bp_nl_cache *cache;
};

/* A link in a message of the kernel; 0: without the attribute. */
struct link {
	const char *name;
	uint32_t ifindex, parent, master, netns;
	uint16_t id, protocol;
	bool down, deleted;
};

static void put_vlan(struct nl_msg *m, const struct link *l)
{
	struct nlattr *info = nla_nest_start(m, IFLA_LINKINFO), *data;

	nla_put_string(m, IFLA_INFO_KIND, "vlan");
	data = nla_nest_start(m, IFLA_INFO_DATA);
	nla_put_u16(m, IFLA_VLAN_ID, l->id);
	nla_put_u16(m, IFLA_VLAN_PROTOCOL, htons(l->protocol != 0 ? l->protocol : ETH_P_8021Q));
	nla_nest_end(m, data);
	nla_nest_end(m, info);
}

static void say_link(struct bp_nl_cache *cache, struct link l, bool dump)
{
	struct nl_msg *m = nlmsg_alloc_simple(l.deleted ? RTM_DELLINK : RTM_NEWLINK, 0);
	struct ifinfomsg ifi = {.ifi_index = (int)l.ifindex,
		.ifi_flags = l.down ? 0 : IFF_UP | IFF_LOWER_UP | IFF_RUNNING};
	const uint8_t mac[6] = {2, 0, 0, 0, 0, (uint8_t)l.ifindex};

	nlmsg_append(m, &ifi, sizeof(ifi), NLMSG_ALIGNTO);
	nla_put_string(m, IFLA_IFNAME, l.name);
	nla_put_u32(m, IFLA_MTU, 1400 + l.ifindex % 100);
	nla_put(m, IFLA_ADDRESS, sizeof(mac), mac);
	if (l.parent != 0)
		nla_put_u32(m, IFLA_LINK, l.parent);
	if (l.master != 0)
		nla_put_u32(m, IFLA_MASTER, l.master);
	if (l.netns != 0)
		nla_put_u32(m, IFLA_LINK_NETNSID, l.netns);
	if (l.id != 0)
		put_vlan(m, &l);
	bp_nl_cache_message(cache, nlmsg_hdr(m), dump);
	nlmsg_free(m);
}

static void is_there(struct fixture *f, struct link l)
{
	say_link(f->cache, l, false);
}

static void is_gone(struct fixture *f, struct link l)
{
	l.deleted = true;
	say_link(f->cache, l, false);
}

static struct link vlan(uint32_t n, uint32_t parent, uint16_t id)
{
	static char name[2][IFNAMSIZ];
	static unsigned i;

	i ^= 1;
	snprintf(name[i], sizeof(name[i]), "v%u", n);
	return (struct link){.name = name[i], .ifindex = V + n, .parent = parent, .id = id};
}

static void ports_are_there(struct bp_nl_cache *cache, bool dump)
{
	say_link(cache, (struct link){.name = "lo", .ifindex = LO}, dump);
	say_link(cache, (struct link){.name = "lan", .ifindex = LAN}, dump);
	say_link(cache, (struct link){.name = "wan", .ifindex = WAN}, dump);
	say_link(cache, (struct link){.name = "other", .ifindex = OTHER}, dump);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->config.n_ports = 2;
	strcpy(f->config.port[0].name, "lan");
	strcpy(f->config.port[1].name, "wan");
	f->cache = bp_nl_cache_new(&f->config);
	f->writer = fib_fake_new();
	assert_non_null(f->cache);
	ports_are_there(f->cache, true);
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
	bp_nl_subinterfaces_adopt(next, f->cache, all);
	ports_are_there(next, true);
	return next;
}

static void load_end(struct fixture *f, struct bp_nl_cache *next)
{
	bp_nl_cache_free(f->cache);
	f->cache = next;
	bp_nl_cache_publish(f->cache, f->writer);
}

/* Whether the tables have this subinterface with this number. */
static void has(const struct fixture *f, unsigned i, uint8_t parent, uint16_t id)
{
	const struct bp_interface_info *info = fib_fake_interface(f->writer, i);

	assert_true(info->flags & BP_IF_PRESENT);
	assert_int_equal(info->parent, parent);
	assert_int_equal(info->vlan_id, id);
}

static void has_not(const struct fixture *f, unsigned i)
{
	assert_int_equal(fib_fake_interface(f->writer, i)->flags, 0);
}

static void an_interface_appears_and_changes(void **state)
{
	struct fixture *f = *state;
	struct link v = vlan(1, LAN, 100);
	const struct bp_interface_info *info;

	is_there(f, v);
	has(f, SUB, 0, 100);
	info = fib_fake_interface(f->writer, SUB);
	assert_string_equal(info->name, "v1");
	assert_int_equal(info->flags, UP);
	assert_int_equal(info->ifindex, V + 1);
	assert_int_equal(info->mtu, 1411);
	assert_int_equal(info->mac[5], V + 1);
	assert_true(f->cache->subinterfaces_appeared && f->cache->own[SUB].appeared);
	assert_string_equal(f->cache->own[SUB].kernel_name, "v1");
	v.down = true;
	v.name = "renamed";
	is_there(f, v);
	assert_int_equal(fib_fake_interface(f->writer, SUB)->flags, BP_IF_PRESENT | BP_IF_KERNEL);
	assert_string_equal(fib_fake_interface(f->writer, SUB)->name, "renamed");
	is_gone(f, v);
	has_not(f, SUB);
	assert_null(bp_nl_link_find(f->cache, V + 1));
}

static void interfaces_that_do_not_route(void **state)
{
	struct fixture *f = *state;
	struct link v = vlan(1, LAN, 100);

	v.protocol = ETH_P_8021AD;
	is_there(f, v);
	has_not(f, SUB);
	v = vlan(1, LAN, 100);
	v.netns = 7;
	is_there(f, v);
	has_not(f, SUB);
	is_there(f, vlan(1, OTHER, 100));
	is_there(f, vlan(2, 99, 100));
	is_there(f, vlan(3, LAN, 4095));
	is_there(f, (struct link){.name = "peer", .ifindex = V + 4, .parent = LAN});
	has_not(f, SUB);
	v = vlan(1, LAN, 100);
	is_there(f, v);
	has(f, SUB, 0, 100);
	v.master = OTHER; /* a bridge, or a VRF */
	is_there(f, v);
	has_not(f, SUB);
	v.master = 0;
	is_there(f, v);
	has(f, SUB, 0, 100);
	/* a subinterface of a subinterface */
	is_there(f, vlan(5, V + 1, 5));
	has_not(f, SUB + 1);
}

static void a_number_is_not_reused_while_routes_may_refer_to_it(void **state)
{
	struct fixture *f = *state;
	struct bp_nl_cache *next;

	is_there(f, vlan(1, LAN, 100));
	is_there(f, vlan(2, WAN, 100));
	has(f, SUB + 1, 1, 100);
	is_gone(f, vlan(1, LAN, 100));
	is_there(f, vlan(3, LAN, 101));
	has_not(f, SUB);
	has(f, SUB + 2, 0, 101);
	is_there(f, vlan(4, LAN, 100)); /* the same VLAN may have it */
	has(f, SUB, 0, 100);
	is_gone(f, vlan(4, LAN, 100));

	/* the routes of the last load are in the tables until this one has been written */
	next = load_begin(f, false);
	say_link(next, vlan(2, WAN, 100), true);
	say_link(next, vlan(3, LAN, 101), true);
	say_link(next, vlan(5, LAN, 102), true);
	load_end(f, next);
	has_not(f, SUB);
	has(f, SUB + 1, 1, 100);
	has(f, SUB + 2, 0, 101);
	has(f, SUB + 3, 0, 102);

	/* another load begins before that one has been written completely */
	next = load_begin(f, true);
	say_link(next, vlan(2, WAN, 100), true);
	say_link(next, vlan(6, LAN, 103), true);
	load_end(f, next);
	has_not(f, SUB);
	has(f, SUB + 4, 0, 103);
	next = load_begin(f, false);
	say_link(next, vlan(2, WAN, 100), true);
	say_link(next, vlan(6, LAN, 103), true);
	say_link(next, vlan(7, LAN, 104), true);
	load_end(f, next);
	has(f, SUB, 0, 104);
	has(f, SUB + 1, 1, 100);
	has(f, SUB + 4, 0, 103);
}

static void numbers_survive_a_restart(void **state)
{
	struct fixture *f = *state;
	struct bp_fib_control control = {.subinterfaces = 3};
	struct bp_interface *table = calloc(BP_ALL_INTERFACES, sizeof(*table));
	const struct bp_fib fib = {.control = &control, .interfaces = table};

	assert_non_null(table);
	table[SUB + 1].info = (struct bp_interface_info){.flags = UP, .parent = 1, .vlan_id = 200};
	table[SUB + 2].info = (struct bp_interface_info){.flags = UP, .parent = 0, .vlan_id = 100};
	bp_nl_subinterfaces_adopt_table(f->cache, &fib);
	is_there(f, vlan(1, LAN, 100));
	has(f, SUB + 2, 0, 100);
	is_there(f, vlan(2, LAN, 200));
	has(f, SUB, 0, 200);
	is_there(f, vlan(3, LAN, 201));
	has(f, SUB + 3, 0, 201);
	bp_nl_cache_publish(f->cache, f->writer);
	has_not(f, SUB + 1); /* that interface is gone */
	free(table);
}

static void a_port_appears_after_its_subinterface(void **state)
{
	struct fixture *f = *state;
	struct bp_nl_cache *next = bp_nl_cache_new(&f->config);

	say_link(next, vlan(1, LAN, 100), true); /* the order of a dump is that of the kernel */
	ports_are_there(next, true);
	assert_null(next->invalid_reason);
	load_end(f, next);
	has(f, SUB, 0, 100);
	is_there(f, (struct link){.name = "away", .ifindex = LAN}); /* its port has another name */
	has_not(f, SUB);
	f->cache->invalid_reason = NULL;
	is_there(f, (struct link){.name = "lan", .ifindex = LAN});
	has(f, SUB, 0, 100);
	assert_non_null(f->cache->invalid_reason); /* its addresses were not recorded */
	is_gone(f, (struct link){.name = "lan", .ifindex = LAN});
	has_not(f, SUB);
}

static void addresses_neighbors_and_routes(void **state)
{
	struct fixture *f = *state;
	struct nl_msg *m = nlmsg_alloc_simple(RTM_NEWADDR, 0);
	struct ifaddrmsg ifa = {.ifa_family = AF_INET, .ifa_prefixlen = 24, .ifa_index = V + 1};
	const uint8_t ip[4] = {10, 1, 100, 1}, mac[6] = {2, 0, 0, 0, 0, 9};
	const struct bp_address there = bp_address4(ip);
	struct ndmsg nd = {.ndm_family = AF_INET, .ndm_ifindex = V + 1, .ndm_state = 0x02};
	struct bp_nl_path path = {0};

	is_there(f, vlan(1, LAN, 100));
	nlmsg_append(m, &ifa, sizeof(ifa), NLMSG_ALIGNTO);
	nla_put(m, IFA_LOCAL, 4, ip);
	bp_nl_cache_message(f->cache, nlmsg_hdr(m), false);
	nlmsg_free(m);
	assert_int_equal(fib_fake_interface(f->writer, SUB)->n_addresses, 1);

	m = nlmsg_alloc_simple(RTM_NEWNEIGH, 0);
	nlmsg_append(m, &nd, sizeof(nd), NLMSG_ALIGNTO);
	nla_put(m, NDA_DST, 4, ip);
	nla_put(m, NDA_LLADDR, 6, mac);
	bp_nl_cache_message(f->cache, nlmsg_hdr(m), false);
	nlmsg_free(m);
	assert_non_null(fib_fake_neighbor(f->writer, SUB, &there));

	bp_nl_path_add(f->cache, &path, &(struct bp_nl_hop){.ifindex = V + 1}, 1);
	assert_int_equal(path.n, 1);
	assert_int_equal(path.hop[0].interface, SUB);

	is_gone(f, vlan(1, LAN, 100));
	assert_null(fib_fake_neighbor(f->writer, SUB, &there));
	memset(&path, 0, sizeof(path));
	bp_nl_path_add(f->cache, &path, &(struct bp_nl_hop){.ifindex = V + 1}, 1);
	assert_int_equal(path.n, 0);
	is_there(f, vlan(1, LAN, 100));
	assert_int_equal(fib_fake_interface(f->writer, SUB)->n_addresses, 0);
}

static void more_than_there_are_numbers(void **state)
{
	struct fixture *f = *state;
	struct bp_nl_cache *next;

	for (unsigned i = 0; i < BP_MAX_SUBINTERFACES + 2; i++)
		is_there(f, vlan(i, LAN, (uint16_t)(1 + i)));
	has(f, BP_ALL_INTERFACES - 1, 0, BP_MAX_SUBINTERFACES);
	assert_int_equal(f->cache->subinterfaces_refused, 2);
	is_there(f, vlan(BP_MAX_SUBINTERFACES, LAN, BP_MAX_SUBINTERFACES + 1)); /* counted once */
	assert_int_equal(f->cache->subinterfaces_refused, 2);
	assert_false(bp_nl_subinterfaces_waiting(f->cache));
	is_gone(f, vlan(BP_MAX_SUBINTERFACES + 1, LAN, BP_MAX_SUBINTERFACES + 2));
	assert_int_equal(f->cache->subinterfaces_refused, 1);
	is_gone(f, vlan(0, LAN, 1));
	/* the number is free after two more loads */
	for (unsigned loads = 0; loads < 2; loads++) {
		assert_true(bp_nl_subinterfaces_waiting(f->cache));
		next = load_begin(f, false);
		for (unsigned i = 1; i <= BP_MAX_SUBINTERFACES; i++)
			say_link(next, vlan(i, LAN, (uint16_t)(1 + i)), true);
		load_end(f, next);
	}
	has(f, SUB, 0, BP_MAX_SUBINTERFACES + 1);
	assert_int_equal(f->cache->subinterfaces_refused, 0);
	assert_false(bp_nl_subinterfaces_waiting(f->cache));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_interface_appears_and_changes, setup, teardown),
		cmocka_unit_test_setup_teardown(interfaces_that_do_not_route, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_number_is_not_reused_while_routes_may_refer_to_it, setup, teardown),
		cmocka_unit_test_setup_teardown(numbers_survive_a_restart, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_port_appears_after_its_subinterface, setup, teardown),
		cmocka_unit_test_setup_teardown(addresses_neighbors_and_routes, setup, teardown),
		cmocka_unit_test_setup_teardown(more_than_there_are_numbers, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
