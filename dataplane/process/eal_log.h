/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PROCESS_EAL_LOG_H
#define BP_DATAPLANE_PROCESS_EAL_LOG_H

#include <stddef.h>

/*
 * Redirects the log of DPDK to that of this process, with its levels. While EAL starts, the last
 * errors are also kept, since a function that fails may give no error number.
 */
void bp_eal_log_begin(void);
/* Stops keeping errors. */
void bp_eal_log_end(void);
/* Writes the last errors since _begin() on one line, oldest first; "" if there were none. */
void bp_eal_log_errors(char *text, size_t size);

#endif
