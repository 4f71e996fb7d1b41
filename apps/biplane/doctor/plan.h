/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_DOCTOR_PLAN_H
#define BP_APPS_BIPLANE_DOCTOR_PLAN_H

#include <stdio.h>

#include "apps/biplane/doctor/doctor.h"

#define BP_PLAN_NICS_MAX 32
#define BP_PLAN_HUGEPAGES_MAX 64

/* What `doctor --fix` was asked for. */
struct bp_doctor_plan_request {
	unsigned n_nics;
	const char *nic[BP_PLAN_NICS_MAX]; /* a PCI address or the name of an interface */
	unsigned n_hugepages;
	struct {
		int64_t node; /* -1: every node */
		int64_t pages;
	} hugepages[BP_PLAN_HUGEPAGES_MAX];
	bool force;   /* NICs that are in use may be taken, too; those of grade "never" may not
		       */
	bool noiommu; /* vfio may do without an IOMMU */
};

/*
 * The steps, in their order, as an array; the NICs of the configuration's ports are asked for, too,
 * and so are hugepages where too few are free. Empty when nothing is to be done. NULL when
 * something is refused: each refusal is a line in `err`. The caller's.
 */
json_t *bp_doctor_plan_create(
	const struct bp_doctor *d, const struct bp_doctor_plan_request *q, FILE *err);

/* Whether that NIC may be bound now; else a sentence. */
bool bp_doctor_plan_may_bind(const struct bp_nic *nic, bool force, char *why, size_t size);

#endif
