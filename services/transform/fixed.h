/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_TRANSFORM_FIXED_H
#define BP_SERVICES_TRANSFORM_FIXED_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "services/transform/method.h"

/*
 * The paper's numbers (Kunze et al. 2021, IV-A): 32 bits, 25 of them behind the point. Products
 * are shifted back arithmetically, that is rounded down, as the authors' programs do. We keep them
 * in 64 bits, so nothing wraps: what leaves the range of 64 is a larger number, which saturates
 * where it is written.
 *
 * Layouts other than the paper's can hold radii and matrices beyond that range, for which even 64
 * bits are too few. Such a reading is multiplied in double: the method is then not the paper's,
 * which could not do it at all, but the result is no lie.
 */
#define BP_FIXED_BITS 25
#define BP_FIXED_ONE 33554432.0 /* 1 */
#define BP_FIXED_RANGE 64.0
#define BP_FIXED_HALF_PI 52707178
#define BP_FIXED_PI 105414357
#define BP_FIXED_TWO_PI 210828714

/* The nearest; v less than 2^37 either way. */
static inline int64_t bp_fixed_from(double v)
{
	return (int64_t)rint(v * BP_FIXED_ONE);
}

static inline double bp_fixed_to(int64_t v)
{
	return (double)v * (1 / BP_FIXED_ONE);
}

/* The product must be less than 2^63 either way. */
static inline int64_t bp_fixed_mul(int64_t a, int64_t b)
{
	return (a * b) >> BP_FIXED_BITS;
}

/*
 * An angle brought into a turn, 0 <= it < BP_FIXED_TWO_PI. With 2 pi to 42 bits of fraction: with
 * the 25 of the others an angle of 64 rad would be off by 1.3 of the last place already, and one of
 * 2^20 by as much as 0.7 mrad.
 */
static inline int64_t bp_fixed_turn(double angle)
{
	const int64_t turns = (int64_t)floor(angle * (1 / 6.283185307179586));
	/* turns are at most 166,887, so the product stays below 2^62 */
	const int64_t x = bp_fixed_from(angle) - ((turns * 27633741218861 + (1 << 16)) >> 17);

	if (x < 0)
		return x + BP_FIXED_TWO_PI;
	return x >= BP_FIXED_TWO_PI ? x - BP_FIXED_TWO_PI : x;
}

struct bp_fixed_sincos {
	int64_t sin, cos;
};

/* Spherical to Cartesian, with the sines and cosines of one point. */
static inline void bp_fixed_point(struct bp_transform_points *p, unsigned i,
	struct bp_fixed_sincos phi, struct bp_fixed_sincos theta)
{
	const double radius = p->v[0][i];

	if (__builtin_expect(fabs(radius) <= BP_FIXED_RANGE, 1)) {
		const int64_t r = bp_fixed_from(radius), across = bp_fixed_mul(r, theta.sin);

		p->v[0][i] = bp_fixed_to(bp_fixed_mul(across, phi.cos));
		p->v[1][i] = bp_fixed_to(bp_fixed_mul(across, phi.sin));
		p->v[2][i] = bp_fixed_to(bp_fixed_mul(r, theta.cos));
	} else {
		const double across = radius * bp_fixed_to(theta.sin);

		p->v[0][i] = across * bp_fixed_to(phi.cos);
		p->v[1][i] = across * bp_fixed_to(phi.sin);
		p->v[2][i] = radius * bp_fixed_to(theta.cos);
	}
}

/* M v + t with every number in fixed point; `affine` of all such methods. */
void bp_fixed_affine(struct bp_transform_points *p, const double *const matrix[], unsigned n);

#endif
