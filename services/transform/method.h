/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_TRANSFORM_METHOD_H
#define BP_SERVICES_TRANSFORM_METHOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "biplane/transform.h"

/*
 * The arithmetic, over several points at once. All methods take and give doubles: a fixed-point
 * number of 32 bits is one exactly, so the methods in fixed point lose nothing by it. Pure, but for
 * tables that bp_transform_methods_init() makes.
 *
 * `large`, `medium`, `small` and `chebyshev` work as the paper's do, with 25 bits behind the point
 * and everything rounded down, on radii, points and matrices up to 64. What can't be in the paper's
 * packet they do so that it is no lie: radii and matrices beyond are multiplied in double, results
 * beyond are given as they are (they saturate where they are written), angles that are not on a
 * place are rounded to the nearest, and angles beyond a turn (for `chebyshev`, whose authors'
 * server reduces up to 64 rad itself, beyond that) are brought into one exactly. `userspace` rounds
 * matrix and result to 2^-25, nothing in between: a bare point is rounded where it is written.
 */

#define BP_TRANSFORM_BURST 64u /* points at one go; a multiple of every vector's width */

/* One array a coordinate, so that a vector holds the same coordinate of several points. */
struct bp_transform_points {
	double v[3][BP_TRANSFORM_BURST];
} __attribute__((aligned(64)));

struct bp_transform_ops {
	const char *name; /* as in the configuration */
	const char *how;  /* "AVX-512, 8 at a time"; for people */
	/*
	 * Spherical to Cartesian, in place: v[0] radius, v[1] phi, v[2] theta become x, y, z.
	 * Angles are finite radians up to BP_TRANSFORM_ANGLE_MAX either way, radii finite. May
	 * compute on up to the next multiple of 8 of n, whose values are then anything.
	 */
	void (*to_cartesian)(struct bp_transform_points *p, unsigned n);
	/*
	 * M v + t, in place; matrix[i] is the i-th point's, column by column
	 * (struct bp_transform_receiver), in plain memory that nobody writes meanwhile. The methods
	 * in fixed point round the matrix to 2^-25 first.
	 */
	void (*affine)(struct bp_transform_points *p, const double *const matrix[], unsigned n);
	bool fixed_point; /* the paper's five: made for 25 bits of fraction, a range of 64 */
};

/* Makes the tables and chooses for this processor. To be called once before the others, by one
 * thread; later calls do nothing. */
void bp_transform_methods_init(void);
const struct bp_transform_ops *bp_transform_ops(enum bp_transform_method method);
/* By its name in the configuration; -1: there is none such. */
int bp_transform_method_find(const char *name);

/* For tests and measurements: the vector method as it is done with that many doubles at a time (8:
 * AVX-512, 4: AVX2, 2: any); NULL where this processor can't. All give the same, bit by bit. */
const struct bp_transform_ops *bp_transform_vector_ops(unsigned width);

#endif
