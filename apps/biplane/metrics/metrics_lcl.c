/* SPDX-License-Identifier: BSD-3-Clause */
/* LCL scheduling, by port. */
#include "apps/biplane/metrics/metric.h"
#include "biplane/counters/lcl.h"

static uint64_t bucket_last(unsigned bucket)
{
	return bp_lcl_bucket_from(bucket + 1) - 1;
}

/* The next entry of lcl.ports with an owner, and the label of its port; NULL: no more. */
static const struct bp_lcl_port_stats *next_port(
	const struct bp_metrics *m, uint32_t *at, struct bp_metric_label *label)
{
	for (; *at < m->shm->lcl.n_ports; ++*at) {
		const struct bp_lcl_port_stats *p = &m->shm->lcl.ports[*at];
		const unsigned port = p->configured.port;

		if (atomic_load_explicit((_Atomic uint32_t *)&p->owner, memory_order_acquire) ==
				0 ||
			port >= m->n_ports || m->port[port][0] == '\0')
			continue;
		++*at;
		*label = (struct bp_metric_label){"port", m->port[port]};
		return p;
	}
	return NULL;
}

static void read_port(struct bp_metrics *m, const struct bp_metric *row)
{
	const struct bp_lcl_port_stats *p;
	struct bp_metric_label label;

	for (uint32_t at = 0; (p = next_port(m, &at, &label)) != NULL;)
		bp_metric_count(m, BP_LABELS(label), bp_metric_load(p, row->at));
}

static void read_seconds(struct bp_metrics *m, const struct bp_metric *row)
{
	const struct bp_lcl_port_stats *p;
	struct bp_metric_label label;

	for (uint32_t at = 0; (p = next_port(m, &at, &label)) != NULL;)
		bp_metric_seconds(m, BP_LABELS(label), bp_metric_load(p, row->at));
}

static void read_times(struct bp_metrics *m, const struct bp_metric *row)
{
	const struct bp_lcl_port_stats *p;
	struct bp_metric_label label;

	for (uint32_t at = 0; (p = next_port(m, &at, &label)) != NULL;)
		bp_metric_histogram(m, BP_LABELS(label),
			&(struct bp_metric_buckets){
				.count = (const _Atomic uint64_t *)(const void *)((const char *)p +
										  row->at),
				.n = BP_LCL_BUCKETS,
				.upper = bucket_last});
}

#define PORT(name_, type_, unit_, member, reader, help_)                                           \
	{                                                                                          \
		.name = "lcl_port_" name_, .type = type_, .unit = unit_, .labels = "port",         \
		.help = help_, .read = reader, .at = offsetof(struct bp_lcl_port_stats, member)    \
	}
#define COUNT(name_, member, help_) PORT(name_, BP_METRIC_COUNTER, NULL, member, read_port, help_)
#define REASON(name_, prefix_, help_)                                                              \
	{                                                                                          \
		.name = name_, .type = BP_METRIC_COUNTER, .labels = "reason", .help = help_,       \
		.read = bp_metric_read_group, .group = BP_CG_LCL, .prefix = prefix_                \
	}
static const struct bp_metric lcl[] = {
	COUNT("sent", sent, "Time-sensitive frames sent"),
	COUNT("best_effort", best_effort, "Best-effort frames sent"),
	PORT("best_effort_bytes", BP_METRIC_COUNTER, "bytes", best_effort_bytes, read_port,
		"Best-effort bytes sent"),
	COUNT("late", late, "Time-sensitive frames that arrived with their budget used up"),
	COUNT("beyond_horizon", early, "Time-sensitive frames due after the last slot queue"),
	COUNT("deferred", moved, "Time-sensitive frames deferred: slot queue full"),
	COUNT("queue_full", full, "Time-sensitive frames dropped: all slot queues full"),
	COUNT("best_effort_queue_full", best_effort_full, "Best-effort frames dropped: queue full"),
	COUNT("handed_over", handed_over, "Frames handed over by other workers"),
	COUNT("handover_dropped", handover_full, "Frames dropped: handover queue full"),
	PORT("queued", BP_METRIC_GAUGE, NULL, held, read_port, "Time-sensitive frames in queues"),
	PORT("best_effort_queued", BP_METRIC_GAUGE, NULL, best_effort_held, read_port,
		"Best-effort frames in the queue"),
	COUNT("out_of_bound", outside, "Time-sensitive frames outside their bound"),
	COUNT("intervals", intervals, "Seconds with time-sensitive frames"),
	COUNT("violations", intervals_broken, "Seconds in which the bound was not held"),
	COUNT("slots", slots, "Slots"),
	COUNT("gated", gated, "Times that best effort was gated"),
	PORT("gated_seconds", BP_METRIC_COUNTER, "seconds", gated_ns, read_seconds,
		"Time that best effort was gated"),
	PORT("poll_gap_max_seconds", BP_METRIC_GAUGE, "seconds", gap_max_ns, read_seconds,
		"Longest time between two polls of the owner of the port"),
	PORT("slot_jitter_max_seconds", BP_METRIC_GAUGE, "seconds", late_max_ns, read_seconds,
		"Longest delay of the begin of a slot"),
	PORT("slot_jitter_seconds", BP_METRIC_HISTOGRAM, "seconds", lateness, read_times,
		"Delay of the begin of a slot"),
	PORT("poll_gap_seconds", BP_METRIC_HISTOGRAM, "seconds", gap, read_times,
		"Time between two polls of the owner of the port"),
	REASON("lcl_labels_invalid", "lcl_bad_", "Invalid latency control labels"),
	REASON("lcl_unlabeled", "lcl_unlabeled_",
		"Time-sensitive frames sent as best effort without a label"),
	{.name = NULL},
};

const struct bp_metric_table bp_metrics_lcl[] = {
	{"LCL scheduling", lcl},
	{NULL, NULL},
};
