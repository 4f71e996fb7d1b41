/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_SAMPLING_SAMPLING_H
#define BP_DATAPLANE_SAMPLING_SAMPLING_H

#include "dataplane/workers/worker.h"
#include "services/sampling/sampler.h"
#include "shm/sampling/sampling.h"

/* The per-worker state of sampling. */
struct bp_sampling {
	struct bp_worker *worker;
	struct bp_sampler *sampler;
	struct bp_sampling_shared_rules *plan;
	struct bp_sampling_stats *stats; /* this worker's, of each entry */
	uint8_t after[BP_MAX_PORTS];     /* edge that the frames of a port take after this node */
	uint64_t generation;             /* of the last plan that was read */
	struct bp_sampling_rules rules;  /* the active rules */
	struct bp_sampling_rules next;
};

extern struct rte_node_register bp_node_sampling;

#endif
