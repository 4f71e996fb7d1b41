/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The output nodes. Node lcl replaces port_tx for an LCL port: it puts frames into the scheduler of
 * the port or, if another worker owns the port, into the ring to that worker. bp_lcl_tick() sends
 * the frames that are due. Node lcl_plain replaces port_tx for a port without LCL if other ports
 * have it: it sends frames, and counts the time-sensitive frames that lose their label this way.
 * Each port has its own clone.
 */
#include <rte_cycles.h>
#include <rte_ether.h>

#include "biplane/counters/lcl.h"
#include "dataplane/lcl/lcl.h"
#include "dataplane/lcl/measure.h"
#include "dataplane/nodes/nodes.h"
#include "dataplane/ports/port_send.h"

/* ---- into the scheduler ---- */

/* Bytes of a frame in addition to the MTU: Ethernet header and two VLAN tags at most. */
#define FRAME_HEADERS (RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN)

/*
 * Finds the label that a frame arrived with, or the label of its entry of lcl.flows. False: best
 * effort.
 */
static inline bool find_label(
	const struct bp_lcl_out *o, struct rte_mbuf *m, struct bp_lcl_mark *label)
{
	const struct bp_lcl *l = o->lcl;
	const struct bp_lcl_flow *f;
	int i;

	if (bp_lcl_is_marked(&l->field, m)) {
		*label = *bp_lcl_mark_of(&l->field, m);
		m->ol_flags &= ~l->field.flag; /* the next user of the mbuf must not see the flag */
		return true;
	}
	if (!o->matcher)
		return false;
	i = bp_matcher_find(o->matcher, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len,
		bp_router_port(&l->worker->router, m->port));
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

	return RTE_MIN(most, BP_LCL_BYTES_MAX);
}

/* The reason why a label cannot be inserted into a frame. */
static bp_counter_t drop_reason(const struct bp_lcl_out *o, const struct rte_mbuf *m)
{
	if (m->pkt_len + BP_LCL_LABEL > bp_lcl_frame_most(o))
		return BP_C_LCL_UNLABELED_MTU;
	if (m->data_len < BP_LCL_AT || rte_pktmbuf_headroom(m) < BP_LCL_LABEL)
		return BP_C_LCL_UNLABELED_HEADROOM;
	return BP_C_COUNT;
}

/*
 * Returns a frame that may be modified and has headroom for a label. NULL: the frame is sent
 * without a label, and is counted.
 */
static inline struct rte_mbuf *make_room(const struct bp_lcl_out *o, struct rte_mbuf *m)
{
	struct bp_worker *w = o->lcl->worker;
	const bp_counter_t why = drop_reason(o, m);

	if (unlikely(why != BP_C_COUNT)) {
		bp_count(w, why, 1);
		return NULL;
	}
	m = bp_lcl_writable(m, w->pool);
	if (unlikely(!m))
		bp_count(w, BP_C_LCL_UNLABELED_NO_MBUF, 1);
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
		bp_count(w, BP_C_LCL_BEYOND_HORIZON, 1);
		bp_stat_add(&o->stats->early, 1);
		bp_stat_add(&r->stats->early, 1);
		break;
	case BP_LCL_PUT_MOVED:
		bp_count(w, BP_C_LCL_DEFERRED, 1);
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

/* The sequence number that a frame arrived with, or the next one of its flow. */
static inline uint32_t sequence_of(
	struct bp_lcl_out *o, struct bp_lcl_row *r, const struct bp_lcl_mark *label)
{
	if (!label->fresh) {
		if (likely(r != o->row)) /* not for the row that several flows share */
			bp_lcl_measure_sequence(r, label->sequence);
		return label->sequence;
	}
	bp_count(o->lcl->worker, BP_C_LCL_ADDED, 1);
	bp_stat_add(&r->stats->labelled, 1);
	return o->followed[label->flow].sequence++;
}

/* Writes the label of an output frame. Field d is written at departure, when it is known. */
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
		.bytes = fit->pkt_len + (label.n > 1 ? BP_LCL_LABEL : 0),
		.n = label.n,
		.last_slot = &o->followed[label.flow].last_slot};
	put = bp_lcl_put(o->scheduler, o->lcl->now_ns, &a);
	if (unlikely(put != BP_LCL_PUT_OK))
		bp_lcl_count_put(o, r, put);
	if (likely(put != BP_LCL_PUT_FULL))
		finish(o, r, fit, &label, sequence);
	else
		bp_port_drop(o->lcl->worker, o->port, BP_C_DROP_LCL_SLOT_QUEUES_FULL, &fit, 1);
}

