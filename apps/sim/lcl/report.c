/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/lcl/report.h"

#include <jansson.h>
#include <stdio.h>

#include "apps/biplane/table.h"

static const char *const schedulings[] = {"lcl", "priority", "fifo"};
static const char *const scenarios[] = {"three-nodes", "chain", "random"};

static json_int_t ns(uint64_t ps)
{
	return (json_int_t)((ps + LSIM_PS / 2) / LSIM_PS);
}

static json_int_t mean_ns(const struct lsim_spread *s)
{
	return s->count != 0 ? ns(s->sum_ps / s->count) : 0;
}

static void set(json_t *o, const char *key, uint64_t value)
{
	json_object_set_new(o, key, json_integer((json_int_t)value));
}

static void set_spread(json_t *o, const struct lsim_spread *s)
{
	json_object_set_new(o, "min_ns", json_integer(ns(s->min_ps)));
	json_object_set_new(o, "mean_ns", json_integer(mean_ns(s)));
	json_object_set_new(o, "max_ns", json_integer(ns(s->max_ps)));
}

static uint64_t lost_of(const struct lsim_flow *f)
{
	uint64_t sum = 0;

	for (unsigned h = 0; h < f->hops; h++)
		sum += f->measured.hop[h].put[BP_LCL_PUT_FULL];
	return sum;
}

static uint64_t outside_hops(const struct lsim_flow *f)
{
	uint64_t sum = 0;

	for (unsigned h = 0; h < f->hops; h++)
		sum += f->measured.hop[h].outside;
	return sum;
}

static json_t *nodes(const struct lsim_flow *f)
{
	json_t *all = json_array();

	for (unsigned h = 0; h < f->hops; h++) {
		const struct lsim_hop *m = &f->measured.hop[h];
		json_t *one = json_object();

		set(one, "port", f->route[h] + 1u);
		set(one, "n", f->hops - h);
		json_object_set_new(one, "d_min_ns", json_integer(m->d_min));
		json_object_set_new(one, "d_max_ns", json_integer(m->d_max));
		set_spread(one, &m->wait);
		set(one, "outside", m->outside);
		set(one, "late", m->put[BP_LCL_PUT_LATE]);
		set(one, "early", m->put[BP_LCL_PUT_EARLY]);
		set(one, "moved", m->put[BP_LCL_PUT_MOVED]);
		set(one, "lost", m->put[BP_LCL_PUT_FULL]);
		json_array_append_new(all, one);
	}
	return all;
}

static json_t *series(const struct lsim_network *w, const struct lsim_measured *m)
{
	json_t *all = json_array();

	for (uint32_t i = 0; i < m->windows; i++) {
		const struct lsim_spread *s = &m->series[i];

		if (s->count == 0)
			continue;
		json_array_append_new(
			all, json_pack("[fIII]", (double)(i * w->series_ps) / (double)LSIM_SECOND,
				     ns(s->min_ps), mean_ns(s), ns(s->max_ps)));
	}
	return all;
}

static json_t *flow(const struct lsim_network *w, const struct lsim_flow *f)
{
	const struct lsim_measured *m = &f->measured;
	const uint64_t lost = lost_of(f), in = m->received - m->early - m->late;
	json_t *one = json_object();

	json_object_set_new(one, "name", json_string(f->name));
	set(one, "hops", f->hops);
	set(one, "budget_ns", f->budget_ns);
	set(one, "rate_bps", f->source.rate_bps);
	set(one, "burst_frames", f->source.burst);
	set(one, "sent", m->sent);
	set(one, "received", m->received);
	set(one, "lost", lost);
	set_spread(one, &m->delay);
	json_object_set_new(one, "pdv_ns", json_integer(ns(m->delay.max_ps - m->delay.min_ps)));
	json_object_set_new(
		one, "within", json_real(m->received != 0 ? (double)in / (double)m->received : 0));
	set(one, "early", m->early);
	set(one, "late", m->late);
	set(one, "outside_hops", outside_hops(f));
	json_object_set_new(one, "unseen_ns", json_integer(ns(m->unseen_ps)));
	set(one, "reordered", m->reordered);
	set(one, "wrong", m->wrong);
	json_object_set_new(one, "nodes", nodes(f));
	if (w->series_ps != 0)
		json_object_set_new(one, "series", series(w, m));
	return one;
}

static json_t *best_effort(const struct lsim_network *w, const struct lsim_flow *f)
{
	const struct lsim_measured *m = &f->measured;
	const struct lsim_port *p = &w->ports[f->route[0]];
	const double seconds = (double)w->now_ps / (double)LSIM_SECOND;
	json_t *one = json_object();

	json_object_set_new(one, "name", json_string(f->name));
	set(one, "sent", m->sent);
	set(one, "received", m->received);
	set(one, "lost", lost_of(f));
	set_spread(one, &m->delay);
	json_object_set_new(one, "bps", json_integer((json_int_t)((double)m->bytes * 8 / seconds)));
	if (p->lcl != NULL) {
		const uint64_t gated_ns = bp_lcl_measured(p->lcl)->gated_ns;

		set(one, "gated", bp_lcl_measured(p->lcl)->gated);
		set(one, "gated_ns", gated_ns);
		json_object_set_new(one, "gated_bps",
			json_integer((json_int_t)((double)gated_ns * (double)p->o.lcl.rate_bps /
						  1e9 / seconds)));
	}
	return one;
}

