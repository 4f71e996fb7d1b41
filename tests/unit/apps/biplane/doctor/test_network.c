/* SPDX-License-Identifier: BSD-3-Clause */
/* The doctor's queries of the kernel's network configuration, in a network namespace. */
#include "tests/unit/controlplane/sync/sync_net.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "apps/biplane/doctor/actions.h"
#include "apps/biplane/doctor/hugepages.h"
#include "apps/biplane/doctor/network.h"
#include "apps/biplane/doctor/tree.h"
#include "apps/biplane/show/fib_text.h"

/* Two wires, of which one belongs to a bridge and one carries a macvlan. */
static int begin(void **state)
{
	(void)state;
	sync_rig_ip("link add eth0 type veth peer name eth0p");
	sync_rig_ip("link add eth1 type veth peer name eth1p");
	sync_rig_ip("link add eth2 type veth peer name eth2p");
	sync_rig_ip("link set eth2p up");
	sync_rig_ip("link add br0 type bridge");
	sync_rig_ip("link set eth0 master br0");
	sync_rig_ip("link add link eth1 name up1 type macvlan mode private");
	for (int i = 0; i < 3; i++)
		sync_rig_ip("link set eth%d up", i);
	sync_rig_ip("link set eth0p up");
	sync_rig_ip("link set eth1p up");
	sync_rig_ip("link set br0 up");
	sync_rig_ip("link set up1 up");
	sync_rig_ip("address add 10.1.0.1/24 dev br0");
	sync_rig_ip("address add 10.2.0.1/24 dev up1");
	sync_rig_ip("address add fd02::1/64 dev up1 nodad");
	sync_rig_ip("address add 10.3.0.1/24 dev eth2");
	return 0;
}

static int end(void **state)
{
	(void)state;
	sync_rig_ip("link del eth0");
	sync_rig_ip("link del eth1");
	sync_rig_ip("link del eth2");
	sync_rig_ip("link del br0");
	sync_rig_try("nexthop flush");
	return 0;
}

static struct bp_doctor_network look(const char *local, const char *peer)
{
	struct bp_doctor_sessions sessions = {0};
	struct bp_doctor_network net;

	if (local) {
		sessions.n = 1;
		sessions.session[0].local = rig_address(local);
		sessions.session[0].peer = rig_address(peer);
	}
	bp_doctor_network_read("", &sessions, &net);
	return net;
}

static void expect(const struct bp_doctor_network *net, const char *name, const char *never)
{
	const struct bp_doctor_interface *i = bp_doctor_interface_find(net, name);

	assert_non_null(i);
	if (*never ? !strstr(i->never, never) : i->never[0] != 0)
		fail_msg("%s: '%s', and '%s' was expected", name, i->never, never);
}

static void no_route_leads_out(void **state)
{
	struct bp_doctor_network net = look(NULL, NULL);

	(void)state;
	expect(&net, "eth0", "");
	expect(&net, "eth1", "");
	assert_string_equal(net.blind, "");
	assert_string_equal(bp_doctor_interface_find(&net, "eth0")->master, "br0");
	assert_string_equal(bp_doctor_interface_find(&net, "eth1")->above, "up1");
	assert_string_equal(bp_doctor_interface_find(&net, "br0")->address, "10.1.0.1/24");
	assert_int_equal(bp_doctor_interface_find(&net, "up1")->n_addresses, 2);
	assert_true(bp_doctor_interface_find(&net, "eth2")->up);
	bp_doctor_network_free(&net);
}

static void default_routes(void **state)
{
	struct bp_doctor_network net;

	(void)state;
	sync_rig_ip("route add default via 10.1.0.2");
	sync_rig_ip("-6 route add default via fd02::2 table 77");
	sync_rig_ip("route add unreachable default metric 4000");
	net = look(NULL, NULL);
	expect(&net, "br0", "carries the default route (IPv4)");
	expect(&net, "eth0", "carries the default route (IPv4)");
	expect(&net, "up1", "carries the default route (IPv6, table 77)");
	expect(&net, "eth1", "carries the default route (IPv6, table 77)");
	expect(&net, "eth2", "");
	/* a veth's other end may be anywhere */
	assert_non_null(strstr(net.blind, "carries the default route"));
	bp_doctor_network_free(&net);
	sync_rig_ip("route del default via 10.1.0.2");
	sync_rig_ip("-6 route del default via fd02::2 table 77");
	sync_rig_ip("route del unreachable default metric 4000");
}

static void several_hops_and_objects(void **state)
{
	struct bp_doctor_network net;

	(void)state;
	sync_rig_ip("route add default nexthop via 10.1.0.2 nexthop via 10.2.0.2");
	net = look(NULL, NULL);
	expect(&net, "eth0", "default route");
	expect(&net, "eth1", "default route");
	expect(&net, "eth2", "");
	bp_doctor_network_free(&net);
	sync_rig_ip("route del default");
	if (sync_rig_try("nexthop add id 5 via 10.3.0.2 dev eth2") != 0)
		return; /* a kernel before 5.3 */
	sync_rig_ip("route add default nhid 5");
	net = look(NULL, NULL);
	expect(&net, "eth2", "default route");
	expect(&net, "eth1", "");
	bp_doctor_network_free(&net);
	sync_rig_ip("route del default");
	sync_rig_ip("nexthop del id 5");
}

