/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/doctor/doctor.h"
#include "apps/biplane/doctor/modules.h"
#include "apps/biplane/doctor/tree.h"

static const char why[] = "DPDK accesses NICs through vfio-pci";

void bp_doctor_item_vfio(const struct bp_doctor *d, struct bp_report *r)
{
	enum bp_module module = bp_module_state(d->root, "vfio-pci");
	char release[128];
	json_t *item;

	if (bp_tree_exists(d->root, "/sys/bus/pci/drivers/vfio-pci"))
		module = BP_MODULE_HERE;
	if (module == BP_MODULE_HERE) {
		bp_report_item(r, "vfio-pci", BP_CHECK_OK, "", "loaded");
		return;
	}
	if (!bp_doctor_needs_pci(d)) {
		bp_report_item(r, "vfio-pci", BP_CHECK_OK, "",
			"not loaded; no port of this configuration needs it");
		return;
	}
	bp_tree_text(d->root, release, sizeof(release), "/proc/sys/kernel/osrelease");
	if (module == BP_MODULE_ABSENT) {
		item = bp_report_item(r, "vfio-pci", BP_CHECK_FAIL, why,
			"kernel %s has no module vfio-pci", release);
		bp_report_do(item, "apt-get install linux-image-amd64  # and boot that kernel");
		bp_report_do(item, "# or use NICs through their kernel drivers: device "
				   "\"net_af_xdp0,iface=NAME\"");
		return;
	}
	item = bp_report_item(r, "vfio-pci",
		module == BP_MODULE_ON_DISK ? BP_CHECK_FAIL : BP_CHECK_SKIP, why, "%s",
		module == BP_MODULE_ON_DISK ? "not loaded"
					    : "not loaded; no list of modules (modules.dep)");
	bp_report_do(item, "modprobe vfio-pci");
	bp_report_do(item, "echo vfio-pci >/etc/modules-load.d/biplane.conf  # at each boot");
}