static json_t *collect(const struct lsim_network *w, const struct lsim_scenario_options *o)
{
	json_t *all = json_object(), *flows = json_array(), *others = json_array();
	uint64_t behind = 0;

	for (uint32_t i = 0; i < w->n_ports; i++)
		behind = w->ports[i].backlog_ps > behind ? w->ports[i].backlog_ps : behind;
	for (uint32_t i = 0; i < w->n_flows; i++) {
		const struct lsim_flow *f = &w->flows[i];

		if (f->best_effort)
			json_array_append_new(others, best_effort(w, f));
		else
			json_array_append_new(flows, flow(w, f));
	}
	json_object_set_new(all, "scenario", json_string(scenarios[o->scenario]));
	json_object_set_new(all, "scheduler", json_string(schedulings[o->port.scheduling]));
	json_object_set_new(all, "lcl", json_boolean(o->port.scheduling == LSIM_LCL));
	set(all, "tau_ns", o->port.lcl.tau_ns);
	set(all, "queues", o->port.lcl.queues);
	set(all, "queue_frames", o->port.lcl.queue_frames);
	set(all, "rate_bps", o->port.lcl.rate_bps);
	set(all, "ports", w->n_ports);
	set(all, "departures", w->departures);
	set(all, "simulated_ns", w->now_ps / LSIM_PS);
	set(all, "wire_behind_ps", behind);
	json_object_set_new(all, "flows", flows);
	json_object_set_new(all, "best_effort", others);
	return all;
}

static void print_flows(const json_t *all)
{
	static const struct bp_column columns[] = {{"name", "flow", 0}, {"hops", "hops", 1},
		{"budget_ns", "d0 ns", 1}, {"sent", "sent", 1}, {"lost", "lost", 1},
		{"min_ns", "min ns", 1}, {"mean_ns", "mean ns", 1}, {"max_ns", "max ns", 1},
		{"pdv_ns", "PDV ns", 1}, {"early", "early", 1}, {"late", "late", 1},
		{"outside_hops", "outside at nodes", 1}, {"unseen_ns", "unseen ns", 1},
		{"reordered", "reordered", 1}, {"wrong", "wrong", 1}, {NULL, NULL, 0}};

	bp_table_print(stdout, columns, json_object_get(all, "flows"), "no flows");
}

static void print_nodes(const json_t *all)
{
	static const struct bp_column columns[] = {{"flow", "flow", 0}, {"port", "port", 1},
		{"n", "n", 1}, {"d_min_ns", "d from", 1}, {"d_max_ns", "to ns", 1},
		{"min_ns", "waited min ns", 1}, {"mean_ns", "mean ns", 1}, {"max_ns", "max ns", 1},
		{"outside", "outside", 1}, {"late", "late", 1}, {"early", "early", 1},
		{"moved", "moved", 1}, {"lost", "lost", 1}, {NULL, NULL, 0}};
	json_t *rows = json_array(), *one, *node;
	size_t i, j;

	json_array_foreach(json_object_get(all, "flows"), i, one)
	{
		json_array_foreach(json_object_get(one, "nodes"), j, node)
		{
			json_object_set(node, "flow", json_object_get(one, "name"));
			json_array_append(rows, node);
		}
	}
	bp_table_print(stdout, columns, rows, "no nodes");
	json_decref(rows);
}

static void print_best_effort(const json_t *all)
{
	static const struct bp_column columns[] = {{"name", "best effort", 0}, {"sent", "sent", 1},
		{"lost", "lost", 1}, {"min_ns", "min ns", 1}, {"mean_ns", "mean ns", 1},
		{"max_ns", "max ns", 1}, {"bps", "bps", 1}, {"gated", "gated", 1},
		{"gated_bps", "gated bps", 1}, {NULL, NULL, 0}};

	bp_table_print(stdout, columns, json_object_get(all, "best_effort"), "no best effort");
}

bool lsim_report(const struct lsim_network *w, const struct lsim_scenario_options *o, bool as_json)
{
	json_t *all = collect(w, o);
	bool well = all != NULL;

	if (as_json) {
		well = well && json_dumpf(all, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9)) == 0;
		putchar('\n');
	} else if (well) {
		print_flows(all);
		putchar('\n');
		print_nodes(all);
		putchar('\n');
		print_best_effort(all);
	}
	json_decref(all);
	return well && fflush(stdout) == 0;
}
