/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/service.h"

#include <string.h>

#include "config/transform/settings.h"
#include "dataplane/aggregation/worker.h"
#include "dataplane/nodes/nodes.h"
#include "dataplane/transform/worker.h"
#include "shm/transform/transform_writer.h"
#include "config/segment.h"

/*
 * Copies of the readings of a burst for more receivers, until they are sent; a reload may add
 * receivers to existing entries.
 */
static uint64_t mbufs(const struct bp_config *c)
{
	return bp_config_transforms(c)
		       ? (uint64_t)BP_RX_BURST * BP_TRANSFORM_RECEIVERS_MAX * c->n_workers
		       : 0;
}

static int publish(const struct bp_config *c, struct bp_shm *shm, char *err, size_t err_size)
{
	const struct bp_transform_tables *t = &shm->transform;
	const uint64_t first = 1 << 1;
	const struct bp_transform_view none = {.bank = NULL};

	if (!t->head)
		return 0;
	if (bp_transform_build(bp_transform_bank_at(t, first), t->matrices,
		    &bp_config_transform(c)->entries, bp_config_ports_key(c), &none, 1, 0,
		    &t->head->next_uid, 0, err, err_size) != 0)
		return -1;
	bp_generation_publish(&t->generation, first);
	return 0;
}

static void reset(struct bp_shm *shm)
{
	const struct bp_transform_tables *t = &shm->transform;

	if (!t->head)
		return;
	memset(t->rule_stats, 0,
		(size_t)shm->workers * BP_TRANSFORM_RULES_MAX * sizeof(*t->rule_stats));
	memset(t->source_stats, 0, (size_t)shm->workers * t->matrices * sizeof(*t->source_stats));
	bp_generation_reset(&t->generation);
}

static bool enabled(const struct bp_service_setup *s)
{
	return s->shm->transform.head != NULL;
}

static void *create(const struct bp_service_setup *s, char *err, size_t err_size)
{
	(void)err;
	(void)err_size;
	return bp_transform_worker_create(s->config, &s->shm->transform, s->worker->index);
}

static int begin(void *state, struct bp_worker *w, char *err, size_t err_size)
{
	struct bp_transform_worker *t = state;

	(void)err;
	(void)err_size;
	bp_transform_worker_begin(t, w);
	bp_worker_pending(w, &w->shm->transform.head->active, &t->active,
		bp_dataplane_services[BP_SERVICE_TRANSFORM]->apply_pending, t);
	return 0;
}

static void apply_pending(void *state)
{
	bp_transform_worker_apply_pending(state);
}

static void end(void *state)
{
	bp_transform_worker_end(state);
}

static void release(void *state)
{
	bp_transform_worker_free(state);
}

static rte_edge_t enter(void *state, struct bp_worker *w, unsigned port, rte_edge_t next)
{
	const struct bp_transform_worker *t = state;

	rte_edge_t first = next;

	if (t->ports_with_entries >> port & 1)
		first = bp_agg_worker_enter_before_transform(bp_agg_worker_of(w), port, &next)
				? BP_EDGE_DISAGGREGATE
				: BP_EDGE_TRANSFORM;
	w->inner[port] = (uint8_t)next;
	return first;
}

const struct bp_dataplane_service bp_dataplane_transform = {
	.name = "transform",
	.id = BP_SERVICE_TRANSFORM,
	.mbufs = mbufs,
	.publish = publish,
	.reset = reset,
	.enabled = enabled,
	.create = create,
	.begin = begin,
	.apply_pending = apply_pending,
	.end = end,
	.free = release,
	.entry = {&bp_node_transform},
	.n_entered = 1,
	.enter = enter,
};
