/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/service.h"

#include "config/schema_rows.h"
#include "config/segment.h"
#include "shm/lcl/lcl_shape.h"

static void capacities(const struct bp_config *c, uint64_t *capacity)
{
	const bool on = bp_config_lcl(c);

	capacity[BP_LT_PLAN] = 1;
	capacity[BP_LT_PORTS] = on ? c->lcl.n_ports : 1;
	/* at least two rows, the one of those beyond the limit and a flow's */
	capacity[BP_LT_FLOWS] = on ? (uint64_t)c->lcl.n_ports * (c->lcl.limit + 1ull) : 1;
}

const struct bp_config_service bp_config_service_lcl = {
	.settings = &bp_schema_lcl,
	.capacities = capacities,
};
