/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_SAMPLING_SAMPLING_H
#define BP_SHM_SAMPLING_SAMPLING_H

#include <stdatomic.h>
#include <stdint.h>

#include "biplane/sampling.h"
#include "shm/layout.h"
#include "shm/seqlock.h"

/*
 * Sampling in the segment.
 *
 *   table           writer      element
 *   sampling_plan   CP          struct bp_sampling_shared_rules, one: the active rules
 *   sampling_stats  DP worker   struct bp_sampling_stats, [worker * BP_SAMPLING_MAX + entry]
 */
struct bp_sampling_shared_rules {
	struct bp_seqlock lock;
	struct bp_sampling_rules rules;
};
_Static_assert(sizeof(struct bp_sampling_shared_rules) == 8 + sizeof(struct bp_sampling_rules),
	"the seqlock copies words behind it");

/* Since the rules became active. */
struct bp_sampling_stats {
	_Atomic uint64_t matched, mirrored, not_mirrored; /* frames */
} __attribute__((aligned(64)));

struct bp_sampling_tables {
	struct bp_sampling_shared_rules *plan;
	struct bp_sampling_stats *stats;
};

/* The tables, by their index in struct bp_service_tables. */
enum { BP_ST_RULES, BP_ST_STATS, BP_SAMPLING_TABLES };

/* NULL: the file has no section sampling. */
static inline struct bp_sampling_tables *bp_sampling_tables(const struct bp_shm *m)
{
	return m->service[BP_SERVICE_SAMPLING];
}

#endif
