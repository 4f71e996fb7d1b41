/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_COMMAND_H
#define BP_CONTROLPLANE_HEALTH_COMMAND_H

#include <jansson.h>
#include <stdbool.h>

#include "controlplane/health/phd_service.h"

/*
 * The answer to the control socket's command sessions-release, a new reference: {"ok":true}, or
 * {"ok":false,"errors":[...]} with what is wrong. `enabled`: the file has a section health_devices;
 * `s` NULL: its service does not run (yet); `id`: as the client wrote it, or NULL.
 */
json_t *bp_phd_release_command(struct bp_phd_service *s, bool enabled, const char *id);

#endif
