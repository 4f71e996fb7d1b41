/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "tests/unit/controlplane/sync/sync_rig.h"

/* The sync manager's handling of each kind of kernel object, at the start and by events. */

static int sysctl_of(const char *family, const char *interface, const char *name)
{
	char path[256];
	int value = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/sys/net/%s/conf/%s/%s", family, interface, name);
	f = fopen(path, "re");
	if (f == NULL || fscanf(f, "%d", &value) != 1)
		value = -1;
	if (f != NULL)
		fclose(f);
	return value;
}

/* Settings by sysctl. */
#define SETTINGS                                                                                   \
	(BP_IF_NO_FORWARD4 | BP_IF_NO_FORWARD6 | BP_IF_RPF_STRICT | BP_IF_RPF_LOOSE |              \
		BP_IF_REDIRECTS4 | BP_IF_REDIRECTS6 | BP_IF_SYSCTLS)

static void the_interfaces_are_set_up(void **state)
{
	struct sync_rig *r = *state;
	const struct bp_interface_info *lan;

	r->config.port[RIG_LAN].mtu = 1400;
	sync_rig_start(r);
	RUN_UNTIL(r, fib_fake_interface(r->writer, RIG_LAN)->n_addresses >= 2);
	lan = fib_fake_interface(r->writer, RIG_LAN);
	assert_string_equal(lan->name, "lan");
	RUN_UNTIL(r, (fib_fake_interface(r->writer, RIG_LAN)->flags & ~SETTINGS) ==
			     (BP_IF_PRESENT | BP_IF_KERNEL | BP_IF_UP | BP_IF_CARRIER));
	assert_int_equal(lan->mtu, 1400);
	assert_true(lan->ifindex > 0);
	assert_int_equal(sysctl_of("ipv4", "lan", "forwarding"), 1);
	/* an operator's, and so left as the kernel makes it */
	assert_int_equal(
		sysctl_of("ipv4", "lan", "rp_filter"), sysctl_of("ipv4", "default", "rp_filter"));
	assert_int_equal(sysctl_of("ipv6", "lan", "forwarding"), 1);
	assert_int_equal(sysctl_of("ipv6", "lan", "keep_addr_on_down"), 1);
	assert_true(sysctl_of("ipv6", "lan", "force_forwarding") == 1 ||
		    sysctl_of("ipv6", "all", "forwarding") == 1);
	/* an interface that is not ours keeps what it has */
	assert_int_equal(sysctl_of("ipv4", "other", "forwarding"), 0);

	assert_int_equal(rig_type(r, "10.0.0.0/24"), BP_ROUTE_UNICAST);
	assert_string_equal(rig_hops(r, "10.0.0.0/24"), "lan - 1");
	assert_int_equal(rig_type(r, "10.0.0.1/32"), BP_ROUTE_LOCAL);
	assert_int_equal(rig_type(r, "10.0.0.255/32"), BP_ROUTE_LOCAL);
	assert_int_equal(rig_type(r, "fd00::1/128"), BP_ROUTE_LOCAL);
	assert_int_equal(rig_type(r, "fd00::/64"), BP_ROUTE_UNICAST);
	/* addresses of other interfaces are this machine's too; their networks are the kernel's */
	assert_int_equal(rig_type(r, "10.9.0.1/32"), BP_ROUTE_LOCAL);
	assert_int_equal(rig_type(r, "10.9.0.0/24"), BP_ROUTE_PUNT);
	/* addresses that no router forwards to are not in the table */
	assert_int_equal(rig_type(r, "127.0.0.0/8"), -1);
	assert_int_equal(rig_type(r, "127.0.0.1/32"), -1);
	assert_int_equal(rig_type(r, "::1/128"), -1);
	assert_int_equal(rig_type(r, "ff00::/8"), -1);
	assert_int_equal(rig_type(r, "fe80::/64"), -1);
	RUN_UNTIL(r, sync_rig_synced(r) && rig_same_as_kernel(r));
}

