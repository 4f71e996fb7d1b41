/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/lcl/lcl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include "biplane/counters/general.h"
#include "config/lcl/settings.h"
#include "dataplane/lcl/handover.h"
#include "dataplane/lcl/measure.h"
#include "dataplane/nodes/nodes.h"
#include "shm/words.h"

int bp_lcl_field_get(struct bp_lcl_field *f)
{
	static const struct rte_mbuf_dynfield field = {.name = "biplane_lcl_label",
		.size = sizeof(struct bp_lcl_mark),
		.align = __alignof__(struct bp_lcl_mark)};
	static const struct rte_mbuf_dynflag flag = {.name = "biplane_lcl_labelled"};
	int bit;

	f->at = rte_mbuf_dynfield_register(&field);
	bit = rte_mbuf_dynflag_register(&flag);
	if (f->at < 0 || bit < 0)
		return -1;
	f->flag = 1ull << bit;
	return 0;
}

uint64_t bp_lcl_max_queued(const struct bp_config *c)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < bp_config_lcl(c)->n_ports; i++) {
		const struct bp_lcl_port *p = &bp_config_lcl(c)->port[i];

		most += (uint64_t)p->queues * p->queue_frames + p->best_effort + p->handover;
	}
	return most;
}

/* ---- rules ---- */

/*
 * Shared memory may be damaged, or written by a control plane that has another set of LCL ports. No
 * impossible value may reach a scheduler.
 */
static bool is_consistent(const struct bp_lcl *l, const struct bp_lcl_rules *r)
{
	if (r->n_flows > BP_LCL_FLOWS_MAX)
		return false;
	for (unsigned i = 0; i < r->n_flows; i++)
		if (r->flow[i].hops == 0 || r->flow[i].hops > BP_LCL_HOPS_MAX ||
			r->flow[i].budget_ns > BP_LCL_DELAY_MAX_NS || r->flow[i].out >= l->n_out ||
			r->flow[i].match.port >= BP_MAX_PORTS)
			return false;
	return true;
}

static bool any_egresses_on(const struct bp_lcl_rules *r, unsigned out)
{
	for (unsigned i = 0; i < r->n_flows; i++)
		if (r->flow[i].out == out)
			return true;
	return false;
}

/* Builds the tables that look l->next up, one for each port that has entries. False: no memory. */
static bool make_matchers(struct bp_lcl *l, struct bp_matcher *matcher[BP_MAX_PORTS])
{
	for (unsigned i = 0; i < l->n_out; i++) {
		if (!any_egresses_on(&l->next, i))
			continue;
		matcher[i] = bp_lcl_matcher_create(&l->next, (uint8_t)i);
		if (matcher[i])
			continue;
		while (i-- > 0)
			bp_matcher_free(matcher[i]);
		return false;
	}
	return true;
}

/* Activates l->next. False: no memory, and the former rules remain active. */
static bool set_rules(struct bp_lcl *l)
{
	struct bp_matcher *matcher[BP_MAX_PORTS] = {NULL};

	if (!make_matchers(l, matcher))
		return false;
	for (unsigned i = 0; i < l->n_out; i++) {
		bp_matcher_free(l->out[i].matcher);
		l->out[i].matcher = matcher[i];
	}
	l->rules = l->next;
	return true;
}

/*
 * The only allocation in a running worker: a few tables after a reload of the flows. The delay that
 * it causes is visible in the poll gap of the scheduler.
 */
void bp_lcl_apply_pending(struct bp_lcl *l)
{
	uint64_t generation = l->generation;

	if (!bp_seqlock_read(&l->plan->lock, &generation, &l->next, sizeof(l->next)))
		return;
	l->generation = generation;
	if (!is_consistent(l, &l->next)) {
		bp_count(l->worker, BP_C_SEGMENT_INVALID, 1);
		return;
	}
	/* A control plane that restarts publishes rules that are already active. */
	if (!bp_words_same(&l->rules, &l->next, sizeof(l->rules)))
		set_rules(l);
}

/* ---- life ---- */

static void init_out(
	struct bp_lcl *l, const struct bp_config *c, const struct bp_lcl_tables *tables, unsigned i)
{
	struct bp_lcl_out *o = &l->out[i];

