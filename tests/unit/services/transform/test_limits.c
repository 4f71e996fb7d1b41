/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/services/transform/limits.h"

#define METHODS BP_TRANSFORM_METHODS

static struct limits_method methods[METHODS]; /* a radius may be off by some roundings of 2^-53 */

static void quadrant_limits_are_exact(void **state)
{
	for (unsigned i = 0; i < METHODS; i++)
		expect_quadrants(&methods[i]);
}

static void range_ends_are_exact(void **state)
{
	for (unsigned i = 0; i < METHODS; i++)
		expect_ends(&methods[i]);
}

static void huge_angles(void **state)
{
	struct bp_transform_draw d = {11};

	for (unsigned i = 0; i < METHODS; i++)
		expect_huge_angles(&methods[i], &d);
}

/* Nearest doubles to multiples of pi/2: where little of the angle is left. */
static void cancellation_keeps_precision(void **state)
{
	const double most = floor(BP_TRANSFORM_ANGLE_MAX / M_PI_2);
	struct bp_transform_draw d = {12};

	for (unsigned i = 0; i < 200000; i++) {
		const double angle =
			(double)(rint(uniform(&d, -most, most)) * 1.57079632679489661923L);

		expect_near(&methods[BP_TRANSFORM_VECTOR], 64, angle, angle);
		expect_near(&methods[BP_TRANSFORM_EXACT], 64, angle, angle);
	}
}

static int up(void **state)
{
	methods_up(state);
	for (unsigned i = 0; i < METHODS; i++)
		methods[i] = (struct limits_method){
			bp_transform_ops((enum bp_transform_method)i), 6e-16, 1e-323};
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quadrant_limits_are_exact),
		cmocka_unit_test(range_ends_are_exact),
		cmocka_unit_test(huge_angles),
		cmocka_unit_test(cancellation_keeps_precision),
	};

	return cmocka_run_group_tests(tests, up, NULL);
}
