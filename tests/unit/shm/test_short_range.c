/* SPDX-License-Identifier: BSD-3-Clause */
/* Conditions worked out for short numbers, next to the condition on the number's double. */
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/payload/number.h"
#include "shm/short_range.h"

static uint64_t next(uint64_t *s)
{
	*s ^= *s >> 12;
	*s ^= *s << 25;
	*s ^= *s >> 27;
	return *s * 0x2545f4914f6cdd1dull;
}

/* Bounds near decimals, where rounding decides, and far from all numbers. */
static double some_bound(uint64_t *s)
{
	static const double odd[] = {0, -0.0, -1, 1e-300, 1e300, -1e300, 99999999, 100000000,
		99999998.5, 0.1, 0.3, 80, 4.35, HUGE_VAL, -HUGE_VAL};
	char text[32];
	double v;
	uint64_t bits;

	if (next(s) % 3 == 0)
		return odd[next(s) % (sizeof(odd) / sizeof(odd[0]))];
	snprintf(text, sizeof(text), "%" PRIu64 ".%" PRIu64, next(s) % 10000, next(s) % 10000);
	v = strtod(text, NULL);
	memcpy(&bits, &v, sizeof(bits));
	bits += next(s) % 3 - 1; /* its neighbors too */
	memcpy(&v, &bits, sizeof(v));
	return v;
}

static void check(const struct bp_short_ranges *r, const struct bp_condition *c, uint32_t digits,
	unsigned point)
{
	double v = (double)digits / bp_number_scale[point];

	if (digits > 99999999)
		return;
	if (bp_short_ranges_hold(r, digits, point) != bp_condition_holds(c, v))
		fail_msg("op %u, bounds %.17g and %.17g: wrong for %u / %g", c->op, c->a, c->b,
			digits, bp_number_scale[point]);
}

static void against_the_condition(void **state)
{
	uint64_t s = 7;

	(void)state;
	for (unsigned round = 0; round < 4000; round++) {
		struct bp_condition c = {.op = (uint8_t)(round % 8)};
		struct bp_short_ranges r;

		c.a = some_bound(&s);
		c.b = some_bound(&s);
		bp_short_ranges_fill(&r, &c);
		for (unsigned point = 0; point < BP_SHORT_POINTS; point++) {
			double a = c.a * bp_number_scale[point], b = c.b * bp_number_scale[point];

			check(&r, &c, 0, point);
			check(&r, &c, 99999999, point);
			check(&r, &c, (uint32_t)(next(&s) % 100000000), point);
			for (int d = -3; d <= 3; d++) {
				if (a + d >= 0 && a + d < 1e8)
					check(&r, &c, (uint32_t)(a + d), point);
				if (b + d >= 0 && b + d < 1e8)
					check(&r, &c, (uint32_t)(b + d), point);
			}
		}
	}
}

/* 0.1 as a bound is not the tenth: 0.1 >= 0.1 all the same, by the one rounding. */
static void a_decimal_equals_itself(void **state)
{
	struct bp_condition c = {.op = BP_COND_EQ, .a = 0.1};
	struct bp_short_ranges r;

	(void)state;
	bp_short_ranges_fill(&r, &c);
	assert_true(bp_short_ranges_hold(&r, 1, 2));  /* 0.1: two characters from the point on */
	assert_true(bp_short_ranges_hold(&r, 10, 3)); /* 0.10 */
	assert_false(bp_short_ranges_hold(&r, 1, 1));
	assert_false(bp_short_ranges_hold(&r, 0, 0));
	c.op = BP_COND_GT;
	bp_short_ranges_fill(&r, &c);
	assert_false(bp_short_ranges_hold(&r, 1, 2));
	assert_true(bp_short_ranges_hold(&r, 11, 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(against_the_condition),
		cmocka_unit_test(a_decimal_equals_itself),
	};

	return cmocka_run_group_tests_name("short_range", tests, NULL, NULL);
}