	*o = (struct bp_lcl_out){
		.configured = bp_config_lcl(c)->port[i],
		.lcl = l,
		.port = bp_config_lcl(c)->port[i].port,
		.index = (uint8_t)i,
		.stats = &tables->ports[i],
		.tau_ns = bp_config_lcl(c)->port[i].tau_ns,
		.rows = tables->limit,
		.rows_used = 1,
	};
	/* tau is at least 1 us: 16 * 2^64 / tau fits 64 bits */
	o->per_sixteenth =
		(uint64_t)((((__extension__(unsigned __int128) 16 << 64) - 1) / o->tau_ns) + 1);
	l->of[o->port] = o;
	l->own[l->n_own++] = o;
	l->trust[o->port] = o->configured.trust;
}

struct bp_lcl *bp_lcl_create(const struct bp_config *c, const struct bp_lcl_tables *tables)
{
	struct bp_lcl *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->ethertype = bp_config_lcl(c)->ethertype;
	l->plan = tables->plan;
	/* An existing plan may belong to an earlier configuration file with other ports. */
	l->generation = atomic_load_explicit(&l->plan->lock.generation, memory_order_relaxed);
	l->n_out = bp_config_lcl(c)->n_ports;
	for (unsigned i = 0; i < bp_config_lcl(c)->n_ports; i++)
		init_out(l, c, tables, i);
	l->next = bp_config_lcl(c)->rules;
	if (bp_lcl_field_get(&l->field) == 0 && set_rules(l))
		return l;
	bp_lcl_free(l);
	return NULL;
}

static void free_scheduler(struct bp_lcl_scheduler *s)
{
	struct bp_lcl_departure d;

	if (!s)
		return;
	while (bp_lcl_flush(s, &d, 1) == 1)
		rte_pktmbuf_free(d.frame);
	bp_lcl_scheduler_free(s);
}

void bp_lcl_free(struct bp_lcl *l)
{
	if (!l)
		return;
	for (unsigned i = 0; i < l->n_out; i++) {
		free_scheduler(l->out[i].scheduler);
		bp_matcher_free(l->out[i].matcher);
		free(l->out[i].followed);
		free(l->out[i].row);
	}
	free(l);
}

void bp_lcl_join(struct bp_lcl *l, struct bp_lcl_shared *shared, unsigned index)
{
	l->shared = shared;
	l->n_own = 0;
	for (unsigned i = 0; i < l->n_out; i++) {
		l->out[i].handover = &shared->port[i];
		if (shared->port[i].owner == index)
			l->own[l->n_own++] = &l->out[i];
	}
}

static int make_scheduler(struct bp_lcl_out *o, const struct bp_lcl_tables *tables)
{
	const struct bp_lcl_port *p = &o->configured;
	const struct bp_lcl_scheduler_options options = {
		.origin_ns = o->lcl->worker->mono_ns, /* not at the time of the first frame */
		.tau_ns = p->tau_ns,
		.rate_bps = p->rate_bps,
		.guard_ns = p->guard_ns,
		.queues = p->queues,
		.queue_frames = p->queue_frames,
		.best_effort_frames = p->best_effort,
		.best_effort_max = bp_lcl_frame_most(o),
	};

	o->followed = calloc(BP_LCL_FLOW_NUMBERS, sizeof(*o->followed));
	o->row = calloc(o->rows, sizeof(*o->row));
	o->scheduler = bp_lcl_scheduler_create(&options);
	if (!o->followed || !o->row || !o->scheduler)
		return -1;
	for (unsigned r = 0; r < o->rows; r++)
		o->row[r].stats = &tables->flows[(size_t)o->index * tables->limit + r];
	bp_lcl_on_slot(o->scheduler, bp_lcl_measure_slot, o);
	o->stats->configured = *p;
	atomic_store_explicit(&o->stats->owner, o->lcl->worker->index + 1, memory_order_release);
	return 0;
}

static struct rte_node *find_timer(const struct bp_worker *w)
{
	struct rte_node *node;
	rte_graph_off_t off;
	rte_node_t count;

	rte_graph_foreach_node(count, off, w->graph,
		node) if (node->process == bp_node_lcl_timer.process) return node;
	return NULL;
}

int bp_lcl_begin(struct bp_lcl *l, struct bp_worker *w, char *err, size_t err_size)
{
	l->worker = w;
	l->now_ns = w->mono_ns;
	if (l->n_own != 0)
		w->after_node = (struct bp_after_node){bp_lcl_tick, l, find_timer(w)};
	for (unsigned i = 0; i < l->n_own; i++) {
		if (make_scheduler(l->own[i], &w->shm->lcl) == 0)
			continue;
		snprintf(err, err_size, "no memory for the scheduler of LCL port %u",
			l->own[i]->port);
		return -1;
	}
	return 0;
}

