/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_errno.h>

#include "config/config.h"
#include "dataplane/ports/device.h"
#include "dataplane/ports/interface.h"
#include "dataplane/ports/link.h"
#include "dataplane/ports/port_claim.h"
#include "dataplane/ports/ports.h"

#define DEVARGS_MAX 560

static bool name_taken(const struct bp_config *c, unsigned until, const char *name)
{
	char other[128];

	for (unsigned p = 0; p < until; p++) {
		bp_device_name(c->port[p].device, other, sizeof(other));
		if (strcmp(other, name) == 0)
			return true;
	}
	return false;
}

/* Two virtual devices may have the same name in the configuration; DPDK requires unique names. */
static void unique_devargs(const struct bp_config *c, unsigned port, char *out, size_t size)
{
	const char *device = c->port[port].device;
	char name[128];

	bp_device_name(device, name, sizeof(name));
	if (name_taken(c, port, name))
		snprintf(out, size, "%s_%u%s", name, port, device + strlen(name));
	else
		snprintf(out, size, "%s", device);
}

static void explain(const char *name, const char *device, int rc, char *err, size_t err_size)
{
	const char *rights = geteuid() == 0 ? "" : "; most drivers need root or capabilities";
	char bdf[32];

	if (bp_device_is_pci(device, bdf, sizeof(bdf)))
		snprintf(err, err_size,
			"port %s: DPDK cannot open PCI device %s: %s; is it used by another "
			"process (another biplane, a virtual machine), or is the package of its "
			"driver not "
			"installed (librte-net-...)? DPDK messages, if any, are above%s",
			name, bdf, rte_strerror(-rc), rights);
	else if (rc == -EINVAL || rc == -ENODEV || rc == -ENOENT || rc == -EFAULT)
		snprintf(err, err_size,
			"port %s: DPDK cannot create a port from \"%s\": no driver accepts it, or "
			"an argument is invalid. Virtual devices are named after their driver "
			"(net_af_packet0, "
			"net_af_xdp0, "
			"net_tap0, net_pcap0, net_memif0, net_null0); drivers are plugins of the "
			"distribution's DPDK packages%s",
			name, device, rights);
	else
		snprintf(err, err_size,
			"port %s: DPDK cannot open \"%s\": %s; is one of its arguments invalid, or "
			"is it used by another process? DPDK messages, if any, are above%s",
			name, device, rte_strerror(-rc), rights);
}

static int attach_one(const struct bp_config *c, unsigned port, char *err, size_t err_size)
{
	const struct bp_config_port *p = &c->port[port];
	char devargs[DEVARGS_MAX], bdf[32], why[512];
	int rc;

	if (bp_device_check(p->device, why, sizeof(why)) != 0) {
		snprintf(err, err_size, "port %s: %s", p->name, why);
		return -1;
	}
	if (bp_device_is_pci(p->device, bdf, sizeof(bdf)))
		snprintf(devargs, sizeof(devargs), "%s", p->device);
	else
		unique_devargs(c, port, devargs, sizeof(devargs));
	bp_device_fit_mtu(devargs, sizeof(devargs), bp_interface_mtu(p->device, p->mtu));
	if (c->poll_mode == BP_POLL_ADAPTIVE)
		bp_device_no_busy_poll(devargs, sizeof(devargs));
	rc = rte_dev_probe(devargs);
	if (rc != 0) {
		explain(p->name, p->device, rc, err, err_size);
		return -1;
	}
	/* Ids are assigned in the order of attaching, so the id must be the index of this port. */
	if (rte_eth_dev_count_total() != port + 1 || !rte_eth_dev_is_valid_port((uint16_t)port)) {
		snprintf(err, err_size,
			"port %s: \"%s\" became %d ports of DPDK; biplane needs one port a device "
			"(name a "
			"single function or representor)",
			p->name, p->device, (int)rte_eth_dev_count_total() - (int)port);
		return -1;
	}
	return 0;
}

static void describe(const struct bp_config *c, struct bp_port *p, unsigned port)
{
	int socket = rte_eth_dev_socket_id((uint16_t)port);
	uint16_t mtu = 0;
	char bdf[32], iface[64];

	p->config = &c->port[port];
	p->pci = bp_device_is_pci(p->config->device, bdf, sizeof(bdf));
	if (rte_eth_dev_info_get((uint16_t)port, &p->info) != 0)
		memset(&p->info, 0, sizeof(p->info));
	snprintf(p->driver_name, sizeof(p->driver_name), "%s",
		p->info.driver_name ? p->info.driver_name : "?");
	p->driver = bp_driver_find(p->driver_name);
	p->socket = socket >= 0 && socket < BP_NUMA_MAX ? socket : 0;
	if (rte_eth_dev_get_mtu((uint16_t)port, &mtu) != 0 || mtu == 0)
		mtu = RTE_ETHER_MTU;
	p->mtu = mtu;
	if ((p->driver->kernel_interface || p->driver->link_unreliable) &&
		bp_device_arg(p->config->device, "iface", iface, sizeof(iface)))
		bp_link_watch((uint16_t)port, if_nametoindex(iface));
}

int bp_ports_claim(const struct bp_config *c, char *err, size_t err_size)
{
	char iface[64];

	for (unsigned i = 0; i < c->n_ports; i++)
		if (bp_device_arg(c->port[i].device, "iface", iface, sizeof(iface)) &&
			bp_port_claim(c->port[i].name, iface, err, err_size) != 0)
			return -1;
	return 0;
}

int bp_ports_attach(const struct bp_config *c, struct bp_port *ports, char *err, size_t err_size)
{
	if (rte_eth_dev_count_total() != 0) {
		snprintf(err, err_size,
			"the options after -- made %u port(s) before the configuration's (--vdev, "
			"-a); "
			"name every port under `ports` of the configuration instead",
			rte_eth_dev_count_total());
		return -1;
	}
	for (unsigned i = 0; i < c->n_ports; i++) {
		if (attach_one(c, i, err, err_size) != 0)
			return -1;
		describe(c, &ports[i], i);
	}
	return 0;
}
