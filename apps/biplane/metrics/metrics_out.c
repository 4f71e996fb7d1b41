/* SPDX-License-Identifier: BSD-3-Clause */
/* Metric families as text or JSON. */
#include <inttypes.h>
#include <string.h>

#include "apps/biplane/metrics/metric.h"
#include "apps/biplane/print_json.h"
#include "proto/payload/utf8.h"

#define PREFIX "biplane_"
#define LABELS_MAX 4 /* of a row, without `le` */
#define NUMBER 32

static const char *const type_name[] = {
	[BP_METRIC_COUNTER] = "counter",
	[BP_METRIC_GAUGE] = "gauge",
	[BP_METRIC_HISTOGRAM] = "histogram",
	[BP_METRIC_INFO] = "info",
};

static bool is_json(const struct bp_metrics *m)
{
	return m->format == BP_METRICS_AS_JSON || m->format == BP_METRICS_AS_JSON_COMPACT;
}

static void put(const struct bp_metrics *m, const char *text)
{
	fputs_unlocked(text, m->out);
}

static void put_all(const struct bp_metrics *m, const char *const *part)
{
	for (; *part; part++)
		put(m, *part);
}
#define PUT(m, ...) put_all(m, (const char *const[]){__VA_ARGS__, NULL})

/* ---- values ---- */

/* `width`: with zeros up to that many digits. */
static char *digits(uint64_t v, unsigned width, char *end)
{
	*end = '\0';
	for (unsigned n = 0; v != 0 || n < width; n++, v /= 10)
		*--end = (char)('0' + v % 10);
	return end;
}

/* Nanoseconds as seconds, exact: "1.5", "0.000000256", "3". */
static const char *seconds(uint64_t ns, char text[NUMBER])
{
	size_t n = (size_t)snprintf(
		text, NUMBER, "%" PRIu64 ".%09" PRIu64, ns / 1000000000u, ns % 1000000000u);

	while (text[n - 1] == '0')
		n--;
	text[text[n - 1] == '.' ? n - 1 : n] = '\0';
	return text;
}

/* ---- families ---- */

/* The name after TYPE, HELP and UNIT: that of the samples in the older format. */
static const char *family_suffix(const struct bp_metrics *m)
{
	if (m->format != BP_METRICS_AS_TEXT)
		return "";
	if (m->row->type == BP_METRIC_COUNTER)
		return "_total";
	return m->row->type == BP_METRIC_INFO ? "_info" : "";
}

static void begin_text(struct bp_metrics *m)
{
	const struct bp_metric *r = m->row;
	const char *suffix = family_suffix(m);
	const bool openmetrics = m->format == BP_METRICS_AS_OPENMETRICS;
	const char *type = !openmetrics && r->type == BP_METRIC_INFO ? "gauge" : type_name[r->type];

	PUT(m, "# HELP ", PREFIX, r->name, suffix, " ", r->help, "\n");
	PUT(m, "# TYPE ", PREFIX, r->name, suffix, " ", type, "\n");
	if (openmetrics && r->unit)
		PUT(m, "# UNIT ", PREFIX, r->name, " ", r->unit, "\n");
}

static void begin_json(struct bp_metrics *m)
{
	const struct bp_metric *r = m->row;
	const bool compact = m->format == BP_METRICS_AS_JSON_COMPACT;

	PUT(m, m->any ? "," : "", compact ? "" : "\n    ", "{\"name\":\"", PREFIX, r->name,
		"\",\"type\":\"", type_name[r->type], "\",\"unit\":");
	if (r->unit)
		PUT(m, "\"", r->unit, "\"");
	else
		put(m, "null");
	PUT(m, ",\"help\":\"", r->help, "\",\"samples\":[");
}

static void put_labels(struct bp_metrics *m, const struct bp_metric_label *l, bool json)
{
	if (!l->name && !json)
		return;
	put(m, "{");
	for (bool first = true; l->name; l++, first = false)
		PUT(m, first ? "" : ",", json ? "\"" : "", l->name, json ? "\":\"" : "=\"",
			l->value, "\"");
	put(m, "}");
}

static void sample(struct bp_metrics *m, const char *suffix, const struct bp_metric_label *labels,
	const char *value)
{
	const bool json = is_json(m), first = !m->begun;

	if (first && json)
		begin_json(m);
	else if (first)
		begin_text(m);
	m->begun = m->any = true;
	if (!json) {
		PUT(m, PREFIX, m->row->name, suffix);
		put_labels(m, labels, false);
		PUT(m, " ", value, "\n");
		return;
	}
	PUT(m, first ? "" : ",", m->format == BP_METRICS_AS_JSON ? "\n      " : "", "{\"name\":\"",
		PREFIX, m->row->name, suffix, "\",\"labels\":");
	put_labels(m, labels, true);
	PUT(m, ",\"value\":", value, "}");
}

static const char *suffix_of(const struct bp_metric *r)
{
	switch (r->type) {
	case BP_METRIC_COUNTER:
		return "_total";
	case BP_METRIC_INFO:
		return "_info";
	case BP_METRIC_GAUGE:
	case BP_METRIC_HISTOGRAM:
	default:
		return "";
	}
}

