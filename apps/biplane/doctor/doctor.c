/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/doctor/doctor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/doctor/pmd.h"
#include "apps/biplane/doctor/tree.h"

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

void bp_doctor_look(const struct bp_doctor *d, struct bp_report *r)
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

bool bp_doctor_needs_pci(const struct bp_doctor *d)
{
	if (!d->config)
		return true;
	for (unsigned p = 0; p < d->config->n_ports; p++)
		if (d->facts->port[p].pci[0])
			return true;
	return false;
}

bool bp_doctor_runs(const struct bp_doctor *d)
{
	char name[32];
	int64_t pid;

	/* apps/biplane/instance.h: the file may be of one that was killed, and its number somebody
	 * else's
	 */
	return d->config &&
	       bp_tree_number(d->root, &pid, "%s/%s-dataplane.pid", d->config->runtime_dir,
		       d->config->name) &&
	       bp_tree_text(d->root, name, sizeof(name), "/proc/%" PRId64 "/comm", pid) &&
	       !strncmp(name, "biplane", 7);
}

bool bp_doctor_is_guest(const char *root)
{
	size_t len;
	char *text = bp_tree_whole(root, &len, "/proc/cpuinfo");
	const bool guest = text && strstr(text, " hypervisor");

	free(text);
	return guest;
}

bool bp_doctor_user(const char *root, uint64_t *uid, uint64_t *capabilities)
{
	size_t len;
	char *text = bp_tree_whole(root, &len, "/proc/self/status");
	const char *u = text ? strstr(text, "\nUid:") : NULL;
	const char *c = text ? strstr(text, "\nCapEff:") : NULL;
	const bool found = u && c && sscanf(u, "\nUid: %*u %" SCNu64, uid) == 1 &&
			   sscanf(c, "\nCapEff: %" SCNx64, capabilities) == 1;

	free(text);
	return found;
}
