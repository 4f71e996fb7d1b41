/* SPDX-License-Identifier: BSD-3-Clause */
#include <rte_ether.h>

#include "dataplane/lcl/lcl.h"
#include "dataplane/lcl/measure.h"
#include "dataplane/ports/port_send.h"

/* Beside the MTU: a frame of it has these, and two VLAN tags at most. */
#define FRAME_HEADERS (RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN)

/* The label of a frame that came with one, or is of an entry of lcl.flows; false: best effort. */
static inline bool find_label(
	const struct bp_lcl_out *o, struct rte_mbuf *m, struct bp_lcl_mark *label)
{
	const struct bp_lcl *l = o->lcl;
	const struct bp_lcl_flow *f;
	int i;

	if (bp_lcl_is_marked(&l->field, m)) {
		*label = *bp_lcl_mark_of(&l->field, m);
		m->ol_flags &= ~l->field.flag; /* who gets the mbuf next need not know */
		return true;
	}
	if (!o->matcher)
		return false;
	i = bp_lcl_match_frame(
		o->matcher, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, m->port);
	if (i < 0)
		return false;
	f = &l->rules.flow[i];
	*label = (struct bp_lcl_mark){
		.d = (int32_t)f->budget_ns, .flow = f->id, .n = f->hops, .fresh = 1};
	return true;
}

uint32_t bp_lcl_frame_most(const struct bp_lcl_out *o)
{
	const uint32_t most =
		__atomic_load_n(&o->lcl->worker->mtu[o->port], __ATOMIC_RELAXED) + FRAME_HEADERS;

	return RTE_MIN(most, BP_LCL_OCTETS_MAX);
}

/* Why a frame can't have a label in it. */
static enum bp_counter unfit(const struct bp_lcl_out *o, const struct rte_mbuf *m)
{
	if (m->pkt_len + BP_LCL_LABEL > bp_lcl_frame_most(o))
		return BP_C_LCL_UNLABELLED_LENGTH;
	if (m->data_len < BP_LCL_AT || rte_pktmbuf_headroom(m) < BP_LCL_LABEL)
		return BP_C_LCL_UNLABELLED_HEADROOM;
	return BP_C_COUNT;
}

/* A frame that can be changed and has room for a label. NULL: it goes on without, and was counted
 * so. */
static inline struct rte_mbuf *make_room(const struct bp_lcl_out *o, struct rte_mbuf *m)
{
	struct bp_worker *w = o->lcl->worker;
	const enum bp_counter why = unfit(o, m);

	if (unlikely(why != BP_C_COUNT)) {
		bp_count(w, why, 1);
		return NULL;
	}
	m = bp_lcl_writable(m, w->pool);
	if (unlikely(!m))
		bp_count(w, BP_C_LCL_UNLABELLED_NO_MBUF, 1);
	return m;
}

static void put_best_effort(struct bp_lcl_out *o, struct rte_mbuf *m)
{
	if (likely(bp_lcl_put_best_effort(o->scheduler, o->lcl->now_ns, m, m->pkt_len)))
		return;
	bp_stat_add(&o->stats->best_effort_full, 1);
	bp_port_drop(o->lcl->worker, o->port, BP_C_DROP_LCL_BEST_EFFORT_FULL, &m, 1);
}

void bp_lcl_count_put(struct bp_lcl_out *o, struct bp_lcl_row *r, enum bp_lcl_put put)
{
	struct bp_worker *w = o->lcl->worker;

	switch (put) {
	case BP_LCL_PUT_LATE:
		bp_count(w, BP_C_LCL_LATE, 1);
		bp_stat_add(&o->stats->late, 1);
		bp_stat_add(&r->stats->late, 1);
		break;
	case BP_LCL_PUT_EARLY:
		bp_count(w, BP_C_LCL_EARLY, 1);
		bp_stat_add(&o->stats->early, 1);
		bp_stat_add(&r->stats->early, 1);
		break;
	case BP_LCL_PUT_MOVED:
		bp_count(w, BP_C_LCL_MOVED, 1);
		bp_stat_add(&o->stats->moved, 1);
		bp_stat_add(&r->stats->moved, 1);
		break;
	case BP_LCL_PUT_FULL:
		bp_stat_add(&o->stats->full, 1);
		bp_stat_add(&r->stats->full, 1);
		break;
	case BP_LCL_PUT_OK:
		break;
	}
}

/* The number that a frame has in its flow, as it came or as it gets it. */
static inline uint32_t sequence_of(
	struct bp_lcl_out *o, struct bp_lcl_row *r, const struct bp_lcl_mark *label)
{
	if (!label->fresh) {
		if (likely(r != o->row)) /* not those of many flows together */
			bp_lcl_measure_sequence(r, label->sequence);
		return label->sequence;
	}
	bp_count(o->lcl->worker, BP_C_LCL_ADDED, 1);
	bp_stat_add(&r->stats->labelled, 1);
	return o->followed[label->flow].sequence++;
}

