/* SPDX-License-Identifier: BSD-3-Clause */
/* Aggregation, by entry of encapsulate and of decapsulate. */
#include "apps/biplane/metrics/metric.h"
#include "biplane/counters/aggregation.h"

enum table { ENCAP, DECAP };

/* Active entries. While the control plane writes them the number may be that of before. */
static uint32_t entries(const struct bp_metrics *m, enum table table)
{
	const struct bp_agg_shared_rules *plan = m->shm->agg.plan;
	uint32_t n;

	if (plan == NULL)
		return 0;
	n = __atomic_load_n(table == ENCAP ? &plan->rules.n_aggregate : &plan->rules.n_disaggregate,
		__ATOMIC_RELAXED);
	return n < BP_AGG_RULES_MAX ? n : BP_AGG_RULES_MAX;
}

/* Over all workers. */
static uint64_t sum(const struct bp_metrics *m, enum table table, uint32_t entry, size_t at)
{
	return table == ENCAP
		       ? bp_metric_sum(m, m->shm->agg.stats, sizeof(struct bp_agg_stats),
				 BP_AGG_RULES_MAX, entry, at)
		       : bp_metric_sum(m, m->shm->agg.disagg_stats, sizeof(struct bp_disagg_stats),
				 BP_AGG_RULES_MAX, entry, at);
}

static void read_entries(struct bp_metrics *m, const struct bp_metric *row, enum table table)
{
	const uint32_t n = entries(m, table);
	char entry[BP_METRIC_INDEX];

	for (uint32_t i = 0; i < n; i++) {
		const uint64_t v = sum(m, table, i, row->at);
		const struct bp_metric_label *labels =
			BP_LABELS({"entry", bp_metric_index(i, entry)});

		if (row->selector) /* kept in ns */
			bp_metric_seconds(m, labels, v);
		else
			bp_metric_count(m, labels, v);
	}
}

static void read_encap(struct bp_metrics *m, const struct bp_metric *row)
{
	read_entries(m, row, ENCAP);
}

static void read_decap(struct bp_metrics *m, const struct bp_metric *row)
{
	read_entries(m, row, DECAP);
}

static void read_flushes(struct bp_metrics *m, const struct bp_metric *row)
{
	static const char *const reason[BP_AGG_FLUSH_COUNT] = {
#define X(id, name, help) [BP_AGG_FLUSH_##id] = (name),
		BP_AGG_FLUSHES(X)
#undef X
	};
	const uint32_t n = entries(m, ENCAP);
	char entry[BP_METRIC_INDEX];

	for (uint32_t i = 0; i < n; i++)
		for (unsigned r = 0; r < BP_AGG_FLUSH_COUNT; r++)
			bp_metric_count(m,
				BP_LABELS({"entry", bp_metric_index(i, entry)},
					{"reason", reason[r]}),
				sum(m, ENCAP, i, row->at + r * sizeof(uint64_t)));
}

/* Bucket b has what took less than 2^b us. */
static uint64_t bucket_last(unsigned bucket)
{
	return (1000ull << bucket) - 1;
}

static void read_delays(
	struct bp_metrics *m, const struct bp_metric *row, enum table table, const size_t *sum_at)
{
	const uint32_t n = entries(m, table);
	_Atomic uint64_t count[BP_AGG_DELAYS];
	char entry[BP_METRIC_INDEX];

	for (uint32_t i = 0; i < n; i++) {
		const uint64_t total = sum_at ? sum(m, table, i, *sum_at) : 0;

		for (unsigned b = 0; b < BP_AGG_DELAYS; b++)
			atomic_init(&count[b], sum(m, table, i, row->at + b * sizeof(uint64_t)));
		bp_metric_histogram(m, BP_LABELS({"entry", bp_metric_index(i, entry)}),
			&(struct bp_metric_buckets){.count = count,
				.n = BP_AGG_DELAYS,
				.upper = bucket_last,
				.sum_ns = sum_at ? &total : NULL});
	}
}

/* The sum that is kept is that of all messages, not of the oldest of each aggregate. */
static void read_delay(struct bp_metrics *m, const struct bp_metric *row)
{
	read_delays(m, row, ENCAP, NULL);
}

static void read_pacing(struct bp_metrics *m, const struct bp_metric *row)
{
	const size_t at = offsetof(struct bp_disagg_stats, pace_ns);

	read_delays(m, row, DECAP, &at);
}

#define ENCAP_ROW(name_, type_, unit_, member, help_)                                              \
	{                                                                                          \
		.name = "encap_entry_" name_, .type = type_, .unit = unit_, .labels = "entry",     \
		.help = help_, .read = read_encap, .at = offsetof(struct bp_agg_stats, member)     \
	}
#define DECAP_ROW(name_, type_, unit_, member, help_)                                              \
	{                                                                                          \
		.name = "decap_entry_" name_, .type = type_, .unit = unit_, .labels = "entry",     \
		.help = help_, .read = read_decap, .at = offsetof(struct bp_disagg_stats, member)  \
	}

