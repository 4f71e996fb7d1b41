/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transforms the points of the readings of a burst by matrices, writes the results, and sends them
 * to receivers.
 */
#include "dataplane/transform/send.h"

#include <rte_memcpy.h>

#include "biplane/counters/transform.h"
#include "dataplane/lcl/lcl.h"
#include "dataplane/nodes/frame_mark.h"
#include "dataplane/transform/sample.h"

/* ---- arithmetic over a burst ---- */

#define NO_METHOD UINT8_MAX

/*
 * For readings with several methods: computes the points of each method. matrix NULL: converts to
 * Cartesian; otherwise transforms.
 */
static __rte_noinline void compute_mixed(struct bp_transform_worker *t,
	struct bp_transform_points *p, const uint8_t method[], const double *const matrix[],
	unsigned n)
{
	for (unsigned which = 0; which < BP_TRANSFORM_METHODS; which++) {
		const double *own[BP_TRANSFORM_BURST];
		uint8_t at[BP_TRANSFORM_BURST];
		unsigned k = 0;

		for (unsigned i = 0; i < n; i++) {
			if (method[i] != which)
				continue;
			for (unsigned c = 0; c < 3; c++)
				t->scratch.v[c][k] = p->v[c][i];
			if (matrix != NULL)
				own[k] = matrix[i];
			at[k++] = (uint8_t)i;
		}
		if (k == 0)
			continue;
		if (matrix != NULL)
			bp_transform_ops(which)->affine(&t->scratch, own, k);
		else
			bp_transform_ops(which)->to_cartesian(&t->scratch, k);
		for (unsigned i = 0; i < k; i++)
			for (unsigned c = 0; c < 3; c++)
				p->v[c][at[i]] = t->scratch.v[c][i];
	}
}

static void cartesian_output(struct bp_transform_worker *t)
{
	struct bp_transform_burst *b = &t->burst;
	const struct bp_transform_worker_rule *first = &t->rule[b->sample[0].kind.rule];
	uint8_t method[BP_RX_BURST];

	if (likely(b->same_rule)) {
		if (!first->layout.cartesian)
			first->ops->to_cartesian(&b->points, b->n);
		return;
	}
	for (unsigned j = 0; j < b->n; j++) {
		const struct bp_transform_worker_rule *r = &t->rule[b->sample[j].kind.rule];

		method[j] = r->layout.cartesian || b->n_rows[j] == 0 ? NO_METHOD : r->method;
	}
	compute_mixed(t, &b->points, method, NULL, b->n);
}

static void move(struct bp_transform_worker *t)
{
	struct bp_transform_burst *b = &t->burst;
	const unsigned n = b->n_pairs;
	uint8_t method[BP_TRANSFORM_BURST];

	for (unsigned i = 0; i < n; i++)
		for (unsigned c = 0; c < 3; c++)
			b->results.v[c][i] = b->points.v[c][b->pair[i].place];
	if (likely(b->same_rule)) {
		t->rule[b->sample[0].kind.rule].ops->affine(&b->results, b->matrix, n);
		return;
	}
	for (unsigned i = 0; i < n; i++)
		method[i] = t->rule[b->sample[b->pair[i].place].kind.rule].method;
	compute_mixed(t, &b->results, method, b->matrix, n);
}

/* saturated[]: for each datagram, the result of bp_transform_layout_write(). */
static void write_outputs(struct bp_transform_worker *t, uint8_t saturated[])
{
	struct bp_transform_burst *b = &t->burst;
	uint8_t *payload[BP_TRANSFORM_BURST];

	for (unsigned i = 0; i < b->n_pairs; i++)
		payload[i] = b->pair[i].frame + b->sample[b->pair[i].place].kind.l4 + BP_UDP_HDR;
	if (likely(b->same_rule)) {
		bp_transform_layout_write_all(&t->rule[b->sample[0].kind.rule].layout, payload,
			b->n_pairs, &b->results, saturated);
		return;
	}
	for (unsigned i = 0; i < b->n_pairs; i++)
		saturated[i] = (uint8_t)bp_transform_layout_write(
			&t->rule[b->sample[b->pair[i].place].kind.rule].layout, payload[i],
			&b->results, i);
}

/* ---- datagrams ---- */

static inline void tx_frames(struct bp_transform_burst *b, rte_edge_t edge, struct rte_mbuf *m)
{
	b->tx_frames[b->n_tx] = m;
	b->tx_edge[b->n_tx++] = (uint8_t)edge;
}

