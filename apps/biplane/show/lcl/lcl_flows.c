/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/lcl/lcl_view.h"

#include "apps/biplane/text.h"

/* The flows of `show lcl`: a row for each port that schedules one. */

static const struct bp_lcl_flow *configured(const struct bp_lcl_rules *rules, uint16_t flow)
{
	for (uint32_t i = 0; i < rules->n_flows; i++) {
		if (rules->flow[i].id == flow)
			return &rules->flow[i];
	}
	return NULL;
}

static int64_t signed_word(const _Atomic int64_t *w)
{
	return atomic_load_explicit((_Atomic int64_t *)w, memory_order_relaxed);
}

static void put(json_t *row, const char *key, int64_t v)
{
	json_object_set_new(row, key, json_integer((json_int_t)v));
}

static void put_counts(json_t *row, const struct bp_lcl_flow_stats *f)
{
	const struct {
		const char *name;
		const _Atomic uint64_t *at;
	} counts[] = {
		{"frames", &f->frames},
		{"bytes", &f->bytes},
		{"labeled", &f->labelled},
		{"out_of_bound", &f->outside},
		{"late", &f->late},
		{"beyond_horizon", &f->early},
		{"deferred", &f->moved},
		{"queue_full", &f->full},
		{"missing", &f->missing},
		{"reordered", &f->reordered},
	};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		put(row, counts[i].name, (int64_t)bp_lcl_word(counts[i].at));
}

/* The queueing delay at this node and, on the last node, the end-to-end delay. */
static void put_delays(json_t *row, const struct bp_lcl_flow_stats *f, const struct bp_lcl_flow *c)
{
	const uint64_t frames = bp_lcl_word(&f->frames);
	const int64_t min = signed_word(&f->deviation_min_ns),
		      max = signed_word(&f->deviation_max_ns);

	if (frames == 0)
		return;
	put(row, "queueing_delay_min_ns", (int64_t)bp_lcl_word(&f->waited_min_ns));
	put(row, "queueing_delay_avg_ns", (int64_t)(bp_lcl_word(&f->waited_ns) / frames));
	put(row, "queueing_delay_max_ns", (int64_t)bp_lcl_word(&f->waited_max_ns));
	put(row, "deviation_min_ns", min);
	put(row, "deviation_max_ns", max);
	if (c)
		put(row, "latency_budget_ns", (int64_t)c->budget_ns);
	if (!c || !f->last)
		return;
	put(row, "end_to_end_min_ns", (int64_t)c->budget_ns + min);
	put(row, "end_to_end_max_ns", (int64_t)c->budget_ns + max);
}

static void put_jitter(json_t *row, const struct bp_lcl_flow_stats *f)
{
	json_object_set_new(row, "jitter_median_ns", bp_lcl_quantile(f->jitter, 2));
	json_object_set_new(row, "jitter_p99_ns", bp_lcl_quantile(f->jitter, 100));
	json_object_set_new(row, "jitter_max_ns", bp_lcl_quantile(f->jitter, UINT64_MAX));
}

static json_t *deviations(const struct bp_lcl_flow_stats *f)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < BP_LCL_DEVIATIONS; i++)
		json_array_append_new(
			list, json_integer((json_int_t)bp_lcl_word(&f->deviation[i])));
	return list;
}

/* A copy that another flow took the place of meanwhile is not shown. */
static json_t *flow(const struct bp_shm *m, const struct bp_lcl_rules *rules, uint32_t port,
	uint32_t row, uint32_t life)
{
	const struct bp_lcl_flow_stats *f = &m->lcl.flows[(size_t)port * m->lcl.limit + row];
	const struct bp_lcl_flow *c = row != 0 ? configured(rules, f->flow) : NULL;
	json_t *o = json_pack("{so so so ss sI}", "flow",
		c ? bp_text_json(c->name, sizeof(c->name)) : json_null(), "id",
		row != 0 ? json_integer(f->flow) : json_null(), "port", bp_lcl_port_name(m, port),
		"node",
		row == 0  ? "beyond lcl.max_flows"
		: f->last ? "last"
			  : "transit",
		"slot_ns", (json_int_t)m->lcl.ports[port].configured.tau_ns);

	if (!o)
		return NULL;
	put_counts(o, f);
	put_delays(o, f, c);
	put_jitter(o, f);
	json_object_set_new(o, "deviation", deviations(f));
	if (atomic_load_explicit((_Atomic uint32_t *)&f->life, memory_order_acquire) == life)
		return o;
	json_decref(o);
	return NULL;
}

json_t *bp_lcl_flows(
	const struct bp_show_source *s, const struct bp_lcl_rules *rules, uint64_t *total)
{
	const struct bp_lcl_tables *t = &s->shm->lcl;
	json_t *rows = json_array();

	for (uint32_t port = 0; port < t->n_ports; port++) {
		for (uint32_t row = 0; row < t->limit; row++) {
			const uint32_t life =
				atomic_load_explicit(&t->flows[(size_t)port * t->limit + row].life,
					memory_order_acquire);

			if (life == 0)
				continue;
			if (s->limit == 0 || *total < s->limit)
				json_array_append_new(rows, flow(s->shm, rules, port, row, life));
			++*total;
		}
	}
	return rows;
}
