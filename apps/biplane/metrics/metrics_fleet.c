/* SPDX-License-Identifier: BSD-3-Clause */
/* The state that a gateway shares with its fleet. */
#include "apps/biplane/metrics/metric.h"

static bool shares(const struct bp_metrics *m)
{
	return bp_metric_load(&m->shm->control->fleet.max_queued, 0) != 0;
}

static void read_fleet(struct bp_metrics *m, const struct bp_metric *row)
{
	if (shares(m))
		bp_metric_read_control(m, row);
}

static void read_seconds(struct bp_metrics *m, const struct bp_metric *row)
{
	if (shares(m))
		bp_metric_seconds(m, BP_NO_LABELS, bp_metric_load(m->shm->control, row->at));
}

/* Members of struct bp_fleet_counters, each with a value of the label. */
struct outcome {
	const char *label;
	size_t at;
};

static void read_outcomes(
	struct bp_metrics *m, const struct bp_metric *row, const struct outcome *list, size_t n)
{
	for (size_t i = 0; shares(m) && i < n; i++)
		bp_metric_count(m, BP_LABELS({row->labels, list[i].label}),
			bp_metric_load(&m->shm->control->fleet.counters, list[i].at));
}

#define AT(member_) offsetof(struct bp_fleet_counters, member_)
#define ALARM(member_) offsetof(struct bp_fleet_alarm_counters, member_)
#define RULE(member_) offsetof(struct bp_fleet_rule_counters, member_)

static void read_writes(struct bp_metrics *m, const struct bp_metric *row)
{
	static const struct outcome list[] = {{"stored", AT(stored)},
		{"refused_stale", AT(superseded)}, {"collapsed", AT(collapsed)},
		{"lost_full", AT(lost_full)}, {"lost_expired", AT(lost_expired)},
		{"lost_refused", AT(lost_refused)}};

	read_outcomes(m, row, list, sizeof(list) / sizeof(list[0]));
}

static void read_reads(struct bp_metrics *m, const struct bp_metric *row)
{
	static const struct outcome list[] = {
		{"requested", AT(reads)}, {"found", AT(found)}, {"failed", AT(reads_failed)}};

	read_outcomes(m, row, list, sizeof(list) / sizeof(list[0]));
}

static void read_errors(struct bp_metrics *m, const struct bp_metric *row)
{
	for (unsigned i = 0; shares(m) && i < BP_FLEET_ERRORS; i++)
		bp_metric_count(m, BP_LABELS({row->labels, bp_fleet_error_name[i]}),
			bp_metric_load(&m->shm->control->fleet.counters.error[i], 0));
}

static void read_alarms(struct bp_metrics *m, const struct bp_metric *row)
{
	static const struct outcome list[] = {{"stored", ALARM(stored)},
		{"removed", ALARM(removed)}, {"claimed", ALARM(claimed)},
		{"adopted", ALARM(adopted)}, {"taken", ALARM(taken)}, {"full", ALARM(full)},
		{"too_large", ALARM(too_large)}, {"unreadable", ALARM(unreadable)},
		{"refused", ALARM(refused)}, {"invalid", ALARM(invalid)},
		{"no_destination", ALARM(no_destination)}, {"disk_failed", ALARM(disk_failed)},
		{"fenced", ALARM(fenced)}};

	for (size_t i = 0; shares(m) && i < sizeof(list) / sizeof(list[0]); i++)
		bp_metric_count(m, BP_LABELS({row->labels, list[i].label}),
			bp_metric_load(&m->shm->control->fleet.alarms, list[i].at));
}

static void read_rules(struct bp_metrics *m, const struct bp_metric *row)
{
	static const struct outcome list[] = {{"raised", RULE(raised)}, {"cleared", RULE(cleared)},
		{"adopted", RULE(adopted)}, {"conflict", RULE(conflicts)}, {"full", RULE(full)},
		{"too_large", RULE(too_large)}, {"invalid", RULE(invalid)},
		{"client_full", RULE(client_full)}, {"hold", RULE(holds)},
		{"hold_adopted", RULE(holds_adopted)}, {"unstored", RULE(unstored)}};

	for (size_t i = 0; shares(m) && i < sizeof(list) / sizeof(list[0]); i++)
		bp_metric_count(m, BP_LABELS({row->labels, list[i].label}),
			bp_metric_load(&m->shm->control->fleet.rules, list[i].at));
}

#define ASSOCIATION(member_) offsetof(struct bp_fleet_association_counters, member_)

