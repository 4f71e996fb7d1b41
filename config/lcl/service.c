/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/service.h"

#include "config/lcl/schema.h"
#include "config/segment.h"
#include "shm/lcl/lcl_shape.h"

static void capacities(const struct bp_config *c, uint64_t *capacity)
{
	const struct bp_config_lcl *l = bp_config_lcl(c);
	const bool on = bp_config_has_lcl(c);

	capacity[BP_LT_RULES] = 1;
	capacity[BP_LT_PORTS] = on ? l->n_ports : 1;
	/* at least two rows: one for the flows beyond max_flows, and one for a flow */
	capacity[BP_LT_FLOWS] = on ? (uint64_t)l->n_ports * (l->max_flows + 1ull) : 1;
}

const struct bp_config_service bp_config_service_lcl = {
	.settings = &bp_schema_lcl,
	.size = sizeof(struct bp_config_lcl),
	.capacities = capacities,
};
