/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/process/privileges.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "dataplane/ports/device.h"
#include "dataplane/ports/interface.h"

#define VHOST_DEVICE "/dev/vhost-net"
#define TUN_DEVICE "/dev/net/tun"
/* The defaults of the driver, in bytes: two rings per queue. */
#define PACKET_FRAMES 512

/* Reads the name that a link in the directory of a PCI device points to; "" if there is none. */
static void pci_link(const char *bdf, const char *what, char *name, size_t size)
{
	char path[96], target[PATH_MAX];
	const char *slash;
	ssize_t n;

	name[0] = '\0';
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", bdf, what);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return;
	target[n] = '\0';
	slash = strrchr(target, '/');
	snprintf(name, size, "%.*s", (int)size - 1, slash ? slash + 1 : target);
}

/* /dev/vfio/GROUP, or "" if the device is in no group. */
static void vfio_group(const char *bdf, bool iommu, char *path, size_t size)
{
	char group[32];

	path[0] = '\0';
	pci_link(bdf, "iommu_group", group, sizeof(group));
	if (group[0] != '\0')
		snprintf(path, size, "/dev/vfio/%s%s", iommu ? "" : "noiommu-", group);
}

/* For a device that is missing, or that no DPDK driver can use, other checks report the remedy. */
static enum bp_privilege of_pci(const char *bdf)
{
	char driver[32], path[64];

	pci_link(bdf, "driver", driver, sizeof(driver));
	if (strncmp(driver, "mlx", 3) == 0 || strcmp(driver, "mana") == 0)
		return BP_PRIV_BIFURCATED;
	if (strcmp(driver, "uio_pci_generic") == 0 || strcmp(driver, "igb_uio") == 0)
		return BP_PRIV_UIO;
	if (strcmp(driver, "vfio-pci") != 0)
		return BP_PRIV_MEMORY;
	vfio_group(bdf, false, path, sizeof(path));
	return path[0] != '\0' && access(path, F_OK) == 0 ? BP_PRIV_VFIO_NO_IOMMU : BP_PRIV_VFIO;
}

enum bp_privilege bp_port_privilege(const char *device)
{
	static const struct {
		const char *name;
		enum bp_privilege privilege;
	} drivers[] = {
		{"net_af_packet", BP_PRIV_AF_PACKET},
		{"eth_af_packet", BP_PRIV_AF_PACKET},
		{"net_af_xdp", BP_PRIV_AF_XDP},
		{"net_tap", BP_PRIV_TAP},
		{"net_memif", BP_PRIV_SOCKET},
		{"net_vhost", BP_PRIV_SOCKET},
	};
	char value[PATH_MAX], bdf[32];

	if (bp_device_is_pci(device, bdf, sizeof(bdf)))
		return of_pci(bdf);
	for (unsigned i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
		if (strncmp(device, drivers[i].name, strlen(drivers[i].name)) == 0)
			return drivers[i].privilege;
	if (strstr(device, "virtio_user") != NULL)
		return bp_device_arg(device, "path", value, sizeof(value)) &&
				       strcmp(value, VHOST_DEVICE) == 0
			       ? BP_PRIV_VIRTIO_USER
			       : BP_PRIV_SOCKET;
	if (strncmp(device, "net_pcap", 8) == 0 &&
		(bp_device_arg(device, "iface", value, sizeof(value)) ||
			bp_device_arg(device, "rx_iface", value, sizeof(value)) ||
			bp_device_arg(device, "tx_iface", value, sizeof(value))))
		return BP_PRIV_PCAP_INTERFACE;
	return BP_PRIV_MEMORY;
}

/* Bytes that the kernel counts as locked for this port, in addition to the memory of DPDK. */
static uint64_t rings(const struct bp_config *c, const struct bp_config_port *port)
{
	const uint64_t queues = port->rx_queues ? port->rx_queues : c->n_workers;

	return 2 * queues * bp_device_arg_u32(port->device, "framecnt", PACKET_FRAMES) *
	       bp_device_frame_size(port->device, bp_interface_mtu(port->device, port->mtu));
}

static int check_files(
	enum bp_privilege p, const char *device, const char *who, char *err, size_t err_size)
{
	char group[64], bdf[32];

	if ((p == BP_PRIV_VFIO || p == BP_PRIV_VFIO_NO_IOMMU) &&
		bp_device_is_pci(device, bdf, sizeof(bdf))) {
		vfio_group(bdf, p == BP_PRIV_VFIO, group, sizeof(group));
		if (bp_privilege_check_file("/dev/vfio/vfio", who, err, err_size) != 0 ||
			(group[0] != '\0' &&
				bp_privilege_check_file(group, who, err, err_size) != 0))
			return -1;
	}
	if (p == BP_PRIV_VIRTIO_USER &&
		bp_privilege_check_file(VHOST_DEVICE, who, err, err_size) != 0)
		return -1;
	if (p == BP_PRIV_VIRTIO_USER || p == BP_PRIV_TAP)
		return bp_privilege_check_file(TUN_DEVICE, who, err, err_size);
	return 0;
}

static int check_port(
	const struct bp_config_port *port, enum bp_privilege p, char *err, size_t err_size)
{
	char who[BP_NAME_MAX + 160], name[128];

	bp_device_name(port->device, name, sizeof(name));
	snprintf(who, sizeof(who), "port %s (%s)", port->name, name);
	if (bp_privilege_check(p, who, err, err_size) != 0)
		return -1;
	return check_files(p, port->device, who, err, err_size);
}

/* Whether there is a kernel interface; `auto` uses virtio only where it is permitted. */
static int check_interfaces(const struct bp_config *c, uint32_t *needed, char *err, size_t err_size)
{
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++) {
		const struct bp_config_interface *o;
		char who[BP_NAME_MAX + 32];
		const char *name;

		o = bp_config_interface(c, i, &name);
		if (!o || o->backend == BP_BACKEND_OFF)
			continue;
		snprintf(who, sizeof(who), "kernel interface %s", o->kernel_name);
		if (bp_privilege_check(BP_PRIV_KERNEL_TAP, who, err, err_size) != 0 ||
			bp_privilege_check_file(TUN_DEVICE, who, err, err_size) != 0 ||
			(o->backend == BP_BACKEND_VIRTIO &&
				bp_privilege_check_file(VHOST_DEVICE, who, err, err_size) != 0))
			return -1;
		*needed |= 1u << BP_PRIV_KERNEL_TAP;
	}
	return 0;
}

int bp_dataplane_privileges(const struct bp_config *c, uint64_t memory, char *err, size_t err_size)
{
	uint32_t needed = 0;
	uint64_t locked = 0;
	bool pinned = false; /* the memory of DPDK must not be moved */

	for (unsigned i = 0; i < c->n_ports; i++) {
		enum bp_privilege p = bp_port_privilege(c->port[i].device);

		if (check_port(&c->port[i], p, err, err_size) != 0)
			return -1;
		needed |= 1u << p;
		if (p == BP_PRIV_AF_PACKET)
			locked += rings(c, &c->port[i]);
		else
			pinned |= bp_privilege_row(p)->memlock;
	}
	if (check_interfaces(c, &needed, err, err_size) != 0 ||
		bp_privilege_check_memlock(
			locked + (pinned ? memory : 0), "the data plane", err, err_size) != 0)
		return -1;
	return bp_privileges_keep(needed, err, err_size);
}
