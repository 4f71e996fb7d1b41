/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/aggregation/settings.h"
#include "dataplane/service.h"

#include <string.h>

#include "dataplane/aggregation/worker.h"
#include "dataplane/nodes/nodes.h"
#include "proto/aggregation/agg_full.h"

#define HEADERS 64u /* Ethernet header, tags and rounding */
/* Messages restored from a burst of aggregates that are not sent yet; more are dropped. */
#define RESTORED 64u

/*
 * One aggregate of each stream, and the frames that wait for their pacing gap. A reload may add
 * entries of a kind that already exists.
 */
static uint64_t mbufs(const struct bp_config *c)
{
	uint64_t one = (uint64_t)bp_config_aggregation(c)->max_streams +
		       bp_agg_worker_max_paced(c) + (uint64_t)BP_RX_BURST * RESTORED;

	return bp_config_aggregates(c) ? one * c->n_workers : 0;
}

/* An aggregate as long as its MTU. With a shorter buffer it is full earlier. */
static uint32_t frame_size(const struct bp_config *c, uint32_t min_mtu)
{
	const struct bp_agg_rules *rules = &bp_config_aggregation(c)->rules;
	uint32_t most = 0;

	for (unsigned i = 0; i < rules->n_aggregate; i++) {
		const struct bp_agg_rule *r = &rules->aggregate[i];
		uint32_t front = r->to.address.family == 4 ? BP_AGG_FULL_FRONT4(r->messages)
							   : BP_AGG_FULL_FRONT6(r->messages);

		most = RTE_MAX(most, HEADERS + front + (r->mtu ? r->mtu : min_mtu));
	}
	return most;
}

static int publish(const struct bp_config *c, struct bp_shm *shm, char *err, size_t err_size)
{
	const struct bp_agg_rules *rules = &bp_config_aggregation(c)->rules;

	(void)err;
	(void)err_size;
	if (shm->agg.plan)
		bp_seqlock_write(&shm->agg.plan->lock, rules, sizeof(*rules));
	return 0;
}

static void reset(struct bp_shm *shm)
{
	const size_t rules = (size_t)shm->workers * BP_AGG_RULES_MAX;

	if (!shm->agg.plan)
		return;
	memset(shm->agg.stats, 0, rules * sizeof(*shm->agg.stats));
	memset(shm->agg.disagg_stats, 0, rules * sizeof(*shm->agg.disagg_stats));
	memset(shm->agg.rows, 0, (size_t)shm->workers * shm->agg.streams * sizeof(*shm->agg.rows));
}

static bool enabled(const struct bp_service_setup *s)
{
	return s->shm->agg.plan != NULL;
}

static void *create(const struct bp_service_setup *s, char *err, size_t err_size)
{
	(void)err;
	(void)err_size;
	return bp_agg_worker_create(s->config, &s->shm->agg, s->worker->index);
}

static int begin(void *state, struct bp_worker *w, char *err, size_t err_size)
{
	return bp_agg_worker_begin(state, w, err, err_size);
}

static void tick(void *state, uint64_t mono_ns)
{
	(void)mono_ns;
	bp_agg_worker_tick(state);
}

static void drain(void *state)
{
	struct bp_agg_worker *g = state;

	g->draining = true;
}

static bool holds(const void *state)
{
	return bp_agg_worker_holds(state);
}

static bool needs_polling(const void *state)
{
	const struct bp_agg_worker *g = state;

	return g->releasing || bp_agg_worker_config_changed(g);
}

static uint64_t due(const void *state)
{
	return bp_agg_worker_next_due(state);
}

static void release(void *state)
{
	bp_agg_worker_free(state);
}

static rte_edge_t enter(void *state, struct bp_worker *w, unsigned port, rte_edge_t next)
{
	(void)w;
	return bp_agg_worker_enter(state, port, next);
}

const struct bp_dataplane_service bp_dataplane_aggregation = {
	.name = "aggregation",
	.id = BP_SERVICE_AGGREGATION,
	.mbufs = mbufs,
	.frame_size = frame_size,
	.publish = publish,
	.reset = reset,
	.enabled = enabled,
	.create = create,
	.begin = begin,
	.tick = tick,
	.drain = drain,
	.holds = holds,
	.free = release,
	.needs_polling = needs_polling,
	.due = due,
	.needs_time = true,
	.entry = {&bp_node_aggregate, &bp_node_disaggregate},
	.n_entered = 2,
	.source = &bp_node_agg_timer,
	.enter = enter,
};