static const struct bp_metric encap[] = {
	ENCAP_ROW("messages", BP_METRIC_COUNTER, NULL, messages, "UDP messages encapsulated"),
	ENCAP_ROW("message_bytes", BP_METRIC_COUNTER, "bytes", message_bytes,
		"Bytes of the frames of the messages"),
	ENCAP_ROW("aggregates", BP_METRIC_COUNTER, NULL, aggregates, "Aggregates sent"),
	ENCAP_ROW("aggregate_bytes", BP_METRIC_COUNTER, "bytes", aggregate_bytes,
		"Bytes of the frames of the aggregates"),
	ENCAP_ROW("bypassed", BP_METRIC_COUNTER, NULL, passed,
		"Messages for the destinations of the entry that were not encapsulated"),
	ENCAP_ROW("streams_started", BP_METRIC_COUNTER, NULL, begun, "Streams started"),
	ENCAP_ROW("streams_evicted", BP_METRIC_COUNTER, NULL, evicted,
		"Streams evicted at the limit"),
	ENCAP_ROW("streams", BP_METRIC_GAUGE, NULL, streams, "Streams"),
	ENCAP_ROW("queued", BP_METRIC_GAUGE, NULL, waiting, "Messages in aggregates not yet sent"),
	{.name = "encap_entry_flushes",
		.type = BP_METRIC_COUNTER,
		.labels = "entry,reason",
		.help = "Aggregates sent, by reason",
		.read = read_flushes,
		.at = offsetof(struct bp_agg_stats, flushed)},
	{.name = "encap_entry_message_delay_seconds",
		.type = BP_METRIC_COUNTER,
		.unit = "seconds",
		.labels = "entry",
		.help = "Sum of the times that messages waited for their aggregate",
		.read = read_encap,
		.at = offsetof(struct bp_agg_stats, delay_ns),
		.selector = "ns"},
	{.name = "encap_entry_delay_seconds",
		.type = BP_METRIC_HISTOGRAM,
		.unit = "seconds",
		.labels = "entry",
		.help = "Time that the oldest message of an aggregate waited",
		.read = read_delay,
		.at = offsetof(struct bp_agg_stats, delay)},
	{.name = "encap_bypassed",
		.type = BP_METRIC_COUNTER,
		.labels = "reason",
		.help = "UDP messages forwarded without encapsulation, by reason",
		.read = bp_metric_read_group,
		.group = BP_CG_AGGREGATION,
		.prefix = "encap_bypass_"},
	{.name = NULL},
};

static const struct bp_metric decap[] = {
	DECAP_ROW("aggregates", BP_METRIC_COUNTER, NULL, aggregates, "Aggregates decapsulated"),
	DECAP_ROW("aggregate_bytes", BP_METRIC_COUNTER, "bytes", aggregate_bytes,
		"Bytes of the frames of the aggregates"),
	DECAP_ROW("messages", BP_METRIC_COUNTER, NULL, messages, "UDP messages restored"),
	DECAP_ROW("message_bytes", BP_METRIC_COUNTER, "bytes", message_bytes,
		"Bytes of the frames of the messages"),
	DECAP_ROW("bypassed", BP_METRIC_COUNTER, NULL, plain,
		"Packets that are no aggregates: forwarded"),
	DECAP_ROW("refused", BP_METRIC_COUNTER, NULL, refused, "Aggregates dropped"),
	DECAP_ROW("missing", BP_METRIC_COUNTER, NULL, missing,
		"Aggregates missing when a later one arrived (format full)"),
	DECAP_ROW("late", BP_METRIC_COUNTER, NULL, late, "Missing aggregates that arrived later"),
	DECAP_ROW("duplicate", BP_METRIC_COUNTER, NULL, duplicate, "Aggregates received before"),
	DECAP_ROW("stale", BP_METRIC_COUNTER, NULL, stale,
		"Aggregates too old to be late or duplicate"),
	DECAP_ROW("streams_started", BP_METRIC_COUNTER, NULL, lives, "Streams started"),
	DECAP_ROW("streams_evicted", BP_METRIC_COUNTER, NULL, forgotten,
		"Streams evicted at the limit"),
	DECAP_ROW("early", BP_METRIC_COUNTER, NULL, early,
		"Messages sent before their time: pacing queue full"),
	DECAP_ROW("queued", BP_METRIC_GAUGE, NULL, waiting, "Messages in the pacing queue"),
	{.name = "decap_entry_pacing_delay_seconds",
		.type = BP_METRIC_HISTOGRAM,
		.unit = "seconds",
		.labels = "entry",
		.help = "Time that messages waited in the pacing queue",
		.read = read_pacing,
		.at = offsetof(struct bp_disagg_stats, pace)},
	{.name = NULL},
};

const struct bp_metric_table bp_metrics_aggregation[] = {
	{"Aggregation: encapsulation", encap},
	{"Aggregation: decapsulation", decap},
	{NULL, NULL},
};
