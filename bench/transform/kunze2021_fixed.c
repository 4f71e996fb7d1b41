/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "bench/transform/kunze2021.h"
#include "services/transform/methods.h"

/*
 * The fixed-point numbers of the paper (Kunze et al. 2021, IV-A): 32 bits, 25 of them fractional.
 * Products are shifted right arithmetically, i.e. rounded down, as the programs of the authors do.
 * This implementation uses 64 bits, so there is no overflow: a value outside of the range of 64
 * saturates when it is written.
 *
 * Layouts other than that of the paper can hold radii and matrices beyond that range, for which
 * even 64 bits are too few. Such a reading is multiplied in double precision: this is not the
 * method of the paper, which does not support it, but the result is correct.
 */
#define FIXED_BITS 25
#define FIXED_ONE 33554432.0 /* 1 */
#define FIXED_RANGE 64.0
#define FIXED_HALF_PI 52707178
#define FIXED_PI 105414357
#define FIXED_TWO_PI 210828714

/* Rounds to the nearest; |v| < 2^37. */
static inline int64_t fixed_from(double v)
{
	return (int64_t)rint(v * FIXED_ONE);
}

static inline double fixed_to(int64_t v)
{
	return (double)v * (1 / FIXED_ONE);
}

/* The absolute value of the product must be less than 2^63. */
static inline int64_t fixed_mul(int64_t a, int64_t b)
{
	return (a * b) >> FIXED_BITS;
}

/*
 * Reduces an angle to 0 <= x < FIXED_TWO_PI, with 2 pi to 42 bits of fraction: with 25 bits an
 * angle of 64 rad would already be off by 1.3 units of the last place, and one of 2^20 rad by 0.7
 * mrad.
 */
static inline int64_t angle_to_fixed(double angle)
{
	const int64_t turns = (int64_t)floor(angle * (1 / 6.283185307179586));
	/* turns are at most 166,887, so the product stays below 2^62 */
	const int64_t x = fixed_from(angle) - ((turns * 27633741218861 + (1 << 16)) >> 17);

	if (x < 0)
		return x + FIXED_TWO_PI;
	return x >= FIXED_TWO_PI ? x - FIXED_TWO_PI : x;
}

struct fixed_sincos {
	int64_t sin, cos;
};

/* Spherical to Cartesian, with the sines and cosines of one point. */
static inline void fixed_point(struct bp_transform_points *p, unsigned i, struct fixed_sincos phi,
	struct fixed_sincos theta)
{
	const double radius = p->v[0][i];

	if (__builtin_expect(fabs(radius) <= FIXED_RANGE, 1)) {
		const int64_t r = fixed_from(radius), across = fixed_mul(r, theta.sin);

		p->v[0][i] = fixed_to(fixed_mul(across, phi.cos));
		p->v[1][i] = fixed_to(fixed_mul(across, phi.sin));
		p->v[2][i] = fixed_to(fixed_mul(r, theta.cos));
	} else {
		const double across = radius * fixed_to(theta.sin);

		p->v[0][i] = across * fixed_to(phi.cos);
		p->v[1][i] = across * fixed_to(phi.sin);
		p->v[2][i] = radius * fixed_to(theta.cos);
	}
}

/* False: an entry is out of the range. */
static bool round_matrix(const double m[12], int64_t fixed[12])
{
	for (unsigned i = 0; i < 12; i++) {
		if (!(fabs(m[i]) < FIXED_RANGE))
			return false;
		fixed[i] = fixed_from(m[i]);
	}
	return true;
}

