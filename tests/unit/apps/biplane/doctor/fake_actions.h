/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_APPS_BIPLANE_DOCTOR_FAKE_ACTIONS_H
#define BP_TESTS_UNIT_APPS_BIPLANE_DOCTOR_FAKE_ACTIONS_H

#include "apps/biplane/doctor/actions.h"
#include "tests/unit/apps/biplane/doctor/fake_machine.h"

/*
 * Does to a machine that is a folder what a kernel does: unbind takes the driver's link and the
 * interface away, drivers_probe gives a device to the driver of its override or else to its own,
 * modprobe makes the driver's folder.
 */
struct fake_kernel {
	const struct fake *fake;
	const char *own_driver; /* that probes a NIC without an override */
	int64_t pages_max;      /* more are not to be had on any node */
	bool vfio_refuses;      /* vfio-pci takes no device */
	unsigned acts;          /* how many were asked for */
	unsigned dies_at;       /* this act and all later ones do nothing, and fail; 0: none */
	char log[4096];         /* "write PATH TEXT\n", "modprobe NAME\n", ... */
	char up[64];            /* the interface that was set up last */
	const char *comes_as;   /* the name that an interface comes back with; NULL: its own */
};

void fake_kernel_begin(struct fake_kernel *k, const struct fake *f);
struct bp_actions fake_actions(struct fake_kernel *k);

/* All that a fix may change, as text: to be equal before a fix and after an undo. The caller's. */
char *fake_state(const struct fake *f);

#endif
