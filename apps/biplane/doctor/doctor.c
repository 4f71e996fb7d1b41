/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/doctor/doctor.h"

#include "apps/biplane/doctor/pmd.h"

bool bp_doctor_begin(struct bp_doctor *d, const char *connection, uint64_t pid)
{
	d->pmds = bp_pmd_read(d->root, d->facts->driver_dir);
	bp_doctor_sessions_read(d->root, connection, pid, &d->sessions);
	bp_doctor_network_read(d->root, &d->sessions, &d->network);
	bp_nics_read(d->root, &d->network, d->pmds, &d->nics);
	bp_huge_read(d->root, &d->huge);
	return d->pmds && d->network.interface && d->nics.nic;
}

void bp_doctor_end(struct bp_doctor *d)
{
	json_decref(d->pmds);
	d->pmds = NULL;
	bp_doctor_network_free(&d->network);
	bp_nics_free(&d->nics);
}

void bp_doctor_check(const struct bp_doctor *d, struct bp_report *r)
{
	bp_doctor_item_hugepages(d, r);
	bp_doctor_item_hugetlbfs(d, r);
	bp_doctor_item_iommu(d, r);
	bp_doctor_item_vfio(d, r);
	bp_doctor_item_kernel_interface(d, r);
	bp_doctor_item_cpus(d, r);
	bp_doctor_item_governor(d, r);
	bp_doctor_item_memlock(d, r);
	bp_doctor_item_capabilities(d, r);
	bp_doctor_item_dpdk(d, r);
	bp_doctor_item_clock(d, r);
	bp_doctor_item_nics(d, r);
	bp_doctor_item_ports(d, r);
}
