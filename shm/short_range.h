/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_SHORT_RANGE_H
#define BP_SHM_SHORT_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "biplane/rule.h"

#define BP_SHORT_POINTS 9 /* BP_NUMBER_SHORT + 1 */

/*
 * A condition, precomputed for the numbers that bp_number_digits() reads: for each position of the
 * decimal point, the digits (as an integer) for which it holds are one interval of the 32-bit
 * numbers, modulo 2^32: "outside" is one, too. So a worker evaluates such a number without a
 * division, with the result of bp_condition_holds() for its double.
 */
struct bp_short_ranges {
	struct {
		uint32_t low, span; /* low .. low + span, modulo 2^32 */
	} at[BP_SHORT_POINTS];      /* by *point of bp_number_digits() */
};

/* The bounds of `c` must not be NaN. */
void bp_short_ranges_fill(struct bp_short_ranges *r, const struct bp_condition *c);

static inline bool bp_short_ranges_hold(
	const struct bp_short_ranges *r, uint32_t digits, unsigned point)
{
	return digits - r->at[point].low <= r->at[point].span;
}

#endif
