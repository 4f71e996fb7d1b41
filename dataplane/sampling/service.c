/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "biplane/counters/general.h"
#include "config/sampling/settings.h"
#include "dataplane/sampling/sampling.h"
#include "dataplane/workers/graph.h"
#include "shm/words.h"

/* The copies of a burst in which every frame is mirrored, until they are sent. */
static uint64_t mbufs(const struct bp_config *c)
{
	const uint64_t workers = c->n_workers != 0 ? c->n_workers : 1;

	return bp_config_sampling(c)->rules.n != 0 ? workers * BP_RX_BURST : 0;
}

static int publish(const struct bp_config *c, struct bp_shm *shm, char *err, size_t err_size)
{
	const struct bp_sampling_rules *rules = &bp_config_sampling(c)->rules;
	struct bp_sampling_tables *t = bp_sampling_tables(shm);

	(void)err;
	(void)err_size;
	if (t)
		bp_seqlock_write(&t->plan->lock, rules, sizeof(*rules));
	return 0;
}

static void reset(struct bp_shm *shm)
{
	struct bp_sampling_tables *t = bp_sampling_tables(shm);

	if (t)
		memset(t->stats, 0, (size_t)shm->workers * BP_SAMPLING_MAX * sizeof(*t->stats));
}

static bool enabled(const struct bp_service_setup *s)
{
	return bp_sampling_tables(s->shm) != NULL;
}

static void release(void *state)
{
	struct bp_sampling *s = state;

	bp_sampler_free(s->sampler);
	free(s);
}

static void *create(const struct bp_service_setup *setup, char *err, size_t err_size)
{
	const struct bp_sampling_tables *t = bp_sampling_tables(setup->shm);
	struct bp_sampling *s = calloc(1, sizeof(*s));

	(void)err;
	(void)err_size;
	if (!s)
		return NULL;
	s->worker = setup->worker;
	s->plan = t->plan;
	/* An existing plan may belong to an earlier configuration file with other ports. */
	s->generation = atomic_load_explicit(&s->plan->lock.generation, memory_order_relaxed);
	s->rules = bp_config_sampling(setup->config)->rules;
	s->sampler = bp_sampler_create(setup->worker->seed);
	if (!s->sampler) {
		free(s);
		return NULL;
	}
	bp_sampler_set(s->sampler, &s->rules);
	return s;
}

static void apply_pending(void *state)
{
	struct bp_sampling *s = state;
	uint64_t generation = s->generation;

	if (!bp_seqlock_read(&s->plan->lock, &generation, &s->next, sizeof(s->next)))
		return;
	s->generation = generation;
	if (!bp_sampling_valid(&s->next, s->worker->mtu)) {
		bp_count(s->worker, BP_C_SEGMENT_INVALID, 1);
		return;
	}
	/* A control plane that restarts publishes rules that are already active. */
	if (bp_words_same(&s->rules, &s->next, sizeof(s->rules)))
		return;
	bp_sampler_set(s->sampler, &s->next);
	s->rules = s->next;
	memset(s->stats, 0, BP_SAMPLING_MAX * sizeof(*s->stats));
	bp_graph_enter(s->worker);
}

static int begin(void *state, struct bp_worker *w, char *err, size_t err_size)
{
	struct bp_sampling *s = state;

	(void)err;
	(void)err_size;
	s->stats = bp_sampling_tables(w->shm)->stats + (size_t)w->index * BP_SAMPLING_MAX;
	bp_worker_pending(w, &s->plan->lock.generation, &s->generation, apply_pending, s);
	return 0;
}

static rte_edge_t enter(void *state, struct bp_worker *w, unsigned port, rte_edge_t next)
{
	struct bp_sampling *s = state;

	(void)w;
	s->after[port] = (uint8_t)next;
	return bp_sampler_uses_port(s->sampler, port) ? BP_EDGE_OF(SAMPLING, 0) : next;
}

const struct bp_dataplane_service bp_dataplane_sampling = {
	.name = "sampling",
	.id = BP_SERVICE_SAMPLING,
	.mbufs = mbufs,
	.publish = publish,
	.reset = reset,
	.enabled = enabled,
	.create = create,
	.begin = begin,
	.free = release,
	.entry = {&bp_node_sampling},
	.n_entered = 1,
	.enter = enter,
};
