/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/doctor/plan.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "config/config.h"
#include "apps/biplane/doctor/modules.h"
#include "apps/biplane/doctor/step.h"
#include "apps/biplane/doctor/tree.h"

#define HUGETLBFS_DIR "/dev/hugepages"
#define NICS_MAX (BP_PLAN_NICS_MAX + BP_MAX_PORTS)

struct plan {
	const struct bp_doctor *d;
	const struct bp_doctor_plan_request *q;
	FILE *err;
	json_t *steps;
	bool refused;
	unsigned n; /* NICs to bind */
	const struct bp_nic *nic[NICS_MAX];
};

__attribute__((format(printf, 2, 3))) static void refuse(struct plan *p, const char *format, ...)
{
	va_list args;

	p->refused = true;
	fputs("biplane doctor: ", p->err);
	va_start(args, format);
	vfprintf(p->err, format, args);
	va_end(args);
	fputc('\n', p->err);
}

bool bp_doctor_plan_may_bind(const struct bp_nic *nic, bool force, char *why, size_t size)
{
	if (nic->grade == BP_NIC_NEVER) {
		snprintf(why, size, "%s must keep its kernel driver: %s", nic->address, nic->why);
		return false;
	}
	if (nic->grade == BP_NIC_IN_USE && !force) {
		snprintf(why, size, "%s is in use: %s (use --force to bind it anyway)",
			nic->address, nic->why);
		return false;
	}
	return true;
}

static const struct bp_nic *find_nic(const struct bp_doctor *d, const char *word)
{
	char address[BP_PCI_ADDRESS];

	if (bp_pci_read(word, address))
		return bp_nics_find(&d->nics, address);
	for (size_t i = 0; i < d->nics.n; i++)
		for (unsigned k = 0; k < d->nics.nic[i].n_interfaces; k++)
			if (!strcmp(d->nics.nic[i].interface[k], word))
				return &d->nics.nic[i];
	return NULL;
}

static void require_nic(struct plan *p, const char *word)
{
	const struct bp_nic *nic = find_nic(p->d, word);
	char why[640];

	if (!nic) {
		refuse(p,
			"this machine has no PCI NIC %s; 'biplane doctor' lists its NICs "
			"(a NIC that is bound to vfio-pci has no interface)",
			word);
		return;
	}
	if (nic->grade == BP_NIC_BOUND || nic->grade == BP_NIC_NOT_NEEDED)
		return;
	for (unsigned i = 0; i < p->n; i++)
		if (p->nic[i] == nic)
			return;
	if (!bp_doctor_plan_may_bind(nic, p->q->force, why, sizeof(why)))
		refuse(p, "%s", why);
	else if (p->n < NICS_MAX)
		p->nic[p->n++] = nic;
	if (!nic->pmd[0] && json_array_size(p->d->pmds))
		fprintf(p->err, "warning: no installed DPDK driver supports %s (%04x:%04x)\n",
			nic->address, nic->vendor, nic->device);
}

/* vfio opens a group if no other device has a kernel driver, now or after this plan. */
static void check_group_members(struct plan *p, const struct bp_nic *nic)
{
	for (unsigned k = 0; k < nic->n_group_members; k++) {
		bool with = false;

		for (unsigned i = 0; i < p->n; i++)
			with |= !strcmp(p->nic[i]->address, nic->mate[k]);
		if (!with) {
			refuse(p,
				"%s is in IOMMU group %" PRId64
				" with %s, and vfio needs the complete group; bind all devices of "
				"the group, or move the NIC to another slot",
				nic->address, nic->group, nic->group_members);
			return;
		}
	}
}

static void require_nics(struct plan *p)
{
	const struct bp_config *c = p->d->config;

	for (unsigned i = 0; i < p->q->n_nics; i++)
		require_nic(p, p->q->nic[i]);
	for (unsigned i = 0; c && i < c->n_ports; i++)
		if (p->d->facts->port[i].pci[0])
			require_nic(p, p->d->facts->port[i].pci);
	for (unsigned i = 0; i < p->n; i++)
		check_group_members(p, p->nic[i]);
}

static void add(struct plan *p, json_t *step)
{
	if (json_array_append_new(p->steps, step) != 0)
		refuse(p, "not enough memory");
}

static void require_module(struct plan *p, const char *name, const char *what_for)
{
	char release[128];

	switch (bp_module_state(p->d->root, name)) {
	case BP_MODULE_HERE:
		return;
	case BP_MODULE_ABSENT:
		bp_tree_text(p->d->root, release, sizeof(release), "/proc/sys/kernel/osrelease");
		refuse(p, "kernel %s has no module %s, which %s", release, name, what_for);
		return;
	case BP_MODULE_ON_DISK:
	case BP_MODULE_UNKNOWN:
		add(p, bp_step_module(name));
	}
}