/* M v + t with every number in fixed point. */
static void fixed_affine(struct bp_transform_points *p, const double *const matrix[], unsigned n)
{
	const double *last = NULL;
	int64_t m[12];
	bool in_range = false;

	for (unsigned i = 0; i < n; i++) {
		int64_t v[3];

		if (matrix[i] != last) {
			last = matrix[i];
			in_range = round_matrix(last, m);
		}
		/* A point slightly beyond the range may return into it. */
		if (!in_range || !(fabs(p->v[0][i]) < 1.5 * FIXED_RANGE) ||
			!(fabs(p->v[1][i]) < 1.5 * FIXED_RANGE) ||
			!(fabs(p->v[2][i]) < 1.5 * FIXED_RANGE)) {
			bp_transform_affine_one(p, i, last);
			continue;
		}
		for (unsigned k = 0; k < 3; k++)
			v[k] = fixed_from(p->v[k][i]);
		for (unsigned row = 0; row < 3; row++)
			p->v[row][i] =
				fixed_to(fixed_mul(m[row], v[0]) + fixed_mul(m[3 + row], v[1]) +
					 fixed_mul(m[6 + row], v[2]) + m[9 + row]);
	}
}

/* ---- large, medium, small ---- */

/*
 * The table layouts of the paper (IV-B). The fixed-point number of an angle is split into a high
 * and a low half; the sines and cosines of both, rounded to 2^-25, are looked up and combined:
 *
 *     sin(h + l) = sin h cos l + cos h sin l,  cos(h + l) = cos h cos l - sin h sin l
 *
 * Large:  a full turn, 28 bits, 2^14 entries per table.
 * Medium: one quadrant, 26 bits, 2^13 entries.
 * Small:  as medium without the lowest 4 bits, 22 bits, 2^11 entries.
 *
 * The tables of the paper end at 2 pi; the angles of its packet reach 128 rad, those of this
 * implementation BP_TRANSFORM_ANGLE_MAX. They are reduced to one turn first.
 */
struct entry {
	int32_t sin, cos;
};

static struct entry large[2][1 << 14], medium[2][1 << 13], small[2][1 << 11];

/* For a table whose entries have a distance of `step` units of the last place. */
static void init_table(struct entry *table, unsigned n, unsigned step)
{
	for (unsigned i = 0; i < n; i++) {
		const double angle = fixed_to((int64_t)i * step);

		table[i].sin = (int32_t)fixed_from(sin(angle));
		table[i].cos = (int32_t)fixed_from(cos(angle));
	}
}

void bench_kunze2021_init(void)
{
	init_table(large[0], 1 << 14, 1 << 14);
	init_table(large[1], 1 << 14, 1);
	init_table(medium[0], 1 << 13, 1 << 13);
	init_table(medium[1], 1 << 13, 1);
	init_table(small[0], 1 << 11, 1 << 15);
	init_table(small[1], 1 << 11, 1 << 4);
}

static inline struct fixed_sincos together(struct entry h, struct entry l)
{
	return (struct fixed_sincos){
		fixed_mul(h.sin, l.cos) + fixed_mul(h.cos, l.sin),
		fixed_mul(h.cos, l.cos) - fixed_mul(h.sin, l.sin),
	};
}

static inline struct fixed_sincos sine_cosine_large(double angle)
{
	const uint32_t x = (uint32_t)angle_to_fixed(angle);

	return together(large[0][x >> 14], large[1][x & 0x3fff]);
}

/* Quadrants end at pi / 2, pi and 3 pi / 2, rounded to the nearest. The quadrant of an angle is
 * unpredictable, so there is no branch on it: the signs are all ones or 0. */
static inline __attribute__((always_inline)) struct fixed_sincos sine_cosine_quadrant(double angle,
	const struct entry *high, const struct entry *low, unsigned bits, unsigned cut)
{
	int64_t x = angle_to_fixed(angle);
	const int64_t sin_minus = -(int64_t)(x > FIXED_PI); /* sin(2 pi - x) = -sin x */
	struct fixed_sincos r;
	int64_t cos_minus;

	x = (x ^ sin_minus) - sin_minus + (FIXED_TWO_PI & sin_minus);
	cos_minus = -(int64_t)(x > FIXED_HALF_PI + 1); /* cos(pi - x) = -cos x */
	x = (x ^ cos_minus) - cos_minus + (FIXED_PI & cos_minus);
	x >>= cut;
	r = together(high[x >> bits], low[x & ((1 << bits) - 1)]);
	r.sin = (r.sin ^ sin_minus) - sin_minus;
	r.cos = (r.cos ^ cos_minus) - cos_minus;
	return r;
}

