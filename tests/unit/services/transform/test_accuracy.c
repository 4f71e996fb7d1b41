/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/services/transform/points.h"

#define READINGS 15000 /* as many as the paper's */

static double meant[READINGS][3], sent[READINGS][3], matrix[READINGS][12];
static const double *matrices[READINGS];

static void measure(enum bp_transform_method method, bool from_meant, bool with_matrix,
	struct bp_transform_accuracy *a)
{
	*a = (struct bp_transform_accuracy){0};
	bp_transform_accuracy_measure(a, bp_transform_ops(method), sent, from_meant ? meant : sent,
		with_matrix ? matrices : NULL, READINGS, BP_TRANSFORM_LIMIT);
	assert_int_equal(a->points, READINGS);
}

/* Only the rounding of the result, at most half a unit of the last place along each axis. */
static void doubles_differ_by_rounding_only(void **state)
{
	const double half = 0.5 / ONE;

	for (unsigned bare = 0; bare < 2; bare++) {
		struct bp_transform_accuracy a;

		measure(BP_TRANSFORM_VECTOR, false, !bare, &a);
		assert_true(a.worst < half * sqrt(3) * (1 + 1e-6));
		assert_true(a.worst < 0.2e-6);
		assert_int_equal(a.violations, 0);
		measure(BP_TRANSFORM_EXACT, false, !bare, &a);
		assert_true(a.worst < half * sqrt(3) * (1 + 1e-6));
		assert_int_equal(a.violations, 0);
	}
}

static void draws_are_reproducible(void **state)
{
	double least[3] = {99, 99, 99}, most[3] = {0};
	struct bp_transform_draw again = {7};

	for (unsigned i = 0; i < READINGS; i++) {
		double m[3], s[3], matrix_again[12];

		bp_transform_draw_sample(&again, m, s);
		bp_transform_draw_matrix(&again, matrix_again);
		assert_memory_equal(m, meant[i], sizeof(m));
		assert_memory_equal(matrix_again, matrix[i], sizeof(matrix_again));
		for (unsigned k = 0; k < 3; k++) {
			assert_true(s[k] <= m[k] && m[k] - s[k] < 1 / ONE);
			assert_true(s[k] * ONE == floor(s[k] * ONE));
			assert_true(fabs(m[k] * 1e9 - rint(m[k] * 1e9)) < 1e-4);
			least[k] = fmin(least[k], m[k]);
			most[k] = fmax(most[k], m[k]);
		}
		for (unsigned k = 0; k < 12; k++)
			assert_true(matrix_again[k] >= (k < 9 ? -1 : 0) &&
				    matrix_again[k] <= (k < 9 ? 1 : 10));
	}
	for (unsigned k = 0; k < 3; k++) {
		assert_true(least[k] >= 0 && least[k] < 0.02);
		assert_true(most[k] <= (k == 0 ? 20 : TURN) && most[k] > (k == 0 ? 19.98 : 6.27));
	}
}

static void errors_are_counted(void **state)
{
	const long double place[3] = {1, 2, 3};
	struct bp_transform_accuracy a = {0};

	assert_true(bp_transform_accuracy_mean(&a) == 0 && bp_transform_accuracy_share(&a) == 0);
	bp_transform_accuracy_add(&a, (double[]){1, 2, 3}, place, 0.25);
	bp_transform_accuracy_add(&a, (double[]){1.25, 2, 3}, place, 0.25); /* just within */
	assert_int_equal(a.violations, 0);
	bp_transform_accuracy_add(&a, (double[]){4, 6, 3}, place, 0.25);
	assert_int_equal(a.violations, 1);
	assert_int_equal(a.points, 3);
	assert_true(a.worst == 5);
	assert_true(bp_transform_accuracy_mean(&a) == 1.75);
	/* far apart in space, but near along each axis */
	bp_transform_accuracy_add(&a, (double[]){1.2, 2.2, 2.8}, place, 0.25);
	assert_int_equal(a.violations, 1);
	assert_true(bp_transform_accuracy_share(&a) == 0.25);
	bp_transform_accuracy_add(&a, (double[]){NAN, 2, 3}, place, 0.25);
	bp_transform_accuracy_add(&a, (double[]){1, -INFINITY, 3}, place, 0.25);
	assert_int_equal(a.violations, 3);
	assert_true(isinf(a.worst));
}

static void reference_equals_manual_results(void **state)
{
	const double reading[3] = {2, M_PI / 2, M_PI / 2},
		     m[12] = {0, 1, 0, -1, 0, 0, 0, 0, 3, 10, 20, 30};
	long double place[3];

	bp_transform_reference(reading, NULL, place);
	assert_true(
		fabsl(place[0]) < 1e-15 && fabsl(place[1] - 2) < 1e-15 && fabsl(place[2]) < 1e-15);
	bp_transform_reference(reading, m, place);
	assert_true(fabsl(place[0] - 8) < 1e-15 && fabsl(place[1] - 20) < 1e-15 &&
		    fabsl(place[2] - 30) < 1e-15);
	bp_transform_reference_cartesian((double[]){1, 2, 3}, m, place);
	assert_true(place[0] == 8 && place[1] == 21 && place[2] == 39);
	bp_transform_reference_cartesian((double[]){1, 2, 3}, NULL, place);
	assert_true(place[0] == 1 && place[1] == 2 && place[2] == 3);
}

static int up(void **state)
{
	struct bp_transform_draw d = {7};

	for (unsigned i = 0; i < READINGS; i++) {
		bp_transform_draw_sample(&d, meant[i], sent[i]);
		bp_transform_draw_matrix(&d, matrix[i]);
		matrices[i] = matrix[i];
	}
	return methods_up(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(draws_are_reproducible),
		cmocka_unit_test(errors_are_counted),
		cmocka_unit_test(reference_equals_manual_results),
		cmocka_unit_test(doubles_differ_by_rounding_only),
	};

	return cmocka_run_group_tests(tests, up, NULL);
}
