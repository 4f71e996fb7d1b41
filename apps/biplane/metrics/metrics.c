/* SPDX-License-Identifier: BSD-3-Clause */
/* The families of all tables, and one for each counter that no table has. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "apps/biplane/metrics/metric.h"
#include "biplane/counters/general.h"
#include "biplane/counters/health.h"
#include "biplane/counters/mqtt.h"

/* ---- reading ---- */

uint64_t bp_metric_sum(const struct bp_metrics *m, const void *rows, size_t size, size_t step,
	size_t index, size_t at)
{
	uint64_t sum = 0;

	for (size_t w = 0; w < m->shm->workers; w++)
		sum = bp_metric_add(sum, bp_metric_load(rows, (w * step + index) * size + at));
	return sum;
}

void bp_metric_read_counter(struct bp_metrics *m, const struct bp_metric *row)
{
	bp_metric_count(m, BP_NO_LABELS, bp_shm_counter(m->shm, (bp_counter_t)row->at));
}

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

void bp_metric_read_group(struct bp_metrics *m, const struct bp_metric *row)
{
	for (bp_counter_t c = 0; c < BP_C_COUNT; c++) {
		const struct bp_counter_info *i = &bp_counter_info[c];

		if (i->name != NULL && i->group == row->group && has_prefix(i->name, row->prefix))
			bp_metric_count(m, BP_LABELS({row->labels, i->name + strlen(row->prefix)}),
				bp_shm_counter(m->shm, c));
	}
}

void bp_metric_read_worker_counter(struct bp_metrics *m, const struct bp_metric *row)
{
	char worker[BP_METRIC_INDEX];

	for (unsigned w = 0; w < m->shm->workers; w++) {
		const uint64_t v = bp_metric_load(&m->shm->counters[w].v[row->at], 0);
		const struct bp_metric_label *labels =
			BP_LABELS({"worker", bp_metric_index(w, worker)});

		if (row->unit)
			bp_metric_seconds(m, labels, v);
		else
			bp_metric_count(m, labels, v);
	}
}

static struct bp_metric_label selected(const struct bp_metric *row)
{
	return row->selector ? (struct bp_metric_label){row->labels, row->selector}
			     : (struct bp_metric_label){NULL, NULL};
}

void bp_metric_read_control(struct bp_metrics *m, const struct bp_metric *row)
{
	bp_metric_count(m, BP_LABELS(selected(row)), bp_metric_load(m->shm->control, row->at));
}

/* ---- the families ---- */

/* How the families of a group's counters begin, if not with the group's name. */
static const struct group_prefix {
	bp_counter_group_t group;
	const char *family;
	const char *counter; /* prefix of a counter that it replaces */
} group_prefix[] = {
	{BP_CG_CONNECTION, "connections_", "connections_"},
	{BP_CG_RULE, "evaluation_", ""},
	{BP_CG_ALARM, "alarms_", "alarms_"},
	{BP_CG_PHD, "health_", "phd_"},
};

/* Its name ends as that of a sample does. */
static const char *counter_name(bp_counter_t c)
{
	return c == BP_C_SEG_REORDER_TOTAL ? "segments_reorder_reassembly"
					   : bp_counter_info[c].name;
}

static void name_family(bp_counter_t c, char *out, size_t size)
{
	const struct bp_counter_info *i = &bp_counter_info[c];
	const char *name = counter_name(c);
	struct group_prefix p = {0};
	char group[64];

	snprintf(group, sizeof(group), "%s_", bp_counter_group_info[i->group].name);
	p.family = p.counter = group;
	for (size_t k = 0; k < sizeof(group_prefix) / sizeof(group_prefix[0]); k++)
		if (group_prefix[k].group == i->group)
			p = group_prefix[k];
	if (has_prefix(name, p.counter))
		name += strlen(p.counter);
	snprintf(out, size, "%s%s", p.family, name);
}