static inline struct fixed_sincos sine_cosine_medium(double angle)
{
	return sine_cosine_quadrant(angle, medium[0], medium[1], 13, 0);
}

static inline struct fixed_sincos sine_cosine_small(double angle)
{
	return sine_cosine_quadrant(angle, small[0], small[1], 11, 4);
}

static void to_cartesian_large(struct bp_transform_points *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		fixed_point(p, i, sine_cosine_large(p->v[1][i]), sine_cosine_large(p->v[2][i]));
}

static void to_cartesian_medium(struct bp_transform_points *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		fixed_point(p, i, sine_cosine_medium(p->v[1][i]), sine_cosine_medium(p->v[2][i]));
}

static void to_cartesian_small(struct bp_transform_points *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		fixed_point(p, i, sine_cosine_small(p->v[1][i]), sine_cosine_small(p->v[2][i]));
}

const struct bp_transform_ops bench_kunze2021_large = {
	.name = "kunze2021_large",
	.how = "fixed point, tables of 2 x 2^14",
	.to_cartesian = to_cartesian_large,
	.affine = fixed_affine,
};
const struct bp_transform_ops bench_kunze2021_medium = {
	.name = "kunze2021_medium",
	.how = "fixed point, tables of 2 x 2^13 for a quadrant",
	.to_cartesian = to_cartesian_medium,
	.affine = fixed_affine,
};
const struct bp_transform_ops bench_kunze2021_small = {
	.name = "kunze2021_small",
	.how = "fixed point, tables of 2 x 2^11 for a quadrant, four bits less",
	.to_cartesian = to_cartesian_small,
	.affine = fixed_affine,
};

/* ---- chebyshev ---- */

/*
 * The polynomial of the paper, with the coefficients of its authors' server: sin(x) is
 * approximately x (x + pi) (x - pi) P(x^2) for x between -pi and pi, P of degree 5 with
 * coefficients scaled by 2^35, everything rounded down. It equals the original where the original
 * does not overflow, which occurs from 64 rad on; such angles are reduced to one turn more
 * precisely than with the original's 2 pi of 25 bits.
 */
static const int64_t coefficient[] = {-802, 86665, -5961589, 227491688, -3481369351};

static int64_t sine_chebyshev(int64_t angle)
{
	/* The quotient may be off by one next to a multiple of pi, where x is slightly beyond +-pi
	 * and is corrected. */
	int64_t x = angle - (int64_t)rint((double)angle * (1.0 / FIXED_TWO_PI)) * FIXED_TWO_PI;
	int64_t square, p = 4;

	if (x > FIXED_PI)
		x -= FIXED_TWO_PI;
	if (x < -FIXED_PI)
		x += FIXED_TWO_PI;
	square = fixed_mul(x, x);
	for (unsigned i = 0; i < sizeof(coefficient) / sizeof(coefficient[0]); i++)
		p = fixed_mul(p, square) + coefficient[i];
	p = (p * x) >> 35;
	p = fixed_mul(p, x + FIXED_PI);
	return fixed_mul(p, x - FIXED_PI);
}

static struct fixed_sincos sine_cosine_chebyshev(double angle)
{
	const int64_t a = fabs(angle) < FIXED_RANGE ? fixed_from(angle) : angle_to_fixed(angle);

	return (struct fixed_sincos){sine_chebyshev(a), sine_chebyshev(a + FIXED_HALF_PI)};
}

static void to_cartesian_chebyshev(struct bp_transform_points *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		fixed_point(
			p, i, sine_cosine_chebyshev(p->v[1][i]), sine_cosine_chebyshev(p->v[2][i]));
}

const struct bp_transform_ops bench_kunze2021_chebyshev = {
	.name = "kunze2021_chebyshev",
	.how = "fixed point, the paper's polynomial",
	.to_cartesian = to_cartesian_chebyshev,
	.affine = fixed_affine,
};
