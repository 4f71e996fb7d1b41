/* SPDX-License-Identifier: BSD-3-Clause */
/* Health devices: the data plane's counters by reason, and what the control plane exports. */
#include "apps/biplane/metrics/metric.h"
#include "biplane/counters/health.h"

static const struct bp_metric reports[] = {
	{.name = "health_reports_discarded",
		.type = BP_METRIC_COUNTER,
		.labels = "reason",
		.help = "Reports of health devices discarded by the data plane",
		.read = bp_metric_read_group,
		.group = BP_CG_PHD,
		.prefix = "phd_discarded_"},
	{.name = NULL},
};

static void read_status(struct bp_metrics *m, const struct bp_metric *row)
{
	if (m->shm->phd.n_slots != 0)
		bp_metric_count(m, BP_NO_LABELS, bp_metric_load(m->shm->phd.status, row->at));
}

/* Words of the list's groups, as bp_phd_status_group_name has them. */
#define NAME_SESSIONS "sessions"
#define NAME_ASSOCIATIONS "associations"
#define NAME_SIGNALLING "signalling"
#define NAME_REPORTS "reports"
#define NAME_INSTANCES "instances"
#define NAME_EVENTS "events"
#define NAME_CSE "cse"
#define NAME_PROVISIONING "provisioning"
#define NAME_STORE "store"
#define NAME_UDP "udp"
#define NAME_TCP "tcp"
#define TYPE_TOTAL BP_METRIC_COUNTER
#define TYPE_NOW BP_METRIC_GAUGE
#define IS_AWAY(id) (BP_PHD_S_##id == BP_PHD_S_CSE_AWAY_S) /* its unit is in the name */

static const struct bp_metric manager[] = {
#define X(id, group_, kind, name_, help_)                                                          \
	{.name = IS_AWAY(id) ? "health_manager_cse_unreachable_seconds"                            \
			     : "health_manager_" NAME_##group_ "_" name_,                          \
		.type = TYPE_##kind,                                                               \
		.unit = IS_AWAY(id) ? "seconds" : NULL,                                            \
		.labels = "",                                                                      \
		.help = help_,                                                                     \
		.read = read_status,                                                               \
		.at = offsetof(struct bp_phd_status, v) + sizeof(uint64_t) * BP_PHD_S_##id},
	BP_PHD_STATUS (X)
#undef X
		{.name = NULL},
};

const struct bp_metric_table bp_metrics_health[] = {
	{"Health devices: data plane", reports},
	{"Health devices: manager", manager},
	{NULL, NULL},
};
