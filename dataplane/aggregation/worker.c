/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/aggregation/settings.h"
#include "dataplane/aggregation/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "biplane/counters/general.h"
#include "dataplane/workers/graph.h"
#include "shm/hash.h"
#include "shm/words.h"

/* ---- pace ---- */

static void leave(struct bp_agg_worker *g, struct rte_mbuf *m)
{
	bp_edge_batch_add(&g->out, g->after_restored[m->port], m);
}

void bp_agg_worker_pace(struct bp_agg_worker *g, unsigned rule, struct rte_mbuf *m)
{
	struct bp_pacer *p = &g->pacer[rule];
	const uint64_t now = g->worker->mono_ns;
	const uint32_t before = p->n;
	struct rte_mbuf *out = bp_pacer_put(p, m, now);

	g->waiting += p->n - before;
	if (out != NULL)
		leave(g, out);
	if (unlikely(g->waiting > g->waiting_most)) {
		leave(g, bp_pacer_take(p, now));
		g->waiting--;
		bp_agg_stat_add(&p->stats->early, 1);
	}
	if (unlikely(g->releasing) && p->n != 0) {
		leave(g, bp_pacer_take(p, now));
		g->waiting--;
	}
}

unsigned bp_agg_worker_send_due(struct bp_agg_worker *g)
{
	unsigned sent = 0;

	for (unsigned i = 0; i < g->n_paced; i++) {
		struct bp_pacer *p = &g->pacer[g->paced[i]];
		struct rte_mbuf *m;

		while ((m = bp_pacer_due(p, g->worker->mono_ns)) != NULL) {
			leave(g, m);
			sent++;
		}
	}
	g->waiting -= sent;
	return sent;
}

/* Sends all paced frames, due or not. True: none is left. */
static bool release(struct bp_agg_worker *g)
{
	unsigned n = 0;

	for (unsigned i = 0; i < g->n_paced; i++) {
		struct rte_mbuf *m;

		while (n < BP_AGG_AT_ONCE &&
			(m = bp_pacer_take(&g->pacer[g->paced[i]], g->worker->mono_ns)) != NULL) {
			leave(g, m);
			n++;
		}
	}
	g->waiting -= n;
	g->releasing = g->draining || g->waiting != 0;
	return g->waiting == 0;
}

/* ---- everything ---- */

bool bp_agg_worker_drain(struct bp_agg_worker *g, enum bp_agg_flush reason)
{
	const bool aggregates = bp_aggregator_flush_some(
		g->aggregator, reason, g->worker->mono_ns, g->worker->now_ns);
	const bool paced = release(g);

	return aggregates && paced;
}

bool bp_agg_worker_holds(const struct bp_agg_worker *g)
{
	return g->waiting != 0 || !bp_aggregator_empty(g->aggregator);
}

uint64_t bp_agg_worker_next_due(const struct bp_agg_worker *g)
{
	uint64_t next = bp_aggregator_next(g->aggregator);

	for (unsigned i = 0; i < g->n_paced; i++)
		next = RTE_MIN(next, bp_pacer_next(&g->pacer[g->paced[i]]));
	return next;
}

/* ---- rules ---- */

static uint16_t min_mtu(const struct bp_worker *w)
{
	uint16_t smallest = UINT16_MAX;

	for (unsigned p = 0; p < BP_MAX_PORTS; p++) {
		const uint16_t mtu = __atomic_load_n(&w->mtu[p], __ATOMIC_RELAXED);

		if (mtu != 0)
			smallest = RTE_MIN(smallest, mtu);
	}
	return smallest;
}

static bool prefix_valid(const struct bp_prefix *p)
{
	return (p->family == 4 || p->family == 6) && p->length <= bp_address_bits(p->family);
}

static bool to_valid(const struct bp_agg_to *to)
{
	return prefix_valid(&to->address) && to->udp_first <= to->udp_last;
}

static bool senders_valid(const struct bp_prefix *sender, uint32_t n)
{
	if (n > BP_AGG_SENDERS_MAX)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!prefix_valid(&sender[i]))
			return false;
	return true;
}

static bool aggregate_valid(const struct bp_agg_rule *r)
{
	return r->port < BP_MAX_PORTS && r->messages != 0 && r->format <= BP_AGG_FORMAT_LIN2018 &&
	       (r->from.family == 0 || r->from.family == 4 || r->from.family == 6) &&
	       to_valid(&r->to) && senders_valid(r->senders, r->n_senders);
}

