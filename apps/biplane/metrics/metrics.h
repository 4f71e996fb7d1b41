/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_METRICS_METRICS_H
#define BP_APPS_BIPLANE_METRICS_METRICS_H

#include <stdbool.h>
#include <stdio.h>

#include "shm/layout.h"

/*
 * The metrics of an instance, from its segment. The families derive from tables, one row a family
 * (apps/biplane/metrics/metric.h), and from the list of counters; docs/reference/metrics.md is
 * generated from the same tables. Their names are an interface.
 *
 * The segment is only read. It may be damaged: each index, length and text that is read from it is
 * bounded. The labels are ports, workers, nodes, rules, entries and reasons; no table of
 * connections, routes, sessions or topics is walked.
 */

/* Content types. */
#define BP_METRICS_OPENMETRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define BP_METRICS_TEXT "text/plain; version=0.0.4; charset=utf-8"

/*
 * Writes all metrics of the instance and, in its process, of the monitor: OpenMetrics 1.0 if
 * `openmetrics`, else the Prometheus text format 0.0.4. `shm` NULL: there is no segment; then only
 * the metrics that need none. Returns 0, or -1 without memory or after an error of `out`.
 */
int bp_metrics_write(const struct bp_shm *shm, bool openmetrics, FILE *out);

enum bp_metrics_format {
	BP_METRICS_AS_TEXT,
	BP_METRICS_AS_OPENMETRICS,
	BP_METRICS_AS_JSON,
	BP_METRICS_AS_JSON_COMPACT, /* in one line */
};
/* The same in any format. */
int bp_metrics_write_as(const struct bp_shm *shm, enum bp_metrics_format format, FILE *out);

#endif
