/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_COMMAND_H
#define BP_CONTROLPLANE_HEALTH_COMMAND_H

#include <jansson.h>
#include <stdbool.h>

#include "controlplane/health/phd_service.h"

/*
 * Returns the answer to the command sessions-release of the control socket, a new reference:
 * {"ok":true}, or {"ok":false,"errors":[...]} with the reason. `enabled`: the file has a section
 * health_devices; `s` NULL: its service does not run (yet); `id`: as received from the client, or
 * NULL.
 */
json_t *bp_phd_release_command(struct bp_phd_service *s, bool enabled, const char *id);

#endif
