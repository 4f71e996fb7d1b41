/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "apps/biplane/doctor/doctor.h"
#include "apps/biplane/doctor/tree.h"

void bp_doctor_item_dpdk(const struct bp_doctor *d, struct bp_report *r)
{
	const struct bp_dataplane_facts *f = d->facts;
	json_t *item;

	if (!f->driver_dir[0])
		bp_report_item(r, "DPDK", BP_CHECK_OK, "", "%s, with built-in drivers", f->dpdk);
	else if (json_array_size(d->pmds))
		bp_report_item(r, "DPDK", BP_CHECK_OK, "", "%s, %zu NIC drivers in %s", f->dpdk,
			json_array_size(d->pmds), f->driver_dir);
	else {
		item = bp_report_item(r, "DPDK", BP_CHECK_FAIL,
			"DPDK detects no NIC without its drivers", "%s, no drivers in %s", f->dpdk,
			f->driver_dir);
		bp_report_do(item, "apt-get install librte-net-all  # or: apt-get install dpdk");
	}
}
