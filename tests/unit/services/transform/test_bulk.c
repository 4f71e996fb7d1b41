/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_bulk METHOD READINGS: a method on very many random readings of the paper's range, against
 * long double.
 */
#include "tests/unit/services/transform/points.h"

#include <stdio.h>
#include <stdlib.h>

static enum bp_transform_method method;
static uint64_t readings;

/* Readings and results with 25 bits behind the point: nowhere off by 0.2 um or more. */
static void readings_within_the_range_of_kunze2021(void **state)
{
	struct bp_transform_draw d = {42};
	struct bp_transform_accuracy a = {0};

	for (uint64_t done = 0; done < readings; done += BP_TRANSFORM_BURST) {
		double meant[BP_TRANSFORM_BURST][3], sent[BP_TRANSFORM_BURST][3], m[12];
		const double *matrix[BP_TRANSFORM_BURST];

		bp_transform_draw_matrix(&d, m);
		for (unsigned i = 0; i < BP_TRANSFORM_BURST; i++) {
			bp_transform_draw_sample(&d, meant[i], sent[i]);
			matrix[i] = m;
		}
		bp_transform_accuracy_measure(&a, bp_transform_ops(method), sent, sent, matrix,
			BP_TRANSFORM_BURST, BP_TRANSFORM_LIMIT);
	}
	print_message("%s: %llu readings, mean %.4f um, worst %.4f um, violations %.4f %%\n",
		bp_transform_ops(method)->name, (unsigned long long)a.points,
		bp_transform_accuracy_mean(&a) * 1e6, a.worst * 1e6,
		bp_transform_accuracy_share(&a) * 100);
	if (method == BP_TRANSFORM_VECTOR || method == BP_TRANSFORM_EXACT) {
		assert_true(a.worst < 0.2e-6);
		assert_int_equal(a.violations, 0);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(readings_within_the_range_of_kunze2021),
	};
	const int found = argc == 3 ? bp_transform_method_find(argv[1]) : -1;

	if (found < 0) {
		fprintf(stderr, "usage: test_bulk METHOD READINGS\n");
		return 64;
	}
	method = (enum bp_transform_method)found;
	readings = strtoull(argv[2], NULL, 10);
	return cmocka_run_group_tests(tests, methods_up, NULL);
}