void bp_lcl_put_frames(struct bp_lcl_out *o, struct rte_mbuf *const *m, unsigned n, uint64_t in_ns)
{
	in_ns = RTE_MIN(in_ns, o->lcl->now_ns);
	for (unsigned i = 0; i < n; i++)
		put_one(o, m[i], in_ns);
}

/* ---- between workers ---- */

/* Stores the receive time of a frame while the frame is in the ring to the owner. */
static inline void store_rx_time(struct rte_mbuf *m, uint64_t in_ns)
{
	_Static_assert(sizeof(m->hash) >= sizeof(in_ns),
		"the hash is free while the frame is in the ring");
	memcpy(&m->hash, &in_ns, sizeof(in_ns));
}

static inline uint64_t load_rx_time(const struct rte_mbuf *m)
{
	uint64_t in_ns;

	memcpy(&in_ns, &m->hash, sizeof(in_ns));
	return in_ns;
}

/* The owner never sleeps: it needs no wakeup. */
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
		store_rx_time(m[i], in_ns);
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
		put_one(o, m[i], RTE_MIN(load_rx_time(m[i]), now));
	bp_count(o->lcl->worker, BP_C_LCL_HANDED_OVER, n);
	bp_stat_add(&o->stats->handed_over, n);
}

/* ---- out of the scheduler ---- */

/* Number of frames that are dequeued and sent together. */
#define BURST 64u

static void read_time(struct bp_lcl *l)
{
	uint64_t now;

	if (unlikely(!l->clock)) {
		now = l->worker->mono_ns;
		l->real_ns = l->worker->now_ns;
	} else {
		bp_clock_read(l->clock, rte_rdtsc(), &l->real_ns, &now);
	}
	l->now_ns = RTE_MAX(l->now_ns, now);
}

/* The remaining delay d, within the range of a label. */
static inline int32_t left(const struct bp_lcl_departure *d)
{
	const int64_t v = (int64_t)d->d - (int64_t)d->waited_ns;

	return (int32_t)RTE_MAX(v, (int64_t)-BP_LCL_DELAY_MAX_NS);
}

/* Sums of the frames that leave: bytes, time-sensitive frames, and frames outside their bound. */
struct leaving {
	uint64_t bytes, best_effort_bytes;
	unsigned sensitive, outside;
};

static struct leaving prepare(
	struct bp_lcl_out *o, const struct bp_lcl_departure *d, struct rte_mbuf **m, unsigned n)
{
	struct leaving v = {0};

	for (unsigned i = 0; i < n; i++) {
		struct rte_mbuf *frame = d[i].frame;

		m[i] = frame;
		v.bytes += d[i].bytes;
		if (d[i].n == 0) {
			v.best_effort_bytes += d[i].bytes;
			continue;
		}
		if (d[i].n > 1)
			bp_lcl_set_delay(rte_pktmbuf_mtod(frame, uint8_t *), left(&d[i]));
		v.sensitive++;
		v.outside += bp_lcl_measure_departure(o, &o->row[frame->hash.fdir.lo], &d[i]);
	}
	return v;
}

/* Counts the best-effort frames among the first `sent`. */
static void count_sent(struct bp_lcl_out *o, const struct bp_lcl_departure *d, unsigned sent,
	unsigned n, struct leaving *v)
{
	for (unsigned i = sent; i < n; i++) {
		if (d[i].n == 0)
			v->best_effort_bytes -= d[i].bytes;
		else
			v->sensitive--;
	}
	bp_stat_add(&o->stats->sent, v->sensitive);
	bp_stat_add(&o->stats->best_effort, sent - v->sensitive);
	bp_stat_add(&o->stats->best_effort_bytes, v->best_effort_bytes);
}

static void count_outside(struct bp_lcl_out *o, const struct leaving *v)
{
	if (v->sensitive == 0)
		return;
	bp_stat_add(&o->second.row->frames, v->sensitive);
	bp_lcl_measure_counted(o);
	if (likely(v->outside == 0))
		return;
	bp_stat_add(&o->stats->outside, v->outside);
	bp_stat_add(&o->second.row->outside, v->outside);
	bp_lcl_measure_broken(o);
}

