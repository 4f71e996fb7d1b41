/* SPDX-License-Identifier: BSD-3-Clause */
/* The methods in fixed point, place by place, against models written down another way. */
#include "tests/unit/bench/kunze2021/kunze2021_test.h"

#define DRAWS 200000
#define PI_FIXED 105414357
#define TURN_FIXED 210828714

/* a b / 2^bits, rounded down. */
static int64_t product(int64_t a, int64_t b, unsigned bits)
{
	const __int128 p = (__int128)a * b, one = (__int128)1 << bits;
	__int128 q = p / one;

	if (q * one > p)
		q--;
	return (int64_t)q;
}

struct pair {
	int64_t sin, cos;
};

static struct pair entry(int64_t places)
{
	return (struct pair){lroundl(sinl((long double)places / ONE) * ONE),
		lroundl(cosl((long double)places / ONE) * ONE)};
}

/* The angle-sum identity with `bits` in the lower table, whose entries are spaced by 2^cut units of
 * the last place. */
static struct pair looked_up(int64_t x, unsigned bits, unsigned cut)
{
	const int64_t units = x >> cut, low = units % (1 << bits), high = units - low;
	const struct pair h = entry(high << cut), l = entry(low << cut);

	return (struct pair){product(h.sin, l.cos, 25) + product(h.cos, l.sin, 25),
		product(h.cos, l.cos, 25) - product(h.sin, l.sin, 25)};
}

static struct pair model_large(int64_t x)
{
	return looked_up(x, 14, 0);
}

/* By quadrants' numbers. */
static struct pair model_quadrant(int64_t x, unsigned bits, unsigned cut)
{
	const int64_t end[3] = {lround(M_PI_2 * ONE), PI_FIXED, TURN_FIXED - lround(M_PI_2 * ONE)};
	struct pair r;

	if (x <= end[0])
		return looked_up(x, bits, cut);
	if (x <= end[1]) {
		r = looked_up(PI_FIXED - x, bits, cut);
		return (struct pair){r.sin, -r.cos};
	}
	if (x < end[2]) {
		r = looked_up(x - PI_FIXED, bits, cut);
		return (struct pair){-r.sin, -r.cos};
	}
	r = looked_up(TURN_FIXED - x, bits, cut);
	return (struct pair){-r.sin, r.cos};
}

static struct pair model_medium(int64_t x)
{
	return model_quadrant(x, 13, 0);
}

static struct pair model_small(int64_t x)
{
	return model_quadrant(x, 11, 4);
}

/* As the authors' server computes it. */
static int64_t chebyshev(int64_t angle)
{
	static const int64_t c[6] = {-3481369351, 227491688, -5961589, 86665, -802, 4};
	int64_t x = (int64_t)fmod((double)angle, TURN_FIXED), p = 0;

	if (x > PI_FIXED)
		x -= TURN_FIXED;
	if (x < -PI_FIXED)
		x += TURN_FIXED;
	for (unsigned i = 6; i-- > 0;)
		p = product(p, product(x, x, 25), 25) + c[i];
	return product(product(product(p, x, 35), x + PI_FIXED, 25), x - PI_FIXED, 25);
}

static struct pair model_chebyshev(int64_t x)
{
	return (struct pair){chebyshev(x), chebyshev(x + PI_FIXED / 2)};
}

static int64_t draw_place(struct bp_transform_draw *d, double from, double to)
{
	return (int64_t)floor(uniform(d, from, to) * ONE);
}

static void expect_model(
	const struct bp_transform_ops *ops, struct pair (*model)(int64_t), double from, double to)
{
	struct bp_transform_draw d = {21};

	for (unsigned i = 0; i < DRAWS; i++) {
		const int64_t r = draw_place(&d, -64, 64);
		int64_t angle[2], across;
		struct pair phi, theta;
		double out[3];

		for (unsigned k = 0; k < 2; k++) {
			angle[k] = draw_place(&d, from, to);
			if (i % 8 == k) /* next to an eighth of a turn */
				angle[k] = lrint(rint(angle[k] / ONE / M_PI_4) * M_PI_4 * ONE) +
					   (int64_t)(i % 5) - 2;
			if (angle[k] < from * ONE || angle[k] >= to * ONE)
				angle[k] = 0;
		}
		phi = model(angle[0]);
		theta = model(angle[1]);
		across = product(r, theta.sin, 25);
		transform_one(ops, (double[]){r / ONE, angle[0] / ONE, angle[1] / ONE}, NULL, out);
		assert_true(out[0] * ONE == product(across, phi.cos, 25));
		assert_true(out[1] * ONE == product(across, phi.sin, 25));
		assert_true(out[2] * ONE == product(r, theta.cos, 25));
	}
}

