/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_AGGREGATION_SETTINGS_H
#define BP_CONFIG_AGGREGATION_SETTINGS_H

#include "biplane/aggregation.h"
#include "config/config.h"

struct bp_config_aggregation {
	struct bp_agg_rules rules; /* sections aggregate and disaggregate */
	/* section aggregation: bounds of each worker */
	uint32_t streams; /* that are made, and as many that are received */
	uint32_t queue;   /* frames that wait for their pace, of each entry with one */
};
BP_CONFIG_SERVICE(aggregation, AGGREGATION)

/* Whether the file has an entry of aggregate or disaggregate. */
static inline bool bp_config_aggregates(const struct bp_config *c)
{
	const struct bp_agg_rules *r = &bp_config_aggregation(c)->rules;

	return r->n_aggregate != 0 || r->n_disaggregate != 0;
}

#endif
