/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/service.h"

#include "config/sampling/schema.h"
#include "config/sampling/settings.h"
#include "shm/sampling/sampling.h"

static void capacities(const struct bp_config *c, uint64_t *capacity)
{
	const uint64_t workers = c->n_workers != 0 ? c->n_workers : 1;

	capacity[BP_ST_RULES] = 1;
	capacity[BP_ST_STATS] = bp_config_sampling(c)->rules.n != 0 ? workers * BP_SAMPLING_MAX : 1;
}

static const char *entries(const struct bp_config *c)
{
	return bp_config_sampling(c)->rules.n != 0 ? "sampling" : NULL;
}

const struct bp_config_service bp_config_service_sampling = {
	.settings = &bp_schema_sampling,
	.size = sizeof(struct bp_config_sampling),
	.entries = entries,
	.capacities = capacities,
};
