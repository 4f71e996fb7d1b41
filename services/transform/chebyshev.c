/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/transform/fixed.h"
#include "services/transform/methods.h"

/*
 * The paper's polynomial, with the numbers of its authors' server: sin(x) is about
 * x (x + pi) (x - pi) P(x^2) for x between -pi and pi, P of degree 5 with coefficients scaled by
 * 2^35, everything rounded down. Identical to theirs wherever theirs does not overflow, which it
 * does from angles of 64 rad on; those are brought into a turn more exactly than it does it with
 * its 2 pi of 25 bits.
 */
static const int64_t coefficient[] = {-802, 86665, -5961589, 227491688, -3481369351};

static int64_t sine(int64_t angle)
{
	/* The quotient may be wrong by one beside a multiple of pi, where x is then a little beyond
	 * +-pi and is brought back. */
	int64_t x =
		angle - (int64_t)rint((double)angle * (1.0 / BP_FIXED_TWO_PI)) * BP_FIXED_TWO_PI;
	int64_t square, p = 4;

	if (x > BP_FIXED_PI)
		x -= BP_FIXED_TWO_PI;
	if (x < -BP_FIXED_PI)
		x += BP_FIXED_TWO_PI;
	square = bp_fixed_mul(x, x);
	for (unsigned i = 0; i < sizeof(coefficient) / sizeof(coefficient[0]); i++)
		p = bp_fixed_mul(p, square) + coefficient[i];
	p = (p * x) >> 35;
	p = bp_fixed_mul(p, x + BP_FIXED_PI);
	return bp_fixed_mul(p, x - BP_FIXED_PI);
}

static struct bp_fixed_sincos sine_cosine(double angle)
{
	const int64_t a =
		fabs(angle) < BP_FIXED_RANGE ? bp_fixed_from(angle) : bp_fixed_turn(angle);

	return (struct bp_fixed_sincos){sine(a), sine(a + BP_FIXED_HALF_PI)};
}

static void to_cartesian(struct bp_transform_points *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		bp_fixed_point(p, i, sine_cosine(p->v[1][i]), sine_cosine(p->v[2][i]));
}

const struct bp_transform_ops bp_transform_chebyshev = {
	.name = "chebyshev",
	.how = "fixed point, the paper's polynomial",
	.to_cartesian = to_cartesian,
	.affine = bp_fixed_affine,
	.fixed_point = true,
};
