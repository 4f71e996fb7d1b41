/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/aggregation/agg_text.h"

#include <stdint.h>
#include <string.h>

#include "apps/biplane/show/show.h"
#include "apps/biplane/table.h"

#define BAR 40 /* characters of the longest */

/* "1.05 ms", three digits: what is shown so is a bound or a setting. */
static void span(double us, char out[32])
{
	static const char *const unit[] = {"us", "ms", "s"};
	unsigned u = 0;

	for (; u < 2 && us >= 1000.0; u++)
		us /= 1000.0;
	snprintf(out, 32, "%.3g %s", us, unit[u]);
}

static void put_span(json_t *row, const char *key, const json_t *ns)
{
	char text[32];

	if (!json_is_integer(ns))
		return;
	span((double)json_integer_value(ns) / 1e3, text);
	json_object_set_new(row, key, json_string(text));
}

/* "10.0.0.0/24,10.0.1.0/24", or "none". */
static void put_senders(json_t *row, const json_t *list)
{
	char text[1024] = "";
	size_t at = 0;

	for (size_t i = 0; i < json_array_size(list) && at < sizeof(text); i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", i ? "," : "",
			json_string_value(json_array_get(list, i)));
	if (json_is_array(list))
		json_object_set_new(row, "allowed_senders", json_string(at ? text : "none"));
}

/* The entries as a table's cells can hold them. */
static json_t *for_people(const json_t *entries)
{
	json_t *rows = json_deep_copy(entries), *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		put_span(row, "max_delay", json_object_get(row, "max_delay_ns"));
		put_span(row, "pacing_gap", json_object_get(row, "pacing_gap_ns"));
		put_senders(row, json_object_get(row, "allowed_senders"));
		json_object_update_missing(row, json_object_get(row, "flush_reasons"));
	}
	return rows;
}

/* The rows between the first and the last that count anything. */
static void print_bars(const json_t *histogram, FILE *out)
{
	const size_t n = json_array_size(histogram);
	size_t first = n, last = 0;
	json_int_t most = 1;

	for (size_t i = 0; i < n; i++) {
		const json_int_t count = bp_show_int(json_array_get(histogram, i), "count");

		if (count == 0)
			continue;
		first = first < i ? first : i;
		last = i;
		most = count > most ? count : most;
	}
	for (size_t i = first; i <= last && i < n; i++) {
		const json_t *bucket = json_array_get(histogram, i);
		const json_int_t count = bp_show_int(bucket, "count"),
				 below = bp_show_int(bucket, "below_us");
		const int width =
			count > 0 ? 1 + (int)((double)count / (double)most * (BAR - 1)) : 0;
		char bound[32];

		span(below ? (double)below : (double)(1u << (n - 2)), bound);
		fprintf(out, "  %-2s %7s  %10" JSON_INTEGER_FORMAT "%s%.*s\n",
			below ? "<" : ">=", bound, count, width ? "  " : "", width,
			"########################################");
	}
}

static void print_histogram(const json_t *row, const char *title, const char *mean_key,
	const char *histogram_key, FILE *out)
{
	const json_t *mean = json_object_get(row, mean_key);
	char text[32];

	if (!json_is_real(mean))
		return;
	span(json_real_value(mean), text);
	fprintf(out, title, bp_show_int(row, "entry"), text);
	print_bars(json_object_get(row, histogram_key), out);
}

static void print_aggregate(const json_t *entries, FILE *out)
{
	static const struct bp_column what[] = {
		{"entry", "ENTRY", 1},
		{"port", "PORT", 0},
		{"to", "TO", 0},
		{"format", "FORMAT", 0},
		{"max_messages", "MAX-MSGS", 1},
		{"max_delay", "MAX-DELAY", 1},
		{"messages", "MESSAGES", 1},
		{"aggregates", "AGGREGATES", 1},
		{"avg_messages", "AVG-MSGS", 1},
		{"saved_bytes", "SAVED-BYTES", 1},
		{"savings_percent", "SAVINGS-%", 1},
		{"bypassed", "BYPASSED", 1},
		{"streams", "STREAMS", 1},
		{"queued", "QUEUED", 1},
		{NULL, NULL, 0},
	};
	static const struct bp_column why[] = {
		{"entry", "ENTRY", 1},
#define X(id, name, help) {(name), (name), 1},
		BP_AGG_FLUSHES(X)
#undef X
			{NULL, NULL, 0},
	};
	json_t *rows = for_people(entries), *row;
	size_t i;

	fputs("encapsulate\n", out);
	bp_table_print(out, what, rows, "");
	fputs("\nflush reasons\n", out);
	bp_table_print(out, why, rows, "");
	json_array_foreach(rows, i, row)
	{
		print_histogram(row,
			"\nentry %" JSON_INTEGER_FORMAT
			": average queueing delay of messages %s; aggregates by the delay of their "
			"oldest message\n",
			"avg_delay_us", "delay", out);
	}
	json_decref(rows);
}

