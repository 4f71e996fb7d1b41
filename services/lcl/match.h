/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_LCL_MATCH_H
#define BP_SERVICES_LCL_MATCH_H

#include "biplane/lcl.h"
#include "services/match/match.h"

_Static_assert(BP_LCL_FLOWS_MAX <= BP_MATCHES_MAX, "an entry for each flow");

/* Matches the flows whose `out` is this port; the result is the index in rules->flow[]. NULL: no
 * memory. */
static inline struct bp_matcher *bp_lcl_matcher_create(
	const struct bp_lcl_rules *rules, uint8_t out)
{
	struct bp_matcher *m = bp_matcher_create();

	for (unsigned i = 0; m && i < rules->n_flows && i < BP_LCL_FLOWS_MAX; i++)
		if (rules->flow[i].out == out)
			bp_matcher_add(m, &rules->flow[i].match, (uint16_t)i);
	return m;
}

#endif
