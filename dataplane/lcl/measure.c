/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/lcl/measure.h"

/* A larger difference between two sequence numbers means that the sender restarted. */
#define SEQUENCE_JUMP 65536

static void begin_row(struct bp_lcl_row *r, uint16_t flow)
{
	r->stats->flow = flow;
	r->stats->last = r->last;
	atomic_store_explicit(&r->stats->life, 1, memory_order_release);
}

struct bp_lcl_row *bp_lcl_row_begin(struct bp_lcl_out *o, uint16_t flow)
{
	struct bp_lcl_followed *f = &o->followed[flow];

	f->known = true;
	f->row = o->rows_used < o->rows ? (uint16_t)o->rows_used++ : 0;
	begin_row(&o->row[f->row], f->row ? flow : 0);
	return &o->row[f->row];
}

void bp_lcl_measure_leap(struct bp_lcl_row *r, uint32_t sequence)
{
	const int32_t ahead = (int32_t)(sequence - r->expected);

	if (unlikely(!r->in_known || ahead > SEQUENCE_JUMP || ahead < -SEQUENCE_JUMP)) {
		r->in_known = true;
	} else if (unlikely(ahead < 0)) {
		bp_stat_add(&r->stats->reordered, 1);
		return;
	} else if (unlikely(ahead > 0)) {
		bp_stat_add(&r->stats->missing, (uint64_t)ahead);
	}
	r->expected = sequence + 1;
}

void bp_lcl_measure_waited(struct bp_lcl_row *r, uint64_t waited_ns)
{
	const bool first = r->waited_within == 0;
	const uint64_t from = first ? waited_ns : RTE_MIN(r->waited_from, waited_ns);
	const uint64_t to =
		first ? waited_ns : RTE_MAX(r->waited_from + r->waited_within - 1, waited_ns);

	r->waited_from = from;
	r->waited_within = to - from + 1;
	atomic_store_explicit(&r->stats->waited_min_ns, from, memory_order_relaxed);
	atomic_store_explicit(&r->stats->waited_max_ns, to, memory_order_relaxed);
}

void bp_lcl_measure_deviation(struct bp_lcl_row *r, int64_t deviation)
{
	const bool first = r->deviation_within == 0;
	const int64_t last = r->deviation_from + (int64_t)r->deviation_within - 1;
	const int64_t from = first ? deviation : RTE_MIN(r->deviation_from, deviation);
	const int64_t to = first ? deviation : RTE_MAX(last, deviation);

	r->deviation_from = from;
	r->deviation_within = (uint64_t)(to - from) + 1;
	atomic_store_explicit(&r->stats->deviation_min_ns, from, memory_order_relaxed);
	atomic_store_explicit(&r->stats->deviation_max_ns, to, memory_order_relaxed);
}

void bp_lcl_measure_gap(struct bp_lcl_out *o, uint64_t gap_ns)
{
	bp_stat_add(&o->stats->gap[bp_lcl_bucket(gap_ns)], 1);
	if (likely(gap_ns <= o->second.gap_ns))
		return;
	o->second.gap_ns = gap_ns;
	atomic_store_explicit(&o->second.row->gap_ns, gap_ns, memory_order_relaxed);
	bp_lcl_stat_max(&o->stats->gap_max_ns, gap_ns);
}

void bp_lcl_measure_counted(struct bp_lcl_out *o)
{
	if (o->second.counted)
		return;
	o->second.counted = true;
	bp_stat_add(&o->stats->intervals, 1);
}

void bp_lcl_measure_broken(struct bp_lcl_out *o)
{
	bp_lcl_measure_counted(o);
	if (o->second.broken)
		return;
	o->second.broken = true;
	bp_stat_add(&o->stats->intervals_broken, 1);
}

void bp_lcl_measure_slot(void *out, uint64_t late_ns)
{
	struct bp_lcl_out *o = out;
	struct bp_lcl_port_stats *s = o->stats;

	bp_lcl_measure_counted(o);
	bp_stat_add(&s->lateness[bp_lcl_bucket(late_ns)], 1);
	if (unlikely(!o->slots || late_ns < bp_stat_get(&s->late_min_ns)))
		atomic_store_explicit(&s->late_min_ns, late_ns, memory_order_relaxed);
	o->slots = true;
	bp_lcl_stat_max(&s->late_max_ns, late_ns);
	if (late_ns > o->second.late_ns) {
		o->second.late_ns = late_ns;
		atomic_store_explicit(&o->second.row->late_ns, late_ns, memory_order_relaxed);
	}
	if (unlikely(late_ns > o->tau_ns))
		bp_lcl_measure_broken(o);
}

void bp_lcl_measure_scheduler(struct bp_lcl_out *o)
{
	const struct bp_lcl_measured *m = bp_lcl_measured(o->scheduler);
	struct bp_lcl_port_stats *s = o->stats;

	if (o->handover)
		atomic_store_explicit(&s->handover_full,
			atomic_load_explicit(&o->handover->full, memory_order_relaxed),
			memory_order_relaxed);
	atomic_store_explicit(&s->slots, m->slots, memory_order_relaxed);
	atomic_store_explicit(&s->gated, m->gated, memory_order_relaxed);
	atomic_store_explicit(&s->gated_ns, m->gated_ns, memory_order_relaxed);
	atomic_store_explicit(&s->held, m->held, memory_order_relaxed);
	atomic_store_explicit(&s->best_effort_held, m->best_effort, memory_order_relaxed);
}

void bp_lcl_measure_second(struct bp_lcl_out *o)
{
	const uint64_t second = o->lcl->real_ns / NS_PER_S;
	struct bp_lcl_interval *row = &o->stats->interval[second % BP_LCL_INTERVALS];

	/*
	 * a reader that sees the new second sees the fields written after this line, and none of
	 * the former second
	 */
	atomic_store_explicit(&row->second, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&row->late_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&row->gap_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&row->outside, 0, memory_order_relaxed);
	atomic_store_explicit(&row->frames, 0, memory_order_relaxed);
	atomic_store_explicit(&row->second, second, memory_order_release);
	o->second = (struct bp_lcl_second){.row = row, .begin_ns = second * NS_PER_S};
}
