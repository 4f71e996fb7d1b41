/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules, alarms, publisher and spool. */
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/metrics/metric.h"
#include "biplane/counters/mqtt.h"
#include "services/mqtt/flow_show.h"

#define NO_FLOW_TABLE 64u /* bytes of a worker, without section mqtt */

bool bp_metrics_has_mqtt(const struct bp_metrics *m)
{
	return m->shm->flows_len > (uint64_t)NO_FLOW_TABLE * m->shm->workers;
}

/* ---- rules ---- */

#define TRIES 3 /* rules change at a reload: a second change during the next try is rare */

/*
 * Names and slots of the rules in a bank, read where they are: the image of 10,000 rules has many
 * MiB, of which this is a small part. The control plane may be writing it, and it may be damaged:
 * no offset leads out of the bank.
 */
static uint32_t rules_in_bank(const struct bp_shm *shm, uint64_t active, uint64_t *first)
{
	const struct bp_ruleset *rs = bp_shm_rules(shm, active);
	const uint64_t size = shm->rules.bank_size;
	const uint64_t generation = __atomic_load_n(&rs->generation, __ATOMIC_RELAXED);
	const uint32_t n = __atomic_load_n(&rs->n_rules, __ATOMIC_RELAXED);

	*first = __atomic_load_n(&rs->rules, __ATOMIC_RELAXED);
	if (generation == 0 || n > shm->max_rules || *first % _Alignof(struct bp_rule) != 0 ||
		*first > size || n > (size - *first) / sizeof(struct bp_rule)) {
		*first = 0;
		return 0;
	}
	return n;
}

static void read_rule(const struct bp_shm *shm, const struct bp_rule *r, struct bp_metric_rule *out)
{
	const uint32_t slot = __atomic_load_n(&r->slot, __ATOMIC_RELAXED);
	char name[BP_RULE_NAME_MAX + 1];

	memcpy(name, r->name, sizeof(name));
	bp_metric_text(out->name, sizeof(out->name), name, BP_RULE_NAME_MAX);
	memset(out->count, 0, sizeof(out->count));
	for (uint32_t w = 0; w < shm->workers && slot < shm->max_rules; w++)
		for (size_t i = 0; i < sizeof(out->count) / sizeof(out->count[0]); i++)
			out->count[i] = bp_metric_add(out->count[i],
				bp_metric_load(
					&shm->rule_stats[(uint64_t)w * shm->max_rules + slot],
					i * sizeof(uint64_t)));
}

bool bp_metrics_read_rules(struct bp_metrics *m)
{
	const struct bp_shm *shm = m->shm;

	for (unsigned tried = 0; tried < TRIES; tried++) {
		const uint64_t active = bp_generation_active(&shm->rules);
		const uint8_t *bank = bp_generation_bank(&shm->rules, active);
		const struct bp_rule *rule;
		uint64_t first;

		m->n_rules = rules_in_bank(shm, active, &first);
		rule = (const struct bp_rule *)(const void *)(bank + first);
		free(m->rule);
		m->rule = calloc(m->n_rules + 1u, sizeof(*m->rule));
		if (!m->rule)
			return false;
		for (uint32_t i = 0; i < m->n_rules; i++)
			read_rule(shm, &rule[i], &m->rule[i]);
		atomic_thread_fence(memory_order_acquire);
		if (bp_generation_active(&shm->rules) == active)
			break;
	}
	return true;
}

static void read_rule_count(struct bp_metrics *m, const struct bp_metric *row)
{
	for (uint32_t i = 0; i < m->n_rules; i++)
		bp_metric_count(m, BP_LABELS({"rule", m->rule[i].name}),
			m->rule[i].count[row->at / sizeof(uint64_t)]);
}

#define RULE(name_, member, help_)                                                                 \
	{                                                                                          \
		.name = "rule_" name_, .type = BP_METRIC_COUNTER, .labels = "rule", .help = help_, \
		.read = read_rule_count, .at = offsetof(struct bp_rule_stats, member)              \
	}
static const struct bp_metric rules[] = {
	RULE("matches", matched, "PUBLISH whose topic matches the rule"),
	RULE("value_missing", no_value, "Matches without the value of the rule in the payload"),
	RULE("alarms_raised", raised, "Alarms raised by the rule"),
	RULE("alarms_cleared", cleared, "Alarms cleared by the rule"),
	{.name = NULL},
};
_Static_assert(sizeof(struct bp_rule_stats) == sizeof(((struct bp_metric_rule *)NULL)->count),
	"the counts of a rule");

