/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/monitor/metrics.h"

#include "controlplane/process/peer.h"

struct bp_monitor_counters bp_monitor_counters;

int bp_metrics_write(const struct bp_shm *shm, bool openmetrics, FILE *out)
{
	const bool up = shm != NULL && bp_dataplane_alive(shm->global);

	fprintf(out,
		"# HELP biplane_up Whether the data plane runs.\n# TYPE biplane_up gauge\n"
		"biplane_up %d\n",
		up);
	if (openmetrics)
		fputs("# EOF\n", out);
	return ferror(out) ? -1 : 0;
}
