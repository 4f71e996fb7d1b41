/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "apps/biplane/show/rates.h"
#include "apps/biplane/show/show.h"
#include "apps/biplane/table.h"
#include "apps/biplane/text.h"

static json_t *collect(const struct bp_show_source *s, char *err, size_t err_size)
{
	json_t *view = bp_rates_json(s->shm, s->mono_ns,
		s->since_ns != 0 ? s->since_ns : BP_RATES_SINCE_DEFAULT_NS, s->step_s);

	if (view == NULL)
		snprintf(err, err_size, "not enough memory");
	return view;
}

/* A column of the table of intervals: the sum over the series of a name, for all ports or workers.
 */
struct total {
	const char *name, *key;
	double factor;
	bool average; /* instead of the sum */
};
static const struct total totals[] = {
	{"rx_packets", "rx", 1, false},
	{"rx_bytes", "rx_bits", 8, false},
	{"tx_packets", "tx", 1, false},
	{"tx_bytes", "tx_bits", 8, false},
	{"drops", "drops", 1, false},
	{"publishes", "publishes", 1, false},
	{"alarms_raised", "raised", 1, false},
	{"alarms_acknowledged", "acknowledged", 1, false},
	{"spool_rows", "spool", 1, false},
	{"connections", "connections", 1, false},
	{"busy", "busy", 100, true},
};

static double number_at(const json_t *series, size_t point)
{
	const json_t *v = json_array_get(json_object_get(series, "values"), point);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

static double total_at(const json_t *list, const struct total *t, size_t point)
{
	double sum = NAN;
	size_t i, n = 0;
	json_t *s;

	json_array_foreach(list, i, s)
	{
		const double v = number_at(s, point);

		if (strcmp(json_string_value(json_object_get(s, "name")), t->name) != 0 || isnan(v))
			continue;
		sum = n++ == 0 ? v : sum + v;
	}
	return t->average && n != 0 ? sum / (double)n : sum;
}

static json_t *scaled(double v)
{
	char text[BP_TEXT_SCALED];

	bp_text_scaled(v, text);
	return json_string(text);
}

static json_t *delay_at(const json_t *list, const char *name, size_t point)
{
	size_t i;
	json_t *s;

	json_array_foreach(list, i, s)
	{
		if (strcmp(json_string_value(json_object_get(s, "name")), name) == 0 &&
			!isnan(number_at(s, point)))
			return bp_text_interval((int64_t)number_at(s, point));
	}
	return json_null();
}

static json_t *time_text(const json_t *seconds)
{
	const double v = json_number_value(seconds);
	char text[BP_TEXT_TIME];

	bp_text_time(v > 0 && v < 1e11 ? (uint64_t)v * 1000000000u : 0, text);
	memcpy(text + strlen("2026-01-31T23:59:59"), "Z", 2);
	return json_string(text);
}

static json_t *note(const json_t *view, size_t point)
{
	const json_int_t missed =
		json_integer_value(json_array_get(json_object_get(view, "missed"), point));

	if (json_is_true(json_array_get(json_object_get(view, "restarted"), point)))
		return json_string("data plane restarted");
	if (missed != 0)
		return json_sprintf(
			"%" JSON_INTEGER_FORMAT " sample%s missed", missed, missed == 1 ? "" : "s");
	return json_null();
}

static void print_intervals(const json_t *view, FILE *out)
{
	static const struct bp_column columns[] = {
		{"time", "TIME", 0},
		{"rx", "RX-PKT/S", 1},
		{"rx_bits", "RX-BIT/S", 1},
		{"tx", "TX-PKT/S", 1},
		{"tx_bits", "TX-BIT/S", 1},
		{"drops", "DROPS/S", 1},
		{"publishes", "PUBLISHES/S", 1},
		{"raised", "RAISED/S", 1},
		{"acknowledged", "ACKED/S", 1},
		{"p50", "DELAY-P50", 1},
		{"p99", "DELAY-P99", 1},
		{"spool", "SPOOL", 1},
		{"connections", "CONNECTIONS", 1},
		{"busy", "BUSY-%", 1},
		{"note", "NOTE", 0},
		{NULL, NULL, 0},
	};
	const json_t *list = json_object_get(view, "series"),
		     *times = json_object_get(view, "times");
	json_t *rows = json_array();

	for (size_t i = 0; i < json_array_size(times); i++) {
		json_t *row =
			json_pack("{so so so so}", "time", time_text(json_array_get(times, i)),
				"p50", delay_at(list, "alarm_delay_p50", i), "p99",
				delay_at(list, "alarm_delay_p99", i), "note", note(view, i));

		for (unsigned t = 0; t < sizeof(totals) / sizeof(totals[0]); t++)
			json_object_set_new(row, totals[t].key,
				scaled(total_at(list, &totals[t], i) * totals[t].factor));
		json_array_append_new(rows, row);
	}
	bp_table_print(out, columns, rows,
		bp_show_int(view, "history_s") == 0
			? "no history: monitoring.history is off"
			: "no interval yet: fewer samples than --step needs");
	json_decref(rows);
}

/* The values, or the largest of adjacent ones where there are more than a line has. */
static json_t *sparkline(const json_t *values)
{
	const size_t n = json_array_size(values);
	const size_t each = (n + BP_TEXT_SPARKLINE_MAX - 1) / BP_TEXT_SPARKLINE_MAX;
	double v[BP_TEXT_SPARKLINE_MAX];
	char text[3 * BP_TEXT_SPARKLINE_MAX + 1];
	unsigned len = 0;

	for (size_t i = 0; i < n; i++) {
		const json_t *x = json_array_get(values, i);
		const double value = json_is_number(x) ? json_number_value(x) : NAN;

		if (i % each == 0)
			v[len++] = value;
		else
			v[len - 1] = fmax(v[len - 1], value); /* NAN yields */
	}
	bp_text_sparkline(v, len, bp_text_utf8(), text);
	return json_string(text);
}

/* ns as a time, a share as a percentage. */
static json_t *value_text(const char *unit, double v)
{
	if (isnan(v))
		return json_null();
	if (strcmp(unit, "ns") == 0)
		return bp_text_interval((int64_t)v);
	return scaled(strcmp(unit, "share") == 0 ? v * 100 : v);
}

static json_t *series_row(const json_t *s)
{
	const json_t *values = json_object_get(s, "values"), *of = json_object_get(s, "port");
	const char *name = json_string_value(json_object_get(s, "name"));
	const char *unit = json_string_value(json_object_get(s, "unit"));
	double min = NAN, max = NAN, sum = 0, last = NAN;
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(values); i++) {
		const double v = number_at(s, i);

		last = v;
		min = fmin(min, v);
		max = fmax(max, v);
		if (!isnan(v)) {
			sum += v;
			n++;
		}
	}
	return json_pack("{so ss ss so so so so so}", "of",
		of != NULL ? json_incref((json_t *)of)
		: json_object_get(s, "worker")
			? json_sprintf("worker %d", (int)bp_show_int(s, "worker"))
			: json_null(),
		"name", name, "unit", strcmp(unit, "share") == 0 ? "%" : unit, "min",
		value_text(unit, min), "avg", value_text(unit, n != 0 ? sum / (double)n : NAN),
		"max", value_text(unit, max), "last", value_text(unit, last), "line",
		sparkline(values));
}

