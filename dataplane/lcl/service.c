/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/service.h"

#include <string.h>

#include "config/lcl/settings.h"
#include "dataplane/lcl/lcl.h"
#include "dataplane/nodes/nodes.h"
#include "dataplane/ports/queue_plan.h"

static int publish(const struct bp_config *c, struct bp_shm *shm, char *err, size_t err_size)
{
	(void)err;
	(void)err_size;
	if (shm->lcl.plan)
		bp_seqlock_write(&shm->lcl.plan->lock, &bp_config_lcl(c)->rules,
			sizeof(bp_config_lcl(c)->rules));
	return 0;
}

static void reset(struct bp_shm *shm)
{
	const size_t rows = (size_t)shm->lcl.n_ports * shm->lcl.limit;

	if (!shm->lcl.plan)
		return;
	memset(shm->lcl.ports, 0, shm->lcl.n_ports * sizeof(*shm->lcl.ports));
	memset(shm->lcl.flows, 0, rows * sizeof(*shm->lcl.flows));
}

/* ---- the rings by which workers hand over frames to the owner of a port ---- */

static int create_shared(void **shared, const struct bp_config *c, const struct bp_queue_plan *plan,
	char *err, size_t err_size)
{
	uint8_t owner[BP_MAX_PORTS];

	if (!bp_config_has_lcl(c) || c->n_workers == 1)
		return 0;
	for (unsigned i = 0; i < bp_config_lcl(c)->n_ports; i++)
		owner[i] = bp_queue_plan_owner(plan, bp_config_lcl(c)->port[i].port);
	*shared = bp_lcl_shared_create(c, owner, err, err_size);
	return *shared ? 0 : -1;
}

static void join(void *state, void *shared, unsigned index)
{
	bp_lcl_join(state, shared, index);
}

static void running(void *shared, unsigned index, bool runs)
{
	bp_lcl_shared_producing(shared, index, runs);
}

static void free_shared(void *shared)
{
	bp_lcl_shared_free(shared);
}

static const struct bp_service_shared_ops shared_ops = {create_shared, join, running, free_shared};

/* ---- in a worker ---- */

static bool enabled(const struct bp_service_setup *s)
{
	return s->shm->lcl.plan != NULL;
}

static void *create(const struct bp_service_setup *s, char *err, size_t err_size)
{
	(void)err;
	(void)err_size;
	return bp_lcl_create(s->config, &s->shm->lcl);
}

static int begin(void *state, struct bp_worker *w, char *err, size_t err_size)
{
	return bp_lcl_begin(state, w, err, err_size);
}

static void start(void *state, const struct bp_clock *clock)
{
	struct bp_lcl *l = state;

	l->clock = clock;
}

/*
 * The delay of a frame counts from the walk that received it: the time until a sleeping worker runs
 * would be a delay that the label does not include.
 */
static bool needs_polling(const void *state)
{
	const struct bp_lcl *l = state;

	return l->n_own != 0;
}

static uint64_t due(const void *state)
{
	return bp_lcl_due(state);
}

/* Other workers may still hand over frames: held frames leave now and not while draining. */
static void end(void *state)
{
	bp_lcl_drain(state);
}

static void release(void *state)
{
	bp_lcl_free(state);
}

/* ---- in the graph ---- */

static rte_edge_t enter(void *state, struct bp_worker *w, unsigned port, rte_edge_t next)
{
	struct bp_lcl *l = state;

	(void)w;
	l->after[port] = (uint8_t)next;
	return BP_EDGE_LCL_IN;
}

static struct rte_node_register *port_node(const void *state, unsigned port)
{
	const struct bp_lcl *l = state;

	return l->of[port] ? &bp_node_lcl : &bp_node_lcl_plain;
}

static struct rte_node_register *const port_nodes[] = {&bp_node_lcl, &bp_node_lcl_plain, NULL};

const struct bp_dataplane_service bp_dataplane_lcl = {
	.name = "LCL scheduling",
	.id = BP_SERVICE_LCL,
	.mbufs = bp_lcl_max_queued,
	.publish = publish,
	.reset = reset,
	.shared = &shared_ops,
	.enabled = enabled,
	.create = create,
	.begin = begin,
	.start = start,
	.end = end,
	.free = release,
	.needs_polling = needs_polling,
	.due = due,
	.needs_time = true,
	.entry = {&bp_node_lcl_in},
	.n_entered = 1,
	.source = &bp_node_lcl_timer,
	.port_node = port_node,
	.port_nodes = port_nodes,
	.enter = enter,
	.before_checksum = true,
};
