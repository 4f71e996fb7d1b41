/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_DOCTOR_ACTIONS_H
#define BP_APPS_BIPLANE_DOCTOR_ACTIONS_H

#include <stdbool.h>

/*
 * What `doctor --fix` and `--undo` do to a machine. Everything that they learn they read from
 * files; everything that they do goes through here, so that it can be done to a machine that is a
 * folder. Each returns 0 or -errno.
 */
struct bp_actions {
	void *arg;
	/* Writes the text to a file of sysfs, in one write. */
	int (*write)(void *arg, const char *path, const char *text);
	int (*modprobe)(void *arg, const char *module, bool remove);
	/* Makes the folder when `make`, and mounts hugetlbfs there; removes it when `make`. */
	int (*mount)(void *arg, const char *dir, bool make);
	int (*unmount)(void *arg, const char *dir, bool make);
	/* Sets an interface of the kernel up; gives one that is down another name. */
	int (*set_up)(void *arg, const char *interface);
	int (*rename)(void *arg, const char *interface, const char *name);
	void (*wait)(void *arg, unsigned ms);
};

/* This machine. */
extern const struct bp_actions bp_actions_here;

#endif
