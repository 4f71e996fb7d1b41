/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_RUN_RUN_COUNTS_H
#define BP_APPS_BIPLANE_RUN_RUN_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

struct bp_config;

/* Counts that the supervisor writes into the segment, for `biplane status`. */
struct bp_run_counts {
	uint64_t run_pid;
	uint32_t dp_restarts, cp_restarts;
	uint32_t dp_hung, cp_hung; /* of these, because of missing heartbeats */
};

/*
 * Stores them in the current segment of the instance: the data plane may have replaced the file
 * since the last call, so it is opened each time. False if there is none yet: the data plane
 * creates it, and allocates its hugepages first. `path` is read again for the sizes of the tables,
 * as the data plane did; `config` is used if it cannot be read.
 */
bool bp_run_counts_store(
	const char *path, const struct bp_config *config, const struct bp_run_counts *counts);

#endif
