/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/lcl/port.h"

#include "apps/sim/lcl/events.h"
#include "apps/sim/lcl/source.h"

#define BURST 32u
#define GAP 12u /* link bytes of a frame after its last bit */

int lsim_port_init(struct lsim_port *p, const struct lsim_port_options *o)
{
	*p = (struct lsim_port){.o = *o};
	lsim_list_init(&p->waiting[0]);
	lsim_list_init(&p->waiting[1]);
	lsim_list_init(&p->flying);
	if (o->scheduling != LSIM_LCL)
		return 0;
	p->lcl = bp_lcl_scheduler_create(&o->lcl);
	return p->lcl != NULL ? 0 : -1;
}

void lsim_port_free(struct lsim_port *p)
{
	bp_lcl_scheduler_free(p->lcl);
	p->lcl = NULL;
}

static uint64_t clock_ns(const struct lsim_port *p, uint64_t ps)
{
	return ps / LSIM_PS + p->o.clock_ns;
}

static enum bp_lcl_put put_fifo(struct lsim_port *p, struct lsim_frame *f)
{
	const struct bp_lcl_scheduler_options *o = &p->o.lcl;
	const bool fifo = p->o.scheduling == LSIM_FIFO, low = f->n == 0 && !fifo;
	uint32_t places = 0;

	if (fifo || !low)
		places += o->queues * o->queue_frames;
	if (fifo || low)
		places += o->best_effort_frames;
	if (p->waiting[low].count >= places)
		return BP_LCL_PUT_FULL;
	lsim_list_put(&p->waiting[low], f);
	return BP_LCL_PUT_OK;
}

enum bp_lcl_put lsim_port_put(struct lsim_port *p, struct lsim_frame *f, uint64_t *last_slot)
{
	const struct bp_lcl_arrival a = {.frame = f,
		.in_ns = f->in_ns = clock_ns(p, f->in_ps),
		.d = f->d,
		.bytes = f->bytes,
		.n = f->n,
		.last_slot = last_slot};

	if (p->lcl == NULL)
		return put_fifo(p, f);
	if (f->n != 0)
		return bp_lcl_put(p->lcl, a.in_ns, &a);
	return bp_lcl_put_best_effort(p->lcl, a.in_ns, f, f->bytes) ? BP_LCL_PUT_OK
								    : BP_LCL_PUT_FULL;
}

/* Sends a frame as soon as the link is free. Returns the waiting time of the frame. */
static uint64_t transmit(struct lsim_port *p, struct lsim_frame *f, uint64_t now_ps)
{
	const uint64_t start = now_ps > p->link_free_ps ? now_ps : p->link_free_ps;
	const uint64_t wait = start - f->in_ps;

	if (start - now_ps > p->backlog_ps)
		p->backlog_ps = start - now_ps;
	p->link_free_ps = start + lsim_tx_time_ps(f->bytes, p->o.lcl.rate_bps);
	f->in_ps = start + lsim_tx_time_ps(f->bytes - GAP, p->o.lcl.rate_bps) + p->o.propagation_ps;
	f->delay_ps += wait;
	return wait;
}

static void leave(struct lsim_port *p, struct lsim_departure *d, uint64_t now_ps,
	void (*left)(void *arg, const struct lsim_departure *d), void *arg)
{
	struct lsim_frame *f = d->frame;

	d->d = f->d;
	d->wait_ps = transmit(p, f, now_ps);
	if (p->lcl == NULL) {
		d->waited_ns = d->wait_ps / LSIM_PS;
		d->accounts = true;
	} else {
		d->accounts = d->waited_ns == (f->n != 0 ? clock_ns(p, now_ps) - f->in_ns : 0);
	}
	f->waited_ns += d->waited_ns;
	f->hop++;
	if (f->n != 0) { /* as the data plane does */
		f->d -= (int32_t)d->waited_ns;
		f->n--;
	}
	lsim_list_put(&p->flying, f);
	left(arg, d);
}

static unsigned take_fifo(struct lsim_port *p, uint64_t now_ps,
	void (*left)(void *arg, const struct lsim_departure *d), void *arg)
{
	struct lsim_departure d = {.put = BP_LCL_PUT_OK};

	if (now_ps < p->link_free_ps)
		return 0;
	d.frame = lsim_list_take(&p->waiting[p->waiting[0].first == NULL]);
	if (d.frame == NULL)
		return 0;
	leave(p, &d, now_ps, left, arg);
	return 1;
}

unsigned lsim_port_take(struct lsim_port *p, uint64_t now_ps,
	void (*left)(void *arg, const struct lsim_departure *d), void *arg)
{
	struct bp_lcl_departure out[BURST];
	unsigned n, sum = 0;

	if (p->lcl == NULL)
		return take_fifo(p, now_ps, left, arg);
	do {
		n = bp_lcl_take(p->lcl, clock_ns(p, now_ps), out, BURST);
		for (unsigned i = 0; i < n; i++) {
			struct lsim_departure d = {.frame = out[i].frame,
				.waited_ns = out[i].waited_ns,
				.put = out[i].put};

			leave(p, &d, now_ps, left, arg);
		}
		sum += n;
	} while (n == BURST);
	return sum;
}

uint64_t lsim_port_next(const struct lsim_port *p, uint64_t now_ps)
{
	uint64_t next;

	if (p->lcl == NULL) {
		if (p->waiting[0].count + p->waiting[1].count == 0)
			return LSIM_NEVER;
		return now_ps > p->link_free_ps ? now_ps : p->link_free_ps;
	}
	next = bp_lcl_next(p->lcl, clock_ns(p, now_ps));
	if (next == UINT64_MAX)
		return LSIM_NEVER;
	next = (next - p->o.clock_ns) * LSIM_PS;
	return next > now_ps ? next : now_ps;
}

uint32_t lsim_port_queued(const struct lsim_port *p)
{
	if (p->lcl == NULL)
		return p->waiting[0].count + p->waiting[1].count;
	return bp_lcl_measured(p->lcl)->held + bp_lcl_measured(p->lcl)->best_effort;
}