static void routes_of_every_type(void **state)
{
	struct sync_rig *r = *state;

	sync_rig_ip("route add blackhole 10.20.0.0/16"); /* before the start */
	sync_rig_start(r);
	sync_rig_ip("route add unreachable 10.21.0.0/16");
	sync_rig_ip("route add prohibit 10.22.0.0/16");
	sync_rig_ip("route add throw 10.23.0.0/16");
	sync_rig_ip("route add 10.24.0.0/16 via 10.0.0.2");
	sync_rig_ip("route add 10.25.0.0/16 via inet6 fd01::2 dev wan");
	sync_rig_ip("route add 10.26.0.0/16 via 10.9.0.2");
	sync_rig_ip("route add default via 10.1.0.9 metric 50");
	sync_rig_ip("-6 route add blackhole fd20::/32");
	sync_rig_ip("-6 route add fd24::/32 via fd00::2");
	sync_rig_ip("-6 route add default via fe80::9 dev wan");
	sync_rig_ip("route add 10.27.0.0/16 via 10.0.0.2 table 99"); /* of another table */
	sync_rig_ip("-6 route add fd27::/32 via fd00::2");
	RUN_UNTIL(r, rig_type(r, "fd27::/32") >= 0);
	assert_int_equal(rig_type(r, "10.20.0.0/16"), BP_ROUTE_BLACKHOLE);
	assert_int_equal(rig_type(r, "10.21.0.0/16"), BP_ROUTE_UNREACHABLE);
	assert_int_equal(rig_type(r, "10.22.0.0/16"), BP_ROUTE_PROHIBIT);
	assert_int_equal(rig_type(r, "10.23.0.0/16"), BP_ROUTE_PUNT);
	assert_string_equal(rig_hops(r, "10.24.0.0/16"), "lan 10.0.0.2 1");
	assert_string_equal(rig_hops(r, "10.25.0.0/16"), "wan fd01::2 1");
	assert_int_equal(rig_type(r, "10.26.0.0/16"), BP_ROUTE_PUNT);
	assert_string_equal(rig_hops(r, "0.0.0.0/0"), "wan 10.1.0.9 1");
	assert_int_equal(rig_route(r, "0.0.0.0/0")->metric, 50);
	assert_int_equal(rig_type(r, "fd20::/32"), BP_ROUTE_BLACKHOLE);
	assert_string_equal(rig_hops(r, "fd24::/32"), "lan fd00::2 1");
	assert_string_equal(rig_hops(r, "::/0"), "wan fe80::9 1");
	assert_int_equal(rig_type(r, "10.27.0.0/16"), -1);
	RUN_UNTIL(r, sync_rig_synced(r) && rig_same_as_kernel(r));

	sync_rig_ip("route delete 10.24.0.0/16");
	sync_rig_ip("route delete default");
	sync_rig_ip("-6 route delete fd24::/32");
	sync_rig_ip("-6 route delete default");
	RUN_UNTIL(r, rig_type(r, "::/0") < 0);
	assert_int_equal(rig_type(r, "10.24.0.0/16"), -1);
	assert_int_equal(rig_type(r, "0.0.0.0/0"), -1);
	assert_int_equal(rig_type(r, "fd24::/32"), -1);
	assert_int_equal(rig_type(r, "::/0"), -1);
	assert_int_equal(atomic_load(&r->control->cp_sync_overruns), 0);
}

/* Waits until the prefix's hops read so. */
#define EXPECT_HOPS(r, prefix, hops) RUN_UNTIL(r, strcmp(rig_hops(r, prefix), hops) == 0)

