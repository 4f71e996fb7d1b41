/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/doctor/nics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/doctor/nic_grade.h"
#include "apps/biplane/doctor/pmd.h"
#include "apps/biplane/doctor/tree.h"

#define CLASS_ETHERNET 0x0200u
#define CLASS_BRIDGE 0x06u /* base class: vfio accepts host and PCI bridges in a group */
#define DEVICES "/sys/bus/pci/devices"

static unsigned read_hex(const char *root, const char *address, const char *file)
{
	char text[32];

	return bp_tree_text(root, text, sizeof(text), DEVICES "/%s/%s", address, file)
		       ? (unsigned)strtoul(text, NULL, 16)
		       : 0;
}

static void add_mate(struct bp_nic *nic, const char *mate, const char *driver)
{
	const size_t at = strlen(nic->group_members);

	if (nic->n_group_members == BP_NIC_MATES_MAX)
		return;
	snprintf(nic->mate[nic->n_group_members++], BP_PCI_ADDRESS, "%s", mate);
	snprintf(nic->group_members + at, sizeof(nic->group_members) - at, "%s%s (%s)",
		at ? ", " : "", mate, driver);
}

/* vfio opens a group only if none of its devices is bound to a kernel driver. */
static void read_group(const char *root, struct bp_nic *nic)
{
	struct bp_tree_names group_members;
	char text[64], driver[64];

	nic->group = -1;
	if (!bp_tree_link(root, text, sizeof(text), DEVICES "/%s/iommu_group", nic->address))
		return;
	nic->group = strtoll(text, NULL, 10);
	group_members = bp_tree_list(root, DEVICES "/%s/iommu_group/devices", nic->address);
	for (size_t i = 0; i < group_members.n; i++) {
		const char *mate = group_members.name[i];

		if (!strcmp(mate, nic->address) ||
			read_hex(root, mate, "class") >> 16 == CLASS_BRIDGE ||
			!bp_tree_link(root, driver, sizeof(driver), DEVICES "/%s/driver", mate))
			continue;
		if (strcmp(driver, "vfio-pci") != 0 && strcmp(driver, "pci-stub") != 0)
			add_mate(nic, mate, driver);
	}
	bp_tree_names_free(&group_members);
}

static void read_interfaces(
	const char *root, const struct bp_doctor_network *net, struct bp_nic *nic)
{
	nic->link = "-";
	for (size_t i = 0; i < net->n; i++) {
		const char *name = net->interface[i].name;
		char text[16];

		if (strcmp(net->interface[i].pci, nic->address) != 0 ||
			nic->n_interfaces == BP_NIC_INTERFACES_MAX)
			continue;
		snprintf(nic->interface[nic->n_interfaces++], IFNAMSIZ, "%s", name);
		/* it cannot be read if the interface is down */
		if (bp_tree_text(root, text, sizeof(text), "/sys/class/net/%s/carrier", name) &&
			text[0])
			nic->link = text[0] == '1' ? "up" : "down";
	}
}

static void read_nic(const char *root, const struct bp_doctor_network *net, const json_t *drivers,
	struct bp_nic *nic)
{
	const struct bp_pmd_device id = {
		.vendor = (uint16_t)read_hex(root, nic->address, "vendor"),
		.device = (uint16_t)read_hex(root, nic->address, "device"),
		.subsystem_vendor = (uint16_t)read_hex(root, nic->address, "subsystem_vendor"),
		.subsystem_device = (uint16_t)read_hex(root, nic->address, "subsystem_device"),
	};
	const char *pmd = bp_pmd_find(drivers, &id);

	nic->vendor = id.vendor;
	nic->device = id.device;
	snprintf(nic->pmd, sizeof(nic->pmd), "%s", pmd ? pmd : "");
	bp_tree_link(root, nic->driver, sizeof(nic->driver), DEVICES "/%s/driver", nic->address);
	bp_tree_text(root, nic->override, sizeof(nic->override), DEVICES "/%s/driver_override",
		nic->address);
	if (!strcmp(nic->override, "(null)"))
		nic->override[0] = 0;
	if (!bp_tree_number(root, &nic->node, DEVICES "/%s/numa_node", nic->address))
		nic->node = -1;
	read_group(root, nic);
	read_interfaces(root, net, nic);
}

void bp_nics_read(const char *root, const struct bp_doctor_network *net, const json_t *drivers,
	struct bp_nics *out)
{
	struct bp_tree_names names = bp_tree_list(root, DEVICES);

	*out = (struct bp_nics){.nic = calloc(names.n + 1, sizeof(*out->nic))};
	for (size_t i = 0; out->nic && i < names.n; i++) {
		struct bp_nic *nic = &out->nic[out->n];

		if (!bp_pci_is_address(names.name[i], strlen(names.name[i])) ||
			read_hex(root, names.name[i], "class") >> 8 != CLASS_ETHERNET)
			continue;
		snprintf(nic->address, sizeof(nic->address), "%s", names.name[i]);
		read_nic(root, net, drivers, nic);
		out->n++;
	}
	bp_tree_names_free(&names);
	for (size_t i = 0; i < out->n; i++)
		bp_nic_grade_set(root, net, &out->nic[i]);
}

void bp_nics_free(struct bp_nics *nics)
{
	free(nics->nic);
	*nics = (struct bp_nics){0};
}

const struct bp_nic *bp_nics_find(const struct bp_nics *nics, const char *address)
{
	for (size_t i = 0; i < nics->n; i++)
		if (!strcmp(nics->nic[i].address, address))
			return &nics->nic[i];
	return NULL;
}
