/* SPDX-License-Identifier: BSD-3-Clause */
#include <net/if.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controlplane/sync/sync_internal.h"
#include "controlplane/sync/tap.h"
#include "tests/unit/controlplane/sync/sync_rig.h"

/* The tables when objects are removed, return, or change too fast. */

#define FLAGS_UP (BP_IF_PRESENT | BP_IF_KERNEL | BP_IF_UP | BP_IF_CARRIER)

static uint32_t flags_of(const struct sync_rig *r, unsigned i)
{
	return fib_fake_interface(r->writer, i)->flags &
	       (BP_IF_PRESENT | BP_IF_UP | BP_IF_CARRIER | BP_IF_KERNEL);
}

/* The kernel removes IPv4 routes of an interface that goes down, and says nothing. */
static void an_interface_down_and_up(void **state)
{
	struct sync_rig *r = *state;

	sync_rig_start(r);
	sync_rig_ip("route add 10.60.0.0/16 via 10.0.0.2");
	sync_rig_ip("route add 10.60.0.0/16 via 10.1.0.2 metric 9");
	sync_rig_ip("route add 10.61.0.0/16 nexthop via 10.0.0.2 nexthop via 10.1.0.2");
	sync_rig_ip("-6 route add fd60::/32 via fd00::2");
	sync_rig_ip("nexthop add id 7 via 10.0.0.2 dev lan");
	sync_rig_ip("route add 10.62.0.0/16 nhid 7");
	sync_rig_ip("neighbor add 10.0.0.2 lladdr 02:00:00:00:00:02 dev lan");
	RUN_UNTIL(r, rig_neighbor(r, RIG_LAN, "10.0.0.2") != NULL);
	assert_int_equal(rig_type(r, "10.62.0.0/16"), BP_ROUTE_UNICAST);

	sync_rig_ip("link set lan down");
	RUN_UNTIL(r, strcmp(rig_hops(r, "10.60.0.0/16"), "wan 10.1.0.2 1") == 0 &&
			     strcmp(rig_hops(r, "10.61.0.0/16"), "wan 10.1.0.2 1") == 0 &&
			     rig_type(r, "10.62.0.0/16") < 0 && rig_type(r, "10.0.0.0/24") < 0 &&
			     rig_type(r, "fd60::/32") < 0);
	RUN_UNTIL(r, !(flags_of(r, RIG_LAN) & BP_IF_UP));
	RUN_UNTIL(r, rig_neighbor(r, RIG_LAN, "10.0.0.2") == NULL);
	RUN_UNTIL(r, sync_rig_synced(r));
	assert_true(atomic_load(&r->control->cp_sync_resyncs) > 0);
	/* the address is still one of this machine's */
	assert_int_equal(rig_type(r, "10.0.0.1/32"), BP_ROUTE_LOCAL);
	RUN_UNTIL(r, sync_rig_synced(r) && rig_same_as_kernel(r));

	sync_rig_ip("link set lan up");
	RUN_UNTIL(r,
		rig_type(r, "10.0.0.0/24") >= 0 && flags_of(r, RIG_LAN) == FLAGS_UP &&
			strcmp(rig_hops(r, "10.61.0.0/16"), "lan 10.0.0.2 1, wan 10.1.0.2 1") == 0);
	/* the kernel keeps the IPv6 addresses, as configured */
	RUN_UNTIL(r, rig_type(r, "fd00::/64") == BP_ROUTE_UNICAST);
	RUN_UNTIL(r, sync_rig_synced(r) && rig_same_as_kernel(r));
}

/* With carrier, but dormant, as before IEEE 802.1X has let it in; or just not yet checked by the
 * kernel: its IPv6 hops are dead until it runs. */
static void an_interface_runs_later_than_it_has_carrier(void **state)
{
	struct sync_rig *r = *state;

	sync_rig_start(r);
	sync_rig_ip("-6 route add fd61::/48 nexthop via fd01::2 nexthop via fd00::2");
	sync_rig_ip("link set lan mode dormant");
	sync_rig_ip("link set lan down");
	RUN_UNTIL(r, strcmp(rig_hops(r, "fd61::/48"), "wan fd01::2 1") == 0);
	sync_rig_ip("link set lan up");
	RUN_UNTIL(r, flags_of(r, RIG_LAN) == FLAGS_UP);
	RUN_UNTIL(r, sync_rig_synced(r) && rig_same_as_kernel(r));
	assert_string_equal(rig_hops(r, "fd61::/48"), "wan fd01::2 1");

	sync_rig_ip("link set lan state up");
	RUN_UNTIL(r, strchr(rig_hops(r, "fd61::/48"), ',') != NULL);
	RUN_UNTIL(r, sync_rig_synced(r) && rig_same_as_kernel(r));
}

