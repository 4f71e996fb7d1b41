/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_LCL_MEASURE_H
#define BP_DATAPLANE_LCL_MEASURE_H

#include <rte_cycles.h>

#include "dataplane/lcl/lcl.h"
#include "dataplane/ports/port_count.h"
#include "dataplane/workers/worker.h"

/* What the owner of a port writes into the tables of shm/lcl/lcl.h. */

/* The row of a flow whose first frame came: its own, as long as there are any. */
struct bp_lcl_row *bp_lcl_row_begin(struct bp_lcl_out *o, uint16_t flow);

static inline struct bp_lcl_row *bp_lcl_row_of(struct bp_lcl_out *o, uint16_t flow)
{
	const struct bp_lcl_followed *f = &o->followed[flow];

	return likely(f->known) ? &o->row[f->row] : bp_lcl_row_begin(o, flow);
}

/* The time between two looks at the scheduler. */
void bp_lcl_measure_gap(struct bp_lcl_out *o, uint64_t gap_ns);
/* A slot began so late: see bp_lcl_on_slot(). */
void bp_lcl_measure_slot(void *out, uint64_t late_ns);
/* What the scheduler measured itself. */
void bp_lcl_measure_scheduler(struct bp_lcl_out *o);
/* Another second has begun. */
void bp_lcl_measure_second(struct bp_lcl_out *o);
/* A frame came with another sequence number than the one expected, or is the first. */
void bp_lcl_measure_leap(struct bp_lcl_row *r, uint32_t sequence);

/* A frame waited for less or for longer than all before it, or deviated so. */
void bp_lcl_measure_waited(struct bp_lcl_row *r, uint64_t waited_ns);
void bp_lcl_measure_deviation(struct bp_lcl_row *r, int64_t deviation);

/* Whether this is the last node of a flow, as its frame that came says. */
static inline void bp_lcl_measure_last(struct bp_lcl_row *r, bool last)
{
	if (unlikely(r->last != last))
		r->stats->last = r->last = last;
}

/* A frame came with a label: what its sequence number says. */
static inline void bp_lcl_measure_sequence(struct bp_lcl_row *r, uint32_t sequence)
{
	if (likely(r->in_known && sequence == r->expected))
		r->expected = sequence + 1;
	else
		bp_lcl_measure_leap(r, sequence);
}
/* There is something of this second to count, or its bound was not held. */
void bp_lcl_measure_counted(struct bp_lcl_out *o);
void bp_lcl_measure_broken(struct bp_lcl_out *o);

/* To be called with each look, before all else. */
static inline void bp_lcl_measure_time(struct bp_lcl_out *o)
{
	/* Unix time may go back; then this is huge */
	if (unlikely(o->lcl->real_ns - o->second.begin_ns >= NS_PER_S || !o->second.row))
		bp_lcl_measure_second(o);
}

static inline void bp_lcl_stat_min(_Atomic uint64_t *s, uint64_t v)
{
	if (v < bp_stat_get(s))
		atomic_store_explicit(s, v, memory_order_relaxed);
}

static inline void bp_lcl_stat_max(_Atomic uint64_t *s, uint64_t v)
{
	if (v > bp_stat_get(s))
		atomic_store_explicit(s, v, memory_order_relaxed);
}

/* Where a deviation is counted: see BP_LCL_DEVIATIONS. */
static inline unsigned bp_lcl_deviation_bucket(const struct bp_lcl_out *o, int64_t deviation)
{
	const uint64_t from = (uint64_t)deviation + 2 * o->tau_ns; /* wraps below */

	if (unlikely(from >= 4 * o->tau_ns))
		return deviation < 0 ? 0 : BP_LCL_DEVIATIONS - 1;
	return 1 + (unsigned)((__extension__(unsigned __int128) from * o->per_sixteenth) >> 64);
}

/* A frame is handed to the driver; whether it waited within its bound, +- tau. */
static inline bool bp_lcl_measure_departure(
	struct bp_lcl_out *o, struct bp_lcl_row *r, const struct bp_lcl_departure *d)
{
	const int64_t deviation = (int64_t)d->waited_ns - d->meant_ns;
	const bool outside = (uint64_t)(deviation + (int64_t)o->tau_ns) > 2 * o->tau_ns;
	struct bp_lcl_flow_stats *s = r->stats;

	bp_stat_add(&s->frames, 1);
	bp_stat_add(&s->octets, d->octets);
	bp_stat_add(&s->waited_ns, d->waited_ns);
	bp_stat_add(&s->deviation[bp_lcl_deviation_bucket(o, deviation)], 1);
	if (unlikely(d->waited_ns - r->waited_from >= r->waited_within))
		bp_lcl_measure_waited(r, d->waited_ns);
	if (unlikely((uint64_t)deviation - (uint64_t)r->deviation_from >= r->deviation_within))
		bp_lcl_measure_deviation(r, deviation);
	if (likely(r->left)) {
		const int64_t change = deviation - r->deviation;

		bp_stat_add(
			&s->jitter[bp_lcl_bucket((uint64_t)(change < 0 ? -change : change))], 1);
	} else {
		r->left = r != o->row; /* not those of many flows together */
	}
	r->deviation = deviation;
	if (unlikely(outside))
		bp_stat_add(&s->outside, 1);
	return outside;
}

#endif