static void the_best_of_several(void **state)
{
	struct sync_rig *r = *state;

	sync_rig_start(r);
	sync_rig_ip("route add 10.30.0.0/16 via 10.0.0.2 metric 100");
	EXPECT_HOPS(r, "10.30.0.0/16", "lan 10.0.0.2 1");
	sync_rig_ip("route add 10.30.0.0/16 via 10.1.0.2 metric 20");
	EXPECT_HOPS(r, "10.30.0.0/16", "wan 10.1.0.2 1");
	sync_rig_ip("route add 10.30.0.0/16 via 10.0.0.3 metric 50");
	sync_rig_ip("route delete 10.30.0.0/16 metric 20");
	EXPECT_HOPS(r, "10.30.0.0/16", "lan 10.0.0.3 1");
	assert_int_equal(rig_route(r, "10.30.0.0/16")->metric, 50);
	sync_rig_ip("route delete 10.30.0.0/16 metric 50");
	EXPECT_HOPS(r, "10.30.0.0/16", "lan 10.0.0.2 1");

	/* of one metric: the first in the kernel's order */
	sync_rig_ip("route append 10.30.0.0/16 via 10.0.0.4 metric 100");
	sync_rig_ip("route prepend 10.30.0.0/16 via 10.0.0.5 metric 100");
	EXPECT_HOPS(r, "10.30.0.0/16", "lan 10.0.0.5 1");
	sync_rig_ip("route replace 10.30.0.0/16 via 10.0.0.6 metric 100");
	EXPECT_HOPS(r, "10.30.0.0/16", "lan 10.0.0.6 1");
	sync_rig_ip("route delete 10.30.0.0/16 via 10.0.0.6");
	EXPECT_HOPS(r, "10.30.0.0/16", "lan 10.0.0.2 1");
	sync_rig_ip("route delete 10.30.0.0/16 via 10.0.0.2");
	EXPECT_HOPS(r, "10.30.0.0/16", "lan 10.0.0.4 1");
	sync_rig_ip("route delete 10.30.0.0/16 via 10.0.0.4");
	RUN_UNTIL(r, rig_type(r, "10.30.0.0/16") < 0);

	sync_rig_ip("-6 route add fd30::/32 via fd00::2 metric 100");
	sync_rig_ip("-6 route add fd30::/32 via fd01::2 metric 20");
	EXPECT_HOPS(r, "fd30::/32", "wan fd01::2 1");
	sync_rig_ip("-6 route replace fd30::/32 via fd01::3 metric 20");
	EXPECT_HOPS(r, "fd30::/32", "wan fd01::3 1");
	sync_rig_ip("-6 route delete fd30::/32 metric 20");
	EXPECT_HOPS(r, "fd30::/32", "lan fd00::2 1");

	/* a route for one TOS only: longest prefix match ignores the TOS, the kernel does not */
	sync_rig_ip("route add 10.31.0.0/16 via 10.0.0.2");
	sync_rig_ip("route add 10.31.0.0/16 tos 0x10 via 10.1.0.2");
	RUN_UNTIL(r, rig_type(r, "10.31.0.0/16") == BP_ROUTE_PUNT);
	sync_rig_ip("route delete 10.31.0.0/16 tos 0x10");
	EXPECT_HOPS(r, "10.31.0.0/16", "lan 10.0.0.2 1");
	assert_int_equal(atomic_load(&r->control->cp_sync_resyncs), 0);
	RUN_UNTIL(r, sync_rig_synced(r) && rig_same_as_kernel(r));
}

/* Setup that the sync manager would do, needed before it starts. */
static void by_hand(void)
{
	sync_rig_ip("address add 10.0.0.1/24 dev lan");
	sync_rig_ip("address add 10.1.0.1/24 dev wan");
	sync_rig_ip("address add fd00::1/64 dev lan");
	sync_rig_ip("address add fd01::1/64 dev wan");
	sync_rig_ip("link set lan up");
	sync_rig_ip("link set wan up");
}

