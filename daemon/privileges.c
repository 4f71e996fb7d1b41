/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/privileges.h"

#include <cap-ng.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define DATA "data"
#define CONTROL "control"
#define CAPS(...) .n_caps = sizeof((uint8_t[]){__VA_ARGS__}), .cap = {__VA_ARGS__}
#define REMEDY                                                                                     \
	"start it as the unit biplane-dataplane@.service or biplane-controlplane@.service does, "  \
	"or "                                                                                      \
	"as root (biplane capabilities)"

static const struct bp_privilege_row rows[BP_PRIVILEGES] = {
	[BP_PRIV_VFIO] = {DATA, "vfio-pci", .memlock = true,
		.files = "/dev/vfio/vfio, /dev/vfio/GROUP",
		.reason = "to map the NIC's registers and DMA memory, by virtual addresses"},
	[BP_PRIV_VFIO_NO_IOMMU] = {DATA, "vfio-pci without IOMMU",
		CAPS(CAP_SYS_RAWIO, CAP_SYS_ADMIN), .memlock = true,
		.files = "/dev/vfio/vfio, /dev/vfio/noiommu-GROUP",
		.reason = "to allow the NIC to write to any memory by physical address"},
	[BP_PRIV_UIO] = {DATA, "uio_pci_generic, igb_uio",
		CAPS(CAP_SYS_RAWIO, CAP_SYS_ADMIN, CAP_DAC_OVERRIDE), .memlock = true,
		.files = "/dev/uioN, /sys/bus/pci/devices/*/resource*",
		.reason = "to allow the NIC to write to any memory by physical address"},
	[BP_PRIV_BIFURCATED] = {DATA, "mlx4_core, mlx5_core, mana",
		CAPS(CAP_NET_RAW, CAP_NET_ADMIN), .memlock = true, .files = "/dev/infiniband/*",
		.reason =
			"to receive frames from a NIC that the kernel also uses, and set its MTU"},
	[BP_PRIV_AF_PACKET] = {DATA, "net_af_packet", CAPS(CAP_NET_RAW, CAP_NET_ADMIN),
		.memlock = true, .files = "",
		.reason = "to open packet sockets, and set promiscuous mode, MTU and MAC"},
	[BP_PRIV_AF_XDP] = {DATA, "net_af_xdp", CAPS(CAP_NET_RAW, CAP_NET_ADMIN, CAP_SYS_ADMIN),
		.memlock = true, .files = "",
		.reason = "to open XDP sockets, and load the program that fills them and find it "
			  "again"},
	[BP_PRIV_TAP] = {DATA, "net_tap", CAPS(CAP_NET_ADMIN), .files = "/dev/net/tun",
		.reason = "to create the interface"},
	[BP_PRIV_VIRTIO_USER] = {DATA, "virtio_user with vhost-net", CAPS(CAP_NET_ADMIN),
		.files = "/dev/vhost-net, /dev/net/tun", .reason = "to create the interface"},
	[BP_PRIV_PCAP_INTERFACE] = {DATA, "net_pcap with an interface", CAPS(CAP_NET_RAW),
		.files = "", .reason = "to open packet sockets"},
	[BP_PRIV_SOCKET] = {DATA, "net_memif, net_vhost, virtio_user with a socket",
		.files = "the socket and its directory", .reason = ""},
	[BP_PRIV_MEMORY] = {DATA, "net_ring, net_null, net_pcap with files", .files = "the files",
		.reason = ""},
	[BP_PRIV_KERNEL_TAP] = {DATA, "host interface tap", CAPS(CAP_NET_ADMIN),
		.files = "/dev/net/tun",
		.reason = "to create the host interface of a routed port or bridge"},
	[BP_PRIV_KERNEL_VIRTIO] = {DATA, "host interface virtio", CAPS(CAP_NET_ADMIN),
		.files = "/dev/vhost-net, /dev/net/tun",
		.reason = "to create the host interface of a routed port or bridge"},
	[BP_PRIV_CPU_LATENCY] = {DATA, "runtime.cpu_latency_limit", .files = "/dev/cpu_dma_latency",
		.reason = "to limit the latency of idle CPUs"},
	[BP_PRIV_ROUTES] = {CONTROL, "routed ports, bridges with host_interface",
		CAPS(CAP_NET_ADMIN), .files = "/dev/net/tun, /proc/sys/net",
		.reason = "to keep the host interfaces open, and set their addresses and sysctls"},
	[BP_PRIV_LOW_PORT] = {CONTROL,
		"health_devices.listen or transform.matrix_loader on a port below 1024",
		CAPS(CAP_NET_BIND_SERVICE), .files = "", .reason = "to open the port"},
	[BP_PRIV_PUBLISH] = {CONTROL, "other functions", .files = "", .reason = ""},
	[BP_PRIV_MONITOR] = {"monitor", "all functions",
		.files = "monitoring.tls_certificate, tls_key, token_file", .reason = ""},
	[BP_PRIV_FLEET] = {"fleet agent", "all functions",
		.files =
			"fleet.config.keys, ca_file, cert_file, key_file, password_file, directory",
		.reason = ""},
};