static void depart(struct bp_lcl_out *o, const struct bp_lcl_departure *d, unsigned n)
{
	struct bp_worker *w = o->lcl->worker;
	struct rte_mbuf *m[BURST];
	struct leaving v;
	unsigned sent;

	/*
	 * take() prefetched the first cache line of each mbuf; the driver reads the second to free
	 * it
	 */
	for (unsigned i = 0; i < n; i++) {
		rte_prefetch0(rte_pktmbuf_mtod((const struct rte_mbuf *)d[i].frame, void *));
		rte_mbuf_prefetch_part2(d[i].frame);
	}
	v = prepare(o, d, m, n);
	count_outside(o, &v);
	sent = bp_port_send(w, o->port, w->tx_queue[o->port], m, (uint16_t)n, v.bytes);
	count_sent(o, d, sent, n, &v);
}

/*
 * Dequeues and sends the frames that are due, or all frames. Best effort is last and limited to
 * BURST frames, since the worker has other work than to drain a queue.
 */
static unsigned serve(struct bp_lcl_out *o)
{
	struct bp_lcl_departure d[BURST];
	unsigned n, all = 0;

	for (;;) {
		n = o->lcl->draining ? bp_lcl_flush(o->scheduler, d, BURST)
				     : bp_lcl_take(o->scheduler, o->lcl->now_ns, d, BURST);
		if (n != 0)
			depart(o, d, n);
		all += n;
		if (n < BURST || (d[n - 1].n == 0 && !o->lcl->draining))
			return all;
		read_time(o->lcl);
	}
}

unsigned bp_lcl_tick(void *lcl)
{
	struct bp_lcl *l = lcl;
	const uint64_t before = l->polled_ns;
	unsigned sent = 0;

	read_time(l);
	l->polled_ns = l->now_ns;
	for (unsigned i = 0; i < l->n_own; i++) {
		struct bp_lcl_out *o = l->own[i];

		bp_lcl_measure_time(o);
		/* with the time of a capture there is no real lateness to measure */
		if (likely(l->clock && before != 0))
			bp_lcl_measure_gap(o, l->polled_ns - before);
		sent += serve(o);
		if (o->handover)
			bp_lcl_take_over(o);
		bp_lcl_measure_scheduler(o);
	}
	return sent;
}

/* ---- nodes ---- */

static uint16_t lcl_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_node_ctx *ctx = bp_node_ctx(node);
	struct bp_worker *w = ctx->worker;
	struct bp_lcl_out *o = bp_lcl_of(w)->of[ctx->port];
	struct rte_mbuf *const *m = (struct rte_mbuf *const *)objs;

	RTE_SET_USED(graph);
	/* summed at departure */
	w->tx_precounted[ctx->port].frames = 0;
	w->tx_precounted[ctx->port].bytes = 0;
	if (unlikely(!o->scheduler)) {
		bp_lcl_hand_over(o, m, nb_objs, w->mono_ns);
		return nb_objs;
	}
	/*
	 * The delay of a frame starts with the walk that polled it: its time in the NIC queue is
	 * not known here, and a frame that arrived between the start of the walk and the poll
	 * counts as that much older. The frame is enqueued at the time of the scheduler poll before
	 * this node, at which all due frames were dequeued.
	 */
	bp_lcl_put_frames(o, m, nb_objs, w->mono_ns);
	return nb_objs;
}

struct rte_node_register bp_node_lcl = {
	.name = "bp_lcl",
	.process = lcl_process,
	.nb_edges = 0,
};
BP_NODE_REGISTER(bp_node_lcl, BP_NEXT_NONE)

static uint16_t lcl_plain_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_node_ctx *ctx = bp_node_ctx(node);
	struct bp_worker *w = ctx->worker;
	const uint64_t flag = bp_lcl_of(w)->field.flag;
	struct rte_mbuf **m = (struct rte_mbuf **)objs;
	uint64_t bytes, lost = 0;

	RTE_SET_USED(graph);
	for (uint16_t i = 0; i < nb_objs; i++) {
		if (likely((m[i]->ol_flags & flag) == 0))
			continue;
		m[i]->ol_flags &= ~flag;
		lost++;
	}
	bp_count(w, BP_C_LCL_LOST_LABEL, lost);
	bytes = bp_port_bytes(w, ctx->port, m, nb_objs);
	bp_port_send(w, ctx->port, ctx->queue, m, nb_objs, bytes);
	return nb_objs;
}

struct rte_node_register bp_node_lcl_plain = {
	.name = "bp_lcl_plain",
	.process = lcl_plain_process,
	.nb_edges = 0,
};
BP_NODE_REGISTER(bp_node_lcl_plain, BP_NEXT_NONE)
