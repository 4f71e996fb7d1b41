/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/service.h"

#include "config/health/settings.h"
#include "biplane/counters/general.h"
#include "dataplane/health/worker.h"
#include "dataplane/nodes/nodes.h"

static int setup(
	const struct bp_config *c, struct bp_shm *shm, uint64_t mono_ns, char *err, size_t err_size)
{
	return bp_phd_worker_setup(c, &shm->phd, c->n_workers, mono_ns, err, err_size);
}

static bool enabled(const struct bp_service_setup *s)
{
	return bp_config_phd(s->config)->enabled && s->shm->phd.n_slots != 0 &&
	       s->worker->router.enabled;
}

static void *create(const struct bp_service_setup *s, char *err, size_t err_size)
{
	(void)err;
	(void)err_size;
	return bp_phd_worker_create(&s->shm->phd, s->config->n_workers, s->worker->index);
}

static int begin(void *state, struct bp_worker *w, char *err, size_t err_size)
{
	struct bp_phd_worker *h = state;

	(void)err;
	(void)err_size;
	h->worker = w;
	return 0;
}

static void tick(void *state, uint64_t mono_ns)
{
	struct bp_phd_worker *h = state;

	bp_phd_worker_apply_pending(h, mono_ns);
	bp_count(h->worker, BP_C_SEGMENT_INVALID, h->refused);
	h->refused = 0;
}

static void release(void *state)
{
	bp_phd_worker_free(state);
}

const struct bp_dataplane_service bp_dataplane_health = {
	.name = "health devices",
	.id = BP_SERVICE_HEALTH,
	.setup = setup,
	.enabled = enabled,
	.create = create,
	.begin = begin,
	.tick = tick,
	.free = release,
	.entry = {&bp_node_phd, &bp_node_cse},
};
