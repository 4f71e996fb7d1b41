/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/ports/device.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Bytes. PACKET_FRAME is the default of DPDK, PACKET_HEADER the kernel's before a frame. The driver
 * requires blocks without a gap: a longer element is one block, which consists of pages.
 */
#define ETHER_HEADER 14u
#define VLAN_TAG 4u
#define PACKET_HEADER 66u
#define PACKET_FRAME 2048u
#define PACKET_PAGE 4096u

/* Kernel drivers that give DPDK access to a PCI device. */
static const char *const usable[] = {"vfio-pci", "uio_pci_generic", "igb_uio", "mlx4_core",
	"mlx5_core", "mana", "virtio-pci-uio"};

bool bp_device_is_pci(const char *device, char *bdf, size_t size)
{
	unsigned domain = 0, bus, slot, function;
	int end = 0;

	if (sscanf(device, "%4x:%2x:%2x.%1x%n", &domain, &bus, &slot, &function, &end) != 4) {
		domain = 0;
		if (sscanf(device, "%2x:%2x.%1x%n", &bus, &slot, &function, &end) != 3)
			return false;
	}
	if (device[end] != '\0' && device[end] != ',')
		return false;
	snprintf(bdf, size, "%04x:%02x:%02x.%x", domain, bus, slot, function);
	return true;
}

void bp_device_name(const char *device, char *name, size_t size)
{
	snprintf(name, size, "%.*s", (int)strcspn(device, ","), device);
}

bool bp_device_arg(const char *device, const char *key, char *value, size_t size)
{
	size_t key_len = strlen(key);
	bool found = false;

	for (const char *p = strchr(device, ','); p; p = strchr(p, ',')) {
		p++;
		if (strncmp(p, key, key_len) != 0 || p[key_len] != '=')
			continue;
		snprintf(value, size, "%.*s", (int)strcspn(p + key_len + 1, ","), p + key_len + 1);
		found = true;
	}
	return found;
}

static bool is_af_xdp(const char *device)
{
	static const char driver[] = "net_af_xdp";

	return strncmp(device, driver, sizeof(driver) - 1) == 0;
}

uint32_t bp_device_headroom(const char *device)
{
	return is_af_xdp(device) ? XDP_PACKET_HEADROOM : 0;
}

void bp_device_no_busy_poll(char *device, size_t size)
{
	static const char argument[] = ",busy_budget=0";
	const size_t used = strlen(device);
	char value[16];

	if (is_af_xdp(device) && !bp_device_arg(device, "busy_budget", value, sizeof(value)) &&
		used + sizeof(argument) <= size)
		memcpy(device + used, argument, sizeof(argument));
}

uint32_t bp_device_arg_u32(const char *device, const char *key, uint32_t otherwise)
{
	char value[32], *end;
	unsigned long n;

	if (!bp_device_arg(device, key, value, sizeof(value)))
		return otherwise;
	n = strtoul(value, &end, 0);
	return *end != '\0' || n == 0 || n > UINT32_MAX ? otherwise : (uint32_t)n;
}

static bool has_ring_arguments(const char *device)
{
	char value[16];

	return bp_device_arg(device, "framesz", value, sizeof(value)) ||
	       bp_device_arg(device, "blocksz", value, sizeof(value));
}

static bool is_af_packet(const char *device)
{
	static const char driver[] = "net_af_packet";

	return strncmp(device, driver, sizeof(driver) - 1) == 0;
}

uint32_t bp_device_frame_size(const char *device, uint32_t mtu)
{
	const uint32_t frame = mtu + ETHER_HEADER + 2 * VLAN_TAG + PACKET_HEADER;
	const uint32_t configured = bp_device_arg_u32(device, "framesz", 0);

	if (configured || !is_af_packet(device))
		return configured;
	if (frame <= PACKET_FRAME || has_ring_arguments(device))
		return PACKET_FRAME;
	return (frame + PACKET_PAGE - 1) / PACKET_PAGE * PACKET_PAGE;
}

void bp_device_fit_mtu(char *device, size_t size, uint32_t mtu)
{
	const uint32_t frame = bp_device_frame_size(device, mtu);
	const size_t used = strlen(device);
	char arguments[64];
	int n;

	if (!is_af_packet(device) || frame == PACKET_FRAME || has_ring_arguments(device))
		return;
	n = snprintf(arguments, sizeof(arguments), ",framesz=%" PRIu32 ",blocksz=%" PRIu32, frame,
		frame);
	if (n > 0 && used + (size_t)n < size)
		memcpy(device + used, arguments, (size_t)n + 1);
}

static int check_pci(const char *bdf, char *err, size_t err_size)
{
	char path[128], target[PATH_MAX];
	const char *driver;
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", bdf);
	if (access(path, F_OK) != 0) {
		snprintf(err, err_size,
			"this machine has no PCI device %s; `biplane doctor` lists those it has",
			bdf);
		return -1;
	}
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver", bdf);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0) {
		snprintf(err, err_size,
			"PCI device %s is bound to no driver; bind it to one that DPDK can use: "
			"biplane doctor --fix --nic %s",
			bdf, bdf);
		return -1;
	}
	target[n] = '\0';
	driver = strrchr(target, '/') ? strrchr(target, '/') + 1 : target;
	for (unsigned i = 0; i < sizeof(usable) / sizeof(usable[0]); i++)
		if (strcmp(usable[i], driver) == 0)
			return 0;
	snprintf(err, err_size,
		"PCI device %s is bound to the kernel's driver %s, which DPDK cannot use; bind it "
		"to vfio-pci: biplane doctor --fix --nic %s (its network interface disappears from "
		"the kernel)",
		bdf, driver, bdf);
	return -1;
}

/* Devices that create the object that iface= names: an interface, or the socket of net_vhost. */
static bool creates_device(const char *device)
{
	static const char *const makers[] = {
		"net_tap", "net_tun", "net_virtio_user", "virtio_user", "net_vhost", "eth_vhost"};

	for (unsigned i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
		if (strncmp(device, makers[i], strlen(makers[i])) == 0)
			return true;
	return false;
}

static int check_interface(const char *device, char *err, size_t err_size)
{
	char iface[64];

	if (!bp_device_arg(device, "iface", iface, sizeof(iface)) || creates_device(device))
		return 0;
	if (if_nametoindex(iface) == 0) {
		snprintf(err, err_size,
			"there is no network interface %s here; `ip link` lists those there are "
			"(of "
			"this network namespace)",
			iface);
		return -1;
	}
	return 0;
}

static int check_capture(const char *device, char *err, size_t err_size)
{
	char path[PATH_MAX];

	if (!bp_device_arg(device, "rx_pcap", path, sizeof(path)) || access(path, R_OK) == 0)
		return 0;
	snprintf(err, err_size, "cannot read the capture file %s: %s", path, strerror(errno));
	return -1;
}

int bp_device_check(const char *device, char *err, size_t err_size)
{
	char bdf[32];

	if (bp_device_is_pci(device, bdf, sizeof(bdf)))
		return check_pci(bdf, err, err_size);
	if (check_interface(device, err, err_size) != 0)
		return -1;
	return check_capture(device, err, err_size);
}
