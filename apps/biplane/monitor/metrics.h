/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_MONITOR_METRICS_H
#define BP_APPS_BIPLANE_MONITOR_METRICS_H

#include <stdbool.h>
#include <stdio.h>

#include "apps/biplane/monitor/counters.h"
#include "shm/layout.h"

/*
 * Writes the metrics of an instance and of this monitor (bp_monitor_counters): OpenMetrics 1.0 if
 * `openmetrics`, else the Prometheus text format 0.0.4. `shm` is read only; NULL while there is no
 * segment: then only biplane_up 0 and the metrics of the monitor. Returns 0, or -1 without memory.
 */
int bp_metrics_write(const struct bp_shm *shm, bool openmetrics, FILE *out);

#define BP_METRICS_OPENMETRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define BP_METRICS_TEXT "text/plain; version=0.0.4; charset=utf-8"

#endif
