/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes docs/reference/metrics.md to stdout, or, with --names, the list of names. Tests compare
 * the output with the files. */
#include <stdio.h>
#include <string.h>

#include "apps/biplane/metrics/metric.h"

static const char *const type_name[] = {
	[BP_METRIC_COUNTER] = "counter",
	[BP_METRIC_GAUGE] = "gauge",
	[BP_METRIC_HISTOGRAM] = "histogram",
	[BP_METRIC_INFO] = "info",
};

static const char *suffix(const struct bp_metric *row)
{
	if (row->type == BP_METRIC_COUNTER)
		return "_total";
	return row->type == BP_METRIC_INFO ? "_info" : "";
}

static void name(const struct bp_metric *row, const char *title, void *arg)
{
	(void)title;
	(void)arg;
	printf("biplane_%s%s %s %s %s\n", row->name, suffix(row), type_name[row->type],
		row->unit ? row->unit : "-", row->labels[0] ? row->labels : "-");
}

static void labels(const char *text)
{
	if (text[0] == '\0')
		putchar('-');
	while (*text) {
		const size_t n = strcspn(text, ",?");

		printf("`%.*s`", (int)n, text);
		text += n;
		if (*text == '?') {
			fputs(" (some)", stdout);
			text++;
		}
		if (*text == ',') {
			fputs(", ", stdout);
			text++;
		}
	}
}

static void line(const struct bp_metric *row, const char *title, void *arg)
{
	char *last = arg;

	if (strcmp(title, last) != 0) {
		snprintf(last, 128, "%s", title);
		printf("\n## %s\n\n| Metric | Type | Labels | Description |\n"
		       "| --- | --- | --- | --- |\n",
			title);
	}
	printf("| `biplane_%s%s` | %s | ", row->name, suffix(row), type_name[row->type]);
	labels(row->labels);
	printf(" | %s |\n", row->help);
}

static void page(void)
{
	char last[128] = "";

	puts("<!-- Generated from the tables in apps/biplane/metrics/ and the counters by "
	     "`meson compile metrics-doc`: change them there. -->\n"
	     "# Metrics\n\n"
	     "The metrics that `/metrics` serves and `biplane show metrics` prints, in the text "
	     "format of Prometheus or in OpenMetrics 1.0. Names and labels are an interface: "
	     "[versioning](../versioning.md) applies to them. [Prometheus and "
	     "Grafana](../howto/prometheus-grafana.md) describes dashboard and alert rules.\n\n"
	     "- A metric of a section that is not configured has no sample. All others are there "
	     "from the start, with value 0.\n"
	     "- A restart of the data plane resets its counters; those of the control plane "
	     "continue. `rate()` and `increase()` handle resets.\n"
	     "- Labels are ports, workers, nodes, rules, entries and reasons; never topics, "
	     "clients or addresses. The number of samples is bounded by the configuration.\n"
	     "- Histograms have fixed bounds from 1 µs to 60 s. The segment keeps finer buckets; "
	     "one that a bound divides counts as above the bound, so that times are never shown "
	     "shorter than they were, and at most one eighth longer (delays of aggregation: "
	     "twice).\n"
	     "- `biplane_drops_total` has the reasons of group `drop` of the "
	     "[counters](counters.md), and as `driver_*`, with the port, frames that the driver or "
	     "the device lost. `biplane_port_drops_total` has the drops of each port by reason. "
	     "`biplane capture "
	     "--drops` shows the port and the node of each dropped frame, `biplane trace` its path "
	     "through the nodes, and event `drops` the reasons of an interval.");
	bp_metrics_each(line, last);
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--names") == 0)
		bp_metrics_each(name, NULL);
	else
		page();
	return 0;
}
