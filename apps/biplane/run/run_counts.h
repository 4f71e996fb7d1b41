/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_RUN_RUN_COUNTS_H
#define BP_APPS_BIPLANE_RUN_RUN_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

struct bp_config;

/* What the supervisor writes into the segment, for `biplane status`. */
struct bp_run_counts {
	uint64_t run_pid;
	uint32_t dp_restarts, cp_restarts;
	uint32_t dp_hung, cp_hung; /* of these, because of missing heartbeats */
};

/*
 * Stores them in the instance's segment as it is now: the data plane may have replaced the file
 * since the last time, so it is opened anew and not kept. False when there is none yet: the data
 * plane makes it, and takes its hugepages first. `path` is read again for the tables' sizes, since
 * that is what the data plane did; `config` stands in when it can't be read.
 */
bool bp_run_counts_store(
	const char *path, const struct bp_config *config, const struct bp_run_counts *counts);

#endif