/*
 * Whether the schedulers of this worker, or the rings to them, hold frames or may still receive
 * some.
 */
static bool holds(const struct bp_lcl *l)
{
	for (unsigned i = 0; i < l->n_own; i++) {
		const struct bp_lcl_measured *m = bp_lcl_measured(l->own[i]->scheduler);

		if (m->held != 0 || m->best_effort != 0 ||
			(l->own[i]->handover && !rte_ring_empty(l->own[i]->handover->ring)))
			return true;
	}
	return false;
}

void bp_lcl_drain(struct bp_lcl *l)
{
	bool more;

	if (l->shared)
		bp_lcl_shared_producing(l->shared, l->worker->index, false);
	if (l->n_own == 0)
		return;
	l->draining = true;
	do {
		/* read before the rings: no worker adds to them after this flag is clear */
		more = l->shared && bp_lcl_shared_busy(l->shared);
		bp_lcl_tick(l);
	} while (more || holds(l));
}

uint64_t bp_lcl_due(const struct bp_lcl *l)
{
	uint64_t next = UINT64_MAX;

	for (unsigned i = 0; i < l->n_own; i++)
		next = RTE_MIN(next, bp_lcl_next(l->own[i]->scheduler, l->now_ns));
	return next;
}

/* ---- shared by workers ---- */

struct bp_lcl_shared *bp_lcl_shared_create(
	const struct bp_config *c, const uint8_t *owner, char *err, size_t err_size)
{
	struct bp_lcl_shared *s = calloc(1, sizeof(*s));

	if (!s) {
		snprintf(err, err_size, "no memory for what workers share of LCL ports");
		return NULL;
	}
	for (unsigned i = 0; i < bp_config_lcl(c)->n_ports; i++) {
		struct bp_lcl_handover *h = &s->port[i];
		char name[RTE_RING_NAMESIZE];

		s->n = i + 1;
		h->owner = owner[i];
		snprintf(name, sizeof(name), "bp-lcl-%u", i);
		h->ring = rte_ring_create(name, bp_config_lcl(c)->port[i].handover,
			(int)rte_socket_id(), RING_F_SC_DEQ | RING_F_EXACT_SZ);
		if (!h->ring) {
			snprintf(err, err_size, "no ring of %u frames for LCL port %s: %s",
				bp_config_lcl(c)->port[i].handover,
				c->port[bp_config_lcl(c)->port[i].port].name,
				rte_strerror(rte_errno));
			bp_lcl_shared_free(s);
			return NULL;
		}
	}
	return s;
}

void bp_lcl_shared_free(struct bp_lcl_shared *s)
{
	void *m;

	if (!s)
		return;
	for (unsigned i = 0; i < s->n; i++) {
		while (s->port[i].ring && rte_ring_dequeue(s->port[i].ring, &m) == 0)
			rte_pktmbuf_free(m);
		rte_ring_free(s->port[i].ring);
	}
	free(s);
}

void bp_lcl_shared_producing(struct bp_lcl_shared *s, unsigned worker, bool on)
{
	atomic_store_explicit(&s->producing[worker], on, memory_order_release);
}

bool bp_lcl_shared_busy(const struct bp_lcl_shared *s)
{
	for (unsigned w = 0; w < BP_MAX_WORKERS; w++)
		if (atomic_load_explicit(&s->producing[w], memory_order_acquire))
			return true;
	return false;
}

/* ---- node lcl_timer ---- */

/*
 * A source node. It activates new flows of lcl between two nodes that look them up. The schedulers
 * run after this node as after every other (dataplane/workers/walk.h), and their processing time is
 * counted for it.
 */
static uint16_t lcl_timer_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_lcl *l = bp_lcl_of(bp_node_ctx(node)->worker);

	RTE_SET_USED(graph);
	RTE_SET_USED(objs);
	RTE_SET_USED(nb_objs);
	if (unlikely(bp_lcl_has_pending(l)))
		bp_lcl_apply_pending(l);
	return 0;
}

struct rte_node_register bp_node_lcl_timer = {
	.name = "bp_lcl_timer",
	.flags = RTE_NODE_SOURCE_F,
	.process = lcl_timer_process,
	.nb_edges = 0,
};
BP_NODE_REGISTER(bp_node_lcl_timer, BP_NEXT_NONE)
