/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/show.h"
#include "apps/biplane/table.h"

static const char *const stage_name[BP_ALARM_STAGES] = {
	[BP_ALARM_EVALUATE] = "evaluate",
	[BP_ALARM_HANDOVER] = "handover",
	[BP_ALARM_PUBLISH] = "publish",
	[BP_ALARM_ACKNOWLEDGE] = "acknowledge",
	[BP_ALARM_TOTAL] = "total",
};

/* Without an alarm there is no time. */
static json_t *time_of(const struct bp_histogram_summary *s, uint64_t ns)
{
	return s->count ? json_integer((json_int_t)ns) : json_null();
}

static json_t *stage_row(const struct bp_alarm_latency *l, enum bp_alarm_stage stage)
{
	struct bp_histogram_summary s;

	bp_histogram_summarize(&l->stage[stage], &s);
	return json_pack("{ss sI so so so so so so}", "stage", stage_name[stage], "count",
		(json_int_t)s.count, "avg_ns", time_of(&s, s.avg_ns), "p50_ns",
		time_of(&s, s.p50_ns), "p90_ns", time_of(&s, s.p90_ns), "p99_ns",
		time_of(&s, s.p99_ns), "p999_ns", time_of(&s, s.p999_ns), "max_ns",
		time_of(&s, s.max_ns));
}

static json_t *of_destination(const struct bp_alarm_latency *l)
{
	json_t *stages = json_array();

	for (unsigned i = 0; i < BP_ALARM_STAGES; i++)
		json_array_append_new(stages, stage_row(l, i));
	return json_pack("{so sI}", "stages", stages, "invalid",
		(json_int_t)atomic_load_explicit(&l->invalid, memory_order_relaxed));
}

/* Of the broker; of Kafka in `kafka`, if it is configured. */
static json_t *collect(const struct bp_show_source *s, char *err, size_t err_size)
{
	const struct bp_publisher_counters *c = &s->shm->control->publisher[BP_TO_KAFKA];
	const bool has_kafka = atomic_load_explicit(&c->max_inflight, memory_order_relaxed) != 0;
	json_t *view = of_destination(&s->shm->alarm_latency[BP_TO_MQTT]);

	if (!view)
		snprintf(err, err_size, "not enough memory");
	json_object_set_new(view, "kafka",
		has_kafka ? of_destination(&s->shm->alarm_latency[BP_TO_KAFKA]) : json_null());
	return view;
}

static void print_destination(const json_t *view, FILE *out)
{
	static const struct bp_column columns[] = {
		{"stage", "STAGE", 0},
		{"count", "COUNT", 1},
		{"avg", "AVG", 1},
		{"p50", "P50", 1},
		{"p90", "P90", 1},
		{"p99", "P99", 1},
		{"p999", "P99.9", 1},
		{"max", "MAX", 1},
		{NULL, NULL, 0},
	};
	json_t *rows = bp_show_intervals(json_object_get(view, "stages"));
	const json_int_t invalid = bp_show_int(view, "invalid");

	bp_table_print(out, columns, rows, "no stages");
	if (invalid)
		fprintf(out, "\n%" JSON_INTEGER_FORMAT " alarm%s with invalid times not counted\n",
			invalid, invalid == 1 ? "" : "s");
	json_decref(rows);
}

static void print(const json_t *view, bool all, FILE *out)
{
	const json_t *kafka = json_object_get(view, "kafka");

	(void)all;
	print_destination(view, out);
	if (!json_is_object(kafka))
		return;
	fprintf(out, "\nkafka\n");
	print_destination(kafka, out);
}

const struct bp_show_view bp_show_latency = {
	.name = "latency",
	.summary = "delay of alarms by stage, from the received frame to the acknowledgement",
	.collect = collect,
	.print = print,
};