bool bp_transform_reject_result(struct bp_transform_worker *t, unsigned j)
{
	const struct bp_transform_burst *b = &t->burst;
	const struct bp_transform_worker_rule *rule = &t->rule[b->sample[j].kind.rule];
	struct bp_transform_source_stats *s =
		b->source[j] != UINT32_MAX ? bp_transform_source_stats_of(t, b->source[j]) : NULL;

	if (s != NULL)
		bp_transform_stat_add(rule->drop_overflow ? &s->refused : &s->saturated, 1);
	if (rule->drop_overflow)
		bp_transform_stat_add(&rule->stats->overflow, 1);
	return rule->drop_overflow;
}

static void deliver(struct bp_transform_worker *t, const uint8_t saturated[])
{
	struct bp_transform_burst *b = &t->burst;
	struct bp_worker *w = t->worker;
	struct bp_transform_tally n = {0};
	unsigned rule = b->sample[b->pair[0].place].kind.rule;

	for (unsigned i = 0; i < b->n_pairs; i++) {
		const struct bp_transform_pair *pair = &b->pair[i];
		const struct bp_transform_sample *r = &b->sample[pair->place];
		struct rte_mbuf *m = b->tx_frames[pair->tx_index];

		if (unlikely(r->kind.rule != rule)) {
			bp_transform_settle(t, rule, &n);
			rule = r->kind.rule;
		}
		if (unlikely(saturated[i] != 0)) {
			if (bp_transform_reject_result(t, pair->place)) {
				b->tx_edge[pair->tx_index] = (uint8_t)bp_drop(
					b->tx_frames[pair->tx_index], BP_C_DROP_TRANSFORM_OVERFLOW);
				continue;
			}
			n.saturated++;
		}
		if (pair->flags & BP_TRANSFORM_REFLECT)
			bp_lcl_consume(w, &m, 1);
		n.sent++;
		n.bare += !(pair->flags & BP_TRANSFORM_MATRIX);
		b->tx_edge[pair->tx_index] = bp_transform_edge(w, m, pair->flags, pair->frame);
		bp_deliver(r, pair->frame, pair->row, pair->flags,
			w->onward[m->port] == BP_EDGE_IP4,
			bp_transform_sample_outputs(
				&t->rule[rule].layout, pair->frame + r->kind.l4 + BP_UDP_HDR));
	}
	bp_transform_settle(t, rule, &n);
}

/* Sends all collected frames, in order. */
static void flush(struct bp_transform_worker *t)
{
	struct bp_transform_burst *b = &t->burst;
	uint8_t saturated[BP_TRANSFORM_BURST];

	if (b->n_pairs != 0) {
		move(t);
		write_outputs(t, saturated);
		deliver(t, saturated);
	}
	bp_transform_keep_last(t);
	for (unsigned i = 0; i < b->n_tx; i++)
		bp_edge_batch_add(&t->out, b->tx_edge[i], b->tx_frames[i]);
	b->n_pairs = b->n_tx = 0;
}

/* ---- receivers ---- */

/* Returns a frame for another receiver, or NULL. */
static struct rte_mbuf *copy_of(
	struct bp_transform_worker *t, const struct rte_mbuf *m, unsigned rule)
{
	struct bp_mbuf_stock *s = &t->stock;
	struct rte_mbuf *copy;

	if (unlikely(t->copies == BP_TRANSFORM_COPIES_MOST || m->data_len > s->room ||
		     !bp_mbuf_stock_fill(s, 1))) {
		bp_count(t->worker, BP_C_TRANSFORM_NO_MBUF, 1);
		bp_transform_stat_add(&t->rule[rule].stats->no_mbuf, 1);
		return NULL;
	}
	copy = bp_mbuf_stock_take(s, m->port, m->data_len);
	rte_memcpy(bp_mbuf_stock_data(s, copy), rte_pktmbuf_mtod(m, const void *), m->data_len);
	t->copies++;
	bp_count(t->worker, BP_C_TRANSFORM_COPY, 1);
	return copy;
}

/* Returns the reason why the reading cannot be sent to the receiver; BP_C_COUNT: it can. */
static inline bp_counter_t unfit(
	const struct bp_transform_row *row, unsigned flags, const struct bp_transform_sample *r)
{
	if (flags & BP_TRANSFORM_REFLECT)
		return bp_transform_sample_answerable(r) ? BP_C_COUNT : BP_C_DROP_TRANSFORM_REPLY;
	return (flags & BP_TRANSFORM_ADDRESS) && row->family != r->kind.family
		       ? BP_C_DROP_TRANSFORM_FAMILY
		       : BP_C_COUNT;
}

