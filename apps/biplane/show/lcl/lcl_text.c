/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/lcl/lcl_text.h"

#include <math.h>
#include <string.h>

#include "apps/biplane/show/show.h"
#include "apps/biplane/table.h"
#include "apps/biplane/text.h"
#include "shm/lcl/lcl.h"

json_t *bp_lcl_time_text(int64_t ns)
{
	static const char *const unit[] = {"ns", "us", "ms", "s"};
	double v = (double)ns;
	unsigned u = 0;
	char text[32];

	for (; u < 3 && fabs(v) >= 1000.0; u++)
		v /= 1000.0;
	snprintf(text, sizeof(text), "%.4g %s", v, unit[u]);
	return json_string(text);
}

static json_t *rate_text(json_int_t bps)
{
	static const char *const unit[] = {"bps", "kbps", "Mbps", "Gbps"};
	double v = (double)bps;
	unsigned u = 0;
	char text[32];

	for (; u < 3 && v >= 1000.0; u++)
		v /= 1000.0;
	snprintf(text, sizeof(text), "%.4g %s", v, unit[u]);
	return json_string(text);
}

/* What ends in _ns becomes a text of the same name without that. */
static json_t *for_people(const json_t *rows)
{
	json_t *copy = json_deep_copy(rows), *row;
	size_t i;

	json_array_foreach(copy, i, row)
	{
		const char *key;
		json_t *v;

		json_object_foreach(json_array_get(rows, i), key, v)
		{
			const size_t n = strlen(key);
			char name[64];

			if (!json_is_integer(v) || n < 4 || strcmp(key + n - 3, "_ns") != 0)
				continue;
			snprintf(name, sizeof(name), "%.*s", (int)(n - 3), key);
			json_object_set_new(row, name, bp_lcl_time_text(json_integer_value(v)));
		}
	}
	return copy;
}

static void print_ports(const json_t *ports, FILE *out)
{
	static const struct bp_column what[] = {
		{"port", "PORT", 0},
		{"owner", "OWNER", 1},
		{"tau", "TAU", 1},
		{"queues", "QUEUES", 1},
		{"rate", "RATE", 1},
		{"trust", "TRUST", 0},
		{"sent", "SENT", 1},
		{"outside", "OUTSIDE", 1},
		{"late", "LATE", 1},
		{"early", "EARLY", 1},
		{"moved", "MOVED", 1},
		{"full", "FULL", 1},
		{"held", "HELD", 1},
		{"handed_over", "HANDED-OVER", 1},
		{"handover_full", "LOST-SO", 1},
		{NULL, NULL, 0},
	};
	static const struct bp_column times[] = {
		{"port", "PORT", 0},
		{"slots", "TURNS", 1},
		{"lateness_min", "LATE-MIN", 1},
		{"lateness_median", "MEDIAN", 1},
		{"lateness_p9999", "P99.99", 1},
		{"lateness_max", "MAX", 1},
		{"gap_p9999", "GAP-P99.99", 1},
		{"gap_max", "GAP-MAX", 1},
		{"seconds", "SECONDS", 1},
		{"seconds_not_held", "NOT-HELD", 1},
		{NULL, NULL, 0},
	};
	static const struct bp_column best_effort[] = {
		{"port", "PORT", 0},
		{"best_effort", "FRAMES", 1},
		{"best_effort_octets", "OCTETS", 1},
		{"best_effort_full", "FULL", 1},
		{"best_effort_held", "HELD", 1},
		{"gated", "GATED", 1},
		{"gated_time", "TIME", 1},
		{"gated_octets", "LOST-OCTETS", 1},
		{"lost", "LOST-%", 1},
		{NULL, NULL, 0},
	};
	json_t *rows = for_people(ports), *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		const json_t *percent = json_object_get(row, "gated_percent");

		json_object_set_new(row, "rate", rate_text(bp_show_int(row, "rate_bps")));
		if (json_is_real(percent))
			json_object_set_new(
				row, "lost", json_sprintf("%.2f", json_real_value(percent)));
	}
	fputs("lcl.ports: time-sensitive frames\n", out);
	bp_table_print(out, what, rows, "no worker has taken a port yet");
	fputs("\nhow late turns began, and the time between two looks of the owner\n", out);
	bp_table_print(out, times, rows, "-");
	fputs("\nbest effort, and what it could not send because a turn was near\n", out);
	bp_table_print(out, best_effort, rows, "-");
	json_decref(rows);
}

