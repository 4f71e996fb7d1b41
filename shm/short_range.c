/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/short_range.h"

#include "proto/payload/number.h"

_Static_assert(BP_SHORT_POINTS == BP_NUMBER_SHORT + 1, "one range for each place of the point");

#define DIGITS_END 100000000u /* eight digits */

/* The smallest digits whose number is >= x (with above: > x), or DIGITS_END. */
static uint32_t first(unsigned point, double x, bool above)
{
	uint32_t low = 0, high = DIGITS_END;

	/* A number grows with its digits, after rounding too. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		double v = (double)middle / bp_number_scale[point];

		if (above ? v > x : v >= x)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* The interval [from, to) of digits for which the condition, or its complement, holds. */
static bool interval(const struct bp_condition *c, unsigned point, uint32_t *from, uint32_t *to)
{
	*from = 0;
	*to = DIGITS_END;
	switch ((enum bp_cond_op)c->op) {
	case BP_COND_GT:
		*from = first(point, c->a, true);
		return true;
	case BP_COND_GE:
		*from = first(point, c->a, false);
		return true;
	case BP_COND_LT:
		*to = first(point, c->a, false);
		return true;
	case BP_COND_LE:
		*to = first(point, c->a, true);
		return true;
	case BP_COND_EQ:
	case BP_COND_NE:
		*from = first(point, c->a, false);
		*to = first(point, c->a, true);
		return c->op == BP_COND_EQ;
	case BP_COND_INSIDE:
	case BP_COND_OUTSIDE:
		*from = first(point, c->a, false);
		*to = first(point, c->b, true);
		return c->op == BP_COND_INSIDE;
	}
	return true;
}

void bp_short_ranges_fill(struct bp_short_ranges *r, const struct bp_condition *c)
{
	for (unsigned point = 0; point < BP_SHORT_POINTS; point++) {
		uint32_t from, to;
		bool holds = interval(c, point, &from, &to);

		if (from >= to) { /* an empty interval: no eight digits reach it */
			from = DIGITS_END;
			to = DIGITS_END + 1;
		}
		/* the complement of [from, to) begins at `to`, wraps past 0, and ends before
		 * `from` */
		r->at[point].low = holds ? from : to;
		r->at[point].span = (holds ? to - from : from - to) - 1;
	}
}
