/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "apps/biplane/doctor/doctor.h"

static json_t *text_or_null(const char *text)
{
	return *text ? json_string(text) : json_null();
}

static json_t *number_or_null(int64_t n)
{
	return n >= 0 ? json_integer(n) : json_null();
}

static void add_row(struct bp_report *r, const struct bp_nic *nic)
{
	char id[16], names[BP_NIC_INTERFACES_MAX * (IFNAMSIZ + 1)] = "";
	size_t at = 0;

	snprintf(id, sizeof(id), "%04x:%04x", nic->vendor, nic->device);
	for (unsigned i = 0; i < nic->n_interfaces; i++)
		at += (size_t)snprintf(
			names + at, sizeof(names) - at, "%s%s", i ? "," : "", nic->interface[i]);
	json_array_append_new(r->nics,
		json_pack("{ss ss so so ss so so so so ss so}", "address", nic->address, "id", id,
			"driver", text_or_null(nic->driver), "interface", text_or_null(names),
			"link", nic->link, "numa_node", number_or_null(nic->node), "iommu_group",
			number_or_null(nic->group), "group_mates", text_or_null(nic->group_members),
			"dpdk_driver", text_or_null(nic->pmd), "grade",
			bp_nic_grade_name(nic->grade), "reason", text_or_null(nic->why)));
}

/* The commands that bind the NICs that nothing uses. */
static void propose(const struct bp_doctor *d, json_t *item)
{
	for (size_t i = 0; i < d->nics.n; i++)
		if (d->nics.nic[i].grade == BP_NIC_SAFE)
			bp_report_do(item, "biplane doctor --fix --nic %s", d->nics.nic[i].address);
}

void bp_doctor_item_nics(const struct bp_doctor *d, struct bp_report *r)
{
	static const char why[] = "the NIC of a port must be bound to vfio-pci";
	unsigned n[BP_NIC_NEVER + 1] = {0};
	json_t *item;

	for (size_t i = 0; i < d->nics.n; i++) {
		add_row(r, &d->nics.nic[i]);
		n[d->nics.nic[i].grade]++;
	}
	if (d->network.blind[0])
		bp_report_item(r, "management interfaces", BP_CHECK_SKIP,
			"every interface that is up is treated as a management interface, and its "
			"NIC is not bound",
			"%s", d->network.blind);
	if (d->config)
		return; /* the items of the ports report it */
	if (n[BP_NIC_BOUND] + n[BP_NIC_NOT_NEEDED])
		bp_report_item(r, "NICs", BP_CHECK_OK, "", "%u of %zu can be used as ports",
			n[BP_NIC_BOUND] + n[BP_NIC_NOT_NEEDED], d->nics.n);
	else if (n[BP_NIC_SAFE]) {
		item = bp_report_item(r, "NICs", BP_CHECK_WARN, why,
			"none of %zu is bound to vfio-pci; %u can be bound", d->nics.n,
			n[BP_NIC_SAFE]);
		propose(d, item);
	} else {
		item = bp_report_item(r, "NICs", BP_CHECK_WARN, why,
			d->nics.n ? "none of %zu can be bound to vfio-pci"
				  : "this machine has no PCI NIC",
			d->nics.n);
		bp_report_do(item, "# use NICs through their kernel drivers: device "
				   "\"net_af_xdp0,iface=NAME\"");
	}
}
