/* SPDX-License-Identifier: BSD-3-Clause */
/* The agent of the fleet, as it reported itself to the control plane. */
#include "apps/biplane/metrics/metric.h"
#include "controlplane/process/peer.h"
#include "shm/fleet_agent.h"

static const struct bp_fleet_agent *agent_of(const struct bp_metrics *m)
{
	const struct bp_fleet_agent *a = &m->shm->control->fleet_agent;

	return atomic_load_explicit(&a->expected, memory_order_relaxed) != 0 ? a : NULL;
}

/* False: the configuration has no fleet.config, or the agent has not reported yet. */
static bool read_report(const struct bp_metrics *m, struct bp_fleet_report *r)
{
	const struct bp_fleet_agent *a = agent_of(m);

	return a != NULL && bp_fleet_agent_read(a, r);
}

static void read_up(struct bp_metrics *m, const struct bp_metric *row)
{
	struct bp_fleet_report r;

	(void)row;
	if (agent_of(m) != NULL)
		bp_metric_count(
			m, BP_NO_LABELS, read_report(m, &r) && bp_process_alive(r.pid) ? 1 : 0);
}

static void read_age(struct bp_metrics *m, const struct bp_metric *row)
{
	struct bp_fleet_report r;

	(void)row;
	if (read_report(m, &r))
		bp_metric_seconds(
			m, BP_NO_LABELS, m->unix_ns > r.heard_ns ? m->unix_ns - r.heard_ns : 0);
}

static void read_connected(struct bp_metrics *m, const struct bp_metric *row)
{
	struct bp_fleet_report r;

	(void)row;
	if (read_report(m, &r))
		bp_metric_count(m, BP_NO_LABELS, r.connected == 1);
}

static void read_leased(struct bp_metrics *m, const struct bp_metric *row)
{
	struct bp_fleet_report r;

	(void)row;
	if (read_report(m, &r))
		bp_metric_count(m, BP_NO_LABELS, r.leased == 1);
}

static void read_number(struct bp_metrics *m, const struct bp_metric *row)
{
	struct bp_fleet_report r;

	if (read_report(m, &r))
		bp_metric_count(m, BP_NO_LABELS,
			row->at == offsetof(struct bp_fleet_report, serial) ? r.serial : r.version);
}

static void read_state(struct bp_metrics *m, const struct bp_metric *row)
{
	struct bp_fleet_report r;

	(void)row;
	for (unsigned p = 0; read_report(m, &r) && p < BP_FLEET_PHASES; p++)
		bp_metric_count(
			m, BP_LABELS({"state", bp_fleet_phase_name(p)}), r.phase == p ? 1 : 0);
}

static void read_results(struct bp_metrics *m, const struct bp_metric *row)
{
	const struct bp_fleet_agent *a = agent_of(m);

	(void)row;
	for (unsigned p = BP_FLEET_APPLIED; a != NULL && p < BP_FLEET_PHASES; p++)
		bp_metric_count(m, BP_LABELS({"result", bp_fleet_phase_name(p)}),
			atomic_load_explicit(&a->results[p], memory_order_relaxed));
}

static const struct bp_metric agent[] = {
	{.name = "fleet_agent_up",
		.type = BP_METRIC_GAUGE,
		.labels = "",
		.help = "Whether the agent of the fleet runs",
		.read = read_up},
	{.name = "fleet_agent_heartbeat_age_seconds",
		.type = BP_METRIC_GAUGE,
		.unit = "seconds",
		.labels = "",
		.help = "Time since the last report of the agent, which it sends once a second",
		.read = read_age},
	{.name = "fleet_etcd_connected",
		.type = BP_METRIC_GAUGE,
		.labels = "",
		.help = "Whether etcd answered the last request of the agent",
		.read = read_connected},
	{.name = "fleet_lease_held",
		.type = BP_METRIC_GAUGE,
		.labels = "",
		.help = "Whether the member has a lease in etcd, so that fleet members lists it",
		.read = read_leased},
	{.name = "fleet_bundle_version",
		.type = BP_METRIC_GAUGE,
		.labels = "",
		.help = "Version of the active bundle; 0: none",
		.read = read_number,
		.at = offsetof(struct bp_fleet_report, version)},
	{.name = "fleet_rollout_serial",
		.type = BP_METRIC_GAUGE,
		.labels = "",
		.help = "Serial number of the last rollout that was tried",
		.read = read_number,
		.at = offsetof(struct bp_fleet_report, serial)},
	{.name = "fleet_rollout_state",
		.type = BP_METRIC_GAUGE,
		.labels = "state",
		.help = "Whether the last rollout is in this state",
		.read = read_state},
	{.name = "fleet_rollouts",
		.type = BP_METRIC_COUNTER,
		.labels = "result",
		.help = "Rollouts that this gateway applied, refused or rolled back",
		.read = read_results},
	{.name = NULL},
};

const struct bp_metric_table bp_metrics_fleet_agent[] = {
	{"Agent of the fleet", agent},
	{NULL, NULL},
};
