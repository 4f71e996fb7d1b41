/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/lcl/lcl_text.h"

#include <string.h>

#include "apps/biplane/show/show.h"
#include "apps/biplane/table.h"
#include "apps/biplane/text.h"
#include "shm/lcl/lcl.h"

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

static void print_ports(const json_t *ports, FILE *out)
{
	static const struct bp_column what[] = {
		{"port", "PORT", 0},
		{"owner", "OWNER", 1},
		{"slot", "SLOT", 1},
		{"queues", "QUEUES", 1},
		{"link_rate", "LINK-RATE", 1},
		{"trust_labels", "TRUST-LABELS", 0},
		{"sent", "SENT", 1},
		{"out_of_bound", "OUT-OF-BOUND", 1},
		{"late", "LATE", 1},
		{"beyond_horizon", "BEYOND-HORIZON", 1},
		{"deferred", "DEFERRED", 1},
		{"queue_full", "QUEUE-FULL", 1},
		{"queued", "QUEUED", 1},
		{"handed_over", "HANDED-OVER", 1},
		{"handover_drops", "HANDOVER-DROPS", 1},
		{NULL, NULL, 0},
	};
	static const struct bp_column times[] = {
		{"port", "PORT", 0},
		{"slots", "SLOTS", 1},
		{"slot_jitter_min", "SLOT-JITTER-MIN", 1},
		{"slot_jitter_median", "MEDIAN", 1},
		{"slot_jitter_p9999", "P99.99", 1},
		{"slot_jitter_max", "MAX", 1},
		{"poll_gap_p9999", "POLL-GAP-P99.99", 1},
		{"poll_gap_max", "POLL-GAP-MAX", 1},
		{"seconds", "SECONDS", 1},
		{"violations", "VIOLATIONS", 1},
		{NULL, NULL, 0},
	};
	static const struct bp_column best_effort[] = {
		{"port", "PORT", 0},
		{"best_effort", "FRAMES", 1},
		{"best_effort_bytes", "BYTES", 1},
		{"best_effort_queue_full", "QUEUE-FULL", 1},
		{"best_effort_queued", "QUEUED", 1},
		{"gated", "GATED", 1},
		{"gated_time", "GATED-TIME", 1},
		{"gated_bytes", "GATED-BYTES", 1},
		{"lost", "GATED-%", 1},
		{NULL, NULL, 0},
	};
	json_t *rows = bp_show_intervals(ports), *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		const json_t *percent = json_object_get(row, "gated_percent");

		json_object_set_new(row, "link_rate", rate_text(bp_show_int(row, "link_rate_bps")));
		if (json_is_real(percent))
			json_object_set_new(
				row, "lost", json_sprintf("%.2f", json_real_value(percent)));
	}
	fputs("ports: time-sensitive frames\n", out);
	bp_table_print(out, what, rows, "no ports yet");
	fputs("\nports: slot jitter (delay of slot starts) and poll gap of the owning worker\n",
		out);
	bp_table_print(out, times, rows, "-");
	fputs("\nports: best-effort frames, and time gated before slots\n", out);
	bp_table_print(out, best_effort, rows, "-");
	json_decref(rows);
}

/* Of all ports, the seconds with a violation of the bound. */
static void print_broken(const json_t *ports, FILE *out)
{
	static const struct bp_column columns[] = {
		{"at", "SECOND", 0},
		{"port", "PORT", 0},
		{"frames", "FRAMES", 1},
		{"out_of_bound", "OUT-OF-BOUND", 1},
		{"late", "SLOT-JITTER", 1},
		{"poll_gap", "POLL-GAP", 1},
		{NULL, NULL, 0},
	};
	const json_t *port;
	size_t i;

	json_array_foreach(ports, i, port)
	{
		json_t *rows = bp_show_intervals(json_object_get(port, "recent_violations")), *row;
		size_t k;

		json_array_foreach(rows, k, row)
		{
			char at[BP_TEXT_TIME];

			bp_text_time((uint64_t)bp_show_int(row, "second") * 1000000000u, at);
			json_object_set_new(row, "at", json_sprintf("%.19sZ", at));
			json_object_set(row, "port", json_object_get(port, "port"));
		}
		if (json_array_size(rows) != 0) {
			fprintf(out, "\nviolations of the bound in the last %d seconds, port %s\n",
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
		{"labeled", "LABELED", 1},
		{"out_of_bound", "OUT-OF-BOUND", 1},
		{"late", "LATE", 1},
		{"beyond_horizon", "BEYOND-HORIZON", 1},
		{"deferred", "DEFERRED", 1},
		{"queue_full", "QUEUE-FULL", 1},
		{"missing", "MISSING", 1},
		{"reordered", "REORDERED", 1},
		{NULL, NULL, 0},
	};
	static const struct bp_column times[] = {
		{"flow", "FLOW", 0},
		{"id", "ID", 1},
		{"queueing_delay_min", "QUEUEING-DELAY-MIN", 1},
		{"queueing_delay_avg", "AVG", 1},
		{"queueing_delay_max", "MAX", 1},
		{"latency_budget", "LATENCY-BUDGET", 1},
		{"end_to_end_min", "END-TO-END-MIN", 1},
		{"end_to_end_max", "MAX", 1},
		{"jitter_median", "JITTER-MEDIAN", 1},
		{"jitter_p99", "P99", 1},
		{"jitter_max", "MAX", 1},
		{NULL, NULL, 0},
	};
	json_t *rows = bp_show_intervals(flows);

	fputs("\nflows\n", out);
	bp_table_print(out, what, rows, "no flows yet");
	if (json_array_size(rows) != 0) {
		fputs("\nflows: queueing delay of this node, and end-to-end delay at the last "
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
	fputs("\nflows: deviation from the share of the latency budget\n", out);
	fprintf(out, "  -2 slot%8s-slot%13s0%12s+slot%6s+2 slot\n", "", "", "", "");
	json_array_foreach(flows, i, flow) print_picture(flow, out);
}

void bp_lcl_view_print(const json_t *view, FILE *out)
{
	const json_t *ports = json_object_get(view, "ports"),
		     *flows = json_object_get(view, "flows");
	const json_int_t total = bp_show_int(view, "total");

	if (json_is_null(json_object_get(view, "generation"))) {
		fputs("no entry in section lcl.ports\n", out);
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