/* Larger numbers are none that a plane counts to, and readers of JSON reject them. */
static const char *number(const struct bp_metrics *m, uint64_t v, char text[NUMBER])
{
	return digits(is_json(m) && v > INT64_MAX ? INT64_MAX : v, 1, text + NUMBER - 1);
}

void bp_metric_count(struct bp_metrics *m, const struct bp_metric_label *labels, uint64_t value)
{
	char text[NUMBER];

	sample(m, suffix_of(m->row), labels, number(m, value, text));
}

void bp_metric_seconds(struct bp_metrics *m, const struct bp_metric_label *labels, uint64_t ns)
{
	char text[NUMBER];

	sample(m, suffix_of(m->row), labels, seconds(ns, text));
}

/* ---- histograms ---- */

const struct bp_metric_bound bp_metric_bounds[] = {
	{1000u, "1e-06"},
	{2500u, "2.5e-06"},
	{5000u, "5e-06"},
	{10000u, "1e-05"},
	{25000u, "2.5e-05"},
	{50000u, "5e-05"},
	{100000u, "0.0001"},
	{250000u, "0.00025"},
	{500000u, "0.0005"},
	{1000000u, "0.001"},
	{2500000u, "0.0025"},
	{5000000u, "0.005"},
	{10000000u, "0.01"},
	{25000000u, "0.025"},
	{50000000u, "0.05"},
	{100000000u, "0.1"},
	{250000000u, "0.25"},
	{500000000u, "0.5"},
	{1000000000u, "1.0"},
	{2500000000u, "2.5"},
	{5000000000u, "5.0"},
	{10000000000u, "10.0"},
	{60000000000u, "60.0"},
	{0, NULL},
};

void bp_metric_histogram(struct bp_metrics *m, const struct bp_metric_label *labels,
	const struct bp_metric_buckets *b)
{
	struct bp_metric_label with_le[LABELS_MAX + 2] = {{NULL, NULL}};
	char text[NUMBER], total[NUMBER];
	uint64_t count = 0;
	unsigned n = 0, bucket = 0;

	for (; labels[n].name && n < LABELS_MAX; n++)
		with_le[n] = labels[n];
	with_le[n].name = "le";
	for (const struct bp_metric_bound *bound = bp_metric_bounds; bound->le; bound++) {
		for (; bucket + 1 < b->n && b->upper(bucket) <= bound->ns; bucket++)
			count = bp_metric_add(count, bp_metric_load(&b->count[bucket], 0));
		with_le[n].value = bound->le;
		sample(m, "_bucket", with_le, number(m, count, text));
	}
	for (; bucket < b->n; bucket++)
		count = bp_metric_add(count, bp_metric_load(&b->count[bucket], 0));
	with_le[n].value = "+Inf";
	sample(m, "_bucket", with_le, number(m, count, total));
	if (!b->sum_ns)
		return;
	sample(m, "_sum", labels, seconds(*b->sum_ns, text));
	sample(m, "_count", labels, number(m, count, total));
}

/* ---- labels ---- */

void bp_metric_text(char *out, size_t size, const char *text, size_t max)
{
	const uint8_t *s = (const uint8_t *)text;
	const size_t len = strnlen(text, max);
	size_t n = 0;

	for (size_t i = 0; i < len && n + 4 < size;) {
		const int c = bp_utf8_char(s + i, len - i);

		if (c <= 0 || bp_utf8_is_control(s + i)) {
			memcpy(out + n, "\xef\xbf\xbd", 3);
			n += 3;
			i += c <= 0 ? 1 : (size_t)c;
			continue;
		}
		if (s[i] == '"' || s[i] == '\\')
			out[n++] = '\\';
		memcpy(out + n, s + i, (size_t)c);
		n += (size_t)c;
		i += (size_t)c;
	}
	out[n] = '\0';
}

const char *bp_metric_index(unsigned i, char out[BP_METRIC_INDEX])
{
	snprintf(out, BP_METRIC_INDEX, "%u", i);
	return out;
}

/* ---- all of them ---- */

static void write_family(const struct bp_metric *row, const char *title, void *arg)
{
	struct bp_metrics *m = arg;

	(void)title;
	if (!m->shm && !row->without_segment)
		return;
	m->row = row;
	m->begun = false;
	row->read(m, row);
	if (m->begun && is_json(m))
		put(m, m->format == BP_METRICS_AS_JSON ? "\n    ]}" : "]}");
}

void bp_metrics_write_families(struct bp_metrics *m)
{
	const bool compact = m->format == BP_METRICS_AS_JSON_COMPACT;

	flockfile(m->out);
	if (is_json(m)) {
		bp_print_json_begin(compact, m->out);
		put(m, compact ? "\"metrics\":[" : "\n  \"metrics\": [");
	}
	bp_metrics_each(write_family, m);
	if (is_json(m))
		put(m, compact ? "]}\n" : "\n  ]\n}\n");
	else if (m->format == BP_METRICS_AS_OPENMETRICS)
		put(m, "# EOF\n");
	funlockfile(m->out);
}
