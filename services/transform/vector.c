/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The vector method, WIDTH doubles at a time: 2 for every processor; 4 and 8 in separate libraries
 * with the options of AVX2 and AVX-512. It uses no reciprocal, gather, FMA or other instruction
 * whose result depends on the processor: the results of all widths are bit-identical.
 */
#include "services/transform/methods.h"

#ifndef WIDTH
#define WIDTH 2
#endif
#if WIDTH == 2
#define OPS bp_transform_vector2
#define HOW "2 at a time"
#elif WIDTH == 4
#define OPS bp_transform_vector4
#define HOW "AVX2, 4 at a time"
#else
#define OPS bp_transform_vector8
#define HOW "AVX-512, 8 at a time"
#endif

typedef double vd __attribute__((vector_size(WIDTH * 8), may_alias));
typedef uint64_t vi __attribute__((vector_size(WIDTH * 8), may_alias));

/*
 * sin and cos of finite angles up to +-BP_TRANSFORM_ANGLE_MAX = 2^20.
 *
 * Reduction to -pi/4 .. pi/4 after Cody and Waite: the first part of pi/2 has 33 bits and the
 * number of quadrants at most 20, so their product and its difference to the angle are exact; the
 * remainder of pi/2 has 53 bits, with an error of 2^-67 after 2^20 quadrants. The quotient is
 * rounded by adding a number whose last place is 1; the quadrant is then in the lowest bits.
 *
 * The polynomials are those of the kernels of fdlibm (Sun Microsystems, 1993), with an error of
 * 2^-58; evaluated in Estrin's order, which shortens the dependency chain.
 */
static inline __attribute__((always_inline)) void sine_cosine(vd a, vd *sine, vd *cosine)
{
	const double whole = 6755399441055744.0; /* 1.5 * 2^52 */
	const vd t = a * 6.36619772367581382433e-01 + whole;
	const vd n = t - whole;
	const vd x = (a - n * 1.57079632673412561417e+00) - n * 6.07710050650619224932e-11;
	const vd z = x * x, zz = z * z;
	const vd s =
		x + x * z *
			    ((-1.66666666666666324348e-01 + z * 8.33333333332248946124e-03) +
				    zz * ((-1.98412698298579493134e-04 +
						  z * 2.75573137070700676789e-06) +
						 zz * (-2.50507602534068634195e-08 +
							      z * 1.58969099521155010221e-10)));
	const vd c =
		(1.0 - z * 0.5) +
		zz * ((4.16666666666666019037e-02 - z * 1.38888888888741095749e-03) +
			     zz * ((2.48015872894767294178e-05 - z * 2.75573143513906633035e-07) +
					  zz * (2.08757232129817482790e-09 -
						       z * 1.13596475577881948265e-11)));
	const vi q = (vi)t, odd = -(q & 1), other = ((vi)s ^ (vi)c) & odd;

	/* odd quadrants: the other one; sin is negative in quadrants 2 and 3, cos in 1 and 2 */
	*sine = (vd)((vi)s ^ other ^ ((q & 2) << 62));
	*cosine = (vd)((vi)c ^ other ^ (((q + 1) & 2) << 62));
}

static void to_cartesian(struct bp_transform_points *p, unsigned n)
{
	for (unsigned i = 0; i < n; i += WIDTH) {
		vd *const first = (vd *)&p->v[0][i], *const second = (vd *)&p->v[1][i],
			  *const third = (vd *)&p->v[2][i];
		const vd r = *first;
		vd sin_phi, cos_phi, sin_theta, cos_theta, across;

		sine_cosine(*second, &sin_phi, &cos_phi);
		sine_cosine(*third, &sin_theta, &cos_theta);
		across = r * sin_theta;
		*first = across * cos_phi;
		*second = across * sin_phi;
		*third = r * cos_theta;
	}
}

/* Points i .. i + WIDTH - 1 with the same matrix. */
static inline __attribute__((always_inline)) void affine_vector(
	struct bp_transform_points *p, unsigned i, const double *m)
{
	const vd x = *(vd *)&p->v[0][i], y = *(vd *)&p->v[1][i], z = *(vd *)&p->v[2][i];

	for (unsigned row = 0; row < 3; row++)
		*(vd *)&p->v[row][i] = x * m[row] + y * m[3 + row] + z * m[6 + row] + m[9 + row];
}

#if WIDTH >= 4
/* Four numbers anywhere. */
typedef double column __attribute__((vector_size(32), aligned(8), may_alias));

/* One point, with the three rows in parallel. */
static inline __attribute__((always_inline)) void affine_one(
	struct bp_transform_points *p, unsigned i, const double *m)
{
	const column last = *(const column *)(m + 8); /* m[12] does not exist */
	const column r = p->v[0][i] * *(const column *)m + p->v[1][i] * *(const column *)(m + 3) +
			 p->v[2][i] * *(const column *)(m + 6) +
			 __builtin_shufflevector(last, last, 1, 2, 3, 3);

	p->v[0][i] = r[0];
	p->v[1][i] = r[1];
	p->v[2][i] = r[2];
}
#else
#define affine_one bp_transform_affine_one
#endif

static void affine(struct bp_transform_points *p, const double *const matrix[], unsigned n)
{
	for (unsigned i = 0; i < n; i += WIDTH) {
		const unsigned left = n - i < WIDTH ? n - i : WIDTH;
		unsigned same = 1;

		while (same < left && matrix[i + same] == matrix[i])
			same++;
		/* Most bursts are of one tracker. */
		if (same == left)
			affine_vector(p, i, matrix[i]);
		else
			for (unsigned k = i; k < i + left; k++)
				affine_one(p, k, matrix[k]);
	}
}

const struct bp_transform_ops OPS = {
	.name = "vector",
	.how = HOW,
	.to_cartesian = to_cartesian,
	.affine = affine,
};