const struct bp_privilege_row *bp_privilege_row(enum bp_privilege p)
{
	return &rows[p];
}

/* "CAP_NET_RAW" */
static void cap_name(unsigned cap, char *out, size_t size)
{
	const char *name = capng_capability_to_name(cap);
	size_t n = (size_t)snprintf(out, size, "CAP_%s", name ? name : "?");

	for (size_t i = 0; i < n && i < size; i++)
		out[i] = (char)toupper((unsigned char)out[i]);
}

void bp_privilege_caps_text(const struct bp_privilege_row *row, char *out, size_t size)
{
	size_t used = 0;
	char name[32];

	snprintf(out, size, "none");
	for (unsigned i = 0; i < row->n_caps && used < size; i++) {
		cap_name(row->cap[i], name, sizeof(name));
		used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", name);
	}
}

void bp_privileges_markdown(FILE *out)
{
	fputs("| plane | component | capabilities | locked memory | files | reason |\n"
	      "| --- | --- | --- | --- | --- | --- |\n",
		out);
	for (unsigned p = 0; p < BP_PRIVILEGES; p++) {
		char caps[160];

		bp_privilege_caps_text(&rows[p], caps, sizeof(caps));
		fprintf(out, "| %s | %s | %s | %s | %s | %s |\n", rows[p].plane, rows[p].component,
			caps, rows[p].memlock ? "unlimited" : "", rows[p].files, rows[p].reason);
	}
}

int bp_privilege_check(enum bp_privilege p, const char *who, char *err, size_t err_size)
{
	const struct bp_privilege_row *row = &rows[p];

	if (capng_get_caps_process() != 0) {
		snprintf(err, err_size, "cannot read the capabilities of this process");
		return -1;
	}
	for (unsigned i = 0; i < row->n_caps; i++) {
		char name[32];

		if (capng_have_capability(CAPNG_EFFECTIVE, row->cap[i]))
			continue;
		cap_name(row->cap[i], name, sizeof(name));
		snprintf(err, err_size, "%s needs %s, %s, which this process lacks; " REMEDY, who,
			name, row->reason);
		return -1;
	}
	return 0;
}

int bp_privilege_check_memlock(uint64_t bytes, const char *who, char *err, size_t err_size)
{
	struct rlimit limit;

	if (bytes == 0 || getrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
		limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes)
		return 0;
	if (capng_get_caps_process() == 0 && capng_have_capability(CAPNG_EFFECTIVE, CAP_IPC_LOCK))
		return 0;
	snprintf(err, err_size,
		"%s needs about %" PRIu64
		" MiB of locked memory, and this process may lock %" PRIu64
		" MiB; raise the limit (`ulimit -l unlimited`; in a unit, LimitMEMLOCK=infinity)",
		who, (bytes >> 20) + 1, (uint64_t)limit.rlim_cur >> 20);
	return -1;
}

int bp_privilege_check_file(const char *path, const char *who, char *err, size_t err_size)
{
	if (access(path, R_OK | W_OK) == 0)
		return 0;
	snprintf(err, err_size, "%s needs to read and write %s: %s; %s", who, path, strerror(errno),
		errno == EACCES ? "a udev rule (70-biplane.rules) gives it to a group that this "
				  "user must be in"
				: "load the kernel module that creates it");
	return -1;
}

int bp_privileges_keep(uint32_t needed, char *err, size_t err_size)
{
	uint64_t keep = 0;

	if (geteuid() == 0)
		return 0;
	for (unsigned p = 0; p < BP_PRIVILEGES; p++)
		for (unsigned i = 0; needed >> p & 1 && i < rows[p].n_caps; i++)
			keep |= 1ull << rows[p].cap[i];
	if (capng_get_caps_process() == 0) {
		for (unsigned cap = 0; cap <= CAP_LAST_CAP; cap++) {
			/* the size of locked memory depends on the configured memory, not on a list
			 * of rows */
			if (!(keep >> cap & 1) && cap != CAP_IPC_LOCK)
				capng_update(CAPNG_DROP,
					CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_INHERITABLE, cap);
		}
		if (capng_apply(CAPNG_SELECT_CAPS) == 0)
			return 0;
	}
	snprintf(err, err_size, "cannot drop unneeded capabilities: %s", strerror(errno));
	return -1;
}
