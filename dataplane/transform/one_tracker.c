/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A burst of one tracker's usual readings for one receiver, which is what a tracker that is busy
 * sends: judged, read and written eight at a time (usual8.h), with nothing noted of each reading
 * that is the same of all. Whatever is otherwise goes the way of all bursts, as it came.
 */
#include "dataplane/nodes/frame_mark.h"
#include "dataplane/transform/send_parts.h"

/* Who gets the burst. */
struct receiver {
	const double *matrix;
	unsigned flags;
	struct bp_usual_to to;
};

static inline const uint8_t *head_of(const struct rte_mbuf *m)
{
	return rte_pktmbuf_mtod(m, const uint8_t *);
}

/* Whether it may be such a burst: by its first and its last frame, without judging them. */
static inline bool may_be(const struct bp_transform_worker *t, const struct rte_mbuf *first,
	const struct rte_mbuf *last)
{
	return bp_usual_begins(&t->usual, head_of(first), first->data_len) &&
	       bp_usual_begins(&t->usual, head_of(last), last->data_len) &&
	       bp_reading_half(head_of(first) + BP_USUAL_AT_SRC) ==
		       bp_reading_half(head_of(last) + BP_USUAL_AT_SRC);
}

/* The one receiver of who sent m, forwarded to whom its readings stay usual; else false. */
static bool find_receiver(
	struct bp_transform_worker *t, const struct rte_mbuf *m, struct receiver *receiver)
{
	struct bp_transform_burst *b = &t->burst;
	const bool routed = t->worker->onward[m->port] == BP_EDGE_IP4;
	struct bp_reading *r = &b->reading[0];
	const struct bp_transform_row *row;

	r->from[0] = bp_reading_half(head_of(m) + BP_USUAL_AT_SRC);
	r->from[1] = 0;
	r->kind = t->usual.kind;
	bp_transform_find_source(t);
	if (b->n_rows[0] != 1)
		return false;
	row = &t->view.row[b->row[0]];
	receiver->matrix = bp_transform_take_matrix(t, row, &receiver->flags);
	return bp_usual_receiver(&t->usual, row, receiver->flags, routed, &receiver->to);
}

static void compute(struct bp_transform_worker *t, const double *matrix, unsigned n)
{
	const struct bp_transform_worker_rule *rule = &t->rule[t->usual.kind.rule];
	struct bp_transform_burst *b = &t->burst;

	for (unsigned j = 0; j < n; j++)
		b->matrix[j] = matrix;
	rule->ops->to_cartesian(&b->points, n);
	rule->ops->affine(&b->points, b->matrix, n);
}

/* Readings from `done` on are yet to be written, since some of them are saturated. */
static __rte_noinline void leave_each(struct bp_transform_worker *t, struct rte_mbuf *const *m,
	unsigned n, unsigned done, rte_edge_t edge, const struct receiver *receiver,
	struct bp_transform_tally *tally)
{
	struct bp_transform_burst *b = &t->burst;
	const struct bp_transform_layout *l = &t->rule[t->usual.kind.rule].layout;
	const uint32_t source = b->source[0];

	for (unsigned j = 0; j < n; j++) {
		struct bp_reading *r = &b->reading[j];
		unsigned saturated;

		if (j < done) {
			bp_run_add(&t->run, edge, m[j]);
			continue;
		}
		bp_usual8_reading(&t->usual, &b->eights, j, r);
		b->source[j] = source;
		saturated =
			bp_transform_layout_write(l, r->frame + BP_USUAL_PAYLOAD, &b->points, j);
		if (saturated != 0 && bp_transform_refuse_result(t, j)) {
			bp_run_add(&t->run, bp_drop(m[j], BP_C_DROP_TRANSFORM_OVERFLOW), m[j]);
			tally->sent--;
			tally->bare -= tally->bare != 0;
			continue;
		}
		tally->saturated += saturated != 0;
		bp_usual_deliver(r, &receiver->to, bp_usual_outputs(&t->usual, l, r->frame));
		bp_run_add(&t->run, edge, m[j]);
	}
}

static void leave(struct bp_transform_worker *t, struct rte_mbuf *const *m, unsigned n,
	const struct receiver *receiver)
{
	struct bp_transform_burst *b = &t->burst;
	const unsigned rule = t->usual.kind.rule;
	const rte_edge_t edge = bp_transform_way(t->worker, m[0], 0, NULL);
	struct bp_transform_tally tally = {
		.sent = n, .bare = receiver->flags & BP_TRANSFORM_MATRIX ? 0 : n};
	const unsigned done = bp_usual8_write(&b->eights, n, &receiver->to, &b->points);

	bp_transform_count_alike(t, rule, b->source[0], n);
	if (likely(done == n)) /* all are as long as the first */
		bp_run_add_whole(&t->run, edge, m, n, n * m[0]->pkt_len);
	else
		leave_each(t, m, n, done, edge, receiver, &tally);
	bp_transform_settle(t, rule, &tally);
}

bool bp_transform_one_tracker(struct bp_transform_worker *t, struct rte_mbuf *const *m, unsigned n)
{
	struct bp_transform_burst *b = &t->burst;
	struct receiver receiver;
	bool taken;

	if (!may_be(t, m[0], m[n - 1]))
		return false;
	b->n_pairs = 0;
	b->last = NULL;
	taken = find_receiver(t, m[0], &receiver) &&
		bp_usual8_read(&t->usual, m, n, &b->eights, &b->points);
	if (likely(taken)) {
		compute(t, receiver.matrix, n);
		leave(t, m, n, &receiver);
	}
	bp_transform_keep_last(t);
	return taken;
}
