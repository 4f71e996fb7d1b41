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

static json_t *stage_row(const struct bp_shm *m, enum bp_alarm_stage stage)
{
	struct bp_histogram_summary s;

	bp_histogram_summarize(&m->alarm_latency->stage[stage], &s);
	return json_pack("{ss sI so so so so so so}", "stage", stage_name[stage], "count",
		(json_int_t)s.count, "avg_ns", time_of(&s, s.avg_ns), "p50_ns",
		time_of(&s, s.p50_ns), "p90_ns", time_of(&s, s.p90_ns), "p99_ns",
		time_of(&s, s.p99_ns), "p999_ns", time_of(&s, s.p999_ns), "max_ns",
		time_of(&s, s.max_ns));
}

static json_t *collect(const struct bp_show_source *s, char *err, size_t err_size)
{
	json_t *stages = json_array(), *view;

	for (unsigned i = 0; i < BP_ALARM_STAGES; i++)
		json_array_append_new(stages, stage_row(s->shm, i));
	view = json_pack("{so sI}", "stages", stages, "invalid",
		(json_int_t)atomic_load_explicit(
			&s->shm->alarm_latency->invalid, memory_order_relaxed));
	if (!view)
		snprintf(err, err_size, "not enough memory");
	return view;
}

static void print(const json_t *view, bool all, FILE *out)
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

	(void)all;
	bp_table_print(out, columns, rows, "no stages");
	if (invalid)
		fprintf(out, "\n%" JSON_INTEGER_FORMAT " alarm%s with invalid times not counted\n",
			invalid, invalid == 1 ? "" : "s");
	json_decref(rows);
}

const struct bp_show_view bp_show_latency = {
	.name = "latency",
	.summary = "delay of alarms by stage, from the received frame to the PUBACK of the broker",
	.collect = collect,
	.print = print,
};
