/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_DOCTOR_BOOT_OPTION_H
#define BP_APPS_BIPLANE_DOCTOR_BOOT_OPTION_H

#include <jansson.h>

/* Says how to add words to the kernel's command line: with GRUB's folder where it is there. `file`
 * is what the file in it is called. */
void bp_doctor_boot_option(const char *root, json_t *item, const char *file, const char *words);

#endif
