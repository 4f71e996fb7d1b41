/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "apps/biplane/doctor/boot_option.h"
#include "apps/biplane/doctor/doctor.h"
#include "apps/biplane/doctor/modules.h"
#include "apps/biplane/doctor/tree.h"

#define NOIOMMU "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode"

static const char why[] =
	"vfio-pci needs an IOMMU, which restricts the DMA of a NIC to the memory of "
	"the program that uses the NIC";

bool bp_doctor_needs_pci(const struct bp_doctor *d)
{
	if (!d->config)
		return true;
	for (unsigned p = 0; p < d->config->n_ports; p++)
		if (d->facts->port[p].pci[0])
			return true;
	return false;
}

/* Whether it is a virtual machine. */
static bool is_guest(const char *root)
{
	size_t len;
	char *text = bp_tree_read_all(root, &len, "/proc/cpuinfo");
	const bool guest = text && strstr(text, " hypervisor");

	free(text);
	return guest;
}

bool bp_doctor_has_iommu(const char *root)
{
	struct bp_tree_names groups = bp_tree_list(root, "/sys/kernel/iommu_groups");
	const bool has = groups.n != 0;

	bp_tree_names_free(&groups);
	return has;
}

bool bp_doctor_noiommu(const char *root)
{
	char text[8];

	return bp_tree_text(root, text, sizeof(text), NOIOMMU) && (*text == 'Y' || *text == '1');
}

bool bp_doctor_could_noiommu(const char *root)
{
	return bp_tree_exists(root, NOIOMMU) ||
	       (bp_module_state(root, "vfio") != BP_MODULE_ABSENT &&
		       !bp_tree_exists(root, "/sys/module/vfio") &&
		       bp_kernel_option(root, "CONFIG_VFIO_NOIOMMU") != 0);
}

/* The firmware reports an IOMMU in an ACPI table. */
static bool firmware_has_iommu(const char *root)
{
	return bp_tree_exists(root, "/sys/firmware/acpi/tables/DMAR") ||
	       bp_tree_exists(root, "/sys/firmware/acpi/tables/IVRS") ||
	       bp_tree_exists(root, "/sys/firmware/acpi/tables/IORT");
}

static void report_missing(const struct bp_doctor *d, struct bp_report *r)
{
	const bool guest = is_guest(d->root);
	json_t *item;

	if (firmware_has_iommu(d->root)) {
		item = bp_report_item(r, "IOMMU", BP_CHECK_FAIL, why,
			"the machine has an IOMMU, but the kernel does not use it");
		bp_doctor_boot_option(d->root, item, "biplane-iommu",
			bp_tree_exists(d->root, "/sys/firmware/acpi/tables/DMAR")
				? "intel_iommu=on iommu=pt"
				: "iommu=pt");
		return;
	}
	item = bp_report_item(r, "IOMMU", BP_CHECK_FAIL, why, "%s",
		guest ? "this virtual machine has none"
		      : "the firmware reports none; it may be disabled in the firmware setup");
	bp_report_do(item,
		guest ? "# add an IOMMU (QEMU: -M q35 -device "
			"intel-iommu,intremap=on,caching-mode=on)"
		      : "# enable VT-d (Intel) or IOMMU / AMD-Vi (AMD) in the firmware setup");
	if (!bp_doctor_could_noiommu(d->root)) {
		bp_report_do(item, "# or use NICs through their kernel drivers: device "
				   "\"net_af_xdp0,iface=NAME\"");
		return;
	}
	bp_report_do(item,
		"# or use vfio without an IOMMU; NICs can then access all memory of this machine:");
	bp_report_do(item, "modprobe vfio enable_unsafe_noiommu_mode=1 && echo Y >" NOIOMMU);
}

void bp_doctor_item_iommu(const struct bp_doctor *d, struct bp_report *r)
{
	struct bp_tree_names groups = bp_tree_list(d->root, "/sys/kernel/iommu_groups");

	if (groups.n)
		bp_report_item(r, "IOMMU", BP_CHECK_OK, "", "enabled, %zu groups", groups.n);
	else if (!bp_doctor_needs_pci(d))
		bp_report_item(r, "IOMMU", BP_CHECK_OK, "",
			"none; no port of this configuration "
			"needs it");
	else if (bp_doctor_noiommu(d->root))
		bp_report_item(r, "IOMMU", BP_CHECK_WARN,
			"a NIC that is bound to vfio-pci can access all memory of this machine",
			"none; vfio is in no-IOMMU mode (enable_unsafe_noiommu_mode)");
	else
		report_missing(d, r);
	bp_tree_names_free(&groups);
}