static void read_associations(struct bp_metrics *m, const struct bp_metric *row)
{
	static const struct outcome list[] = {{"stored", ASSOCIATION(stored)},
		{"ended", ASSOCIATION(ended)}, {"not_queued", ASSOCIATION(not_queued)},
		{"too_large", ASSOCIATION(too_large)}, {"requested", ASSOCIATION(requests)},
		{"limited", ASSOCIATION(limited)}, {"adopted", ASSOCIATION(adopted)},
		{"not_found", ASSOCIATION(not_found)}, {"invalid", ASSOCIATION(invalid)},
		{"refused", ASSOCIATION(refused)}, {"taken", ASSOCIATION(taken)}};

	for (size_t i = 0; shares(m) && i < sizeof(list) / sizeof(list[0]); i++)
		bp_metric_count(m, BP_LABELS({row->labels, list[i].label}),
			bp_metric_load(&m->shm->control->fleet.associations, list[i].at));
}

#define FLEET(name_, type_, unit_, reader, member, help_)                                          \
	{                                                                                          \
		.name = "fleet_state_" name_, .type = type_, .unit = unit_, .labels = "",          \
		.help = help_, .read = reader, .at = offsetof(struct bp_shm_control, fleet.member) \
	}
#define BY(name_, label_, reader, help_)                                                           \
	{                                                                                          \
		.name = "fleet_state_" name_, .type = BP_METRIC_COUNTER, .labels = label_,         \
		.help = help_, .read = reader                                                      \
	}
#define RECORDS(name_, member, help_)                                                              \
	{                                                                                          \
		.name = "fleet_connection_records_" name_, .type = BP_METRIC_COUNTER,              \
		.labels = "", .help = help_, .read = read_fleet,                                   \
		.at = offsetof(struct bp_shm_control, fleet.connections.member)                    \
	}
static const struct bp_metric fleet[] = {
	FLEET("connected", BP_METRIC_GAUGE, NULL, read_fleet, connected,
		"Whether Redis, the shared state of the fleet, is connected"),
	FLEET("connects", BP_METRIC_COUNTER, NULL, read_fleet, counters.connects,
		"Connections to Redis"),
	FLEET("sync_lag_seconds", BP_METRIC_GAUGE, "seconds", read_seconds, lag_ns,
		"Age of the oldest change that Redis has not acknowledged; 0: none waits"),
	FLEET("queued", BP_METRIC_GAUGE, NULL, read_fleet, queued,
		"Changes that Redis has not acknowledged"),
	FLEET("max_queued", BP_METRIC_GAUGE, NULL, read_fleet, max_queued,
		"Limit of these (fleet.state.max_queued)"),
	FLEET("queued_bytes", BP_METRIC_GAUGE, "bytes", read_fleet, queued_bytes,
		"Size of the changes that Redis has not acknowledged"),
	FLEET("max_queued_bytes", BP_METRIC_GAUGE, "bytes", read_fleet, max_queued_bytes,
		"Limit of this size (fleet.state.max_queue_size)"),
	BY("writes", "result", read_writes,
		"Changes by result; refused_stale: Redis has a newer one of another gateway"),
	BY("reads", "result", read_reads, "Reads: all, those with a value, and those that failed"),
	BY("errors", "reason", read_errors,
		"Failed connections to Redis, and refused writes and reads, by reason"),
	RECORDS("stored", stored, "Records of MQTT connections written to the shared state"),
	RECORDS("ended", ended, "Records deleted because the connection ended"),
	RECORDS("not_queued", not_queued, "Records not written: the queue was full"),
	RECORDS("requested", requests, "Records of other gateways requested by workers"),
	RECORDS("found", found, "Requested records that the fleet has"),
	RECORDS("not_answered", not_answered,
		"Answers lost: the ring of a worker was full for 1 s, or no memory"),
	RECORDS("answers_deferred", answers_deferred,
		"Answers that waited until the ring of a worker had space"),
	FLEET("alarm_lease", BP_METRIC_GAUGE, NULL, read_fleet, leased,
		"Whether this gateway has its lease: its alarms have copies"),
	FLEET("unacknowledged_alarms", BP_METRIC_GAUGE, NULL, read_fleet, unacknowledged,
		"Alarms that no destination has acknowledged, with or without a copy"),
	BY("alarm_copies", "result", read_alarms,
		"Copies of unacknowledged alarms by result; taken: claimed by another gateway"),
	FLEET("alarm_pairs", BP_METRIC_GAUGE, NULL, read_fleet, pairs,
		"Pairs of rule and topic whose state is known in the fleet"),
	BY("alarm_states", "result", read_rules,
		"Raised and cleared states by result; conflict: raised at two gateways; hold: "
		"changes of holds"),
	BY("associations", "result", read_associations,
		"Associations of health devices by result; taken: adopted by another gateway"),
	{.name = NULL},
};

const struct bp_metric_table bp_metrics_fleet[] = {
	{"Fleet", fleet},
	{NULL, NULL},
};
