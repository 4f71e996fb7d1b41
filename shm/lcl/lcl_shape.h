/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_LCL_LCL_SHAPE_H
#define BP_SHM_LCL_LCL_SHAPE_H

#include "config/config.h"
#include "shm/fib/fib_tables.h"
#include "shm/lcl/lcl.h"

/* How the tables of LCL scheduling lie in the segment. Called by shm/layout.c alone. */

enum {
	BP_LT_PLAN,
	BP_LT_PORTS,
	BP_LT_FLOWS,
	BP_LCL_TABLES,
};
extern const struct bp_table_shape bp_lcl_shape[BP_LCL_TABLES];

/* Elements of each table; as good as nothing without section lcl. */
void bp_lcl_capacities(const struct bp_config *c, uint64_t capacity[BP_LCL_TABLES]);
/* Of a segment that somebody else made: whether its capacities are possible. */
bool bp_lcl_sizes_agree(const uint64_t capacity[BP_LCL_TABLES]);
void bp_lcl_map(struct bp_lcl_tables *t, void *const address[BP_LCL_TABLES],
	const uint64_t capacity[BP_LCL_TABLES]);

#endif
