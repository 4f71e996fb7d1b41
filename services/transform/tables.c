/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/transform/fixed.h"
#include "services/transform/methods.h"

/*
 * The paper's table layouts (IV-B). An angle's fixed-point number is split into a high and a low
 * half, and the sines and cosines of both, rounded to 2^-25, are looked up and put together:
 *
 *     sin(h + l) = sin h cos l + cos h sin l,  cos(h + l) = cos h cos l - sin h sin l
 *
 * Large:  all of a turn, 28 bits, 2^14 entries a table.
 * Medium: one quadrant, 26 bits, 2^13 entries.
 * Small:  as medium without the lowest 4 bits, 22 bits, 2^11 entries.
 *
 * The paper's tables end at 2 pi; its packet's angles reach 128 rad, ours BP_TRANSFORM_ANGLE_MAX.
 * They are brought into a turn first.
 */
struct entry {
	int32_t sin, cos;
};

static struct entry large[2][1 << 14], medium[2][1 << 13], small[2][1 << 11];

/* Of a table whose entries are `step` last places apart. */
static void make(struct entry *table, unsigned n, unsigned step)
{
	for (unsigned i = 0; i < n; i++) {
		const double angle = bp_fixed_to((int64_t)i * step);

		table[i].sin = (int32_t)bp_fixed_from(sin(angle));
		table[i].cos = (int32_t)bp_fixed_from(cos(angle));
	}
}

void bp_transform_tables_make(void)
{
	make(large[0], 1 << 14, 1 << 14);
	make(large[1], 1 << 14, 1);
	make(medium[0], 1 << 13, 1 << 13);
	make(medium[1], 1 << 13, 1);
	make(small[0], 1 << 11, 1 << 15);
	make(small[1], 1 << 11, 1 << 4);
}

static inline struct bp_fixed_sincos together(struct entry h, struct entry l)
{
	return (struct bp_fixed_sincos){
		bp_fixed_mul(h.sin, l.cos) + bp_fixed_mul(h.cos, l.sin),
		bp_fixed_mul(h.cos, l.cos) - bp_fixed_mul(h.sin, l.sin),
	};
}

static inline struct bp_fixed_sincos sine_cosine_large(double angle)
{
	const uint32_t x = (uint32_t)bp_fixed_turn(angle);

	return together(large[0][x >> 14], large[1][x & 0x3fff]);
}

/* Quadrants end at pi / 2, pi and 3 pi / 2, rounded to the nearest. Which one an angle is in can't
 * be predicted, so nothing branches on it: the signs are all ones or 0. */
static inline __attribute__((always_inline)) struct bp_fixed_sincos sine_cosine_quadrant(
	double angle, const struct entry *high, const struct entry *low, unsigned bits,
	unsigned cut)
{
	int64_t x = bp_fixed_turn(angle);
	const int64_t sin_minus = -(int64_t)(x > BP_FIXED_PI); /* sin(2 pi - x) = -sin x */
	struct bp_fixed_sincos r;
	int64_t cos_minus;

	x = (x ^ sin_minus) - sin_minus + (BP_FIXED_TWO_PI & sin_minus);
	cos_minus = -(int64_t)(x > BP_FIXED_HALF_PI + 1); /* cos(pi - x) = -cos x */
	x = (x ^ cos_minus) - cos_minus + (BP_FIXED_PI & cos_minus);
	x >>= cut;
	r = together(high[x >> bits], low[x & ((1 << bits) - 1)]);
	r.sin = (r.sin ^ sin_minus) - sin_minus;
	r.cos = (r.cos ^ cos_minus) - cos_minus;
	return r;
}

static inline struct bp_fixed_sincos sine_cosine_medium(double angle)
{
	return sine_cosine_quadrant(angle, medium[0], medium[1], 13, 0);
}

static inline struct bp_fixed_sincos sine_cosine_small(double angle)
{
	return sine_cosine_quadrant(angle, small[0], small[1], 11, 4);
}

static void to_cartesian_large(struct bp_transform_points *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		bp_fixed_point(p, i, sine_cosine_large(p->v[1][i]), sine_cosine_large(p->v[2][i]));
}

static void to_cartesian_medium(struct bp_transform_points *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		bp_fixed_point(
			p, i, sine_cosine_medium(p->v[1][i]), sine_cosine_medium(p->v[2][i]));
}

static void to_cartesian_small(struct bp_transform_points *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		bp_fixed_point(p, i, sine_cosine_small(p->v[1][i]), sine_cosine_small(p->v[2][i]));
}

const struct bp_transform_ops bp_transform_large = {
	.name = "large",
	.how = "fixed point, tables of 2 x 2^14",
	.to_cartesian = to_cartesian_large,
	.affine = bp_fixed_affine,
	.fixed_point = true,
};
const struct bp_transform_ops bp_transform_medium = {
	.name = "medium",
	.how = "fixed point, tables of 2 x 2^13 for a quadrant",
	.to_cartesian = to_cartesian_medium,
	.affine = bp_fixed_affine,
	.fixed_point = true,
};
const struct bp_transform_ops bp_transform_small = {
	.name = "small",
	.how = "fixed point, tables of 2 x 2^11 for a quadrant, four bits less",
	.to_cartesian = to_cartesian_small,
	.affine = bp_fixed_affine,
	.fixed_point = true,
};
