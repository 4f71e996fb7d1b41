/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/dataplane/test.h"
#include "dataplane/ports/device.h"
#include "dataplane/ports/drivers.h"
#include "dataplane/ports/interface.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void pci_addresses(void **state)
{
	char bdf[32];

	assert_true(bp_device_is_pci("0000:03:00.0", bdf, sizeof(bdf)));
	assert_string_equal(bdf, "0000:03:00.0");
	assert_true(bp_device_is_pci("03:00.1", bdf, sizeof(bdf)));
	assert_string_equal(bdf, "0000:03:00.1");
	assert_true(bp_device_is_pci("0000:af:1f.7,representor=[0]", bdf, sizeof(bdf)));
	assert_string_equal(bdf, "0000:af:1f.7");
	assert_false(bp_device_is_pci("net_null0", bdf, sizeof(bdf)));
	assert_false(bp_device_is_pci("0000:03:00.0x", bdf, sizeof(bdf)));
	assert_false(bp_device_is_pci("", bdf, sizeof(bdf)));
}

static const char *without_busy_poll(const char *device)
{
	static char text[64];

	snprintf(text, sizeof(text), "%s", device);
	bp_device_no_busy_poll(text, sizeof(text));
	return text;
}

static void busy_polling_is_off_unless_configured(void **state)
{
	char full[24] = "net_af_xdp0,iface=eth0";

	assert_string_equal(without_busy_poll("net_af_xdp0,iface=eth0"),
		"net_af_xdp0,iface=eth0,busy_budget=0");
	assert_string_equal(without_busy_poll("net_af_xdp0,busy_budget=8,iface=eth0"),
		"net_af_xdp0,busy_budget=8,iface=eth0");
	assert_string_equal(
		without_busy_poll("net_af_packet0,iface=eth0"), "net_af_packet0,iface=eth0");
	assert_string_equal(without_busy_poll("0000:03:00.0"), "0000:03:00.0");
	bp_device_no_busy_poll(full, sizeof(full)); /* it does not fit */
	assert_string_equal(full, "net_af_xdp0,iface=eth0");
}

static void device_arguments_are_parsed(void **state)
{
	char v[16];

	assert_true(bp_device_arg("net_af_packet0,iface=eth0,qpairs=2", "iface", v, sizeof(v)));
	assert_string_equal(v, "eth0");
	assert_true(bp_device_arg("net_x,iface=a,iface=b", "iface", v, sizeof(v)));
	assert_string_equal(v, "b");
	assert_true(bp_device_arg("net_x,iface=", "iface", v, sizeof(v)));
	assert_string_equal(v, "");
	assert_false(bp_device_arg("net_x,xiface=a", "iface", v, sizeof(v)));
	assert_false(bp_device_arg("iface=a", "iface", v, sizeof(v)));
	assert_true(bp_device_arg("net_x,iface=0123456789abcdefgh", "iface", v, sizeof(v)));
	assert_string_equal(v, "0123456789abcde"); /* cut, never past the end */
	assert_int_equal(bp_device_arg_u32("n,framesz=16384", "framesz", 7), 16384);
	assert_int_equal(bp_device_arg_u32("n,framesz=0x800", "framesz", 7), 2048);
	assert_int_equal(bp_device_arg_u32("n,framesz=99999999999", "framesz", 7), 7);
	assert_int_equal(bp_device_arg_u32("n,framesz=2k", "framesz", 7), 7);
	assert_int_equal(bp_device_arg_u32("n", "framesz", 7), 7);
}

static void rings_of_packet_sockets_fit_the_mtu(void **state)
{
	const char *const given = "net_af_packet0,iface=a,framesz=4096";
	char device[64] = "net_af_packet0,iface=a";

	assert_int_equal(bp_device_frame_size(device, 1500), 2048);
	assert_int_equal(bp_device_frame_size(device, 2048 - 14 - 8 - 66), 2048);
	assert_int_equal(bp_device_frame_size(device, 2048 - 14 - 8 - 66 + 1), 4096);
	assert_int_equal(bp_device_frame_size(device, 9000), 12288);
	assert_int_equal(bp_device_frame_size(given, 9000), 4096);
	assert_int_equal(bp_device_frame_size("net_af_packet0,blocksz=8192", 9000), 2048);
	assert_int_equal(bp_device_frame_size("net_tap0,iface=a", 9000), 0);
	bp_device_fit_mtu(device, sizeof(device), 1500);
	assert_string_equal(device, "net_af_packet0,iface=a");
	bp_device_fit_mtu(device, 30, 9000); /* no space for the arguments */
	assert_string_equal(device, "net_af_packet0,iface=a");
	bp_device_fit_mtu(device, sizeof(device), 9000);
	assert_string_equal(device, "net_af_packet0,iface=a,framesz=12288,blocksz=12288");
	bp_device_fit_mtu(device, sizeof(device), 3000); /* has both */
	assert_string_equal(device, "net_af_packet0,iface=a,framesz=12288,blocksz=12288");
}

static void missing_devices_are_explained(void **state)
{
	char err[512] = "";

	assert_int_equal(bp_device_check("ffff:ff:1f.7", err, sizeof(err)), -1);
	assert_non_null(strstr(err, "no PCI device ffff:ff:1f.7"));
	assert_int_equal(
		bp_device_check("net_af_packet0,iface=no-such-iface", err, sizeof(err)), -1);
	assert_non_null(strstr(err, "no network interface no-such-iface"));
	assert_int_equal(
		bp_device_check("net_pcap0,rx_pcap=/nonexistent/x.pcap", err, sizeof(err)), -1);
	assert_non_null(strstr(err, "/nonexistent/x.pcap"));
	assert_int_equal(bp_device_check("net_null0", err, sizeof(err)), 0);
	/* the driver makes these */
	assert_int_equal(bp_device_check("net_tap0,iface=no-such-iface", err, sizeof(err)), 0);
	assert_int_equal(bp_device_check("net_vhost0,iface=/no/such/socket", err, sizeof(err)), 0);
	assert_int_equal(bp_device_check("net_virtio_user0,path=/dev/vhost-net,iface=no-such-iface",
				 err, sizeof(err)),
		0);
	assert_int_equal(bp_device_check("net_af_packet0,iface=lo", err, sizeof(err)), 0);
}

static void interfaces_are_queried(void **state)
{
	struct bp_device_facts lo = bp_interface_query("lo"),
			       none = bp_interface_query("no-such-iface");

	assert_true(lo.found);
	assert_false(lo.veth);
	assert_true(lo.mtu > 0);
	assert_false(none.found);
	assert_int_equal(none.mtu, 0);
}

static void drivers_have_their_properties(void **state)
{
	assert_true(bp_driver_find("net_af_packet")->fanout);
	assert_true(bp_driver_find("net_virtio")->reports_partial);
	assert_false(bp_driver_find("net_tap")->reports_partial);
	assert_false(bp_driver_find("net_ixgbe")->all_queues);
	assert_true(bp_driver_find("net_vmxnet3")->one_buffer);
	assert_non_null(bp_driver_find(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pci_addresses),
		cmocka_unit_test(device_arguments_are_parsed),
		cmocka_unit_test(busy_polling_is_off_unless_configured),
		cmocka_unit_test(rings_of_packet_sockets_fit_the_mtu),
		cmocka_unit_test(missing_devices_are_explained),
		cmocka_unit_test(interfaces_are_queried),
		cmocka_unit_test(drivers_have_their_properties),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
