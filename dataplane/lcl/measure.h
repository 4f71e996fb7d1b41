/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_LCL_MEASURE_H
#define BP_DATAPLANE_LCL_MEASURE_H

#include <rte_cycles.h>

#include "dataplane/lcl/lcl.h"
#include "dataplane/ports/port_count.h"
#include "dataplane/workers/worker.h"

/* The owner of a port writes these values into the tables of shm/lcl/lcl.h. */

/* Assigns a row to a flow at its first frame: a row of its own while there are free ones. */
struct bp_lcl_row *bp_lcl_row_begin(struct bp_lcl_out *o, uint16_t flow);

static inline struct bp_lcl_row *bp_lcl_row_of(struct bp_lcl_out *o, uint16_t flow)
{
	const struct bp_lcl_followed *f = &o->followed[flow];

	return likely(f->known) ? &o->row[f->row] : bp_lcl_row_begin(o, flow);
}

/* Records the time between two polls of the scheduler, ns. */
void bp_lcl_measure_gap(struct bp_lcl_out *o, uint64_t gap_ns);
/* Records that a slot began `late_ns` late: see bp_lcl_on_slot(). */
void bp_lcl_measure_slot(void *out, uint64_t late_ns);
/* Copies the values that the scheduler measured. */
void bp_lcl_measure_scheduler(struct bp_lcl_out *o);
/* Starts the next second. */
void bp_lcl_measure_second(struct bp_lcl_out *o);
/* Records a sequence number that differs from the expected one, or is the first. */
void bp_lcl_measure_leap(struct bp_lcl_row *r, uint32_t sequence);

/* Records a new minimum or maximum of the delay or of the deviation, ns. */
void bp_lcl_measure_waited(struct bp_lcl_row *r, uint64_t waited_ns);
void bp_lcl_measure_deviation(struct bp_lcl_row *r, int64_t deviation);

/* Records whether this is the last node of a flow, as the received frame indicates. */
static inline void bp_lcl_measure_last(struct bp_lcl_row *r, bool last)
{
	if (unlikely(r->last != last))
		r->stats->last = r->last = last;
}

/* Evaluates the sequence number of a received labelled frame. */
static inline void bp_lcl_measure_sequence(struct bp_lcl_row *r, uint32_t sequence)
{
	if (likely(r->in_known && sequence == r->expected))
		r->expected = sequence + 1;
	else
		bp_lcl_measure_leap(r, sequence);
}
/* Marks the second as one with frames to count, or as one in which a bound was exceeded. */
void bp_lcl_measure_counted(struct bp_lcl_out *o);
void bp_lcl_measure_broken(struct bp_lcl_out *o);

/* Called first in each poll. */
static inline void bp_lcl_measure_time(struct bp_lcl_out *o)
{
	/* Unix time may go backwards; then the difference is very large */
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

/* The bucket in which a deviation is counted: see BP_LCL_DEVIATIONS. */
static inline unsigned bp_lcl_deviation_bucket(const struct bp_lcl_out *o, int64_t deviation)
{
	const uint64_t from =
		(uint64_t)deviation + 2 * o->tau_ns; /* unsigned: wraps for smaller values */

	if (unlikely(from >= 4 * o->tau_ns))
		return deviation < 0 ? 0 : BP_LCL_DEVIATIONS - 1;
	return 1 + (unsigned)((__extension__(unsigned __int128) from * o->per_sixteenth) >> 64);
}

/*
 * Records a frame that is handed to the driver. True: its delay was within its bound, plus or minus
 * tau.
 */
static inline bool bp_lcl_measure_departure(
	struct bp_lcl_out *o, struct bp_lcl_row *r, const struct bp_lcl_departure *d)
{
	const int64_t deviation = (int64_t)d->waited_ns - d->meant_ns;
	const bool outside = (uint64_t)(deviation + (int64_t)o->tau_ns) > 2 * o->tau_ns;
	struct bp_lcl_flow_stats *s = r->stats;

	bp_stat_add(&s->frames, 1);
	bp_stat_add(&s->bytes, d->bytes);
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
		r->left = r != o->row; /* not for the row that several flows share */
	}
	r->deviation = deviation;
	if (unlikely(outside))
		bp_stat_add(&s->outside, 1);
	return outside;
}

#endif