static void several_hops(void **state)
{
	struct sync_rig *r = *state;

	by_hand();
	sync_rig_ip("route add 10.40.0.0/16 nexthop via 10.0.0.2 weight 3 nexthop via 10.1.0.2");
	sync_rig_ip("-6 route add fd40::/32 nexthop via fd00::2 nexthop via fd01::2 weight 2");
	sync_rig_start(r);
	assert_string_equal(rig_hops(r, "10.40.0.0/16"), "lan 10.0.0.2 3, wan 10.1.0.2 1");
	assert_string_equal(rig_hops(r, "fd40::/32"), "lan fd00::2 1, wan fd01::2 2");

	/* one of ours and one that is not */
	sync_rig_ip("route add 10.41.0.0/16 nexthop via 10.0.0.2 nexthop via 10.9.0.2");
	RUN_UNTIL(r, rig_type(r, "10.41.0.0/16") == BP_ROUTE_PUNT);
	RUN_UNTIL(r, atomic_load(&r->control->cp_sync_punted) >= 2);

	/* IPv6: appended and removed one by one */
	sync_rig_ip("-6 route append fd40::/32 via fd00::3");
	EXPECT_HOPS(r, "fd40::/32", "lan fd00::2 1, lan fd00::3 1, wan fd01::2 2");
	sync_rig_ip("-6 route delete fd40::/32 via fd00::2");
	EXPECT_HOPS(r, "fd40::/32", "lan fd00::3 1, wan fd01::2 2");
	sync_rig_ip("-6 route replace fd40::/32 nexthop via fd00::5 nexthop via fd01::5");
	EXPECT_HOPS(r, "fd40::/32", "lan fd00::5 1, wan fd01::5 1");
	sync_rig_ip("-6 route delete fd40::/32");
	RUN_UNTIL(r, rig_type(r, "fd40::/32") < 0);

	sync_rig_ip("route replace 10.40.0.0/16 nexthop via 10.0.0.7 nexthop via 10.1.0.7");
	EXPECT_HOPS(r, "10.40.0.0/16", "lan 10.0.0.7 1, wan 10.1.0.7 1");
	RUN_UNTIL(r, sync_rig_synced(r) && rig_same_as_kernel(r));
	assert_int_equal(atomic_load(&r->control->cp_sync_resyncs), 0);
}

static void next_hop_objects(void **state)
{
	struct sync_rig *r = *state;

	by_hand();
	sync_rig_ip("nexthop add id 1 via 10.0.0.2 dev lan");
	sync_rig_ip("nexthop add id 2 via 10.1.0.2 dev wan");
	sync_rig_ip("nexthop add id 10 group 1,3/2,1");
	sync_rig_ip("route add 10.50.0.0/16 nhid 10");
	sync_rig_start(r);
	assert_int_equal(rig_route(r, "10.50.0.0/16")->object, 10);
	assert_string_equal(rig_hops(r, "10.50.0.0/16"), "lan 10.0.0.2 3, wan 10.1.0.2 1");
	assert_int_equal(fib_fake_object(r->writer, 10)->n_hops, 2);

	/* a change of a member is a change of the group, without any of the route */
	sync_rig_ip("nexthop replace id 1 via 10.0.0.3 dev lan");
	RUN_UNTIL(r, fib_fake_object(r->writer, 10)->hop[0].gateway.bytes[3] == 3);
	assert_int_equal(fib_fake_object(r->writer, 1)->hop[0].gateway.bytes[3], 3);

	sync_rig_ip("nexthop add id 4 blackhole");
	sync_rig_ip("nexthop add id 5 via 10.9.0.2 dev other");
	sync_rig_ip("route add 10.51.0.0/16 nhid 4");
	sync_rig_ip("route add 10.52.0.0/16 nhid 5");
	sync_rig_ip("-6 nexthop add id 6 via fd01::2 dev wan");
	sync_rig_ip("-6 route add fd50::/32 nhid 6");
	RUN_UNTIL(r, rig_type(r, "fd50::/32") >= 0);
	assert_int_equal(fib_fake_object(r->writer, 4)->type, BP_ROUTE_BLACKHOLE);
	assert_int_equal(rig_route(r, "10.51.0.0/16")->object, 4);
	assert_int_equal(fib_fake_object(r->writer, 5)->type, BP_ROUTE_PUNT);
	assert_string_equal(rig_hops(r, "fd50::/32"), "wan fd01::2 1");
	RUN_UNTIL(r, sync_rig_synced(r));
	assert_int_equal(atomic_load(&r->control->cp_sync_resyncs), 0);

	/* the kernel takes the routes with it, of IPv4 without a word */
	sync_rig_ip("nexthop delete id 5");
	RUN_UNTIL(r, rig_type(r, "10.52.0.0/16") < 0 && fib_fake_object(r->writer, 5) == NULL);
	sync_rig_ip("nexthop delete id 2");
	RUN_UNTIL(r, fib_fake_object(r->writer, 10)->n_hops == 1);
	sync_rig_ip("nexthop delete id 6");
	RUN_UNTIL(r, rig_type(r, "fd50::/32") < 0);
	RUN_UNTIL(r, sync_rig_synced(r) && rig_same_as_kernel(r));
}

