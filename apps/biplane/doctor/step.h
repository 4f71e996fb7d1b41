/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_DOCTOR_STEP_H
#define BP_APPS_BIPLANE_DOCTOR_STEP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apps/biplane/doctor/nics.h"

/*
 * A step of `doctor --fix`: an object that says what is done and what was before, so that the same
 * object, in the journal, says how to undo it:
 *
 *   {"do": "module", "name": "vfio-pci"}                       it was not loaded
 *   {"do": "noiommu", "was": "N"}                              vfio without an IOMMU
 *   {"do": "hugepages", "node": 0, "kib": 2048, "was": 0, "to": 1024}
 *   {"do": "mount", "dir": "/dev/hugepages", "made": true}     made: the folder, too
 *   {"do": "bind", "nic": "0000:03:00.0", "driver": "ixgbe", "override": "",
 *    "interfaces": [{"name": "eth0", "up": true, "address": "10.1.2.3/24"}]}
 */
struct bp_step {
	enum bp_step_kind {
		BP_STEP_MODULE,
		BP_STEP_NOIOMMU,
		BP_STEP_HUGEPAGES,
		BP_STEP_MOUNT,
		BP_STEP_BIND,
	} kind;
	/* borrowed from the object */
	const char *name; /* module's; folder's; NIC's address */
	const char *was;  /* noiommu: the parameter; bind: the driver, or "" */
	const char *override;
	const json_t *interfaces;
	int64_t node, kib, pages_was, pages_to;
	bool made;
};

/* Reads an object, which may come from a file. False: not a valid step; it must not be executed. */
bool bp_step_read(const json_t *o, struct bp_step *s);

/* Each is the caller's; NULL without memory. */
json_t *bp_step_module(const char *name);
json_t *bp_step_noiommu(const char *was);
json_t *bp_step_hugepages(int64_t node, int64_t kib, int64_t was, int64_t to);
json_t *bp_step_mount(const char *dir, bool made);
json_t *bp_step_bind(const struct bp_nic *nic, const struct bp_doctor_network *net);

/* "hugepages of 2 MiB on NUMA node 0: 0 -> 1024"; back: the other way. */
void bp_step_describe(const json_t *o, bool back, char *out, size_t size);

#endif
