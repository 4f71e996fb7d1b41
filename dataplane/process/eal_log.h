/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PROCESS_EAL_LOG_H
#define BP_DATAPLANE_PROCESS_EAL_LOG_H

#include <stddef.h>

/*
 * DPDK's log goes to this process's, with its levels; while EAL starts, its last errors are kept as
 * well, since a function that fails may give no number.
 */
void bp_eal_log_begin(void);
/* From now on they are not kept. */
void bp_eal_log_end(void);
/* The last errors since _begin() on one line, oldest first; "" when there were none. */
void bp_eal_log_errors(char *text, size_t size);

#endif
