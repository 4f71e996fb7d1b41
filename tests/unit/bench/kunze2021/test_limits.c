/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/bench/kunze2021/kunze2021_test.h"
#include "tests/unit/services/transform/limits.h"

#define METHODS BENCH_KUNZE2021_METHODS

static const struct limits_method methods[METHODS] = {{&bench_kunze2021_large, 3e-7, 4 / ONE},
	{&bench_kunze2021_medium, 3e-7, 4 / ONE}, {&bench_kunze2021_small, 1.2e-6, 4 / ONE},
	{&bench_kunze2021_chebyshev, 7e-6, 4 / ONE}, {&bench_kunze2021_userspace, 6e-16, 1e-323}};

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quadrant_limits_are_exact),
		cmocka_unit_test(range_ends_are_exact),
		cmocka_unit_test(huge_angles),
	};

	return cmocka_run_group_tests(tests, kunze2021_up, NULL);
}
