/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_SHOW_STREAM_FILTER_H
#define BP_APPS_BIPLANE_SHOW_STREAM_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "biplane/fib.h"
#include "shm/aggregation/agg.h"

/* Which streams of aggregates are asked for. All zero: every one. */
struct bp_stream_filter {
	struct bp_prefix within; /* the destination's address; family 0: any */
	bool has_rule;
	uint32_t rule; /* entry of `encapsulate`, from 0 */
};

static inline bool bp_stream_filter_any(const struct bp_stream_filter *f)
{
	return f->within.family != 0 || f->has_rule;
}

bool bp_stream_filter_takes(const struct bp_stream_filter *f, const struct bp_agg_stream_row *row);

#endif
