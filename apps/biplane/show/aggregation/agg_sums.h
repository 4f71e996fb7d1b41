/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_SHOW_AGGREGATION_AGG_SUMS_H
#define BP_APPS_BIPLANE_SHOW_AGGREGATION_AGG_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "shm/layout.h"

/* What the workers count of aggregation, added up, as another process may read it while it grows:
 * sums of different words are not of one instant. */

/* As struct bp_agg_stats and struct bp_disagg_stats have them. */
struct bp_agg_sum {
	uint64_t messages, message_bytes, aggregates, aggregate_bytes;
	uint64_t flushed[BP_AGG_FLUSH_COUNT];
	uint64_t delay_ns, delay[BP_AGG_DELAYS];
	uint64_t passed, begun, evicted, streams, waiting;
};
struct bp_disagg_sum {
	uint64_t aggregates, aggregate_bytes, messages, message_bytes, plain, refused;
	uint64_t missing, late, duplicate, stale, lives, forgotten;
	uint64_t paced, pace_ns, pace[BP_AGG_DELAYS], early, waiting;
};

/* Adds what `worker` counts of entry `rule` (both in range) to *sum. */
void bp_agg_sum_add(const struct bp_shm *m, uint32_t worker, uint32_t rule, struct bp_agg_sum *sum);
void bp_disagg_sum_add(
	const struct bp_shm *m, uint32_t worker, uint32_t rule, struct bp_disagg_sum *sum);

/* Of all workers, one entry. */
struct bp_agg_sum bp_agg_sum_of(const struct bp_shm *m, uint32_t rule);
struct bp_disagg_sum bp_disagg_sum_of(const struct bp_shm *m, uint32_t rule);

/*
 * Reads the rules that the control plane published last; each number of entries is at most the size
 * of its array. Returns their generation. 0: no rules are published; then the entries are empty,
 * and their number is that of the entries with counters.
 */
uint64_t bp_agg_rules_read(const struct bp_shm *m, struct bp_agg_rules *rules);

#endif
