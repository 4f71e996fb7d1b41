/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_HEALTH_PHD_SHAPE_H
#define BP_SHM_HEALTH_PHD_SHAPE_H

#include "config/config.h"
#include "shm/fib/fib_tables.h"
#include "shm/health/phd.h"

/* How the session tables lie in the segment. Called by shm/layout.c alone. */

enum {
	BP_PT_CONTROL,
	BP_PT_TAGS,
	BP_PT_SESSIONS,
	BP_PT_LAYOUTS,
	BP_PT_IDS,
	BP_PT_EVENTS,
	BP_PT_EVENT_TAILS,
	BP_PT_STATUS,
	BP_PHD_TABLES,
};
extern const struct bp_table_shape bp_phd_shape[BP_PHD_TABLES];

/* Elements of each table; one of each, as good as nothing, without a section phd. */
void bp_phd_capacities(const struct bp_config *c, uint64_t capacity[BP_PHD_TABLES]);
/* Of a segment that somebody else made, for so many workers: whether its capacities are possible.
 */
bool bp_phd_sizes_agree(const uint64_t capacity[BP_PHD_TABLES], uint64_t workers);
/* Everything but hash_key. `events`: memory of this process for as many rings as there are workers,
 * which is filled. */
void bp_phd_map(struct bp_phd_tables *t, void *const address[BP_PHD_TABLES],
	const uint64_t capacity[BP_PHD_TABLES], struct bp_ring *events, uint32_t workers);

#endif
