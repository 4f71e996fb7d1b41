/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_DOCTOR_NICS_H
#define BP_APPS_BIPLANE_DOCTOR_NICS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apps/biplane/doctor/network.h"
#include "apps/biplane/doctor/pci_address.h"

/* Whether a NIC can be bound to vfio-pci. */
enum bp_nic_grade {
	BP_NIC_BOUND,      /* it is bound to a driver through which DPDK reaches it */
	BP_NIC_NOT_NEEDED, /* DPDK uses it through its kernel driver */
	BP_NIC_SAFE,       /* nothing that can be seen uses it */
	BP_NIC_IN_USE,     /* has addresses or belongs to something: bound only with --force */
	BP_NIC_NEVER,      /* the default route or an SSH session may depend on it */
};

#define BP_NIC_INTERFACES_MAX 4
#define BP_NIC_MATES_MAX 16

struct bp_nic {
	char address[BP_PCI_ADDRESS];
	uint16_t vendor, device;
	char driver[64];          /* the kernel's, or "" */
	char override[64];        /* driver_override, or "" */
	char pmd[64];             /* DPDK's driver, or "": no installed driver supports it */
	int64_t group;            /* IOMMU group; -1: none */
	int64_t node;             /* NUMA node; -1: the machine does not say */
	unsigned n_group_members; /* what else is in the group and bound to a kernel driver */
	char mate[BP_NIC_MATES_MAX][BP_PCI_ADDRESS];
	char group_members[256]; /* the same as text, with the drivers, or "" */
	unsigned n_interfaces;
	char interface[BP_NIC_INTERFACES_MAX][IFNAMSIZ];
	const char *link; /* "up", "down" or "-": the interface is down, or there is none */
	enum bp_nic_grade grade;
	char why[512]; /* a sentence for grade, or "" */
};

struct bp_nics {
	size_t n;
	struct bp_nic *nic; /* by address */
};

/* Reads all NICs on PCI (class 0x0200). drivers: of bp_pmd_read(). To be freed. */
void bp_nics_read(const char *root, const struct bp_doctor_network *net, const json_t *drivers,
	struct bp_nics *out);
void bp_nics_free(struct bp_nics *nics);
/* NULL: there is no such NIC. */
const struct bp_nic *bp_nics_find(const struct bp_nics *nics, const char *address);

/* "safe", "in use", ... */
const char *bp_nic_grade_name(enum bp_nic_grade grade);
/* Whether DPDK can reach a device that is bound to this kernel driver. */
bool bp_nic_driver_is_dpdks(const char *driver);

#endif
