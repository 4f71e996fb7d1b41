/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_DOCTOR_PMD_H
#define BP_APPS_BIPLANE_DOCTOR_PMD_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What DPDK's drivers say of themselves: each has, in its library, the name and the PCI devices
 * that it knows (what dpdk-pmdinfo.py prints). An array of these objects, of all libraries in the
 * folder; empty when there is none. NULL without memory. The caller's.
 */
json_t *bp_pmd_read(const char *root, const char *folder);

struct bp_pmd_device {
	uint16_t vendor, device, subsystem_vendor, subsystem_device;
};
/* The name of the driver that knows the device, or NULL. */
const char *bp_pmd_find(const json_t *drivers, const struct bp_pmd_device *d);

#endif