static void tables_equal_the_model(void **state)
{
	expect_model(&bench_kunze2021_large, model_large, 0, TURN_FIXED / ONE);
	expect_model(&bench_kunze2021_medium, model_medium, 0, TURN_FIXED / ONE);
	expect_model(&bench_kunze2021_small, model_small, 0, TURN_FIXED / ONE);
}

static void polynomial_equals_the_model(void **state)
{
	expect_model(&bench_kunze2021_chebyshev, model_chebyshev, 0, 64);
	expect_model(&bench_kunze2021_chebyshev, model_chebyshev, -64, 64);
}

static void matrix_product_equals_the_model(void **state)
{
	struct bp_transform_draw d = {22};

	for (unsigned i = 0; i < DRAWS; i++) {
		static struct bp_transform_points p;
		int64_t v[3], fixed[12];
		double m[12];
		const double *matrix = m;

		for (unsigned k = 0; k < 12; k++) {
			/* not on a place: rounded to the nearest */
			m[k] = uniform(&d, -63.999, 63.999) * (i % 2 == 0 ? 1 : 1.0 / 64);
			fixed[k] = lrint(m[k] * ONE);
		}
		for (unsigned k = 0; k < 3; k++) {
			v[k] = draw_place(&d, -64, 64);
			p.v[k][0] = v[k] / ONE;
		}
		bench_kunze2021(i % 4)->affine(&p, &matrix, 1);
		for (unsigned row = 0; row < 3; row++)
			assert_true(p.v[row][0] * ONE == product(fixed[row], v[0], 25) +
								 product(fixed[3 + row], v[1], 25) +
								 product(fixed[6 + row], v[2], 25) +
								 fixed[9 + row]);
	}
}

/* A value beyond the range of 64 is unchanged, so that it saturates to the correct side. */
static void nothing_wraps(void **state)
{
	static const double radius[] = {
		63.99999997, 64, -64, 64.5, -95, 96, -97, 300, -5000, 1e6, -1e150, 1e298};
	static const double scale[] = {1, -2, 63.9999999999, 64, -64, 1000, 2147483647};

	for (unsigned method = 0; method < BENCH_KUNZE2021_METHODS; method++)
		for (unsigned i = 0; i < sizeof(radius) / sizeof(radius[0]); i++)
			for (unsigned k = 0; k < sizeof(scale) / sizeof(scale[0]); k++) {
				const double s = scale[k], size = fabs(radius[i] * s);
				const double reading[3] = {radius[i], 0.7, 2.1};
				const double m[12] = {s, 0, 0, 0, s, 0, 0, 0, s, s, -s, 0};
				double out[3];

				transform_one(bench_kunze2021(method), reading, m, out);
				assert_true(off_by(reading, m, out) < 1e-5 * size + 1e-5);
			}
}

/* The matrix and the result of `userspace` have 25 bits behind the point. */
static void userspace_rounds(void **state)
{
	const struct bp_transform_ops *exact = bp_transform_ops(BP_TRANSFORM_EXACT);
	struct bp_transform_draw d = {23};

	for (unsigned i = 0; i < DRAWS; i++) {
		double meant[3], sent[3], m[12], rounded[12], out[3], want[3];

		bp_transform_draw_sample(&d, meant, sent);
		bp_transform_draw_matrix(&d, m);
		for (unsigned k = 0; k < 12; k++)
			rounded[k] = rint(m[k] * ONE) / ONE;
		transform_one(&bench_kunze2021_userspace, sent, m, out);
		transform_one(exact, sent, rounded, want);
		for (unsigned k = 0; k < 3; k++)
			assert_true(out[k] == rint(want[k] * ONE) / ONE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_equal_the_model),
		cmocka_unit_test(polynomial_equals_the_model),
		cmocka_unit_test(matrix_product_equals_the_model),
		cmocka_unit_test(nothing_wraps),
		cmocka_unit_test(userspace_rounds),
	};

	return cmocka_run_group_tests(tests, kunze2021_up, NULL);
}
