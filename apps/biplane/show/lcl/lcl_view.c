/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/lcl/lcl_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/text.h"

json_t *bp_lcl_quantile(const _Atomic uint64_t counts[BP_LCL_BUCKETS], uint64_t of)
{
	uint64_t copy[BP_LCL_BUCKETS], sum = 0, beyond;
	unsigned b = BP_LCL_BUCKETS;

	for (unsigned i = 0; i < BP_LCL_BUCKETS; i++) {
		copy[i] = bp_lcl_word(&counts[i]);
		sum += copy[i];
	}
	if (sum == 0)
		return json_null();
	/* down to the bucket with which more than that many would be beyond */
	for (beyond = 0; b > 1 && beyond + copy[b - 1] <= sum / of; b--)
		beyond += copy[b - 1];
	/* the last one has no end */
	return json_integer((json_int_t)(b == BP_LCL_BUCKETS ? bp_lcl_bucket_from(b - 1)
							     : bp_lcl_bucket_from(b) - 1));
}

json_t *bp_lcl_port_name(const struct bp_shm *m, uint32_t i)
{
	const unsigned port = m->lcl.ports[i].configured.port;

	if (port >= bp_show_ports_in_use(m))
		return json_null();
	return bp_text_json(m->ports[port].name, sizeof(m->ports[port].name));
}

/* The last seconds in which the bound was not held, oldest first. */
static json_t *broken(const struct bp_lcl_port_stats *p)
{
	const uint64_t tau = p->configured.tau_ns;
	uint64_t last = 0;
	json_t *list = json_array();

	for (unsigned i = 0; i < BP_LCL_INTERVALS; i++) {
		const uint64_t second = bp_lcl_word(&p->interval[i].second);

		last = second > last ? second : last;
	}
	for (uint64_t back = BP_LCL_INTERVALS; back-- > 0;) {
		const uint64_t s = last - back;
		const struct bp_lcl_interval *v = &p->interval[s % BP_LCL_INTERVALS];
		const uint64_t late = bp_lcl_word(&v->late_ns), outside = bp_lcl_word(&v->outside);

		if (back >= last || bp_lcl_word(&v->second) != s || (outside == 0 && late <= tau))
			continue;
		json_array_append_new(
			list, json_pack("{sI sI sI sI sI}", "second", (json_int_t)s, "frames",
				      (json_int_t)bp_lcl_word(&v->frames), "out_of_bound",
				      (json_int_t)outside, "slot_jitter_ns", (json_int_t)late,
				      "poll_gap_ns", (json_int_t)bp_lcl_word(&v->gap_ns)));
	}
	return list;
}

static json_t *settings(const struct bp_shm *m, uint32_t i)
{
	const struct bp_lcl_port_stats *p = &m->lcl.ports[i];
	const uint32_t owner =
		atomic_load_explicit((_Atomic uint32_t *)&p->owner, memory_order_acquire);
	const struct bp_lcl_port *c = &p->configured;
	uint8_t trust; /* a damaged one may be no bool */

	if (owner == 0)
		return NULL;
	memcpy(&trust, &c->trust, sizeof(trust));
	return json_pack("{so si sI si sI sb sI si si si}", "port", bp_lcl_port_name(m, i), "owner",
		(int)owner - 1, "slot_ns", (json_int_t)c->tau_ns, "queues", (int)c->queues,
		"link_rate_bps", (json_int_t)c->rate_bps, "trust_labels", trust != 0,
		"guard_time_ns", (json_int_t)c->guard_ns, "slot_queue_len", (int)c->queue_frames,
		"best_effort_queue_len", (int)c->best_effort, "handover_queue_len",
		(int)c->handover);
}

