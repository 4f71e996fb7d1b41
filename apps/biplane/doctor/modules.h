/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_DOCTOR_MODULES_H
#define BP_APPS_BIPLANE_DOCTOR_MODULES_H

enum bp_module {
	BP_MODULE_HERE,    /* loaded, or part of the kernel */
	BP_MODULE_ON_DISK, /* modprobe loads it */
	BP_MODULE_ABSENT,  /* this kernel comes without it */
	BP_MODULE_UNKNOWN, /* it is not loaded, and there is no list of what could be */
};

/* name: with '-', as modprobe takes it. */
enum bp_module bp_module_state(const char *root, const char *name);

/* Whether this kernel was built with an option ("CONFIG_..."), as its file in /boot says: 1, 0, or
 * -1 when there is no such file. */
int bp_kernel_option(const char *root, const char *option);

#endif
