/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_HEALTH_PHD_SHAPE_H
#define BP_SHM_HEALTH_PHD_SHAPE_H

#include "shm/health/phd.h"

/* The session tables, by their index in struct bp_service_tables. */
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

/* A token has 23 bits for a slot (services/health/token.h), a word 16 for a layout. */
#define BP_PHD_SESSIONS_MAX (1u << 22)
#define BP_PHD_LAYOUTS_MAX 4096u

/* Tables with large elements count in lines, so that their minimum of one element is small. */
#define BP_PHD_LINE 64
#define BP_PHD_LAYOUT_LINES (BP_PHD_LAYOUT_SIZE / BP_PHD_LINE)
#define BP_PHD_IDS_LINES (sizeof(struct bp_phd_ids) / BP_PHD_LINE)

/* Everything but hash_key. `events`: memory of this process for as many rings as there are workers,
 * which is filled. */
void bp_phd_map(struct bp_phd_tables *t, void *const address[BP_PHD_TABLES],
	const uint64_t capacity[BP_PHD_TABLES], struct bp_ring *events, uint32_t workers);

#endif
