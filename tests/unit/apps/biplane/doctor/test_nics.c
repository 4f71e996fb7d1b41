/* SPDX-License-Identifier: BSD-3-Clause */
/* Which NICs may be taken from the kernel. Each case that must say "never" says why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/apps/biplane/doctor/fake_machine.h"

#define A "0000:03:00.0"
#define B "0000:03:00.1"
#define SSH "192.0.2.7 51234 192.0.2.1 22"

static int begin(void **state)
{
	static struct fake f;

	fake_begin(&f);
	fake_server(&f);
	fake_nic(&f, &(struct fake_nic){A, "ixgbe", "eth0", 2, 1, 0, true});
	fake_nic(&f, &(struct fake_nic){B, "ixgbe", "eth1", 3, 2, 0, true});
	*state = &f;
	return 0;
}

static int end(void **state)
{
	fake_end(*state);
	return 0;
}

static void expect_after(const struct fake *f, const char *ssh, uint64_t pid, const char *address,
	const char *grade, const char *why)
{
	const struct bp_nic *nic;
	struct bp_doctor d;

	fake_doctor(f, &d, ssh, pid);
	nic = bp_nics_find(&d.nics, address);
	assert_non_null(nic);
	assert_string_equal(bp_nic_grade_name(nic->grade), grade);
	if (!strstr(nic->why, why))
		fail_msg("%s: '%s' has no '%s'", address, nic->why, why);
	bp_doctor_end(&d);
}

static void expect(const struct fake *f, const char *address, const char *grade, const char *why)
{
	expect_after(f, NULL, 0, address, grade, why);
}

static void nothing_uses_it(void **state)
{
	const struct bp_nic *nic;
	struct bp_doctor d;

	fake_doctor(*state, &d, NULL, 0);
	assert_int_equal(d.nics.n, 2);
	nic = &d.nics.nic[0];
	assert_string_equal(nic->address, A);
	assert_string_equal(nic->driver, "ixgbe");
	assert_string_equal(nic->pmd, "net_ixgbe");
	assert_string_equal(nic->interface[0], "eth0");
	assert_string_equal(nic->link, "up");
	assert_string_equal(nic->override, "");
	assert_int_equal(nic->group, 1);
	assert_int_equal(nic->node, 0);
	assert_int_equal(nic->grade, BP_NIC_SAFE);
	bp_doctor_end(&d);
}

static void bound_and_shared(void **state)
{
	fake_nic(*state, &(struct fake_nic){"0000:04:00.0", "vfio-pci", NULL, 0, 4, 0, false});
	fake_nic(*state, &(struct fake_nic){"0000:05:00.0", "mlx5_core", "eth5", 9, 5, 0, true});
	fake_nic(*state, &(struct fake_nic){"0000:06:00.0", NULL, NULL, 0, 6, 0, false});
	expect(*state, "0000:04:00.0", "bound", "");
	expect(*state, "0000:05:00.0", "not needed", "mlx5_core");
	expect(*state, "0000:06:00.0", "safe", "");
}

static void default_route(void **state)
{
	fake_ip(*state, "[]",
		"[{\"dst\":\"default\",\"gateway\":\"192.0.2.254\",\"dev\":\"eth0\"}]", "[]");
	expect(*state, A, "never", "eth0 carries the default route (IPv4)");
	expect(*state, B, "safe", "");
	fake_ip(*state, "[]", "[]", "[{\"dst\":\"default\",\"dev\":\"eth1\",\"metric\":1024}]");
	expect(*state, B, "never", "default route (IPv6)");
	expect(*state, A, "safe", "");
}

static void default_route_of_another_table_and_in_halves(void **state)
{
	fake_ip(*state, "[]",
		"[{\"dst\":\"default\",\"dev\":\"eth0\",\"table\":\"100\"},"
		"{\"dst\":\"128.0.0.0/1\",\"dev\":\"eth1\"}]",
		"[]");
	expect(*state, A, "never", "table 100");
	expect(*state, B, "never", "default route (IPv4)");
}

static void default_route_with_several_hops(void **state)
{
	fake_ip(*state, "[]",
		"[{\"dst\":\"default\",\"nexthops\":[{\"dev\":\"eth0\"},{\"dev\":\"eth1\"}]}]",
		"[]");
	expect(*state, A, "never", "default route");
	expect(*state, B, "never", "default route");
}

/* An unreachable default route uses no NIC. */
static void default_route_to_nowhere(void **state)
{
	fake_ip(*state, "[]", "[{\"type\":\"unreachable\",\"dst\":\"default\",\"dev\":\"lo\"}]",
		"[{\"type\":\"unreachable\",\"dst\":\"default\",\"dev\":\"lo\"}]");
	expect(*state, A, "safe", "");
}

