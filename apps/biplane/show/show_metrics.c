/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "apps/biplane/metrics/metrics.h"
#include "apps/biplane/show/show.h"

static int write_metrics(const struct bp_show_source *s, bool json, bool compact, FILE *out,
	char *err, size_t err_size)
{
	const enum bp_metrics_format format = json && compact  ? BP_METRICS_AS_JSON_COMPACT
					      : json           ? BP_METRICS_AS_JSON
					      : s->openmetrics ? BP_METRICS_AS_OPENMETRICS
							       : BP_METRICS_AS_TEXT;

	if (bp_metrics_write_as(s->shm, format, out) == 0)
		return 0;
	snprintf(err, err_size, "not enough memory, or the output failed");
	return -1;
}

const struct bp_show_view bp_show_metrics = {
	.name = "metrics",
	.summary = "all metrics in the text format of Prometheus, as /metrics serves them",
	.write = write_metrics,
	.takes_format = true,
};