/* Frames are copied before flush() modifies the frame of the reading itself. */
static void add_receivers(struct bp_transform_worker *t, unsigned j)
{
	struct bp_transform_burst *b = &t->burst;
	const struct bp_transform_sample *r = &b->sample[j];
	struct rte_mbuf *own = b->m[b->at[j]];

	/* one frame is sent to each receiver, and n_pairs is at most n_tx */
	if (unlikely(b->n_tx + b->n_rows[j] > BP_TRANSFORM_BURST))
		flush(t);
	for (unsigned k = 0; k < b->n_rows[j]; k++) {
		const struct bp_transform_row *row = &t->view.row[b->row[j] + k];
		struct bp_transform_pair *pair = &b->pair[b->n_pairs];
		struct rte_mbuf *m = own;
		bp_counter_t why;
		unsigned flags;

		b->matrix[b->n_pairs] = bp_transform_take_matrix(t, row, &flags);
		if (unlikely(k != 0) && (m = copy_of(t, own, r->kind.rule)) == NULL)
			continue;
		if (unlikely((why = unfit(row, flags, r)) != BP_C_COUNT)) {
			tx_frames(b, bp_drop(m, why), m);
			continue;
		}
		*pair = (struct bp_transform_pair){.row = row,
			.frame = rte_pktmbuf_mtod(m, uint8_t *),
			.flags = (uint8_t)flags,
			.place = (uint8_t)j,
			.tx_index = (uint8_t)b->n_tx};
		b->n_pairs++;
		tx_frames(b, BP_EDGE_DROP, m);
	}
}

static void count_readings(struct bp_transform_worker *t)
{
	struct bp_transform_burst *b = &t->burst;
	unsigned all = 0;

	if (likely(b->single_source && b->one_receiver)) {
		bp_transform_count_single_source(t, b->sample[0].kind.rule, b->source[0], b->n);
		return;
	}
	for (unsigned j = 0; j < b->n;) {
		const uint32_t source = b->source[j];
		const unsigned rule = b->sample[j].kind.rule;
		unsigned n = 0;

		for (; j < b->n && b->source[j] == source && b->sample[j].kind.rule == rule; j++)
			n += b->n_rows[j] != 0;
		bp_transform_stat_add(&t->rule[rule].stats->readings, n);
		if (source != UINT32_MAX)
			bp_transform_stat_add(
				&bp_transform_source_stats_of(t, source)->readings, n);
		all += n;
	}
	bp_count(t->worker, BP_C_TRANSFORM_READING, all);
}

/* ---- readings of one template ---- */

/*
 * Each frame of the burst is a reading that matches the template, for one receiver at another
 * address: the results are written in place, and the array of frames is passed on unchanged.
 */

/* The headers for the receivers of a burst of readings that match the template. */
struct template_receivers {
	struct bp_template_receiver to[BP_RX_BURST];
	uint8_t which[BP_RX_BURST]; /* index of each reading */
	bool bare[BP_RX_BURST];
};

/* Reads the matrices and sets the headers. False: a receiver needs the general path. */
static bool find_receivers(struct bp_transform_worker *t, struct template_receivers *h,
	struct bp_transform_tally *tally)
{
	struct bp_transform_burst *b = &t->burst;
	const bool routed = t->worker->onward[b->m[0]->port] == BP_EDGE_IP4;
	unsigned rows = 0, flags;

	if (b->single_source) {
		const struct bp_transform_row *row = &t->view.row[b->row[0]];

		b->matrix[0] = bp_transform_take_matrix(t, row, &flags);
		tally->bare = flags & BP_TRANSFORM_MATRIX ? 0 : b->n;
		for (unsigned j = 1; j < b->n; j++)
			b->matrix[j] = b->matrix[0];
		memset(h->which, 0, b->n);
		memset(h->bare, tally->bare != 0, b->n);
		return bp_template_receiver_of(&t->template, row, flags, routed, &h->to[0]);
	}
	for (unsigned j = 0; j < b->n; j++) {
		const struct bp_transform_row *row = &t->view.row[b->row[j]];

		b->n_pairs = j; /* index of the copy of its matrix */
		b->matrix[j] = bp_transform_take_matrix(t, row, &flags);
		h->bare[j] = !(flags & BP_TRANSFORM_MATRIX);
		tally->bare += h->bare[j];
		if (j == 0 || b->row[j] != b->row[j - 1])
			if (!bp_template_receiver_of(
				    &t->template, row, flags, routed, &h->to[rows++]))
				return false;
		h->which[j] = (uint8_t)(rows - 1);
	}
	return true;
}