static void print_disaggregate(const json_t *entries, FILE *out)
{
	static const struct bp_column what[] = {
		{"entry", "ENTRY", 1},
		{"port", "PORT", 0},
		{"to", "TO", 0},
		{"format", "FORMAT", 0},
		{"allowed_senders", "ALLOWED-SENDERS", 0},
		{"pacing_gap", "PACING-GAP", 1},
		{"aggregates", "AGGREGATES", 1},
		{"messages", "MESSAGES", 1},
		{"avg_messages", "AVG-MSGS", 1},
		{"bypassed", "BYPASSED", 1},
		{"dropped", "DROPPED", 1},
		{NULL, NULL, 0},
	};
	static const struct bp_column numbers[] = {
		{"entry", "ENTRY", 1},
		{"missing", "MISSING", 1},
		{"late", "LATE", 1},
		{"lost", "LOST", 1},
		{"duplicate", "DUPLICATE", 1},
		{"stale", "STALE", 1},
		{"streams_created", "STREAMS-CREATED", 1},
		{"streams_expired", "STREAMS-EXPIRED", 1},
		{"paced", "PACED", 1},
		{"queued", "QUEUED", 1},
		{"early_flush", "EARLY-FLUSH", 1},
		{NULL, NULL, 0},
	};
	json_t *rows = for_people(entries), *row;
	size_t i;

	fputs("decapsulate\n", out);
	bp_table_print(out, what, rows, "");
	fputs("\nsequence numbers of aggregates, and pacing\n", out);
	bp_table_print(out, numbers, rows, "");
	json_array_foreach(rows, i, row)
	{
		print_histogram(row,
			"\nentry %" JSON_INTEGER_FORMAT
			": average pacing delay of messages %s; messages by pacing delay\n",
			"avg_pacing_delay_us", "pacing_delay", out);
	}
	json_decref(rows);
}

static void print_workers(const json_t *workers, FILE *out)
{
	static const struct bp_column columns[] = {
		{"worker", "WORKER", 1},
		{"messages", "MESSAGES", 1},
		{"aggregates", "AGGREGATES", 1},
		{"queued", "QUEUED", 1},
		{"streams", "STREAMS", 1},
		{"streams_max", "STREAMS-MAX", 1},
		{"streams_evicted", "EVICTED", 1},
		{"restored", "RESTORED", 1},
		{"dropped", "DROPPED", 1},
		{"pacing_queued", "PACING-QUEUED", 1},
		{NULL, NULL, 0},
	};

	fputs("workers\n", out);
	bp_table_print(out, columns, workers, "");
}

static void warn(const json_t *entries, FILE *out)
{
	const json_t *made = json_object_get(entries, "encapsulate");
	const json_t *split = json_object_get(entries, "decapsulate");
	json_int_t evicted = 0;

	for (size_t i = 0; i < json_array_size(made); i++)
		evicted += bp_show_int(
			json_object_get(json_array_get(made, i), "flush_reasons"), "evicted");
	if (bp_show_int(entries, "generation") == 0)
		fputs("warning: entries not published by the control plane yet; the data plane "
		      "uses "
		      "those of the file\n",
			out);
	if (evicted)
		fprintf(out,
			"warning: %" JSON_INTEGER_FORMAT
			" aggregates flushed because their streams were evicted: raise "
			"aggregation.max_streams\n",
			evicted);
	for (size_t i = 0; i < json_array_size(split); i++) {
		const json_t *row = json_array_get(split, i);
		const json_t *senders = json_object_get(row, "allowed_senders");

		if (json_is_array(senders) && json_array_size(senders) == 0)
			fprintf(out,
				"warning: entry %" JSON_INTEGER_FORMAT
				" of decapsulate has no allowed senders: it drops every "
				"aggregate\n",
				bp_show_int(row, "entry"));
	}
}

void bp_agg_entries_print(const json_t *entries, FILE *out)
{
	const json_t *made = json_object_get(entries, "encapsulate");
	const json_t *split = json_object_get(entries, "decapsulate");

	if (json_array_size(made))
		print_aggregate(made, out);
	if (json_array_size(made))
		fputc('\n', out);
	if (json_array_size(split)) {
		print_disaggregate(split, out);
		fputc('\n', out);
	}
	print_workers(json_object_get(entries, "workers"), out);
	warn(entries, out);
}
