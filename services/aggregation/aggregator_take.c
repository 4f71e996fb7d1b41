/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/aggregation/aggregator_parts.h"

/*
 * Which way a burst is taken: that of one stream (services/aggregation/aggregator_usual.c) as far
 * as it goes, and that of many (services/aggregation/aggregator_many.c) for the rest. Where the
 * first went some way, the burst is one of a single stream with others in between: these alone are
 * taken the other way.
 */
#define SOME_WAY 4u

void bp_aggregator_take(struct bp_aggregator *a, struct bp_agg_input *in, unsigned n,
	uint64_t now_ns, uint64_t wall_ns)
{
	unsigned at = 0;

	bp_aggregator_poll(a, now_ns, wall_ns);
	while (at < n) {
		unsigned usual = 0, others;

		if (a->usual.stream != BP_AGG_NO_STREAM && !a->general)
			usual = bp_aggregator_take_usual(a, in, n - at, at, now_ns, wall_ns);
		at += usual;
		if (at == n)
			break;
		others = n - at;
		if (usual >= SOME_WAY)
			for (others = 1; others < n - at; others++)
				if (bp_aggregator_is_usual(a, &in[at + others]))
					break;
		bp_aggregator_take_many(a, in, others, at, others == n - at, now_ns, wall_ns);
		at += others;
	}
	a->at = 0;
	bp_aggregator_settle(a);
}
