/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_DOCTOR_DOCTOR_H
#define BP_APPS_BIPLANE_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "apps/biplane/doctor/hugepages.h"
#include "apps/biplane/doctor/network.h"
#include "apps/biplane/doctor/nics.h"
#include "apps/biplane/doctor/report.h"
#include "apps/biplane/doctor/sessions.h"
#include "dataplane/process/facts.h"

struct bp_config;

/* A machine that is checked for biplane or for one of its configurations. */
struct bp_doctor {
	const char *root;               /* "": this machine; see apps/biplane/doctor/tree.h */
	const struct bp_config *config; /* or NULL */
	const struct bp_dataplane_facts *facts; /* without a configuration: DPDK's alone */
	struct bp_doctor_sessions sessions;
	struct bp_doctor_network network;
	struct bp_nics nics;
	struct bp_huge huge;
	json_t *pmds; /* of bp_pmd_read() */
};

/*
 * Reads what several items are about. connection: SSH_CONNECTION or NULL; pid: of the caller. False
 * without memory. To be ended in every case.
 */
bool bp_doctor_begin(struct bp_doctor *d, const char *connection, uint64_t pid);
void bp_doctor_end(struct bp_doctor *d);

/* Checks all items and adds them to the report. */
void bp_doctor_check(const struct bp_doctor *d, struct bp_report *r);

/* The items, one a file, each of which adds to the report. */
void bp_doctor_item_hugepages(const struct bp_doctor *d, struct bp_report *r);
void bp_doctor_item_hugetlbfs(const struct bp_doctor *d, struct bp_report *r);
void bp_doctor_item_iommu(const struct bp_doctor *d, struct bp_report *r);
void bp_doctor_item_vfio(const struct bp_doctor *d, struct bp_report *r);
void bp_doctor_item_kernel_interface(const struct bp_doctor *d, struct bp_report *r);
void bp_doctor_item_cpus(const struct bp_doctor *d, struct bp_report *r);
void bp_doctor_item_governor(const struct bp_doctor *d, struct bp_report *r);
void bp_doctor_item_memlock(const struct bp_doctor *d, struct bp_report *r);
void bp_doctor_item_capabilities(const struct bp_doctor *d, struct bp_report *r);
void bp_doctor_item_dpdk(const struct bp_doctor *d, struct bp_report *r);
void bp_doctor_item_clock(const struct bp_doctor *d, struct bp_report *r);
void bp_doctor_item_nics(const struct bp_doctor *d, struct bp_report *r);
void bp_doctor_item_ports(const struct bp_doctor *d, struct bp_report *r);

/* Whether some port is a PCI device; without a configuration it is taken that some will be. */
bool bp_doctor_needs_pci(const struct bp_doctor *d);
/* How many pages of BP_HUGE_KIB this node should have; 0: no change needed. */
int64_t bp_doctor_pages_required(const struct bp_doctor *d, int64_t node);
/* Whether the machine has an IOMMU that the kernel uses. */
bool bp_doctor_has_iommu(const char *root);
/* Whether vfio is in no-IOMMU mode. */
bool bp_doctor_noiommu(const char *root);
/* Whether this kernel's vfio could: many are built without that, Debian 12's among them. */
bool bp_doctor_could_noiommu(const char *root);
/* Of /proc/self/status: the effective user, and the effective capabilities. False: unreadable. */
bool bp_doctor_user(const char *root, uint64_t *uid, uint64_t *capabilities);

#endif