/* The tables, the next of *at, which begins at 0; NULL after the last. */
static const struct bp_metric_table *next_table(unsigned *at)
{
	static const struct bp_metric_table *const own[] = {bp_metrics_process, bp_metrics_monitor,
		bp_metrics_traffic, bp_metrics_routing, bp_metrics_fleet, bp_metrics_fleet_agent};
	static const struct bp_metric_table *const of_service[BP_SERVICE_COUNT] = {
#define X(name, NAME) [BP_SERVICE_##NAME] = bp_metrics_##name,
		BP_SERVICES(X)
#undef X
	};
	const unsigned n_own = sizeof(own) / sizeof(own[0]), i = (*at)++;

	if (i < n_own)
		return own[i];
	return i - n_own < BP_SERVICE_COUNT ? of_service[i - n_own] : NULL;
}

static bool row_has_counter(const struct bp_metric *row, bp_counter_t c)
{
	const struct bp_counter_info *i = &bp_counter_info[c];

	if (row->prefix != NULL)
		return row->group == i->group && has_prefix(i->name, row->prefix);
	return (row->read == bp_metric_read_counter ||
		       row->read == bp_metric_read_worker_counter) &&
	       row->at == c;
}

/* Whether a row of a table has the counter. */
static bool in_tables(bp_counter_t c)
{
	static bool known, has[BP_C_COUNT];
	const struct bp_metric_table *t;

	for (unsigned at = 0; !known && (t = next_table(&at)) != NULL;)
		for (; t->title; t++)
			for (const struct bp_metric *r = t->row; r->name; r++)
				for (bp_counter_t k = 0; k < BP_C_COUNT; k++)
					if (bp_counter_info[k].name && row_has_counter(r, k))
						has[k] = true;
	known = true;
	return has[c];
}

static void each_counter(bp_counter_group_t g, bp_metric_visit visit, void *arg)
{
	char name[128], title[80];

	snprintf(title, sizeof(title), "Counters of group %s", bp_counter_group_info[g].name);
	for (bp_counter_t c = 0; c < BP_C_COUNT; c++) {
		const struct bp_metric row = {.name = name,
			.type = BP_METRIC_COUNTER,
			.labels = "",
			.help = bp_counter_info[c].help,
			.read = bp_metric_read_counter,
			.at = c};

		if (bp_counter_info[c].name == NULL || bp_counter_info[c].group != g ||
			in_tables(c))
			continue;
		name_family(c, name, sizeof(name));
		visit(&row, title, arg);
	}
}

void bp_metrics_each(bp_metric_visit visit, void *arg)
{
	const struct bp_metric_table *t;

	for (unsigned at = 0; (t = next_table(&at)) != NULL;)
		for (; t->title; t++)
			for (const struct bp_metric *r = t->row; r->name; r++)
				visit(r, t->title, arg);
	for (bp_counter_group_t g = 0; g < BP_CG_COUNT; g++)
		if (bp_counter_group_info[g].name)
			each_counter(g, visit, arg);
}

/* ---- the output ---- */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int bp_metrics_write_as(const struct bp_shm *shm, enum bp_metrics_format format, FILE *out)
{
	struct bp_metrics *m = calloc(1, sizeof(*m));
	int rc;

	if (!m)
		return -1;
	m->shm = shm;
	m->out = out;
	m->format = format;
	m->unix_ns = now_ns();
	m->n_ports = shm ? bp_shm_ports_in_use(shm) : 0;
	for (unsigned p = 0; p < m->n_ports; p++)
		bp_metric_text(m->port[p], sizeof(m->port[p]), shm->ports[p].name,
			sizeof(shm->ports[p].name) - 1);
	rc = !shm || (bp_metrics_read_rules(m) && bp_metrics_read_policy(m)) ? 0 : -1;
	if (rc == 0)
		bp_metrics_write_families(m);
	if (ferror(out))
		rc = -1;
	free(m->rule);
	free(m->policy);
	free(m);
	return rc;
}

int bp_metrics_write(const struct bp_shm *shm, bool openmetrics, FILE *out)
{
	return bp_metrics_write_as(
		shm, openmetrics ? BP_METRICS_AS_OPENMETRICS : BP_METRICS_AS_TEXT, out);
}
