/* SPDX-License-Identifier: BSD-3-Clause */
/* The vector method with 2, 4 and 8 doubles at a time: the same bits, and only where asked. */
#include "tests/unit/services/transform/points.h"

#define READINGS (4u << 20)

static struct bp_transform_points made, result[3];
static const struct bp_transform_ops *ops[3];
static unsigned widths;

static void expect_same(unsigned n, unsigned burst)
{
	for (unsigned w = 1; w < widths; w++)
		for (unsigned k = 0; k < 3; k++)
			if (memcmp(result[w].v[k], result[0].v[k], n * sizeof(double)) != 0)
				fail_msg("%s differs from %s in burst %u", ops[w]->how, ops[0]->how,
					burst);
}

static void draw_points(struct bp_transform_draw *d, unsigned burst)
{
	for (unsigned i = 0; i < BP_TRANSFORM_BURST; i++) {
		/* the paper's range, our full range, and values near the quadrants' ends */
		const double span = burst % 3 == 0 ? TURN : BP_TRANSFORM_ANGLE_MAX;

		made.v[0][i] = uniform(d, -64, 64) * exp2(uniform(d, -8, 8));
		for (unsigned k = 1; k < 3; k++) {
			made.v[k][i] = uniform(d, -span, span);
			if (burst % 3 == 2)
				made.v[k][i] = rint(made.v[k][i]) * (M_PI / 4);
			if (fabs(made.v[k][i]) > BP_TRANSFORM_ANGLE_MAX)
				made.v[k][i] = BP_TRANSFORM_ANGLE_MAX;
		}
	}
}

static void the_same_bits(void **state)
{
	struct bp_transform_draw d = {3};

	for (unsigned burst = 0; burst < READINGS / BP_TRANSFORM_BURST; burst++) {
		draw_points(&d, burst);
		for (unsigned w = 0; w < widths; w++) {
			result[w] = made;
			ops[w]->to_cartesian(&result[w], BP_TRANSFORM_BURST);
		}
		expect_same(BP_TRANSFORM_BURST, burst);
	}
}

/* With one matrix, a few in runs, and one each: every way through the affine part. */
static void the_same_bits_after_matrices(void **state)
{
	struct bp_transform_draw d = {4};
	double m[BP_TRANSFORM_BURST][12];

	for (unsigned burst = 0; burst < 1u << 14; burst++) {
		const unsigned n = 1 + burst % BP_TRANSFORM_BURST;
		const double *matrix[BP_TRANSFORM_BURST];
		unsigned at = 0;

		for (unsigned i = 0; i < n; i++) {
			bp_transform_draw_matrix(&d, m[i]);
			if (burst % 3 == 1 || (burst % 3 == 2 && uniform(&d, 0, 1) < 0.1))
				at = i;
			matrix[i] = m[at];
		}
		for (unsigned i = n; i < BP_TRANSFORM_BURST; i++)
			matrix[i] = NULL;
		draw_points(&d, 0);
		for (unsigned w = 0; w < widths; w++) {
			result[w] = made;
			ops[w]->affine(&result[w], matrix, n);
		}
		expect_same(n, burst);
		/* and right: exact's is done point by point */
		bp_transform_ops(BP_TRANSFORM_EXACT)->affine(&made, matrix, n);
		for (unsigned k = 0; k < 3; k++)
			assert_memory_equal(made.v[k], result[0].v[k], n * sizeof(double));
	}
}

/* For any n the first n are computed, as in a full burst; elements beyond the next multiple of 8
 * are unchanged. Every method. */
static void any_number(void **state)
{
	const double m[12] = {0.5, -0.5, 0.25, 0.25, 1, 0, -0.75, 0.5, -1, 0.125, -1, 2};
	const double *matrix[BP_TRANSFORM_BURST];
	struct bp_transform_draw d = {5};
	struct bp_transform_points full, part;

	draw_points(&d, 0);
	for (unsigned i = 0; i < BP_TRANSFORM_BURST; i++)
		matrix[i] = m;
	for (int which = -(int)widths; which < BP_TRANSFORM_METHODS; which++) {
		const struct bp_transform_ops *o =
			which < 0 ? ops[which + (int)widths]
				  : bp_transform_ops((enum bp_transform_method)which);

		full = made;
		o->to_cartesian(&full, BP_TRANSFORM_BURST);
		o->affine(&full, matrix, BP_TRANSFORM_BURST);
		for (unsigned n = 0; n <= BP_TRANSFORM_BURST; n++) {
			const unsigned end = (n + 7) / 8 * 8;

			part = made;
			o->to_cartesian(&part, n);
			o->affine(&part, matrix, n);
			for (unsigned k = 0; k < 3; k++) {
				assert_memory_equal(part.v[k], full.v[k], n * sizeof(double));
				assert_memory_equal(part.v[k] + end, made.v[k] + end,
					(BP_TRANSFORM_BURST - end) * sizeof(double));
			}
		}
	}
}

static void widest_instruction_set_is_selected(void **state)
{
	assert_non_null(bp_transform_vector_ops(2));
	assert_null(bp_transform_vector_ops(3));
	assert_null(bp_transform_vector_ops(0));
	assert_ptr_equal(bp_transform_ops(BP_TRANSFORM_VECTOR), ops[widths - 1]);
	bp_transform_methods_init(); /* again: no change */
	assert_ptr_equal(bp_transform_ops(BP_TRANSFORM_VECTOR), ops[widths - 1]);
	for (unsigned w = 0; w < widths; w++)
		print_message("%s\n", ops[w]->how);
}

static int up(void **state)
{
	methods_up(state);
	for (unsigned width = 2; width <= 8; width *= 2)
		if (bp_transform_vector_ops(width) != NULL)
			ops[widths++] = bp_transform_vector_ops(width);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(widest_instruction_set_is_selected),
		cmocka_unit_test(the_same_bits),
		cmocka_unit_test(the_same_bits_after_matrices),
		cmocka_unit_test(any_number),
	};

	return cmocka_run_group_tests(tests, up, NULL);
}
