/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_MONITOR_HEALTH_CHECKS_H
#define BP_APPS_BIPLANE_MONITOR_HEALTH_CHECKS_H

#include <jansson.h>
#include <stdint.h>

/*
 * The checks of /readyz, from what `biplane status` prints: {"ready": ..., "checks": [{"check",
 * "ok", "reason"}]}. `spool_max`: the bound of the spool, bytes; 0: there is no publisher. A new
 * reference, or NULL without memory.
 */
json_t *bp_health_checks(const json_t *status, uint64_t spool_max);

#endif
