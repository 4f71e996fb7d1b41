/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/bench/kunze2021/kunze2021_test.h"

#define READINGS 15000 /* as many as the paper's */

static double meant[READINGS][3], sent[READINGS][3], matrix[READINGS][12];
static const double *matrices[READINGS];

static void measure(const struct bp_transform_ops *ops, bool from_meant, bool with_matrix,
	struct bp_transform_accuracy *a)
{
	*a = (struct bp_transform_accuracy){0};
	bp_transform_accuracy_measure(a, ops, sent, from_meant ? meant : sent,
		with_matrix ? matrices : NULL, READINGS, BP_TRANSFORM_LIMIT);
	assert_int_equal(a->points, READINGS);
}

/*
 * Table I: the reference is the exact point, each reading has a matrix. The paper's figures in
 * micrometres and percent, and the tolerance for ours; both are from 15,000 readings, so the third
 * digit is random.
 */
static void table_1_of_kunze2021(void **state)
{
	static const struct {
		const struct bp_transform_ops *ops;
		double mean, mean_near, share, share_near;
	} row[] = {
		{&bench_kunze2021_userspace, 0.2, 0.05, 0, 0},
		{&bench_kunze2021_chebyshev, 19.7, 1, 48.5, 1.5},
		{&bench_kunze2021_large, 0.5, 0.05, 0, 0},
		{&bench_kunze2021_medium, 0.4, 0.05, 0, 0},
		{&bench_kunze2021_small, 2.9, 0.2, 0.7, 0.15},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct bp_transform_accuracy a;

		measure(row[i].ops, true, true, &a);
		print_message("%-10s mean %.3f um, paper %.1f; violations %.2f %%, paper %.1f; "
			      "worst %.2f um\n",
			row[i].ops->name, bp_transform_accuracy_mean(&a) * 1e6, row[i].mean,
			bp_transform_accuracy_share(&a) * 100, row[i].share, a.worst * 1e6);
		assert_true(fabs(bp_transform_accuracy_mean(&a) * 1e6 - row[i].mean) <
			    row[i].mean_near);
		assert_true(fabs(bp_transform_accuracy_share(&a) * 100 - row[i].share) <=
			    row[i].share_near);
	}
}

/* Of the methods themselves, without what sending readings and rounding matrices costs. */
static void bare_points(void **state)
{
	static const double worst[BENCH_KUNZE2021_METHODS] = {3e-6, 2.5e-6, 15e-6, 120e-6, 0.03e-6};

	for (unsigned i = 0; i < BENCH_KUNZE2021_METHODS; i++) {
		struct bp_transform_accuracy a;

		measure(bench_kunze2021(i), false, false, &a);
		assert_true(a.worst < worst[i]);
		assert_true(a.worst > worst[i] / 3); /* that we measure at all */
	}
}

static int up(void **state)
{
	struct bp_transform_draw d = {7};

	for (unsigned i = 0; i < READINGS; i++) {
		bp_transform_draw_sample(&d, meant[i], sent[i]);
		bp_transform_draw_matrix(&d, matrix[i]);
		matrices[i] = matrix[i];
	}
	return kunze2021_up(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_1_of_kunze2021),
		cmocka_unit_test(bare_points),
	};

	return cmocka_run_group_tests(tests, up, NULL);
}