/* ---- inspection ---- */

#define GROUP(name_, label, group_, prefix_, help_)                                                \
	{                                                                                          \
		.name = name_, .type = BP_METRIC_COUNTER, .labels = label, .help = help_,          \
		.read = bp_metric_read_group, .group = BP_CG_##group_, .prefix = prefix_           \
	}

/* The last scan of the data plane: that of a large table needs several seconds. */
static void read_inspected(struct bp_metrics *m, const struct bp_metric *row)
{
	(void)row;
	if (bp_metrics_has_mqtt(m))
		bp_metric_count(
			m, BP_NO_LABELS, bp_metric_load(&m->shm->global->usage.inspected, 0));
}

static void read_not_inspected(struct bp_metrics *m, const struct bp_metric *row)
{
	static const char prefix[] = "not_inspected_"; /* of counters */
	const struct bp_shm_usage *u = &m->shm->global->usage;

	(void)row;
	for (unsigned r = 0; bp_metrics_has_mqtt(m) && r < BP_FLOW_UNREAD_REASONS; r++) {
		const char *name = bp_flow_unread_reason(r);

		if (strncmp(name, prefix, sizeof(prefix) - 1) == 0)
			name += sizeof(prefix) - 1;
		bp_metric_count(
			m, BP_LABELS({"reason", name}), bp_metric_load(&u->not_inspected[r], 0));
	}
}

static void read_reassembly(struct bp_metrics *m, const struct bp_metric *row)
{
	const struct bp_shm *shm = m->shm;
	const uint64_t journals = (uint64_t)shm->workers * BP_JOURNAL_BYTES;
	struct bp_flow_usage u;

	bp_flow_usage(shm->flows, shm->flows_len, shm->workers, &u);
	if (bp_metrics_has_mqtt(m))
		bp_metric_count(m, BP_NO_LABELS,
			!row->at                         ? u.reassembly_used
			: shm->reassembly_len > journals ? shm->reassembly_len - journals
							 : 0);
}

static const struct bp_metric inspection[] = {
	{.name = "mqtt_connections_inspected",
		.type = BP_METRIC_GAUGE,
		.labels = "",
		.help = "MQTT connections that are inspected",
		.read = read_inspected},
	{.name = "mqtt_connections_not_inspected",
		.type = BP_METRIC_GAUGE,
		.labels = "reason",
		.help = "MQTT connections that are not inspected, by reason, as show not-inspected "
			"lists them",
		.read = read_not_inspected},
	{.name = "reassembly_bytes",
		.type = BP_METRIC_GAUGE,
		.unit = "bytes",
		.labels = "",
		.help = "Reassembly memory in use",
		.read = read_reassembly,
		.at = 0},
	{.name = "reassembly_capacity_bytes",
		.type = BP_METRIC_GAUGE,
		.unit = "bytes",
		.labels = "",
		.help = "Reassembly memory (mqtt.reassembly_total)",
		.read = read_reassembly,
		.at = 1},
	GROUP("frames_not_inspected", "reason", INSPECTION, "not_inspected_",
		"Frames that inspection cannot read: tags, tunnels and other encapsulations"),
	GROUP("connections_not_inspected", "reason", STREAM, "not_inspected_",
		"Connections that inspection gave up, by reason"),
	GROUP("suspicious_packets", "reason", STREAM, "suspicious_",
		"MQTT packets inspected although they violate the standard"),
	GROUP("reassembly_limit_reached", "limit", STREAM, "reassembly_limit_",
		"MQTT packets not reassembled because a limit was reached"),
	{.name = NULL},
};

/* ---- alarms ---- */

static const char *const stage_name[BP_ALARM_STAGES] = {
	[BP_ALARM_EVALUATE] = "evaluate",
	[BP_ALARM_HANDOVER] = "handover",
	[BP_ALARM_PUBLISH] = "publish",
	[BP_ALARM_ACKNOWLEDGE] = "acknowledge",
	[BP_ALARM_TOTAL] = "total",
};

/* Returns whether there are samples of a destination: the broker's always, Kafka's if it is
 * configured. */
static bool has_destination(const struct bp_metrics *m, enum bp_alarm_destination to)
{
	return bp_metrics_has_mqtt(m) &&
	       (to == BP_TO_MQTT ||
		       atomic_load_explicit(&m->shm->control->publisher[to].max_inflight,
			       memory_order_relaxed) != 0);
}

