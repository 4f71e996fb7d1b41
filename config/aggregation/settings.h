/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_AGGREGATION_SETTINGS_H
#define BP_CONFIG_AGGREGATION_SETTINGS_H

#include "biplane/aggregation.h"
#include "config/config.h"

struct bp_config_aggregation {
	struct bp_agg_rules rules; /* aggregation.encapsulate and .decapsulate */
	/* limits of each worker */
	uint32_t max_streams;      /* streams sent; the same number of received streams */
	uint32_t pacing_queue_len; /* frames, for each entry with a pacing gap */
};
BP_CONFIG_SERVICE(aggregation, AGGREGATION)

/* Returns whether the file has an entry of encapsulate or decapsulate. */
static inline bool bp_config_aggregates(const struct bp_config *c)
{
	const struct bp_agg_rules *r = &bp_config_aggregation(c)->rules;

	return r->n_aggregate != 0 || r->n_disaggregate != 0;
}

#endif