static void links_change(void **state)
{
	struct sync_rig *r = *state;

	sync_rig_start(r);
	sync_rig_ip("link set lanp down"); /* the carrier */
	RUN_UNTIL(r, flags_of(r, RIG_LAN) == (FLAGS_UP & ~BP_IF_CARRIER));
	sync_rig_ip("link set lanp up");
	RUN_UNTIL(r, flags_of(r, RIG_LAN) == FLAGS_UP);
	sync_rig_ip("link set lan address 02:00:00:00:00:77 mtu 1300");
	RUN_UNTIL(r, fib_fake_interface(r->writer, RIG_LAN)->mac[5] == 0x77 &&
			     fib_fake_interface(r->writer, RIG_LAN)->mtu == 1300);
	/* addresses of the operator's, and the file's that he removes */
	sync_rig_ip("address add 10.70.0.1/24 dev lan");
	RUN_UNTIL(r, rig_type(r, "10.70.0.0/24") == BP_ROUTE_UNICAST);
	assert_int_equal(fib_fake_interface(r->writer, RIG_LAN)->n_addresses, 3);
	sync_rig_ip("address delete 10.0.0.1/24 dev lan");
	RUN_UNTIL(r, rig_type(r, "10.0.0.0/24") < 0);
	RUN_UNTIL(r, fib_fake_interface(r->writer, RIG_LAN)->n_addresses == 2);
	RUN_UNTIL(r, sync_rig_synced(r) && rig_same_as_kernel(r));

	/* by another name it is not ours, and its routes are the kernel's affair */
	sync_rig_ip("link set lan down");
	sync_rig_ip("link set lan name elsewhere");
	sync_rig_ip("link set elsewhere up");
	RUN_UNTIL(r, rig_type(r, "10.70.0.0/24") == BP_ROUTE_PUNT);
	assert_int_equal(flags_of(r, RIG_LAN), BP_IF_PRESENT);
	sync_rig_ip("link set elsewhere down");
	sync_rig_ip("link set elsewhere name lan");
	RUN_UNTIL(r, rig_type(r, "10.70.0.0/24") == BP_ROUTE_UNICAST);
	/* it appeared: it has what the file says */
	RUN_UNTIL(r, rig_type(r, "10.0.0.0/24") == BP_ROUTE_UNICAST);
	RUN_UNTIL(r, sync_rig_synced(r) && rig_same_as_kernel(r));
}

/* Routes whose preferred source is removed go without an event. */
static void a_preferred_source_goes(void **state)
{
	struct sync_rig *r = *state;

	sync_rig_start(r);
	sync_rig_ip("address add 10.71.0.1/32 dev lo");
	sync_rig_ip("route add 10.72.0.0/16 via 10.0.0.2 src 10.71.0.1");
	RUN_UNTIL(r, rig_type(r, "10.72.0.0/16") >= 0);
	sync_rig_ip("address delete 10.71.0.1/32 dev lo");
	RUN_UNTIL(r, rig_type(r, "10.72.0.0/16") < 0);
	RUN_UNTIL(r, sync_rig_synced(r) && rig_same_as_kernel(r));
}

static void many_routes(unsigned n, const char *verb, unsigned gateway)
{
	FILE *f = sync_rig_batch();

	for (unsigned i = 0; i < n; i++)
		fprintf(f, "route %s 172.%u.%u.%u/32 via 10.0.0.%u\n", verb, 16 + (i >> 16),
			i >> 8 & 255, i & 255, gateway);
	assert_int_equal(pclose(f), 0);
}