static void ssh_by_address_and_by_route(void **state)
{
	struct bp_doctor_network net = look("10.2.0.1", "10.2.0.9");

	(void)state;
	expect(&net, "eth1", "carries an SSH session (from 10.2.0.9)");
	expect(&net, "eth0", "");
	bp_doctor_network_free(&net);
	/* called by another address, and answered by the longest prefix */
	sync_rig_ip("route add 198.51.100.0/24 via 10.2.0.2");
	sync_rig_ip("route add 198.51.100.0/28 via 10.1.0.2");
	net = look("192.0.2.1", "198.51.100.9");
	expect(&net, "eth0", "return route of an SSH session (to 198.51.100.9)");
	expect(&net, "eth1", "");
	bp_doctor_network_free(&net);
	net = look("192.0.2.1", "198.51.100.99");
	expect(&net, "eth1", "return route of an SSH session (to 198.51.100.99)");
	expect(&net, "eth0", "");
	bp_doctor_network_free(&net);
}

/* Actions of --undo on interfaces and files of this machine. */
static void actions_here(void **state)
{
	const struct bp_actions *a = &bp_actions_here;
	struct bp_doctor_network net;
	char text[64];

	(void)state;
	sync_rig_ip("link set eth1 down");
	assert_int_equal(a->rename(a->arg, "eth1", "eth0"), -EEXIST);
	assert_int_equal(a->rename(a->arg, "eth1", "lan1"), 0);
	assert_int_equal(a->set_up(a->arg, "lan1"), 0);
	assert_int_equal(a->set_up(a->arg, "eth1"), -ENODEV);
	net = look(NULL, NULL);
	assert_true(bp_doctor_interface_find(&net, "lan1")->up);
	assert_null(bp_doctor_interface_find(&net, "eth1"));
	bp_doctor_network_free(&net);
	sync_rig_ip("link set lan1 down");
	sync_rig_ip("link set lan1 name eth1");
	/* a file of this namespace alone */
	assert_int_equal(a->write(a->arg, "/proc/sys/net/ipv4/ip_default_ttl", "77"), 0);
	assert_true(bp_tree_text("", text, sizeof(text), "/proc/sys/net/ipv4/ip_default_ttl"));
	assert_string_equal(text, "77");
	assert_int_equal(a->write(a->arg, "/proc/sys/net/ipv4/ip_default_ttl", "x"), -EINVAL);
	assert_int_equal(a->write(a->arg, "/proc/sys/net/ipv4/no_such_file", "1"), -ENOENT);
}

/* hugetlbfs on a folder of this process's mount namespace. */
static void mounts_here(void **state)
{
	const struct bp_actions *a = &bp_actions_here;
	char dir[] = "/tmp/biplane-doctor-XXXXXX", made[64];
	struct bp_huge h;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(made, sizeof(made), "%s/huge", dir);
	assert_int_equal(a->mount(a->arg, made, false), -ENOENT);
	if (a->mount(a->arg, made, true) != 0) {
		rmdir(made);
		rmdir(dir);
		skip(); /* a kernel without hugetlbfs */
	}
	bp_huge_read("", &h);
	assert_true(h.dir[0] == '/');
	assert_int_equal(a->unmount(a->arg, made, true), 0);
	assert_int_not_equal(access(made, F_OK), 0);
	assert_int_equal(a->unmount(a->arg, made, true), 0); /* once more harms no one */
	assert_int_equal(rmdir(dir), 0);
}

/* sysfs shows the network namespace of its mounter, while netlink and ioctl answer for another one.
 */
static void sysfs_of_another_namespace(void **state)
{
	struct bp_doctor_network net = look(NULL, NULL);

	(void)state;
	assert_non_null(strstr(net.blind, "another network namespace"));
	bp_doctor_network_free(&net);
}

/* A sysfs of this namespace, seen by this process alone. */
static bool own_sysfs(void)
{
	return unshare(CLONE_NEWNS) == 0 && mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("sysfs", "/sys", "sysfs", 0, NULL) == 0;
}

int main(void)
{
	const struct CMUnitTest before[] = {
		cmocka_unit_test_setup_teardown(sysfs_of_another_namespace, begin, end),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_route_leads_out, begin, end),
		cmocka_unit_test_setup_teardown(default_routes, begin, end),
		cmocka_unit_test_setup_teardown(several_hops_and_objects, begin, end),
		cmocka_unit_test_setup_teardown(ssh_by_address_and_by_route, begin, end),
		cmocka_unit_test_setup_teardown(actions_here, begin, end),
		cmocka_unit_test(mounts_here),
	};

	if (!sync_rig_namespace())
		return 77;

	const int failed = cmocka_run_group_tests(before, NULL, NULL);

	if (!own_sysfs()) {
		printf("SKIP: no mount namespace: %s; run as root\n", strerror(errno));
		return 77;
	}
	return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