/* Of all ports, the seconds in which a frame was outside, or a turn more than tau late. */
static void print_broken(const json_t *ports, FILE *out)
{
	static const struct bp_column columns[] = {
		{"at", "SECOND", 0},
		{"port", "PORT", 0},
		{"frames", "FRAMES", 1},
		{"outside", "OUTSIDE", 1},
		{"late", "TURN-LATE", 1},
		{"gap", "GAP", 1},
		{NULL, NULL, 0},
	};
	const json_t *port;
	size_t i;

	json_array_foreach(ports, i, port)
	{
		json_t *rows = for_people(json_object_get(port, "not_held")), *row;
		size_t k;

		json_array_foreach(rows, k, row)
		{
			char at[BP_TEXT_TIME];

			bp_text_time((uint64_t)bp_show_int(row, "second") * 1000000000u, at);
			json_object_set_new(row, "at", json_sprintf("%.19sZ", at));
			json_object_set(row, "port", json_object_get(port, "port"));
		}
		if (json_array_size(rows) != 0) {
			fprintf(out,
				"\nbound not held in these of the last %d seconds of port %s\n",
				BP_LCL_INTERVALS, json_string_value(json_object_get(port, "port")));
			bp_table_print(out, columns, rows, "");
		}
		json_decref(rows);
	}
}

static void print_flows(const json_t *flows, FILE *out)
{
	static const struct bp_column what[] = {
		{"flow", "FLOW", 0},
		{"id", "ID", 1},
		{"port", "PORT", 0},
		{"node", "NODE", 0},
		{"frames", "FRAMES", 1},
		{"labelled", "LABELLED", 1},
		{"outside", "OUTSIDE", 1},
		{"late", "LATE", 1},
		{"early", "EARLY", 1},
		{"moved", "MOVED", 1},
		{"full", "FULL", 1},
		{"missing", "MISSING", 1},
		{"reordered", "REORDERED", 1},
		{NULL, NULL, 0},
	};
	static const struct bp_column times[] = {
		{"flow", "FLOW", 0},
		{"id", "ID", 1},
		{"waited_min", "WAITED-MIN", 1},
		{"waited_mean", "MEAN", 1},
		{"waited_max", "MAX", 1},
		{"budget", "BUDGET", 1},
		{"end_to_end_min", "END-TO-END-MIN", 1},
		{"end_to_end_max", "MAX", 1},
		{"jitter_median", "JITTER-MEDIAN", 1},
		{"jitter_p99", "P99", 1},
		{"jitter_max", "MAX", 1},
		{NULL, NULL, 0},
	};
	json_t *rows = for_people(flows);

	fputs("\nflows\n", out);
	bp_table_print(out, what, rows, "no frame of a flow has come yet");
	if (json_array_size(rows) != 0) {
		fputs("\nwhat their frames waited here, and end to end where this is the last "
		      "node\n",
			out);
		bp_table_print(out, times, rows, "");
	}
	json_decref(rows);
}

/* A character for each bucket, the darker the more frames. */
static void print_picture(const json_t *flow, FILE *out)
{
	static const char shade[] = " .:-=+*#@";
	const json_t *counts = json_object_get(flow, "deviation");
	const json_t *name = json_object_get(flow, "flow");
	char line[BP_LCL_DEVIATIONS + 1] = "";
	json_int_t most = 1, v;

	for (size_t i = 0; i < BP_LCL_DEVIATIONS; i++) {
		v = json_integer_value(json_array_get(counts, i));
		most = v > most ? v : most;
	}
	for (size_t i = 0; i < BP_LCL_DEVIATIONS; i++) {
		v = json_integer_value(json_array_get(counts, i));
		line[i] = shade[v <= 0 ? 0
				       : 1 + (int)((double)v / (double)most *
						     (double)(sizeof(shade) - 3))];
	}
	fprintf(out, "  |%s|  %s, port %s\n", line,
		json_is_string(name) ? json_string_value(name) : "unnamed",
		json_string_value(json_object_get(flow, "port")));
}

static void print_pictures(const json_t *flows, FILE *out)
{
	const json_t *flow;
	size_t i;

	if (json_array_size(flows) == 0)
		return;
	fputs("\nwaited more or less than its share, the budget where this is the last node\n",
		out);
	fprintf(out, "  -2 tau%9s-tau%14s0%13s+tau%7s+2 tau\n", "", "", "", "");
	json_array_foreach(flows, i, flow) print_picture(flow, out);
}

void bp_lcl_view_print(const json_t *view, FILE *out)
{
	const json_t *ports = json_object_get(view, "ports"),
		     *flows = json_object_get(view, "flows");
	const json_int_t total = bp_show_int(view, "total");

	if (json_is_null(json_object_get(view, "generation"))) {
		fputs("the file has no entry of lcl.ports\n", out);
		return;
	}
	print_ports(ports, out);
	print_broken(ports, out);
	print_flows(flows, out);
	print_pictures(flows, out);
	if ((json_int_t)json_array_size(flows) < total)
		fprintf(out, "\n%zu of %" JSON_INTEGER_FORMAT " flows; -n 0 shows all\n",
			json_array_size(flows), total);
}