static void read_latency_of(struct bp_metrics *m, enum bp_alarm_destination to)
{
	for (unsigned i = 0; i < BP_ALARM_STAGES; i++) {
		const struct bp_histogram *h = &m->shm->alarm_latency[to].stage[i];
		const uint64_t sum = bp_metric_load(&h->sum_ns, 0);

		bp_metric_histogram(m,
			BP_LABELS(
				{"destination", bp_destination_name[to]}, {"stage", stage_name[i]}),
			&(struct bp_metric_buckets){.count = h->bucket,
				.n = BP_HISTOGRAM_BUCKETS,
				.upper = bp_histogram_upper,
				.sum_ns = &sum});
	}
}

static void read_latency(struct bp_metrics *m, const struct bp_metric *row)
{
	(void)row;
	for (unsigned to = 0; to < BP_DESTINATIONS; to++)
		if (has_destination(m, to))
			read_latency_of(m, to);
}

static void read_invalid(struct bp_metrics *m, const struct bp_metric *row)
{
	for (unsigned to = 0; to < BP_DESTINATIONS; to++)
		if (has_destination(m, to))
			bp_metric_count(m, BP_LABELS({"destination", bp_destination_name[to]}),
				bp_metric_load(&m->shm->alarm_latency[to], row->at));
}

static void read_queue(struct bp_metrics *m, const struct bp_metric *row)
{
	char worker[BP_METRIC_INDEX];

	for (unsigned w = 0; bp_metrics_has_mqtt(m) && w < m->shm->workers; w++) {
		const struct bp_ring *r = &m->shm->alarm_ring[w];
		const uint64_t used = bp_ring_used(r);

		bp_metric_count(m, BP_LABELS({"worker", bp_metric_index(w, worker)}),
			row->at              ? r->capacity
			: used < r->capacity ? used
					     : r->capacity);
	}
}

static void read_connected(struct bp_metrics *m, const struct bp_metric *row)
{
	(void)row;
	for (unsigned to = 0; to < BP_DESTINATIONS; to++)
		if (has_destination(m, to))
			bp_metric_count(m, BP_LABELS({"destination", bp_destination_name[to]}),
				atomic_load_explicit(&m->shm->control->publisher[to].connected,
					memory_order_relaxed) != 0);
}

static void read_brokers(struct bp_metrics *m, const struct bp_metric *row)
{
	const struct bp_publisher_counters *c;

	if (!has_destination(m, BP_TO_KAFKA))
		return;
	c = &m->shm->control->publisher[BP_TO_KAFKA];
	bp_metric_count(m, BP_NO_LABELS,
		atomic_load_explicit(
			row->at ? &c->brokers_connected : &c->brokers, memory_order_relaxed));
}

static void read_publisher(struct bp_metrics *m, const struct bp_metric *row)
{
	for (unsigned to = 0; to < BP_DESTINATIONS; to++)
		if (has_destination(m, to))
			bp_metric_count(m, BP_LABELS({"destination", bp_destination_name[to]}),
				bp_metric_load(&m->shm->control->publisher[to], row->at));
}

static void read_read(struct bp_metrics *m, const struct bp_metric *row)
{
	if (bp_metrics_has_mqtt(m))
		bp_metric_read_control(m, row);
}

static void read_dropped(struct bp_metrics *m, const struct bp_metric *row)
{
	static const struct {
		const char *reason;
		size_t at;
	} reasons[] = {
		{"spool_max_size", offsetof(struct bp_publisher_counters, dropped_size)},
		{"spool_max_age", offsetof(struct bp_publisher_counters, dropped_age)},
		{"spool_error", offsetof(struct bp_publisher_counters, dropped_disk)},
		{"invalid", offsetof(struct bp_publisher_counters, invalid)},
		{"rejected", offsetof(struct bp_publisher_counters, rejected)},
	};
	const size_t n = sizeof(reasons) / sizeof(reasons[0]);

	(void)row;
	for (unsigned to = 0; to < BP_DESTINATIONS; to++)
		for (size_t i = 0; has_destination(m, to) && i < n; i++)
			bp_metric_count(m,
				BP_LABELS({"destination", bp_destination_name[to]},
					{"reason", reasons[i].reason}),
				bp_metric_load(&m->shm->control->publisher[to], reasons[i].at));
}

#define PUBLISHER(name_, type_, unit_, member, help_)                                              \
	{                                                                                          \
		.name = name_, .type = type_, .unit = unit_, .labels = "destination",              \
		.help = help_, .read = read_publisher,                                             \
		.at = offsetof(struct bp_publisher_counters, member)                               \
	}
