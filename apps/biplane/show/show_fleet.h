/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_SHOW_SHOW_FLEET_H
#define BP_APPS_BIPLANE_SHOW_SHOW_FLEET_H

#include <jansson.h>

struct bp_shm;

/* The member "fleet" of `biplane status`; null: the gateway shares no state. */
json_t *bp_show_fleet_status(const struct bp_shm *m);

#endif
