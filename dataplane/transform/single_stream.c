/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fast path for a burst of readings of one tracker, matching the template, for one receiver, as
 * a busy tracker sends them. They are validated, read and written eight at a time (avx512.h), and
 * common values are kept once. Any other burst is left unmodified for bp_transform_collect() and
 * bp_transform_send().
 */
#include "biplane/counters/transform.h"
#include "dataplane/nodes/frame_mark.h"
#include "dataplane/transform/send.h"

/* The receiver of the burst. */
struct receiver {
	const double *matrix;
	unsigned flags;
	struct bp_template_receiver to;
};

static inline const uint8_t *head_of(const struct rte_mbuf *m)
{
	return rte_pktmbuf_mtod(m, const uint8_t *);
}

/* Whether the burst may be of this kind, by its first and its last frame, without validation. */
static inline bool may_be(const struct bp_transform_worker *t, const struct rte_mbuf *first,
	const struct rte_mbuf *last)
{
	return bp_template_begins(&t->template, head_of(first), first->data_len) &&
	       bp_template_begins(&t->template, head_of(last), last->data_len) &&
	       bp_transform_sample_half(head_of(first) + BP_TEMPLATE_AT_SRC) ==
		       bp_transform_sample_half(head_of(last) + BP_TEMPLATE_AT_SRC);
}

/*
 * Finds the one receiver of the source of m, if the template covers the forwarding to it; otherwise
 * false.
 */
static bool find_receiver(
	struct bp_transform_worker *t, const struct rte_mbuf *m, struct receiver *receiver)
{
	struct bp_transform_burst *b = &t->burst;
	const bool routed = t->worker->onward[m->port] == BP_EDGE_IP4;
	struct bp_transform_sample *r = &b->sample[0];
	const struct bp_transform_row *row;

	r->from[0] = bp_transform_sample_half(head_of(m) + BP_TEMPLATE_AT_SRC);
	r->from[1] = 0;
	r->kind = t->template.kind;
	bp_transform_find_source(t);
	if (b->n_rows[0] != 1)
		return false;
	row = &t->view.row[b->row[0]];
	receiver->matrix = bp_transform_take_matrix(t, row, &receiver->flags);
	return bp_template_receiver_of(&t->template, row, receiver->flags, routed, &receiver->to);
}

static void compute(struct bp_transform_worker *t, const double *matrix, unsigned n)
{
	const struct bp_transform_worker_rule *rule = &t->rule[t->template.kind.rule];
	struct bp_transform_burst *b = &t->burst;

	for (unsigned j = 0; j < n; j++)
		b->matrix[j] = matrix;
	rule->ops->to_cartesian(&b->points, n);
	rule->ops->affine(&b->points, b->matrix, n);
}

/* Writes and sends the readings from `done`, since some of them are saturated. */
static __rte_noinline void send_each(struct bp_transform_worker *t, struct rte_mbuf *const *m,
	unsigned n, unsigned done, rte_edge_t edge, const struct receiver *receiver,
	struct bp_transform_tally *tally)
{
	struct bp_transform_burst *b = &t->burst;
	const struct bp_transform_layout *l = &t->rule[t->template.kind.rule].layout;
	const uint32_t source = b->source[0];

	for (unsigned j = 0; j < n; j++) {
		struct bp_transform_sample *r = &b->sample[j];
		unsigned saturated;

		if (j < done) {
			bp_edge_batch_add(&t->out, edge, m[j]);
			continue;
		}
		bp_transform_avx512_sample(&t->template, &b->avx512, j, r);
		b->source[j] = source;
		saturated =
			bp_transform_layout_write(l, r->frame + BP_TEMPLATE_PAYLOAD, &b->points, j);
		if (saturated != 0 && bp_transform_reject_result(t, j)) {
			bp_edge_batch_add(
				&t->out, bp_drop(m[j], BP_C_DROP_TRANSFORM_OVERFLOW), m[j]);
			tally->sent--;
			tally->bare -= tally->bare != 0;
			continue;
		}
		tally->saturated += saturated != 0;
		bp_template_deliver(
			r, &receiver->to, bp_template_outputs(&t->template, l, r->frame));
		bp_edge_batch_add(&t->out, edge, m[j]);
	}
}

static void tx_frames(struct bp_transform_worker *t, struct rte_mbuf *const *m, unsigned n,
	const struct receiver *receiver)
{
	struct bp_transform_burst *b = &t->burst;
	const unsigned rule = t->template.kind.rule;
	const rte_edge_t edge = bp_transform_edge(t->worker, m[0], 0, NULL);
	struct bp_transform_tally tally = {
		.sent = n, .bare = receiver->flags & BP_TRANSFORM_MATRIX ? 0 : n};
	const unsigned done = bp_transform_avx512_write(&b->avx512, n, &receiver->to, &b->points);

	bp_transform_count_single_source(t, rule, b->source[0], n);
	if (likely(done == n)) /* all have the length of the first */
		bp_edge_batch_add_node_frames(&t->out, edge, m, n, n * m[0]->pkt_len);
	else
		send_each(t, m, n, done, edge, receiver, &tally);
	bp_transform_settle(t, rule, &tally);
}

bool bp_transform_single_stream(
	struct bp_transform_worker *t, struct rte_mbuf *const *m, unsigned n)
{
	struct bp_transform_burst *b = &t->burst;
	struct receiver receiver;
	bool taken;

	if (!may_be(t, m[0], m[n - 1]))
		return false;
	b->n_pairs = 0;
	b->last = NULL;
	taken = find_receiver(t, m[0], &receiver) &&
		bp_transform_avx512_read(&t->template, m, n, &b->avx512, &b->points);
	if (likely(taken)) {
		compute(t, receiver.matrix, n);
		tx_frames(t, m, n, &receiver);
	}
	bp_transform_keep_last(t);
	return taken;
}