static const struct bp_metric alarms[] = {
	GROUP("alarms_by_severity", "severity", ALARM, "alarms_raised_",
		"Alarms raised, by the severity of their rule"),
	{.name = "alarm_latency_seconds",
		.type = BP_METRIC_HISTOGRAM,
		.unit = "seconds",
		.labels = "destination,stage",
		.help = "Delay of alarms by stage, from the received frame to the "
			"acknowledgement, since the start of the control plane",
		.read = read_latency},
	{.name = "alarm_latency_invalid",
		.type = BP_METRIC_COUNTER,
		.labels = "destination",
		.help = "Alarms with invalid times, not in the histograms",
		.read = read_invalid,
		.at = offsetof(struct bp_alarm_latency, invalid)},
	{.name = "alarm_queue_bytes",
		.type = BP_METRIC_GAUGE,
		.unit = "bytes",
		.labels = "worker",
		.help = "Alarm queue to the control plane: bytes in use",
		.read = read_queue,
		.at = 0},
	{.name = "alarm_queue_capacity_bytes",
		.type = BP_METRIC_GAUGE,
		.unit = "bytes",
		.labels = "worker",
		.help = "Alarm queue to the control plane: size",
		.read = read_queue,
		.at = 1},
	{.name = "publisher_connected",
		.type = BP_METRIC_GAUGE,
		.labels = "destination",
		.help = "Whether the publisher has a connection to its broker",
		.read = read_connected},
	{.name = "publisher_kafka_brokers",
		.type = BP_METRIC_GAUGE,
		.labels = "",
		.help = "Brokers of the Kafka cluster that the client knows",
		.read = read_brokers,
		.at = 0},
	{.name = "publisher_kafka_brokers_connected",
		.type = BP_METRIC_GAUGE,
		.labels = "",
		.help = "Brokers of the Kafka cluster with a connection; it connects to a broker "
			"when it needs it",
		.read = read_brokers,
		.at = 1},
	PUBLISHER("publisher_connects", BP_METRIC_COUNTER, NULL, connects,
		"Connections accepted by the broker"),
	PUBLISHER("publisher_disconnects", BP_METRIC_COUNTER, NULL, disconnects,
		"Connections to the broker lost or closed"),
	PUBLISHER("publisher_inflight", BP_METRIC_GAUGE, NULL, inflight,
		"Alarms published and not yet acknowledged"),
	PUBLISHER("publisher_max_inflight", BP_METRIC_GAUGE, NULL, max_inflight,
		"Most alarms in flight (mqtt.publisher.max_inflight, mqtt.kafka.max_inflight); 0: "
		"no publisher"),
	{.name = "publisher_alarms_read",
		.type = BP_METRIC_COUNTER,
		.labels = "",
		.help = "Alarms read from the alarm queues",
		.read = read_read,
		.at = offsetof(struct bp_shm_control, cp_alarms_read)},
	PUBLISHER("publisher_alarms_acknowledged", BP_METRIC_COUNTER, NULL, acked,
		"Alarms acknowledged by the broker"),
	PUBLISHER("publisher_alarms_unordered", BP_METRIC_COUNTER, NULL, unordered,
		"Alarms published before older ones of the same rule and topic that could not be "
		"read from the spool"),
	{.name = "publisher_alarms_dropped",
		.type = BP_METRIC_COUNTER,
		.labels = "destination,reason",
		.help = "Alarms that were not published",
		.read = read_dropped},
	PUBLISHER("spool_written", BP_METRIC_COUNTER, NULL, spooled, "Alarms written to the spool"),
	PUBLISHER("spool_removed", BP_METRIC_COUNTER, NULL, unspooled,
		"Alarms acknowledged and deleted from the spool"),
	PUBLISHER(
		"spool_errors", BP_METRIC_COUNTER, NULL, spool_errors, "Disk errors of the spool"),
	PUBLISHER("spool_alarms", BP_METRIC_GAUGE, NULL, spool_rows, "Alarms in the spool"),
	PUBLISHER("spool_bytes", BP_METRIC_GAUGE, "bytes", spool_bytes,
		"Size of the alarms in the spool"),
	PUBLISHER("spool_max_bytes", BP_METRIC_GAUGE, "bytes", spool_max_bytes,
		"Maximum size of each spool (mqtt.spool.max_size)"),
	{.name = NULL},
};

const struct bp_metric_table bp_metrics_mqtt[] = {
	{"MQTT rules", rules},
	{"MQTT policy", bp_metrics_policy},
	{"MQTT inspection", inspection},
	{"Alarms and publisher", alarms},
	{NULL, NULL},
};
