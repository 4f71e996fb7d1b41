/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_TRANSFORM_SEND_H
#define BP_DATAPLANE_TRANSFORM_SEND_H

#include "biplane/counters/transform.h"
#include "dataplane/nodes/frame_mark.h"
#include "dataplane/nodes/learn.h"
#include "dataplane/transform/worker.h"

/* Functions that the paths that send results share: send.c and single_stream.c. */

/* Returns the edge of a result. The bridge also learns a tracker that is answered here. */
static inline uint8_t bp_transform_edge(
	struct bp_worker *w, struct rte_mbuf *m, unsigned flags, const uint8_t *frame)
{
	const uint8_t onward = w->onward[m->port];

	if (likely(!(flags & BP_TRANSFORM_REFLECT)))
		return w->inner[m->port] == BP_EDGE_AGGREGATE ? BP_EDGE_AGGREGATE : onward;
	if (onward == BP_EDGE_IP4) {
		bp_mark_originated(m);
		return onward;
	}
	if (onward == BP_EDGE_BRIDGE)
		bp_bridge_learn(w, bp_mac_load(frame + 6), m->port);
	return (uint8_t)(BP_EDGE_PORT + m->port);
}

/* Statistics of readings of one rule, added together at the end. */
struct bp_transform_tally {
	uint32_t sent, bare, saturated;
};

static inline void bp_transform_settle(
	struct bp_transform_worker *t, unsigned rule, struct bp_transform_tally *n)
{
	struct bp_transform_rule_stats *s = t->rule[rule].stats;

	bp_transform_stat_add(&s->sent, n->sent);
	if (unlikely(n->bare != 0)) {
		bp_count(t->worker, BP_C_TRANSFORM_NO_MATRIX, n->bare);
		bp_transform_stat_add(&s->bare, n->bare);
	}
	if (unlikely(n->saturated != 0)) {
		bp_count(t->worker, BP_C_TRANSFORM_SATURATED, n->saturated);
		bp_transform_stat_add(&s->saturated, n->saturated);
	}
	*n = (struct bp_transform_tally){0};
}

/* Counts n readings of a source; UINT32_MAX: unknown source. */
static inline void bp_transform_count_single_source(
	struct bp_transform_worker *t, unsigned rule, uint32_t source, unsigned n)
{
	bp_transform_stat_add(&t->rule[rule].stats->readings, n);
	if (source != UINT32_MAX)
		bp_transform_stat_add(&bp_transform_source_stats_of(t, source)->readings, n);
	bp_count(t->worker, BP_C_TRANSFORM_READING, n);
}

/*
 * Copies the current matrix of the row; the copy stays valid until flush(). *flags: the flags of
 * the row at that time.
 */
static inline const double *bp_transform_take_matrix(
	struct bp_transform_worker *t, const struct bp_transform_row *row, unsigned *flags)
{
	struct bp_transform_burst *b = &t->burst;
	uint64_t state = atomic_load_explicit(&row->state, memory_order_acquire);

	if (unlikely(row != t->last_row || state != t->last_state)) {
		b->last = b->copied[b->n_pairs];
		state = bp_transform_row_read(row, b->copied[b->n_pairs]);
		t->last_row = row;
		t->last_state = state;
	}
	*flags = state & 0xff;
	if (unlikely(!(state & BP_TRANSFORM_MATRIX)))
		return bp_transform_identity;
	return b->last != NULL ? b->last : t->last;
}

/* Keeps the matrix that was read last beyond the copies, which the next ones overwrite. */
static inline void bp_transform_keep_last(struct bp_transform_worker *t)
{
	struct bp_transform_burst *b = &t->burst;

	if (b->last == NULL)
		return;
	memcpy(t->last, b->last, sizeof(t->last));
	b->last = NULL;
}

/* Counts the saturated result of reading j. True: it is dropped. */
bool bp_transform_reject_result(struct bp_transform_worker *t, unsigned j);

#endif