/* Series without a value but 0 are left out unless all are requested. */
static bool has_values(const json_t *s)
{
	for (size_t i = 0; i < json_array_size(json_object_get(s, "values")); i++)
		if (number_at(s, i) > 0)
			return true;
	return false;
}

static void print(const json_t *view, bool all, FILE *out)
{
	static const struct bp_column columns[] = {
		{"of", "PORT/WORKER", 0},
		{"name", "SERIES", 0},
		{"unit", "UNIT", 0},
		{"min", "MIN", 1},
		{"avg", "AVG", 1},
		{"max", "MAX", 1},
		{"last", "LAST", 1},
		{"line", "FROM 0 TO MAX", 0},
		{NULL, NULL, 0},
	};
	const json_t *list = json_object_get(view, "series");
	json_t *rows = json_array();
	size_t i;
	json_t *s;

	print_intervals(view, out);
	if (json_array_size(json_object_get(view, "times")) != 0) {
		json_array_foreach(list, i, s)
		{
			if (all || has_values(s))
				json_array_append_new(rows, series_row(s));
		}
		fputc('\n', out);
		bp_table_print(out, columns, rows, "all rates are 0");
		fprintf(out, "\nintervals of %" JSON_INTEGER_FORMAT " s\n",
			bp_show_int(view, "step_s"));
	}
	json_decref(rows);
}

const struct bp_show_view bp_show_rates = {
	.name = "rates",
	.summary = "traffic, alarms, delays and load of the last minutes or hours",
	.collect = collect,
	.print = print,
	.takes_since = true,
};
