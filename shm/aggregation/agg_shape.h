/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_AGGREGATION_AGG_SHAPE_H
#define BP_SHM_AGGREGATION_AGG_SHAPE_H

#include "config/config.h"
#include "shm/aggregation/agg.h"
#include "shm/fib/fib_tables.h"

/* How the tables of aggregation lie in the segment. Called by shm/layout.c alone. */

enum {
	BP_AT_PLAN,
	BP_AT_STATS,
	BP_AT_DISAGG_STATS,
	BP_AT_STREAMS,
	BP_AGG_TABLES,
};
extern const struct bp_table_shape bp_agg_shape[BP_AGG_TABLES];

/* Elements of each table; as good as nothing without sections aggregate and disaggregate. */
void bp_agg_capacities(const struct bp_config *c, uint64_t capacity[BP_AGG_TABLES]);
/* Of a segment that somebody else made, for so many workers: whether its capacities are possible.
 */
bool bp_agg_sizes_agree(const uint64_t capacity[BP_AGG_TABLES], uint64_t workers);
void bp_agg_map(struct bp_agg_tables *t, void *const address[BP_AGG_TABLES],
	const uint64_t capacity[BP_AGG_TABLES], uint32_t workers);

#endif
