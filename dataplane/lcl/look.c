/* SPDX-License-Identifier: BSD-3-Clause */
#include <rte_cycles.h>

#include "dataplane/lcl/lcl.h"
#include "dataplane/lcl/measure.h"
#include "dataplane/ports/port_send.h"

/* So many are taken out and sent together. */
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

/* What is left of d, as far as a label can say it. */
static inline int32_t left(const struct bp_lcl_departure *d)
{
	const int64_t v = (int64_t)d->d - (int64_t)d->waited_ns;

	return (int32_t)RTE_MAX(v, (int64_t)-BP_LCL_DELAY_MAX_NS);
}

/* What leaves: how many octets and time-sensitive frames it is, and how many outside their bound.
 */
struct leaving {
	uint64_t octets, best_effort_octets;
	unsigned sensitive, outside;
};

static struct leaving prepare(
	struct bp_lcl_out *o, const struct bp_lcl_departure *d, struct rte_mbuf **m, unsigned n)
{
	struct leaving v = {0};

	for (unsigned i = 0; i < n; i++) {
		struct rte_mbuf *frame = d[i].frame;

		m[i] = frame;
		v.octets += d[i].octets;
		if (d[i].n == 0) {
			v.best_effort_octets += d[i].octets;
			continue;
		}
		if (d[i].n > 1)
			bp_lcl_set_delay(rte_pktmbuf_mtod(frame, uint8_t *), left(&d[i]));
		v.sensitive++;
		v.outside += bp_lcl_measure_departure(o, &o->row[frame->hash.fdir.lo], &d[i]);
	}
	return v;
}

/* Those of the first `sent` that are best effort. */
static void count_sent(struct bp_lcl_out *o, const struct bp_lcl_departure *d, unsigned sent,
	unsigned n, struct leaving *v)
{
	for (unsigned i = sent; i < n; i++) {
		if (d[i].n == 0)
			v->best_effort_octets -= d[i].octets;
		else
			v->sensitive--;
	}
	bp_stat_add(&o->stats->sent, v->sensitive);
	bp_stat_add(&o->stats->best_effort, sent - v->sensitive);
	bp_stat_add(&o->stats->best_effort_octets, v->best_effort_octets);
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

	/* their first lines were asked for by take(); the driver frees by what is in the second */
	for (unsigned i = 0; i < n; i++) {
		rte_prefetch0(rte_pktmbuf_mtod((const struct rte_mbuf *)d[i].frame, void *));
		rte_mbuf_prefetch_part2(d[i].frame);
	}
	v = prepare(o, d, m, n);
	count_outside(o, &v);
	sent = bp_port_send(w, o->port, w->tx_queue[o->port], m, (uint16_t)n, v.octets);
	count_sent(o, d, sent, n, &v);
}

/* Takes out and sends what is due, or everything; of best effort, which comes last, no more than
 * BURST frames: the worker has more to do than to drain a queue. */
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

unsigned bp_lcl_tick(struct bp_lcl *l)
{
	const uint64_t before = l->looked_ns;
	unsigned sent = 0;

	read_time(l);
	l->looked_ns = l->now_ns;
	for (unsigned i = 0; i < l->n_own; i++) {
		struct bp_lcl_out *o = l->own[i];

		bp_lcl_measure_time(o);
		/* under the captures' time there is nobody who could be late */
		if (likely(l->clock && before != 0))
			bp_lcl_measure_gap(o, l->looked_ns - before);
		sent += serve(o);
		if (o->handover)
			bp_lcl_take_over(o);
		bp_lcl_measure_scheduler(o);
	}
	return sent;
}