static void through_vlan_bond_and_bridge(void **state)
{
	const struct fake *f = *state;

	fake_interface(f, "bond0", 10, true);
	fake_interface(f, "bond0.5", 11, true);
	fake_interface(f, "br0", 12, true);
	fake_stand(f, "bond0", "eth0", true);
	fake_stand(f, "bond0.5", "bond0", false);
	fake_stand(f, "br0", "bond0.5", true);
	expect(f, A, "in use", "eth0 is a member of bond0");
	fake_ip(f, "[]", "[{\"dst\":\"default\",\"dev\":\"br0\"}]", "[]");
	expect(f, A, "never", "eth0 carries the default route (IPv4)");
	expect(f, B, "safe", "");
}

/* A tunnel may use any NIC that is up. */
static void through_a_tunnel(void **state)
{
	const struct fake *f = *state;

	fake_interface(f, "wg0", 10, true);
	fake_nic(f, &(struct fake_nic){"0000:04:00.0", "ixgbe", "eth2", 4, 3, 0, false});
	fake_ip(f, "[]", "[{\"dst\":\"default\",\"dev\":\"wg0\"}]", "[]");
	expect(f, A, "never", "ip link set eth0 down");
	expect(f, B, "never", "wg0 carries the default route (IPv4), but its NIC");
	expect(f, "0000:04:00.0", "safe", "");
}

static void addresses_and_vlans(void **state)
{
	const struct fake *f = *state;

	fake_ip(f,
		"[{\"ifname\":\"eth0\",\"addr_info\":[{\"family\":\"inet\",\"local\":\"10.1.2.3\","
		"\"prefixlen\":24}]},"
		"{\"ifname\":\"eth1\",\"addr_info\":[{\"family\":\"inet6\",\"local\":\"fe80::1\","
		"\"prefixlen\":64}]}]",
		"[]", "[]");
	expect(f, A, "in use", "eth0 has address 10.1.2.3/24");
	expect(f, B, "safe", ""); /* every interface has one of these */
	fake_interface(f, "eth1.7", 10, true);
	fake_stand(f, "eth1.7", "eth1", false);
	expect(f, B, "in use", "eth1 carries interface eth1.7");
}

static void ssh_of_the_caller(void **state)
{
	const struct fake *f = *state;

	fake_ip(f,
		"[{\"ifname\":\"eth0\",\"addr_info\":[{\"local\":\"192.0.2.1\",\"prefixlen\":24}]}"
		"]",
		"[]", "[]");
	expect_after(f, NULL, 0, A, "in use", "192.0.2.1");
	expect_after(f, SSH, 0, A, "never", "SSH session (from 192.0.2.7)");
	expect_after(f, SSH, 0, B, "safe", "");
	expect_after(f, "::ffff:192.0.2.7 5 ::ffff:192.0.2.1 22", 0, A, "never", "from 192.0.2.7");
}

/* The address that was called is on lo, as with routed hosts: then the way back says it. */
static void ssh_by_the_way_back(void **state)
{
	const struct fake *f = *state;

	fake_ip(f,
		"[{\"ifname\":\"lo\",\"addr_info\":[{\"local\":\"192.0.2.1\",\"prefixlen\":32}]}]",
		"[{\"dst\":\"192.0.2.0/29\",\"dev\":\"eth1\"},{\"dst\":\"192.0.2.0/24\",\"dev\":"
		"\"eth0\"},{\"dst\":\"198.51.100.0/24\",\"dev\":\"eth0\"}]",
		"[]");
	expect_after(f, SSH, 0, B, "never", "return route of an SSH session (to 192.0.2.7)");
	expect_after(f, SSH, 0, A, "safe", "");
}