static bool disaggregate_valid(const struct bp_disagg_rule *r)
{
	return r->port < BP_MAX_PORTS && r->format <= BP_AGG_FORMAT_LIN2018 && to_valid(&r->to) &&
	       senders_valid(r->senders, r->n_senders);
}

/* Shared memory may be damaged: an index from it must not exceed an array. */
static bool is_valid(const struct bp_agg_rules *r)
{
	if (r->n_aggregate > BP_AGG_RULES_MAX || r->n_disaggregate > BP_AGG_RULES_MAX)
		return false;
	for (unsigned i = 0; i < r->n_aggregate; i++)
		if (!aggregate_valid(&r->aggregate[i]))
			return false;
	for (unsigned i = 0; i < r->n_disaggregate; i++)
		if (!disaggregate_valid(&r->disaggregate[i]))
			return false;
	return true;
}

/* Called when no frame waits for its pacing gap. */
static void set_paces(struct bp_agg_worker *g)
{
	g->n_paced = 0;
	for (unsigned i = 0; i < g->rules.n_disaggregate; i++) {
		g->pacer[i].gap_ns = g->rules.disaggregate[i].gap_ns;
		g->pacer[i].free_ns = 0;
		if (g->rules.disaggregate[i].gap_ns != 0)
			g->paced[g->n_paced++] = (uint8_t)i;
	}
}

/* Called when no frame is held. */
static void set_rules(struct bp_agg_worker *g)
{
	struct bp_worker *w = g->worker;

	g->mtu_changed = false;
	g->min_mtu = min_mtu(w);
	bp_aggregator_set_rules(g->aggregator, &g->rules, g->min_mtu, w->mono_ns);
	bp_disaggregator_set_rules(g->disaggregator, &g->rules);
	set_paces(g);
	g->learns = false;
	w->small_burst = 0;
	w->small_burst_size = BP_RX_BURST;
	for (unsigned p = 0; p < BP_MAX_PORTS; p++) {
		g->learns |= w->onward[p] == BP_EDGE_BRIDGE;
		w->small_burst |= (uint32_t)bp_disaggregator_uses_port(g->disaggregator, p) << p;
	}
	bp_graph_enter(w);
}

rte_edge_t bp_agg_worker_enter(struct bp_agg_worker *g, unsigned port, rte_edge_t next)
{
	if (g->aggregator == NULL) /* not yet */
		return next;
	g->after_restored[port] = g->worker->onward[port];
	g->after_disaggregate[port] = (uint8_t)next;
	if (bp_disaggregator_uses_port(g->disaggregator, port))
		next = BP_EDGE_DISAGGREGATE;
	g->after_aggregate[port] = (uint8_t)next;
	return bp_aggregator_uses_port(g->aggregator, port) ? BP_EDGE_AGGREGATE : next;
}

bool bp_agg_worker_enter_before_transform(struct bp_agg_worker *g, unsigned port, rte_edge_t *next)
{
	if (g == NULL || g->aggregator == NULL ||
		!bp_disaggregator_uses_port(g->disaggregator, port))
		return false;
	*next = g->after_aggregate[port] = g->after_disaggregate[port];
	if (bp_aggregator_uses_port(g->aggregator, port))
		*next = BP_EDGE_AGGREGATE;
	g->after_disaggregate[port] = g->after_restored[port] = BP_EDGE_TRANSFORM;
	return true;
}

void bp_agg_worker_tick(struct bp_agg_worker *g)
{
	if (g->aggregator != NULL && min_mtu(g->worker) != g->min_mtu)
		g->mtu_changed = true;
}

