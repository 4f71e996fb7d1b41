/* SPDX-License-Identifier: BSD-3-Clause */
/* Results of a burst of usual readings, each with one receiver to whom it is forwarded. */
#include "dataplane/nodes/frame_mark.h"
#include "dataplane/transform/send_parts.h"

/* What receivers' headers become, of a burst of usual readings. */
struct usual_heads {
	struct bp_usual_to to[BP_RX_BURST];
	uint8_t which[BP_RX_BURST]; /* of each reading */
	bool bare[BP_RX_BURST];
};

/* Takes the matrices and says the heads; false: a receiver is not usual. */
static bool usual_receivers(
	struct bp_transform_worker *t, struct usual_heads *h, struct bp_transform_tally *tally)
{
	struct bp_transform_burst *b = &t->burst;
	const bool routed = t->worker->onward[b->m[0]->port] == BP_EDGE_IP4;
	unsigned rows = 0, flags;

	if (b->one_source) {
		const struct bp_transform_row *row = &t->view.row[b->row[0]];

		b->matrix[0] = bp_transform_take_matrix(t, row, &flags);
		tally->bare = flags & BP_TRANSFORM_MATRIX ? 0 : b->n;
		for (unsigned j = 1; j < b->n; j++)
			b->matrix[j] = b->matrix[0];
		memset(h->which, 0, b->n);
		memset(h->bare, tally->bare != 0, b->n);
		return bp_usual_receiver(&t->usual, row, flags, routed, &h->to[0]);
	}
	for (unsigned j = 0; j < b->n; j++) {
		const struct bp_transform_row *row = &t->view.row[b->row[j]];

		b->n_pairs = j; /* where its matrix is copied to */
		b->matrix[j] = bp_transform_take_matrix(t, row, &flags);
		h->bare[j] = !(flags & BP_TRANSFORM_MATRIX);
		tally->bare += h->bare[j];
		if (j == 0 || b->row[j] != b->row[j - 1])
			if (!bp_usual_receiver(&t->usual, row, flags, routed, &h->to[rows++]))
				return false;
		h->which[j] = (uint8_t)(rows - 1);
	}
	return true;
}

static inline void usual_deliver(
	const struct bp_transform_worker *t, const struct usual_heads *h, unsigned j)
{
	const struct bp_transform_burst *b = &t->burst;

	bp_usual_deliver(&b->reading[j], &h->to[h->which[j]],
		bp_usual_outputs(
			&t->usual, &t->rule[t->usual.kind.rule].layout, b->reading[j].frame));
}

/* Their octets. */
static uint32_t usual_deliver_all(const struct bp_transform_worker *t, const struct usual_heads *h)
{
	const struct bp_transform_burst *b = &t->burst;
	const struct bp_transform_layout *l = &t->rule[t->usual.kind.rule].layout;
	const struct bp_usual u = t->usual;
	const struct bp_usual_to to = h->to[0];
	struct rte_mbuf *const *m = b->m;
	const unsigned n = b->n;
	uint32_t bytes = 0;

	if (likely(b->one_source)) {
		for (unsigned j = 0; j < n; j++) {
			const struct bp_reading *r = &b->reading[j];

			bp_usual_deliver(r, &to, bp_usual_outputs(&u, l, r->frame));
			bytes += m[j]->pkt_len;
		}
		return bytes;
	}
	for (unsigned j = 0; j < n; j++) {
		usual_deliver(t, h, j);
		bytes += m[j]->pkt_len;
	}
	return bytes;
}

/* Where some are saturated. */
static __rte_noinline void usual_leave_each(struct bp_transform_worker *t,
	const struct usual_heads *h, const uint8_t saturated[], rte_edge_t edge,
	struct bp_transform_tally *tally)
{
	struct bp_transform_burst *b = &t->burst;

	for (unsigned j = 0; j < b->n; j++) {
		if (saturated[j] != 0 && bp_transform_refuse_result(t, j)) {
			bp_run_add(
				&t->run, bp_drop(b->m[j], BP_C_DROP_TRANSFORM_OVERFLOW), b->m[j]);
			tally->sent--;
			tally->bare -= h->bare[j];
			continue;
		}
		tally->saturated += saturated[j] != 0;
		usual_deliver(t, h, j);
		bp_run_add(&t->run, edge, b->m[j]);
	}
}

bool bp_transform_send_usual(struct bp_transform_worker *t)
{
	struct bp_transform_burst *b = &t->burst;
	const struct bp_transform_worker_rule *rule = &t->rule[t->usual.kind.rule];
	const rte_edge_t edge = bp_transform_way(t->worker, b->m[0], 0, NULL);
	struct bp_transform_tally tally = {.sent = b->n};
	uint8_t saturated[BP_RX_BURST];
	struct usual_heads h;
	uint32_t bytes = 0;
	bool usual = usual_receivers(t, &h, &tally);

	if (usual)
		rule->ops->affine(&b->points, b->matrix, b->n);
	bp_transform_keep_last(t);
	b->n_pairs = 0;
	if (!usual)
		return false;
	if (unlikely(bp_transform_layout_write_all(
			     &rule->layout, b->payload, b->n, &b->points, saturated) != 0)) {
		usual_leave_each(t, &h, saturated, edge, &tally);
	} else {
		bytes = usual_deliver_all(t, &h);
		bp_run_add_whole(&t->run, edge, b->m, b->n, bytes);
	}
	bp_transform_settle(t, t->usual.kind.rule, &tally);
	return true;
}
