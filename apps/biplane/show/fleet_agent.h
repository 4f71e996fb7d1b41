/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_SHOW_FLEET_AGENT_H
#define BP_APPS_BIPLANE_SHOW_FLEET_AGENT_H

#include <jansson.h>
#include <stdio.h>

#include "shm/layout.h"

/* The agent of the fleet in `biplane status`: null without fleet.config. */
json_t *bp_show_fleet_agent(const struct bp_shm *m, uint64_t unix_ns);
/* Its lines below the processes; prints nothing for null. */
void bp_show_fleet_agent_print(const json_t *agent, FILE *out);

#endif
