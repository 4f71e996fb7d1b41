/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_DOCTOR_PCI_ADDRESS_H
#define BP_APPS_BIPLANE_DOCTOR_PCI_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

#define BP_PCI_ADDRESS 16

/* Whether text[0..len) is a PCI address as sysfs writes it: "0000:03:00.0". */
bool bp_pci_is_address(const char *text, size_t len);
/* The same from what a person writes: "03:00.0", too, and hexadecimal digits in capitals. False: it
 * is none; out is "". */
bool bp_pci_read(const char *text, char out[BP_PCI_ADDRESS]);
/* The PCI device that a link in sysfs leads to, itself or through a bus of its own (virtio). False:
 * there is none; out is "". */
bool bp_pci_of_link(const char *root, char out[BP_PCI_ADDRESS], const char *path, ...)
	__attribute__((format(printf, 3, 4)));

#endif