static void put_counts(json_t *row, const struct bp_lcl_port_stats *p)
{
	const struct {
		const char *name;
		const _Atomic uint64_t *at;
	} counts[] = {
		{"sent", &p->sent},
		{"best_effort", &p->best_effort},
		{"best_effort_bytes", &p->best_effort_bytes},
		{"late", &p->late},
		{"beyond_horizon", &p->early},
		{"deferred", &p->moved},
		{"queue_full", &p->full},
		{"best_effort_queue_full", &p->best_effort_full},
		{"handed_over", &p->handed_over},
		{"handover_drops", &p->handover_full},
		{"queued", &p->held},
		{"best_effort_queued", &p->best_effort_held},
		{"out_of_bound", &p->outside},
		{"slots", &p->slots},
		{"seconds", &p->intervals},
		{"violations", &p->intervals_broken},
		{"gated", &p->gated},
		{"gated_time_ns", &p->gated_ns},
		{"poll_gap_max_ns", &p->gap_max_ns},
	};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		json_object_set_new(
			row, counts[i].name, json_integer((json_int_t)bp_lcl_word(counts[i].at)));
}

/* What best effort could have sent while it was gated. */
static void put_loss(json_t *row, const struct bp_lcl_port_stats *p)
{
	const double lost =
		(double)bp_lcl_word(&p->gated_ns) * (double)p->configured.rate_bps / 8e9;
	const double sent = (double)bp_lcl_word(&p->best_effort_bytes);

	/* what lies in shared memory may be damaged, and then beyond any number of bytes */
	json_object_set_new(row, "gated_bytes", json_integer((json_int_t)fmin(lost, 0x1p62)));
	json_object_set_new(row, "gated_percent",
		lost + sent > 0 ? json_real(100 * lost / (lost + sent)) : json_null());
}

static void put_times(json_t *row, const struct bp_lcl_port_stats *p)
{
	const bool any = bp_lcl_word(&p->slots) != 0;

	json_object_set_new(row, "slot_jitter_min_ns",
		any ? json_integer((json_int_t)bp_lcl_word(&p->late_min_ns)) : json_null());
	json_object_set_new(row, "slot_jitter_median_ns", bp_lcl_quantile(p->lateness, 2));
	json_object_set_new(row, "slot_jitter_p9999_ns", bp_lcl_quantile(p->lateness, 10000));
	json_object_set_new(row, "slot_jitter_max_ns",
		any ? json_integer((json_int_t)bp_lcl_word(&p->late_max_ns)) : json_null());
	json_object_set_new(row, "poll_gap_p9999_ns", bp_lcl_quantile(p->gap, 10000));
}

static json_t *ports(const struct bp_shm *m)
{
	json_t *rows = json_array();

	for (uint32_t i = 0; i < m->lcl.n_ports; i++) {
		const struct bp_lcl_port_stats *p = &m->lcl.ports[i];
		json_t *row = settings(m, i);

		if (!row)
			continue;
		put_counts(row, p);
		put_loss(row, p);
		put_times(row, p);
		json_object_set_new(row, "recent_violations", broken(p));
		json_array_append_new(rows, row);
	}
	return rows;
}

json_t *bp_lcl_view(const struct bp_show_source *s)
{
	const struct bp_lcl_tables *t = &s->shm->lcl;
	struct bp_lcl_rules *rules = calloc(1, sizeof(*rules));
	uint64_t seen = 0, total = 0;
	json_t *view = NULL, *flows;

	if (!rules)
		return NULL;
	/* a plan that is written just now is whole the next time */
	for (int i = 0; t->plan && i < 100 &&
			!bp_seqlock_read(&t->plan->lock, &seen, rules, sizeof(*rules));
		i++)
		;
	if (rules->n_flows > BP_LCL_FLOWS_MAX || seen == 0)
		rules->n_flows = 0;
	flows = bp_lcl_flows(s, rules, &total);
	view = json_pack("{so so so sI}", "generation",
		t->plan ? json_integer((json_int_t)(seen / 2)) : json_null(), "ports",
		ports(s->shm), "flows", flows, "total", (json_int_t)total);
	free(rules);
	return view;
}
