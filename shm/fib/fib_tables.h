/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_FIB_FIB_TABLES_H
#define BP_SHM_FIB_FIB_TABLES_H

#include "shm/fib/fib.h"
#include "shm/segment.h"
#include "shm/service.h"

/* The forwarding tables in the segment: for shm/layout.c and config/segment.c. */

enum {
	BP_FT_CONTROL,
	BP_FT_READERS,
	BP_FT_INTERFACES,
	BP_FT_NEIGHBORS,
	BP_FT_NEXTHOPS,
	BP_FT_GROUPS,
	BP_FT_ROUTES4,
	BP_FT_ROUTES6,
	BP_FT_LPM4_ROOT,
	BP_FT_LPM6_ROOT,
	BP_FT_VRFS,
	BP_FT_VRF_ROOTS,
	BP_FT_LINES,
	BP_FIB_TABLES,
};
extern const struct bp_table_shape bp_fib_shape[BP_FIB_TABLES];

/* For a segment of another process: whether its capacities are possible. */
bool bp_fib_sizes_agree(const uint64_t capacity[BP_FIB_TABLES]);
/* Everything but hash_key. */
void bp_fib_map(struct bp_fib *f, void *const address[BP_FIB_TABLES],
	const uint64_t capacity[BP_FIB_TABLES]);
/* Each initialises one part of zeroed memory, by the process that may write that part: the values
 * that workers rely on from their start. */
void bp_fib_init_readers(struct bp_fib *f);
void bp_fib_init_control(struct bp_fib *f);
void bp_fib_init_nexthops(struct bp_fib *f);

#endif
