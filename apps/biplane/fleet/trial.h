/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_FLEET_TRIAL_H
#define BP_APPS_BIPLANE_FLEET_TRIAL_H

#include <jansson.h>
#include <stddef.h>

#include "config/config.h"

/*
 * Health before and after a change of the configuration: the open faults of `biplane status`, the
 * failed checks of /readyz, and the process numbers of the planes.
 */

/* Reads the health of the instance: {"problems": [TEXT...], "planes": [PID...]}. A new reference,
 * or NULL without memory. An instance that does not run has a problem. */
json_t *bp_fleet_health(const struct bp_config *c);

/* The process numbers of the two planes in what `biplane status` prints, null for one that does not
 * run: an instance may have no supervisor. A new reference. */
json_t *bp_fleet_planes(const json_t *status);

/* The checks of /readyz, as bp_health_checks() has them. A new reference, or NULL with a sentence
 * in `err`: the instance does not run. */
json_t *bp_fleet_readiness(const struct bp_config *c, char *err, size_t err_size);

/* Whether the instance runs, as far as bp_fleet_health() saw. */
bool bp_fleet_is_running(const json_t *health);

/* Compares; true, with a sentence in `why`: it is worse than before. */
bool bp_fleet_is_worse(const json_t *before, const json_t *now, char *why, size_t why_size);

#endif