/* More events than the buffer takes while no one reads. */
static void lost_events(void **state)
{
	struct sync_rig *r = *state;
	unsigned before;

	r->config.netlink.receive_buffer = 16384;
	many_routes(0, "add", 2);
	sync_rig_start(r);
	many_routes(3000, "add", 2);
	RUN_UNTIL(r, atomic_load(&r->control->cp_sync_overruns) > 0 && sync_rig_synced(r));
	RUN_UNTIL(r, fib_fake_routes(r->writer) > 3000);
	RUN_UNTIL(r, sync_rig_synced(r) && rig_same_as_kernel(r));

	/* again, with changes: existing entries remain meanwhile */
	before = fib_fake_routes(r->writer);
	fib_fake_watch(r->writer);
	uint64_t overruns = atomic_load(&r->control->cp_sync_overruns);
	many_routes(3000, "replace", 3);
	RUN_UNTIL(r, atomic_load(&r->control->cp_sync_overruns) > overruns && sync_rig_synced(r) &&
			     strcmp(rig_hops(r, "172.16.11.183/32"), "lan 10.0.0.3 1") == 0);
	assert_int_equal(fib_fake_least(r->writer), before);
	assert_int_equal(fib_fake_routes(r->writer), before);
	RUN_UNTIL(r, sync_rig_synced(r) && rig_same_as_kernel(r));

	/* and removals, of which no event may be left */
	many_routes(2999, "delete", 3);
	RUN_UNTIL(r, fib_fake_routes(r->writer) == before - 2999 && sync_rig_synced(r));
	RUN_UNTIL(r, sync_rig_synced(r) && rig_same_as_kernel(r));
}

/* A control plane that dies and comes back finds the tables full and the kernel changed. */
static void started_again(void **state)
{
	struct sync_rig *r = *state;
	unsigned before;

	sync_rig_start(r);
	many_routes(500, "add", 2);
	RUN_UNTIL(r, rig_type(r, "172.16.1.243/32") >= 0);
	sync_rig_stop(r);
	assert_int_equal(atomic_load(&r->control->cp_sync_state), BP_SYNC_OFF);
	many_routes(100, "delete", 2);
	sync_rig_ip("route add 10.73.0.0/16 via 10.1.0.2");
	before = fib_fake_routes(r->writer);
	fib_fake_watch(r->writer);
	sync_rig_start(r);
	assert_int_equal(fib_fake_routes(r->writer), before - 100 + 1);
	/* first what is new, then what is old: at no moment was anything else missing */
	assert_true(fib_fake_least(r->writer) >= before - 100);
	assert_int_equal(rig_type(r, "172.16.0.99/32"), -1);
	assert_int_equal(rig_type(r, "172.16.0.100/32"), BP_ROUTE_UNICAST);
	RUN_UNTIL(r, sync_rig_synced(r) && rig_same_as_kernel(r));
}

/* No room: said, counted, and what is deleted makes room. */
static void no_capacity(void **state)
{
	struct sync_rig *r = *state;

	sync_rig_start(r);
	fib_fake_limit(r->writer, fib_fake_routes(r->writer) + 10);
	many_routes(20, "add", 2);
	sync_rig_ip("route add 10.74.0.0/16 via 10.1.0.2");
	sync_rig_ip("route delete 172.16.0.0/32");
	RUN_UNTIL(r, rig_type(r, "172.16.0.0/32") < 0);
	assert_int_equal(rig_type(r, "10.74.0.0/16"), -1);
	assert_true(sync_rig_synced(r));
}

/* ---- kernel interfaces ---- */

static bool exists(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/sys/net/ipv4/conf/%s", name);
	return access(path, F_OK) == 0;
}

/* Whichever plane comes first; the interface lives as long as one of them. */
static void a_tap_is_held(void **state)
{
	struct sync_rig *r = *state;
	char err[512];
	int other;

	snprintf(r->config.port[RIG_WAN].name, sizeof(r->config.port[RIG_WAN].name), "tapw");
	r->config.port[RIG_WAN].interface.backend = BP_BACKEND_TAP;
	r->no_ports = true; /* else it would wait for its port's MAC */
	sync_rig_ip("link delete wan");
	sync_rig_start(r); /* creates it */
	assert_true(exists("tapw"));
	RUN_UNTIL(r, fib_fake_interface(r->writer, RIG_WAN)->n_addresses >= 2);
	other = bp_tap_hold("tapw", err, sizeof(err)); /* as a data plane's queue would */
	assert_true(other >= 0);
	sync_rig_stop(r);
	assert_true(exists("tapw"));
	sync_rig_start(r); /* joins it */
	close(other);
	sync_rig_ip("route add 10.75.0.0/16 dev tapw");
	RUN_UNTIL(r, rig_type(r, "10.75.0.0/16") >= 0);
	assert_true(exists("tapw"));
	sync_rig_stop(r);
	RUN_UNTIL(r, !exists("tapw"));
}