static void ancestors(const struct fake *f)
{
	fake_file(f, "700 (biplane) S 600 1 1", "/proc/700/stat");
	fake_file(f, "600 (sudo) S 500 1 1", "/proc/600/stat");
	fake_file(f, "500 (ba) sh) S 400 1 1", "/proc/500/stat");
	fake_file(f, "400 (sshd-session) S 1 1 1", "/proc/400/stat");
	fake_file(f, "1 (systemd) S 0 1 1", "/proc/1/stat");
	fake_ip(f,
		"[{\"ifname\":\"eth1\",\"addr_info\":[{\"local\":\"192.0.2.1\",\"prefixlen\":24}]}"
		"]",
		"[]", "[]");
}

/* sudo strips the environment; that of the shell above it has not. */
static void ssh_from_the_environment_above(void **state)
{
	const struct fake *f = *state;
	char path[128];
	FILE *out;

	ancestors(f);
	expect_after(f, NULL, 700, B, "never",
		"run the command as root"); /* sshd is above, and no more */
	fake_file(f, "", "/proc/500/environ");
	snprintf(path, sizeof(path), "%s/proc/500/environ", f->root);
	out = fopen(path, "w");
	fwrite("A=1\0SSH_CONNECTION=" SSH "\0B=2", 1, sizeof("A=1\0SSH_CONNECTION=" SSH "\0B=2"),
		out);
	fclose(out);
	expect_after(f, NULL, 700, B, "never", "SSH session (from 192.0.2.7)");
	expect_after(f, NULL, 700, A, "safe", "");
}

#define TCP_HEAD                                                                                   \
	"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  "      \
	"timeout "                                                                                 \
	"inode\n"

static void ssh_from_the_sockets_of_sshd(void **state)
{
	const struct fake *f = *state;

	ancestors(f);
	fake_link(f, "socket:[4711]", "/proc/400/fd/4");
	/* a port that no file names: 2222 */
	fake_file(f,
		TCP_HEAD
		"   0: 010200C0:08AE 070200C0:C822 01 00000000:00000000 00:00000000 00000000 "
		"    0        0 4711 1 0000\n",
		"/proc/net/tcp");
	expect_after(f, NULL, 700, B, "never", "SSH session (from 192.0.2.7)");
	expect_after(f, NULL, 700, A, "safe", "");
}

/* Somebody else's session counts, too: on port 22, or on that which sshd's file names. */
static void ssh_of_others(void **state)
{
	const struct fake *f = *state;

	fake_ip(f,
		"[{\"ifname\":\"eth0\",\"addr_info\":[{\"local\":\"192.0.2.1\",\"prefixlen\":24}]},"
		"{\"ifname\":\"eth1\",\"addr_info\":[{\"local\":\"2001:db8::1\",\"prefixlen\":64}]}"
		"]",
		"[]", "[]");
	fake_file(f,
		TCP_HEAD
		"   0: 010200C0:0016 070200C0:C822 01 00000000:00000000 00:00000000 00000000 "
		"    0        0 1 1 0000\n",
		"/proc/net/tcp");
	expect(f, A, "never", "SSH session (from 192.0.2.7)");
	/* a listening socket is no session */
	fake_file(f,
		TCP_HEAD
		"   0: 010200C0:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000 "
		"    0        0 1 1 0000\n",
		"/proc/net/tcp");
	expect(f, A, "in use", "");
	fake_file(f,
		TCP_HEAD
		"   0: B80D0120000000000000000001000000:08AE B80D0120000000000000000007000000:C822 "
		"01 00000000:00000000 00:00000000 00000000     0        0 1 1 0000\n",
		"/proc/net/tcp6");
	expect(f, B, "in use", "");
	fake_file(f, "# Port 2221\nPort 2222\n", "/etc/ssh/sshd_config");
	expect(f, B, "never", "SSH session (from 2001:db8::7)");
}

static void what_cannot_be_read_is_never_safe(void **state)
{
	fake_file(*state, "no JSON", "/ip-route-4.json");
	expect(*state, A, "never", "ip-route-4.json");
}

static void in_another_namespace(void **state)
{
	fake_nic(*state, &(struct fake_nic){"0000:04:00.0", "ixgbe", NULL, 0, 3, 0, false});
	expect(*state, "0000:04:00.0", "in use", "another network namespace");
}

