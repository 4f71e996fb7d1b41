/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_SHOW_HEALTH_SHOW_PHD_H
#define BP_APPS_BIPLANE_SHOW_HEALTH_SHOW_PHD_H

#include <jansson.h>
#include <stdio.h>

#include "shm/layout.h"

/* What the control plane counts of health devices, of `status`: an object of groups, each with
 * its words (shm/health/phd_status.h), a new reference. null where there is no section
 * health_devices. */
json_t *bp_show_phd(const struct bp_shm *m);
/* The same for people: a line a group, without what never happened. Nothing for null. */
void bp_show_phd_print(const json_t *phd, FILE *out);

#endif
