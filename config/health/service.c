/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/service.h"

#include <stdlib.h>

#include "config/health/schema.h"
#include "config/segment.h"
#include "shm/health/phd_shape.h"

static uint64_t bounded(uint32_t n, uint32_t most)
{
	return n == 0 ? 1 : n < most ? n : most;
}

static void capacities(const struct bp_config *c, uint64_t *capacity)
{
	const struct bp_config_phd *p = bp_config_phd(c);
	const uint64_t workers = c->n_workers > 0 ? c->n_workers : 1;
	uint64_t groups;

	for (unsigned t = 0; t < BP_PHD_TABLES; t++)
		capacity[t] = 1;
	if (!p->enabled)
		return;
	/* a load of four in five slots, so that both groups of a session are rarely full */
	groups =
		(bounded(p->max_sessions, BP_PHD_SESSIONS_MAX) * 5 / 4 + BP_PHD_WAYS) / BP_PHD_WAYS;
	capacity[BP_PT_TAGS] = groups;
	capacity[BP_PT_SESSIONS] = groups * BP_PHD_WAYS;
	capacity[BP_PT_LAYOUTS] =
		bounded(p->max_configurations, BP_PHD_LAYOUTS_MAX) * BP_PHD_LAYOUT_LINES;
	capacity[BP_PT_IDS] = workers * BP_PHD_IDS_LINES;
	capacity[BP_PT_EVENTS] = workers * (BP_RING_OVERHEAD + BP_PHD_EVENTS);
	capacity[BP_PT_EVENT_TAILS] = workers;
}

static void release(void *settings)
{
	struct bp_config_phd *p = settings;

	free(p->allow.id);
}

const struct bp_config_service bp_config_service_health = {
	.settings = &bp_schema_phd,
	.size = sizeof(struct bp_config_phd),
	.release = release,
	.capacities = capacities,
};
