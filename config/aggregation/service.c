/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/service.h"

#include "config/aggregation/schema.h"
#include "config/segment.h"
#include "shm/aggregation/agg_shape.h"

static void capacities(const struct bp_config *c, uint64_t *capacity)
{
	const bool on = bp_config_aggregates(c);
	const uint64_t workers = c->n_workers != 0 ? c->n_workers : 1;

	capacity[BP_AT_RULES] = 1;
	capacity[BP_AT_STATS] = on ? workers * BP_AGG_RULES_MAX : 1;
	capacity[BP_AT_DISAGG_STATS] = capacity[BP_AT_STATS];
	capacity[BP_AT_STREAMS] = on ? workers * bp_config_aggregation(c)->max_streams : 1;
}

static const char *entries(const struct bp_config *c)
{
	if (!bp_config_aggregates(c))
		return NULL;
	return bp_config_aggregation(c)->rules.n_aggregate != 0 ? "aggregation.encapsulate"
								: "aggregation.decapsulate";
}

const struct bp_config_service bp_config_service_aggregation = {
	.settings = &bp_schema_aggregation,
	.size = sizeof(struct bp_config_aggregation),
	.entries = entries,
	.capacities = capacities,
};
