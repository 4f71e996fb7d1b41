/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/lcl/lcl.h"

#include "shm/lcl/lcl_shape.h"
#include "shm/plan.h"

const struct bp_table_shape bp_lcl_shape[BP_LCL_TABLES] = {
	[BP_LT_PLAN] = {"lcl_plan", sizeof(struct bp_lcl_plan), BP_SEG_CONTROL},
	[BP_LT_PORTS] = {"lcl_ports", sizeof(struct bp_lcl_port_stats), BP_SEG_DATA},
	[BP_LT_FLOWS] = {"lcl_flows", sizeof(struct bp_lcl_flow_stats), BP_SEG_DATA},
};

void bp_lcl_capacities(const struct bp_config *c, uint64_t capacity[BP_LCL_TABLES])
{
	const bool on = bp_config_lcl(c);

	capacity[BP_LT_PLAN] = 1;
	capacity[BP_LT_PORTS] = on ? c->lcl.n_ports : 1;
	/* at least two rows, the one of those beyond the limit and a flow's */
	capacity[BP_LT_FLOWS] = on ? (uint64_t)c->lcl.n_ports * (c->lcl.limit + 1ull) : 1;
}

bool bp_lcl_sizes_agree(const uint64_t capacity[BP_LCL_TABLES])
{
	const uint64_t ports = capacity[BP_LT_PORTS], rows = capacity[BP_LT_FLOWS];

	if (capacity[BP_LT_PLAN] != 1 || ports == 0 || ports > BP_MAX_PORTS)
		return false;
	return rows == 1 ? ports == 1
			 : rows % ports == 0 && rows / ports >= 2 && rows / ports <= UINT32_MAX;
}

void bp_lcl_map(struct bp_lcl_tables *t, void *const address[BP_LCL_TABLES],
	const uint64_t capacity[BP_LCL_TABLES])
{
	*t = (struct bp_lcl_tables){0};
	if (capacity[BP_LT_FLOWS] == 1)
		return;
	t->plan = address[BP_LT_PLAN];
	t->ports = address[BP_LT_PORTS];
	t->flows = address[BP_LT_FLOWS];
	t->n_ports = (uint32_t)capacity[BP_LT_PORTS];
	t->limit = (uint32_t)(capacity[BP_LT_FLOWS] / t->n_ports);
}

/* by words, since a worker may read them meanwhile */
_Static_assert(sizeof(struct bp_lcl_rules) % 8 == 0, "rules are copied by words");

void bp_lcl_plan_write(struct bp_lcl_plan *p, const struct bp_lcl_rules *rules)
{
	bp_plan_write(&p->generation, &p->rules, rules, sizeof(*rules));
}

bool bp_lcl_plan_says(const struct bp_lcl_plan *p, const struct bp_lcl_rules *rules)
{
	return bp_plan_says(&p->generation, &p->rules, rules, sizeof(*rules));
}

bool bp_lcl_plan_take(const struct bp_lcl_plan *p, uint64_t *seen, struct bp_lcl_rules *out)
{
	return bp_plan_take(&p->generation, &p->rules, seen, out, sizeof(*out));
}
