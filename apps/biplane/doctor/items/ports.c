/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "apps/biplane/doctor/doctor.h"
#include "apps/biplane/doctor/tree.h"

/* The NUMA node of a CPU; -1: the machine does not say. */
static int64_t node_of_cpu(const char *root, unsigned cpu)
{
	struct bp_tree_names names = bp_tree_list(root, "/sys/devices/system/cpu/cpu%u", cpu);
	int64_t node = -1;

	for (size_t i = 0; i < names.n && node < 0; i++)
		if (sscanf(names.name[i], "node%" SCNd64, &node) != 1)
			node = -1;
	bp_tree_names_free(&names);
	return node;
}

/* Whether some worker is on another node than the NIC. */
static bool is_far(const struct bp_doctor *d, const struct bp_nic *nic, unsigned *cpu)
{
	for (unsigned w = 0; w < d->facts->n_workers; w++) {
		const int64_t node = node_of_cpu(d->root, d->facts->worker_cpu[w]);

		*cpu = d->facts->worker_cpu[w];
		if (node >= 0 && nic->node >= 0 && node != nic->node)
			return true;
	}
	return false;
}

static void report_bound(
	const struct bp_doctor *d, struct bp_report *r, const char *item, const struct bp_nic *nic)
{
	unsigned cpu;
	json_t *o;

	if (nic->group_members[0] && !strcmp(nic->driver, "vfio-pci")) {
		o = bp_report_item(r, item, BP_CHECK_FAIL,
			"vfio needs all devices of an IOMMU group",
			"%s shares IOMMU group %" PRId64 " with devices of kernel drivers: %s",
			nic->address, nic->group, nic->group_members);
		bp_report_do(o, "# bind these devices, too, or move the NIC to another slot");
	} else if (is_far(d, nic, &cpu)) {
		bp_report_item(r, item, BP_CHECK_WARN,
			"each packet crosses the interconnect between the NUMA nodes",
			"%s (%s) is on NUMA node %" PRId64 ", CPU %u of a worker is on another",
			nic->address, nic->driver, nic->node, cpu);
	} else if (!nic->pmd[0] && json_array_size(d->pmds)) {
		bp_report_item(r, item, BP_CHECK_WARN,
			"DPDK does not detect a NIC without a driver for it",
			"%s: no installed DPDK driver supports %04x:%04x", nic->address,
			nic->vendor, nic->device);
	} else {
		bp_report_item(
			r, item, BP_CHECK_OK, "", "%s is bound to %s", nic->address, nic->driver);
	}
}

static void check_pci(
	const struct bp_doctor *d, struct bp_report *r, const char *item, const char *address)
{
	static const char why[] = "the NIC of a port must be bound to vfio-pci";
	const struct bp_nic *nic = bp_nics_find(&d->nics, address);
	json_t *o;

	if (!nic) {
		o = bp_report_item(r, item, BP_CHECK_FAIL, "the port uses this NIC",
			"this machine has no NIC %s", address);
		bp_report_do(
			o, "# configure another NIC for the port; the table below lists the NICs");
		return;
	}
	switch (nic->grade) {
	case BP_NIC_BOUND:
	case BP_NIC_NOT_NEEDED:
		report_bound(d, r, item, nic);
		return;
	case BP_NIC_SAFE:
		o = bp_report_item(r, item, BP_CHECK_FAIL, why, "%s %s%s", address,
			nic->driver[0] ? "is bound to the kernel driver " : "has no driver",
			nic->driver);
		bp_report_do(o, "biplane doctor --fix --nic %s", address);
		return;
	case BP_NIC_IN_USE:
		o = bp_report_item(
			r, item, BP_CHECK_FAIL, why, "%s is in use: %s", address, nic->why);
		bp_report_do(
			o, "# to bind it anyway: biplane doctor --fix --force --nic %s", address);
		return;
	case BP_NIC_NEVER:
		o = bp_report_item(r, item, BP_CHECK_FAIL,
			"binding it to vfio-pci would disconnect this machine", "%s: %s", address,
			nic->why);
		bp_report_do(o, "# configure another NIC for the port");
		return;
	}
}

static void check_interface(
	const struct bp_doctor *d, struct bp_report *r, const char *item, const char *name)
{
	const struct bp_doctor_interface *i = bp_doctor_interface_find(&d->network, name);
	json_t *o;

	if (!i) {
		o = bp_report_item(r, item, BP_CHECK_FAIL, "the port uses this interface",
			"interface %s does not exist", name);
		bp_report_do(o, "ip -brief link  # lists the interfaces");
	} else if (!i->up) {
		o = bp_report_item(r, item, BP_CHECK_FAIL, "the port uses this interface",
			"interface %s is down", name);
		bp_report_do(o, "ip link set %s up", name);
	} else {
		bp_report_item(r, item, BP_CHECK_OK, "", "interface %s is up", name);
	}
}

void bp_doctor_item_ports(const struct bp_doctor *d, struct bp_report *r)
{
	if (!d->config)
		return;
	for (unsigned p = 0; p < d->config->n_ports; p++) {
		char item[16 + BP_NAME_MAX];

		snprintf(item, sizeof(item), "port %s", d->config->port[p].name);
		if (d->facts->port[p].pci[0])
			check_pci(d, r, item, d->facts->port[p].pci);
		else if (d->facts->port[p].interface[0])
			check_interface(d, r, item, d->facts->port[p].interface);
	}
}