/* Removed from outside: queued frames are void; it is created again, with the configured addresses.
 */
static void a_tap_is_removed(void **state)
{
	struct sync_rig *r = *state;

	snprintf(r->config.port[RIG_WAN].name, sizeof(r->config.port[RIG_WAN].name), "tapw");
	r->config.port[RIG_WAN].interface.backend = BP_BACKEND_TAP;
	r->no_ports = true; /* else it would wait for its port's MAC */
	sync_rig_ip("link delete wan");
	sync_rig_start(r);
	uint32_t ifindex = fib_fake_interface(r->writer, RIG_WAN)->ifindex;

	sync_rig_ip("link delete tapw");
	RUN_UNTIL(r, fib_fake_interface(r->writer, RIG_WAN)->ifindex != ifindex &&
			     fib_fake_interface(r->writer, RIG_WAN)->n_addresses >= 2 &&
			     rig_type(r, "10.1.0.0/24") == BP_ROUTE_UNICAST);
	RUN_UNTIL(r, sync_rig_synced(r) && rig_same_as_kernel(r));
}

/* A resync begins before the event is read, and the dump replaces it. */
static void a_tap_is_removed_while_a_resync_begins(void **state)
{
	struct sync_rig *r = *state;

	snprintf(r->config.port[RIG_WAN].name, sizeof(r->config.port[RIG_WAN].name), "tapw");
	r->config.port[RIG_WAN].interface.backend = BP_BACKEND_TAP;
	r->no_ports = true; /* otherwise it would wait for the MAC address of its port */
	sync_rig_ip("link delete wan");
	sync_rig_start(r);
	uint32_t ifindex = fib_fake_interface(r->writer, RIG_WAN)->ifindex;

	sync_rig_ip("link delete tapw");
	bp_sync_load(r->sync);
	RUN_UNTIL(r, fib_fake_interface(r->writer, RIG_WAN)->ifindex != ifindex &&
			     fib_fake_interface(r->writer, RIG_WAN)->n_addresses >= 2 &&
			     rig_type(r, "10.1.0.0/24") == BP_ROUTE_UNICAST);
	RUN_UNTIL(r, sync_rig_synced(r) && rig_same_as_kernel(r));
}

/* An interface held only by the data plane is removed with it: the tables remain until it returns.
 */
static void held_without_the_data_plane(void **state)
{
	struct sync_rig *r = *state;
	unsigned before;

	sync_rig_start(r);
	sync_rig_ip("route add 10.76.0.0/16 via 10.1.0.2");
	sync_rig_ip("-6 route add fd76::/32 via fd01::2");
	sync_rig_ip("neighbor add 10.1.0.2 lladdr 02:00:00:00:00:02 dev wan");
	RUN_UNTIL(r, rig_neighbor(r, RIG_WAN, "10.1.0.2") != NULL);
	RUN_UNTIL(r, sync_rig_synced(r));
	before = fib_fake_routes(r->writer);
	fib_fake_watch(r->writer);

	sync_rig_ip("link delete wan");
	RUN_UNTIL(r, bp_sync_state(r->sync) == BP_SYNC_HELD);
	assert_int_equal(fib_fake_least(r->writer), before);
	assert_int_equal(flags_of(r, RIG_WAN), FLAGS_UP);
	assert_non_null(rig_neighbor(r, RIG_WAN, "10.1.0.2"));

	/* it comes back: set up, and then everything is as the kernel has it */
	sync_rig_ip("link add wan type veth peer name wanp");
	sync_rig_ip("link set wan addrgenmode none");
	sync_rig_ip("link set wanp up");
	RUN_UNTIL(r, sync_rig_synced(r) && rig_type(r, "10.76.0.0/16") < 0);
	assert_int_equal(rig_type(r, "10.1.0.0/24"), BP_ROUTE_UNICAST);
	assert_true(fib_fake_least(r->writer) >= before - 2);
	RUN_UNTIL(r, rig_type(r, "fd01::/64") == BP_ROUTE_UNICAST && sync_rig_synced(r));
	RUN_UNTIL(r, sync_rig_synced(r) && rig_same_as_kernel(r));
}