static void neighbors_follow_the_kernel(void **state)
{
	struct sync_rig *r = *state;

	sync_rig_start(r);
	sync_rig_ip("neighbor add 10.0.0.2 lladdr 02:00:00:00:00:02 dev lan nud reachable");
	sync_rig_ip("neighbor add 10.0.0.3 lladdr 02:00:00:00:00:03 dev lan nud permanent");
	sync_rig_ip("neighbor add 10.0.0.4 dev lan nud failed");
	sync_rig_ip("neighbor add 10.9.0.2 lladdr 02:00:00:00:00:09 dev other");
	sync_rig_ip("neighbor add proxy 10.0.0.5 dev lan");
	sync_rig_ip("-6 neighbor add fd01::2 lladdr 02:00:00:00:00:06 dev wan nud stale");
	RUN_UNTIL(r, rig_neighbor(r, RIG_WAN, "fd01::2") != NULL);
	assert_int_equal(rig_neighbor(r, RIG_LAN, "10.0.0.2")->state, BP_NEIGHBOR_REACHABLE);
	assert_int_equal(rig_neighbor(r, RIG_LAN, "10.0.0.2")->mac[5], 2);
	/* permanent there is not what the file says for ever */
	assert_int_equal(rig_neighbor(r, RIG_LAN, "10.0.0.3")->state, BP_NEIGHBOR_REACHABLE);
	assert_null(rig_neighbor(r, RIG_LAN, "10.0.0.4"));
	assert_null(rig_neighbor(r, RIG_LAN, "10.0.0.5"));
	assert_null(rig_neighbor(r, RIG_LAN, "10.9.0.2"));
	sync_rig_ip("neighbor change 10.0.0.2 lladdr 02:00:00:00:00:22 dev lan");
	sync_rig_ip("neighbor delete 10.0.0.3 dev lan");
	RUN_UNTIL(r, rig_neighbor(r, RIG_LAN, "10.0.0.3") == NULL);
	assert_int_equal(rig_neighbor(r, RIG_LAN, "10.0.0.2")->mac[5], 0x22);
}

int main(void)
{
#define RIG_TEST(f) cmocka_unit_test_setup_teardown(f, sync_rig_setup, sync_rig_teardown)
	const struct CMUnitTest tests[] = {
		RIG_TEST(the_interfaces_are_set_up),
		RIG_TEST(routes_of_every_type),
		RIG_TEST(the_best_of_several),
		RIG_TEST(several_hops),
		RIG_TEST(next_hop_objects),
		RIG_TEST(neighbors_follow_the_kernel),
	};

	if (!sync_rig_namespace())
		return 77;
	return cmocka_run_group_tests_name("sync", tests, NULL, NULL);
}
