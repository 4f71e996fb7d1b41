/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/stream_filter.h"

#include <string.h>

#include "apps/biplane/show/fib_list.h"

bool bp_stream_filter_takes(const struct bp_stream_filter *f, const struct bp_agg_stream_row *row)
{
	struct bp_prefix to = {.family = row->family};

	if (f->has_rule && f->rule != row->rule)
		return false;
	if (f->within.family == 0)
		return true;
	to.length = (uint8_t)bp_address_bits(row->family);
	memcpy(to.bytes, row->address, sizeof(to.bytes));
	return bp_prefix_within(&to, &f->within);
}
