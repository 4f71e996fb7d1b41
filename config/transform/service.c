/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/service.h"

#include <stdlib.h>

#include "config/segment.h"
#include "config/transform/schema.h"
#include "shm/transform/transform_shape.h"

static void capacities(const struct bp_config *c, uint64_t *capacity)
{
	const bool on = bp_config_transforms(c);
	const uint64_t workers = c->n_workers != 0 ? c->n_workers : 1;
	const uint32_t matrices = bp_config_transform(c)->max_matrices;

	capacity[BP_XT_HEAD] = 1;
	capacity[BP_XT_READERS] = 1;
	capacity[BP_XT_BANKS] = on ? 2 * bp_transform_places(matrices).size : 1;
	capacity[BP_XT_RULES] = on ? workers * BP_TRANSFORM_RULES_MAX : 1;
	capacity[BP_XT_STATS] = on ? workers * matrices : 1;
}

static const char *entries(const struct bp_config *c)
{
	return bp_config_transforms(c) ? "transform.entries" : NULL;
}

static void release(void *settings)
{
	struct bp_config_transform *t = settings;

	free(t->entries.source);
	free(t->entries.receiver);
}

const struct bp_config_service bp_config_service_transform = {
	.settings = &bp_schema_transform,
	.size = sizeof(struct bp_config_transform),
	.release = release,
	.entries = entries,
	.capacities = capacities,
};
