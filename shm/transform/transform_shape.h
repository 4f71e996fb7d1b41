/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_TRANSFORM_TRANSFORM_SHAPE_H
#define BP_SHM_TRANSFORM_TRANSFORM_SHAPE_H

#include "config/config.h"
#include "shm/fib/fib_tables.h"
#include "shm/transform/transform.h"

/* How the tables of coordinate transformation lie in the segment. Called by shm/layout.c alone. */

enum {
	BP_XT_HEAD,
	BP_XT_READERS,
	BP_XT_BANKS,
	BP_XT_RULES,
	BP_XT_STATS,
	BP_TRANSFORM_TABLES,
};
extern const struct bp_table_shape bp_transform_shape[BP_TRANSFORM_TABLES];

/* Elements of each table; as good as nothing without a section transform. */
void bp_transform_capacities(const struct bp_config *c, uint64_t capacity[BP_TRANSFORM_TABLES]);
/* Of a segment that somebody else made, for so many workers: whether its capacities are possible.
 */
bool bp_transform_sizes_agree(const uint64_t capacity[BP_TRANSFORM_TABLES], uint64_t workers);
void bp_transform_map(struct bp_transform_tables *t, void *const address[BP_TRANSFORM_TABLES],
	const uint64_t capacity[BP_TRANSFORM_TABLES], uint32_t workers);
/* Of memory that is all zero. */
void bp_transform_init(const struct bp_transform_tables *t);

#endif
