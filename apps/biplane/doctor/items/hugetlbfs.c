/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/config.h"
#include "apps/biplane/doctor/doctor.h"

void bp_doctor_item_hugetlbfs(const struct bp_doctor *d, struct bp_report *r)
{
	json_t *item;

	if (d->huge.n == 0)
		return; /* the item before reports it */
	if (d->huge.dir[0]) {
		bp_report_item(r, "hugetlbfs", BP_CHECK_OK, "", "mounted on %s", d->huge.dir);
		return;
	}
	if (d->config && d->config->hugepages == BP_HUGEPAGES_NEVER) {
		bp_report_item(r, "hugetlbfs", BP_CHECK_OK, "",
			"not mounted; this configuration uses no hugepages");
		return;
	}
	item = bp_report_item(r, "hugetlbfs", BP_CHECK_WARN,
		"without it, the shared segment uses normal pages", "not mounted");
	bp_report_do(
		item, "mkdir -p /dev/hugepages && mount -t hugetlbfs hugetlbfs /dev/hugepages");
}
