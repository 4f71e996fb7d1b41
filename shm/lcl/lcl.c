/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/lcl/lcl.h"

#include "shm/layout.h"
#include "shm/lcl/lcl_shape.h"

static const struct bp_table_shape shape[BP_LCL_TABLES] = {
	[BP_LT_RULES] = {"lcl_plan", sizeof(struct bp_lcl_shared_rules), BP_SEG_CONTROL},
	[BP_LT_PORTS] = {"lcl_ports", sizeof(struct bp_lcl_port_stats), BP_SEG_DATA},
	[BP_LT_FLOWS] = {"lcl_flows", sizeof(struct bp_lcl_flow_stats), BP_SEG_DATA},
};

static bool sizes_agree(const uint64_t *capacity, uint64_t workers)
{
	const uint64_t ports = capacity[BP_LT_PORTS], rows = capacity[BP_LT_FLOWS];

	(void)workers;
	if (capacity[BP_LT_RULES] != 1 || ports == 0 || ports > BP_MAX_PORTS)
		return false;
	return rows == 1 ? ports == 1
			 : rows % ports == 0 && rows / ports >= 2 && rows / ports <= UINT32_MAX;
}

static int map(struct bp_shm *m, void *const *address, const uint64_t *capacity, char *err,
	size_t err_size)
{
	struct bp_lcl_tables *t = &m->lcl;

	(void)err;
	(void)err_size;
	*t = (struct bp_lcl_tables){0};
	if (capacity[BP_LT_FLOWS] == 1)
		return 0;
	t->plan = address[BP_LT_RULES];
	t->ports = address[BP_LT_PORTS];
	t->flows = address[BP_LT_FLOWS];
	t->n_ports = (uint32_t)capacity[BP_LT_PORTS];
	t->limit = (uint32_t)(capacity[BP_LT_FLOWS] / t->n_ports);
	return 0;
}

const struct bp_service_tables bp_tables_lcl = {
	.shape = shape,
	.n = BP_LCL_TABLES,
	.sizes_agree = sizes_agree,
	.map = map,
};
