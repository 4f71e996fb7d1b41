/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_DOCTOR_NETWORK_H
#define BP_APPS_BIPLANE_DOCTOR_NETWORK_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apps/biplane/doctor/sessions.h"

/* The kernel's interfaces, and the traffic on them that must not be interrupted: default routes and
 * SSH. */
struct bp_doctor_interface {
	char name[IFNAMSIZ];
	uint32_t index;
	bool up, hardware;     /* hardware: it has a device */
	char pci[16];          /* PCI address of the device, or "" */
	char master[IFNAMSIZ]; /* bridge or bond that it belongs to, or "" */
	char above[IFNAMSIZ];  /* an interface above this one, such as a VLAN, or "" */
	unsigned n_addresses;  /* without IPv6 link-local addresses */
	char address[64];      /* the first address, with prefix length */
	char never[256];       /* its traffic that must not be interrupted, or "" */
};

struct bp_doctor_network {
	size_t n;
	struct bp_doctor_interface *interface;
	/*
	 * A sentence if the interface of a default route or an SSH session is unknown: then any
	 * interface that is up can be it. Otherwise "".
	 */
	char blind[384];
};

/*
 * Reads interfaces from sysfs; addresses and routes from the kernel, or below a root from what
 * `ip -j address`, `ip -j -4 route show table all` and `ip -j -6 ...` printed to ip-address.json,
 * ip-route-4.json and ip-route-6.json. To be freed in every case.
 */
void bp_doctor_network_read(
	const char *root, const struct bp_doctor_sessions *sessions, struct bp_doctor_network *out);
void bp_doctor_network_free(struct bp_doctor_network *n);

/* NULL: not found. */
struct bp_doctor_interface *bp_doctor_interface_find(
	const struct bp_doctor_network *n, const char *name);

#endif