static inline void deliver_template(
	const struct bp_transform_worker *t, const struct template_receivers *h, unsigned j)
{
	const struct bp_transform_burst *b = &t->burst;

	bp_template_deliver(&b->sample[j], &h->to[h->which[j]],
		bp_template_outputs(
			&t->template, &t->rule[t->template.kind.rule].layout, b->sample[j].frame));
}

/* Writes the headers of all readings. Returns their bytes. */
static uint32_t deliver_all_templates(
	const struct bp_transform_worker *t, const struct template_receivers *h)
{
	const struct bp_transform_burst *b = &t->burst;
	const struct bp_transform_layout *l = &t->rule[t->template.kind.rule].layout;
	const struct bp_template u = t->template;
	const struct bp_template_receiver to = h->to[0];
	struct rte_mbuf *const *m = b->m;
	const unsigned n = b->n;
	uint32_t bytes = 0;

	if (likely(b->single_source)) {
		for (unsigned j = 0; j < n; j++) {
			const struct bp_transform_sample *r = &b->sample[j];

			bp_template_deliver(r, &to, bp_template_outputs(&u, l, r->frame));
			bytes += m[j]->pkt_len;
		}
		return bytes;
	}
	for (unsigned j = 0; j < n; j++) {
		deliver_template(t, h, j);
		bytes += m[j]->pkt_len;
	}
	return bytes;
}

/* For bursts with saturated results. */
static __rte_noinline void send_each_template(struct bp_transform_worker *t,
	const struct template_receivers *h, const uint8_t saturated[], rte_edge_t edge,
	struct bp_transform_tally *tally)
{
	struct bp_transform_burst *b = &t->burst;

	for (unsigned j = 0; j < b->n; j++) {
		if (saturated[j] != 0 && bp_transform_reject_result(t, j)) {
			bp_edge_batch_add(
				&t->out, bp_drop(b->m[j], BP_C_DROP_TRANSFORM_OVERFLOW), b->m[j]);
			tally->sent--;
			tally->bare -= h->bare[j];
			continue;
		}
		tally->saturated += saturated[j] != 0;
		deliver_template(t, h, j);
		bp_edge_batch_add(&t->out, edge, b->m[j]);
	}
}

/* False: a receiver needs the general path, and no state was changed. */
static bool send_same_template(struct bp_transform_worker *t)
{
	struct bp_transform_burst *b = &t->burst;
	const struct bp_transform_worker_rule *rule = &t->rule[t->template.kind.rule];
	const rte_edge_t edge = bp_transform_edge(t->worker, b->m[0], 0, NULL);
	struct bp_transform_tally tally = {.sent = b->n};
	uint8_t saturated[BP_RX_BURST];
	struct template_receivers h;
	uint32_t bytes = 0;
	bool template = find_receivers(t, &h, &tally);

	if (template)
		rule->ops->affine(&b->points, b->matrix, b->n);
	bp_transform_keep_last(t);
	b->n_pairs = 0;
	if (!template)
		return false;
	if (unlikely(bp_transform_layout_write_all(
			     &rule->layout, b->payload, b->n, &b->points, saturated) != 0)) {
		send_each_template(t, &h, saturated, edge, &tally);
	} else {
		bytes = deliver_all_templates(t, &h);
		bp_edge_batch_add_node_frames(&t->out, edge, b->m, b->n, bytes);
	}
	bp_transform_settle(t, t->template.kind.rule, &tally);
	return true;
}

/* ---- burst ---- */

void bp_transform_send(struct bp_transform_worker *t, unsigned n)
{
	struct bp_transform_burst *b = &t->burst;
	unsigned j = 0;

	b->n_pairs = b->n_tx = 0;
	b->last = NULL;
	if (b->n != 0) {
		cartesian_output(t);
		count_readings(t);
	}
	if (likely(b->n == n && b->n_same_template == n && b->one_receiver && n != 0) &&
		send_same_template(t))
		return;
	for (unsigned i = 0; i < n; i++) {
		if (j < b->n && b->at[j] == i && b->n_rows[j++] != 0)
			add_receivers(t, j - 1);
		else
			tx_frames(b, b->edge[i], b->m[i]);
	}
	flush(t);
	bp_mbuf_stock_return(&t->stock);
}