static void virtual_functions(void **state)
{
	const struct fake *f = *state;

	fake_nic(f, &(struct fake_nic){"0000:03:10.0", "ixgbevf", "eth7", 7, 3, 0, true});
	fake_file(f, "1\n", "/sys/devices/pci0000:00/" A "/sriov_numvfs");
	fake_link(f, "../0000:03:10.0", "/sys/devices/pci0000:00/" A "/virtfn0");
	expect(f, A, "in use", "1 virtual functions");
	fake_ip(f, "[]", "[{\"dst\":\"default\",\"dev\":\"eth7\"}]", "[]");
	expect(f, A, "never", "its virtual function 0000:03:10.0: eth7 carries the default route");
	expect(f, "0000:03:10.0", "never", "default route");
}

/* The interface of a virtio NIC is two folders below the PCI device. */
static void virtio_interface_is_found(void **state)
{
	const struct fake *f = *state;

	fake_nic(f, &(struct fake_nic){"0000:00:04.0", "virtio-pci", NULL, 0, -1, -1, false});
	fake_folder(f, "/sys/devices/pci0000:00/0000:00:04.0/virtio1");
	expect(f, "0000:00:04.0", "safe", ""); /* virtio_net is not loaded */
	fake_link(f, "/sys/bus/virtio/drivers/virtio_net",
		"/sys/devices/pci0000:00/0000:00:04.0/virtio1/driver");
	fake_folder(f, "/sys/bus/virtio/drivers/virtio_net");
	expect(f, "0000:00:04.0", "in use", "another network namespace");
	fake_file(f, "5\n", "/sys/devices/pci0000:00/0000:00:04.0/virtio1/net/ens4/ifindex");
	fake_file(f, "0x1003\n", "/sys/devices/pci0000:00/0000:00:04.0/virtio1/net/ens4/flags");
	fake_link(f, "../../../virtio1",
		"/sys/devices/pci0000:00/0000:00:04.0/virtio1/net/ens4/device");
	fake_link(
		f, "/sys/devices/pci0000:00/0000:00:04.0/virtio1/net/ens4", "/sys/class/net/ens4");
	fake_ip(f, "[]", "[{\"dst\":\"default\",\"dev\":\"ens4\"}]", "[]");
	expect(f, "0000:00:04.0", "never", "ens4 carries the default route");
}

static void group_mates(void **state)
{
	const struct bp_nic *nic;
	struct bp_doctor d;

	fake_nic(*state, &(struct fake_nic){"0000:04:00.0", "ahci", NULL, 0, 1, 0, false});
	fake_file(*state, "0x010601\n", "/sys/devices/pci0000:00/0000:04:00.0/class");
	fake_nic(*state, &(struct fake_nic){"0000:02:00.0", "pcieport", NULL, 0, 1, 0, false});
	fake_file(*state, "0x060400\n", "/sys/devices/pci0000:00/0000:02:00.0/class");
	fake_doctor(*state, &d, NULL, 0);
	assert_int_equal(d.nics.n, 2);
	nic = bp_nics_find(&d.nics, A);
	assert_string_equal(nic->group_members, "0000:04:00.0 (ahci)");
	assert_string_equal(bp_nics_find(&d.nics, B)->group_members, "");
	bp_doctor_end(&d);
}

static void addresses_as_people_write_them(void **state)
{
	static const char *const wrong[] = {
		"", "3:0.0", "0000:03:00", "0000:03:00.8", "0000:0g:00.0", "eth0", "../../../x.y"};
	char out[BP_PCI_ADDRESS];

	(void)state;
	assert_true(bp_pci_read("03:0A.1", out));
	assert_string_equal(out, "0000:03:0a.1");
	assert_true(bp_pci_read("10000:e1:00.0", out));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(bp_pci_read(wrong[i], out));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		T(nothing_uses_it),
		T(bound_and_shared),
		T(default_route),
		T(default_route_of_another_table_and_in_halves),
		T(default_route_with_several_hops),
		T(default_route_to_nowhere),
		T(through_vlan_bond_and_bridge),
		T(through_a_tunnel),
		T(addresses_and_vlans),
		T(ssh_of_the_caller),
		T(ssh_by_the_way_back),
		T(ssh_from_the_environment_above),
		T(ssh_from_the_sockets_of_sshd),
		T(ssh_of_others),
		T(what_cannot_be_read_is_never_safe),
		T(in_another_namespace),
		T(virtual_functions),
		T(virtio_interface_is_found),
		T(group_mates),
		T(addresses_as_people_write_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