static void require_vfio(struct plan *p)
{
	const char *root = p->d->root;

	if (!bp_doctor_has_iommu(root) && !bp_doctor_noiommu(root)) {
		if (!bp_doctor_could_noiommu(root)) {
			refuse(p, "this machine has no active IOMMU, and vfio of this kernel "
				  "needs one; 'biplane doctor' shows how to enable it");
			return;
		}
		if (!p->q->noiommu) {
			refuse(p, "this machine has no active IOMMU; 'biplane doctor' shows how to "
				  "enable it, and --noiommu binds without it");
			return;
		}
		require_module(p, "vfio", "DPDK needs to access NICs");
		add(p, bp_step_noiommu("N"));
	}
	/* vfio asks for it by itself; named, it goes again, too */
	if (bp_doctor_has_iommu(root) &&
		bp_module_state(root, "vfio_iommu_type1") == BP_MODULE_ON_DISK)
		add(p, bp_step_module("vfio_iommu_type1"));
	if (!bp_tree_exists(root, "/sys/bus/pci/drivers/vfio-pci"))
		require_module(p, "vfio-pci", "DPDK needs to access NICs");
}

/* Only ports that route need it, and so it is no reason to refuse. */
static void require_device(struct plan *p, const char *device, const char *module)
{
	if (!bp_tree_exists(p->d->root, "%s", device) &&
		bp_module_state(p->d->root, module) == BP_MODULE_ON_DISK)
		add(p, bp_step_module(module));
}

/* Pages that were asked for on this node; 0: none were. */
static int64_t pages_requested(const struct bp_doctor_plan_request *q, int64_t node)
{
	int64_t pages = 0;

	for (unsigned i = 0; i < q->n_hugepages; i++)
		if (q->hugepages[i].node == -1 || q->hugepages[i].node == node)
			pages = q->hugepages[i].pages;
	return pages;
}

static void require_pages(struct plan *p, const struct bp_huge_pool *pool)
{
	const int64_t asked = pages_requested(p->q, pool->node);
	const int64_t pages =
		p->q->n_hugepages ? asked : bp_doctor_pages_required(p->d, pool->node);
	const int64_t memory = bp_huge_memory_kib(p->d->root, pool->node);

	if (pages <= pool->pages)
		return; /* others may use what is there: it never becomes less */
	if (memory && pages > memory / pool->kib * 9 / 10) {
		refuse(p,
			"%" PRId64 " hugepages of %" PRId64 " MiB are more than 90 %% of the "
			"memory of NUMA node %" PRId64 " (%" PRId64 " MiB)",
			pages, pool->kib / 1024, pool->node < 0 ? 0 : pool->node, memory / 1024);
		return;
	}
	add(p, bp_step_hugepages(pool->node, pool->kib, pool->pages, pages));
}

static void require_hugepages(struct plan *p)
{
	const struct bp_huge *h = &p->d->huge;

	for (unsigned i = 0; i < p->q->n_hugepages; i++) {
		bool there = p->q->hugepages[i].node == -1;

		for (unsigned k = 0; k < h->n; k++)
			there |= h->pool[k].node == p->q->hugepages[i].node;
		if (!there)
			refuse(p, "this machine has no NUMA node %" PRId64,
				p->q->hugepages[i].node);
	}
	if (p->q->n_hugepages && h->n == 0)
		refuse(p, "this kernel has no hugepages");
	for (unsigned i = 0; i < h->n; i++)
		if (h->pool[i].kib == BP_HUGE_KIB)
			require_pages(p, &h->pool[i]);
	if (h->n && !h->dir[0])
		add(p, bp_step_mount(
			       HUGETLBFS_DIR, !bp_tree_exists(p->d->root, "%s", HUGETLBFS_DIR)));
}

json_t *bp_doctor_plan_create(
	const struct bp_doctor *d, const struct bp_doctor_plan_request *q, FILE *err)
{
	struct plan p = {.d = d, .q = q, .err = err, .steps = json_array()};

	require_nics(&p);
	if (p.n)
		require_vfio(&p);
	require_device(&p, "/dev/net/tun", "tun"); /* vhost-net needs it */
	require_device(&p, "/dev/vhost-net", "vhost-net");
	require_hugepages(&p);
	for (unsigned i = 0; i < p.n; i++)
		add(&p, bp_step_bind(p.nic[i], &d->network));
	if (!p.refused)
		return p.steps;
	json_decref(p.steps);
	return NULL;
}