/* Used by a worker, stale in the kernel: it is asked to look. */
static void neighbors_in_use_are_probed(void **state)
{
	struct sync_rig *r = *state;
	char line[256] = "";
	FILE *f;

	sync_rig_start(r);
	sync_rig_ip("neighbor add 10.0.0.2 lladdr 02:00:00:00:00:02 dev lan nud stale");
	sync_rig_ip("neighbor add 10.0.0.3 lladdr 02:00:00:00:00:03 dev lan nud permanent");
	RUN_UNTIL(r, rig_neighbor(r, RIG_LAN, "10.0.0.3") != NULL);
	fib_fake_used_s = (uint32_t)(test_now_ns() / 1000000000u);
	RUN_UNTIL(r, atomic_load(&r->control->cp_sync_probes) > 0);
	assert_int_equal(atomic_load(&r->control->cp_sync_probes), 1);
	f = popen("ip neighbor show 10.0.0.2 dev lan", "r"); // NOLINT
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	pclose(f);
	assert_null(strstr(line, "STALE"));
	assert_non_null(strstr(line, "DELAY"));
}

static void the_configuration_is_reloaded(void **state)
{
	struct sync_rig *r = *state;
	struct bp_config *next = malloc(sizeof(*next));
	struct bp_config_static_route route = {
		.prefix = bp_prefix_of(rig_address("10.77.0.0"), 16), .type = BP_ROUTE_BLACKHOLE};
	struct bp_config_static_neighbor neighbor = {.address = rig_address("10.0.0.2"),
		.interface = RIG_LAN,
		.mac = {2, 0, 0, 0, 0, 9}};

	sync_rig_start(r);
	assert_non_null(next);
	*next = r->config;
	next->fixed = (struct bp_config_static){
		.n_routes = 1, .route = &route, .n_neighbors = 1, .neighbor = &neighbor};
	bp_sync_reconfigure(r->sync, next);
	assert_non_null(fib_fake_route(r->writer, &route.prefix, BP_ORIGIN_STATIC));
	assert_int_equal(rig_neighbor(r, RIG_LAN, "10.0.0.2")->state, BP_NEIGHBOR_PERMANENT);
	/* the file's neighbor has precedence over the kernel's */
	sync_rig_ip("neighbor add 10.0.0.2 lladdr 02:00:00:00:00:22 dev lan nud reachable");
	sync_rig_ip("neighbor add 10.0.0.4 lladdr 02:00:00:00:00:44 dev lan nud reachable");
	RUN_UNTIL(r, rig_neighbor(r, RIG_LAN, "10.0.0.4") != NULL);
	assert_int_equal(rig_neighbor(r, RIG_LAN, "10.0.0.2")->mac[5], 9);
	bp_sync_reconfigure(r->sync, &r->config);
	free(next);
	RUN_UNTIL(r, rig_neighbor(r, RIG_LAN, "10.0.0.2") != NULL &&
			     rig_neighbor(r, RIG_LAN, "10.0.0.2")->mac[5] == 0x22);
	assert_null(fib_fake_route(r->writer, &route.prefix, BP_ORIGIN_STATIC));
}

int main(void)
{
#define RIG_TEST(f) cmocka_unit_test_setup_teardown(f, sync_rig_setup, sync_rig_teardown)
	const struct CMUnitTest tests[] = {
		RIG_TEST(an_interface_down_and_up),
		RIG_TEST(an_interface_runs_later_than_it_has_carrier),
		RIG_TEST(links_change),
		RIG_TEST(a_preferred_source_goes),
		RIG_TEST(lost_events),
		RIG_TEST(started_again),
		RIG_TEST(no_capacity),
		RIG_TEST(a_tap_is_held),
		RIG_TEST(a_tap_is_removed),
		RIG_TEST(a_tap_is_removed_while_a_resync_begins),
		RIG_TEST(held_without_the_data_plane),
		RIG_TEST(neighbors_in_use_are_probed),
		RIG_TEST(the_configuration_is_reloaded),
	};

	if (!sync_rig_namespace())
		return 77;
	return cmocka_run_group_tests_name("sync_events", tests, NULL, NULL);
}