void bp_agg_worker_apply_pending(struct bp_agg_worker *g)
{
	const uint32_t losses = atomic_load_explicit(&bp_link_losses, memory_order_relaxed);
	uint64_t generation = g->generation;
	bool others;

	/* Remaining frames are sent in the next walks, which check all pending changes again. */
	if (losses != g->link_losses && !bp_agg_worker_drain(g, BP_AGG_FLUSH_LINK))
		return;
	g->link_losses = losses;
	/* A control plane that restarts publishes rules that are already active. */
	others = bp_seqlock_read(&g->plan->lock, &generation, &g->next, sizeof(g->next));
	if (others && !is_valid(&g->next)) {
		bp_count(g->worker, BP_C_SEGMENT_INVALID, 1);
		g->generation = generation;
		others = false;
	}
	others = others && !bp_words_same(&g->rules, &g->next, sizeof(g->rules));
	if (!others && !g->mtu_changed) {
		g->generation = generation;
		g->releasing = g->draining;
		return;
	}
	if (!bp_agg_worker_drain(g, BP_AGG_FLUSH_RELOAD))
		return;
	g->generation = generation;
	if (others)
		g->rules = g->next;
	set_rules(g);
}

/* ---- life ---- */

uint32_t bp_agg_worker_max_paced(const struct bp_config *c)
{
	const struct bp_agg_rules *rules = &bp_config_aggregation(c)->rules;
	uint32_t paced = 0;

	for (unsigned i = 0; i < rules->n_disaggregate; i++)
		paced += rules->disaggregate[i].gap_ns != 0;
	return bp_config_aggregation(c)->pacing_queue_len * RTE_MAX(paced, 1u);
}

struct bp_agg_worker *bp_agg_worker_create(
	const struct bp_config *c, const struct bp_agg_tables *tables, unsigned worker)
{
	struct bp_agg_worker *g = aligned_alloc(RTE_CACHE_LINE_SIZE,
		RTE_ALIGN_CEIL(sizeof(struct bp_agg_worker), RTE_CACHE_LINE_SIZE));

	if (g == NULL)
		return NULL;
	memset(g, 0, sizeof(*g));
	g->rules = bp_config_aggregation(c)->rules;
	g->plan = tables->plan;
	/* An existing plan may belong to an earlier configuration file with other ports. */
	g->generation = atomic_load_explicit(&g->plan->lock.generation, memory_order_relaxed);
	g->link_losses = atomic_load_explicit(&bp_link_losses, memory_order_relaxed);
	g->waiting_most = bp_agg_worker_max_paced(c);
	g->disagg_stats = tables->disagg_stats + (size_t)worker * BP_AGG_RULES_MAX;
	g->options = (struct bp_aggregator_options){
		.streams = tables->streams,
		.stats = tables->stats + (size_t)worker * BP_AGG_RULES_MAX,
		.rows = tables->rows + (size_t)worker * tables->streams,
		.hooks = {.get = bp_agg_worker_get_buffer,
			.send = bp_agg_worker_send,
			.arg = g,
			.lost = bp_agg_worker_count_lost},
	};
	for (unsigned i = 0; i < BP_AGG_RULES_MAX; i++) {
		if (bp_pacer_init(&g->pacer[i],
			    RTE_MAX(bp_config_aggregation(c)->pacing_queue_len, 1u), 0,
			    &g->disagg_stats[i]) != 0) {
			bp_agg_worker_free(g);
			return NULL;
		}
	}
	return g;
}

void bp_agg_worker_free(struct bp_agg_worker *g)
{
	if (g == NULL)
		return;
	for (unsigned i = 0; i < BP_AGG_RULES_MAX; i++)
		bp_pacer_free(&g->pacer[i]);
	bp_aggregator_free(g->aggregator);
	bp_disaggregator_free(g->disaggregator);
	free(g);
}

int bp_agg_worker_begin(struct bp_agg_worker *g, struct bp_worker *w, char *err, size_t err_size)
{
	const struct bp_disaggregator_options d = {
		.streams = g->options.streams, .stats = g->disagg_stats, .seed = bp_mix64(w->seed)};

	g->worker = w;
	bp_mbuf_stock_init(&g->stock, w->pool);
	bp_mbuf_stock_init(&g->buffers, w->pool);
	g->options.room = (uint16_t)(rte_pktmbuf_data_room_size(w->pool) - RTE_PKTMBUF_HEADROOM);
	g->options.seed = w->seed;
	g->aggregator = bp_aggregator_new(&g->options);
	g->disaggregator = bp_disaggregator_new(&d);
	if (g->aggregator == NULL || g->disaggregator == NULL) {
		snprintf(err, err_size, "no memory for %u streams of aggregates",
			g->options.streams);
		return -1;
	}
	g->id = (uint16_t)bp_mix64(w->seed + 1);
	set_rules(g);
	return 0;
}