/* Writes the label that it leaves with; what d will be is known when it does. */
static inline void finish(struct bp_lcl_out *o, struct bp_lcl_row *r, struct rte_mbuf *m,
	const struct bp_lcl_mark *label, uint32_t sequence)
{
	const bool last = label->n == 1;

	m->hash.fdir.lo = (uint32_t)(r - o->row);
	if (last)
		bp_count(o->lcl->worker, BP_C_LCL_REMOVED, !label->fresh);
	else
		bp_lcl_insert(m, o->lcl->ethertype,
			&(struct bp_lcl_label){.d = label->d,
				.sequence = sequence,
				.flow = label->flow,
				.n = (uint8_t)(label->n - 1)});
}

static inline void put_one(struct bp_lcl_out *o, struct rte_mbuf *m, uint64_t in_ns)
{
	struct bp_lcl_mark label;
	struct rte_mbuf *fit = m;
	struct bp_lcl_arrival a;
	struct bp_lcl_row *r;
	enum bp_lcl_put put;
	uint32_t sequence;

	if (!find_label(o, m, &label)) {
		put_best_effort(o, m);
		return;
	}
	if (label.n > 1)
		fit = make_room(o, m);
	if (unlikely(!fit)) {
		put_best_effort(o, m);
		return;
	}
	r = bp_lcl_row_of(o, label.flow);
	sequence = sequence_of(o, r, &label);
	bp_lcl_measure_last(r, label.n == 1);
	a = (struct bp_lcl_arrival){.frame = fit,
		.in_ns = in_ns,
		.d = label.d,
		.octets = fit->pkt_len + (label.n > 1 ? BP_LCL_LABEL : 0),
		.n = label.n,
		.last_slot = &o->followed[label.flow].last_slot};
	put = bp_lcl_put(o->scheduler, o->lcl->now_ns, &a);
	if (unlikely(put != BP_LCL_PUT_OK))
		bp_lcl_count_put(o, r, put);
	if (likely(put != BP_LCL_PUT_FULL))
		finish(o, r, fit, &label, sequence);
	else
		bp_port_drop(o->lcl->worker, o->port, BP_C_DROP_LCL_FULL, &fit, 1);
}

void bp_lcl_put_frames(struct bp_lcl_out *o, struct rte_mbuf *const *m, unsigned n, uint64_t in_ns)
{
	in_ns = RTE_MIN(in_ns, o->lcl->now_ns);
	for (unsigned i = 0; i < n; i++)
		put_one(o, m[i], in_ns);
}

/* ---- between workers ---- */

/* When a frame came in, while it is on its way to the owner. */
static inline void note_time(struct rte_mbuf *m, uint64_t in_ns)
{
	_Static_assert(sizeof(m->hash) >= sizeof(in_ns), "nobody else needs it there");
	memcpy(&m->hash, &in_ns, sizeof(in_ns));
}

static inline uint64_t noted_time(const struct rte_mbuf *m)
{
	uint64_t in_ns;

	memcpy(&in_ns, &m->hash, sizeof(in_ns));
	return in_ns;
}

void bp_lcl_hand_over(struct bp_lcl_out *o, struct rte_mbuf *const *m, unsigned n, uint64_t in_ns)
{
	const struct bp_lcl_field *field = &o->lcl->field;
	unsigned taken;

	for (unsigned i = 0; i < n; i++) {
		struct bp_lcl_mark label;

		if (!bp_lcl_is_marked(field, m[i]) && find_label(o, m[i], &label)) {
			*bp_lcl_mark_of(field, m[i]) = label;
			m[i]->ol_flags |= field->flag;
		}
		note_time(m[i], in_ns);
	}
	taken = rte_ring_enqueue_burst(o->handover->ring, (void *const *)m, n, NULL);
	if (likely(taken == n))
		return;
	atomic_fetch_add_explicit(&o->handover->full, n - taken, memory_order_relaxed);
	bp_port_drop(o->lcl->worker, o->port, BP_C_DROP_LCL_HANDOVER_FULL,
		(struct rte_mbuf **)(uintptr_t)(m + taken), (uint16_t)(n - taken));
}

void bp_lcl_take_over(struct bp_lcl_out *o)
{
	struct rte_mbuf *m[BP_RX_BURST];
	const uint64_t now = o->lcl->now_ns;
	unsigned n;

	n = rte_ring_sc_dequeue_burst(o->handover->ring, (void **)m, BP_RX_BURST, NULL);
	if (n == 0)
		return;
	for (unsigned i = 0; i < n; i++)
		put_one(o, m[i], RTE_MIN(noted_time(m[i]), now));
	bp_count(o->lcl->worker, BP_C_LCL_HANDED_OVER, n);
	bp_stat_add(&o->stats->handed_over, n);
}
