/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_PROTO_AGGREGATION_AGG_READ_EXACT_H
#define BP_TESTS_UNIT_PROTO_AGGREGATION_AGG_READ_EXACT_H

#include "tests/unit/proto/exact.h"

#include "proto/aggregation/agg_full.h"

/* Decodes bytes with bp_agg_full_read(): into head, and got[] up to `most`. */
#define MOST 255

static struct bp_agg_message got[MOST];
static struct bp_agg_full head;

static enum bp_agg_full_error read_exact(
	const uint8_t *p, size_t len, unsigned family, unsigned most)
{
	uint8_t *exact = exact_copy(p, len);
	enum bp_agg_full_error e = bp_agg_full_read(exact, len, family, &head, got, most);

	free(exact);
	return e;
}

#endif
