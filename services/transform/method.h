/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_TRANSFORM_METHOD_H
#define BP_SERVICES_TRANSFORM_METHOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "biplane/transform.h"

/*
 * The arithmetic, for several points at a time. All methods take and return doubles: a fixed-point
 * number of 32 bits is exact as a double, so the fixed-point methods lose nothing by this. Pure,
 * except for tables that bp_transform_methods_init() computes.
 *
 * `large`, `medium`, `small` and `chebyshev` compute as in the paper (kunze2021): 25 fraction bits
 * and rounding down throughout, for radii, points and matrices up to 64. Inputs that the paper's
 * packet cannot encode are computed as follows: larger radii and matrices are multiplied in double;
 * larger results are returned unchanged (they saturate when they are written); angles between two
 * table entries are rounded to the nearest entry; and angles beyond a full turn (for `chebyshev`,
 * beyond 64 rad, up to which the authors' server reduces angles itself) are reduced exactly.
 * `userspace` rounds the matrix and the result to 2^-25 and no intermediate value: a point without
 * a matrix is rounded when it is written.
 */

#define BP_TRANSFORM_BURST 64u /* points in one call; a multiple of every vector width */

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
	 * M v + t, in place; matrix[i] is that of the i-th point, in column-major order (struct
	 * bp_transform_receiver), in memory that is not written during the call. The fixed-point
	 * methods round the matrix to 2^-25 first.
	 */
	void (*affine)(struct bp_transform_points *p, const double *const matrix[], unsigned n);
	bool fixed_point; /* the five methods of kunze2021: 25 fraction bits, a range of 64 */
};

/* Makes the tables and chooses for this processor. To be called once before the others, by one
 * thread; later calls do nothing. */
void bp_transform_methods_init(void);
const struct bp_transform_ops *bp_transform_ops(enum bp_transform_method method);
/* The method with this name in the configuration; -1: none. */
int bp_transform_method_find(const char *name);

/* For tests and measurements: the vector method for `width` doubles at a time (8: AVX-512, 4: AVX2,
 * 2: any processor); NULL where this processor does not support it. All return bit-identical
 * results. */
const struct bp_transform_ops *bp_transform_vector_ops(unsigned width);

#endif
