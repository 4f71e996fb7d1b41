/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_TRANSFORM_METHOD_H
#define BP_SERVICES_TRANSFORM_METHOD_H

#include <stddef.h>
#include <stdint.h>

#include "biplane/transform.h"

/*
 * The arithmetic, for several points at a time. All methods take and return doubles. Pure, except
 * for the choice of bp_transform_methods_init().
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
	 * bp_transform_receiver), in memory that is not written during the call.
	 */
	void (*affine)(struct bp_transform_points *p, const double *const matrix[], unsigned n);
};

/* Chooses the vector method for this processor. To be called once before the others, by one thread;
 * later calls do nothing. */
void bp_transform_methods_init(void);
const struct bp_transform_ops *bp_transform_ops(enum bp_transform_method method);
/* The method with this name in the configuration; -1: none. */
int bp_transform_method_find(const char *name);

/* For measurements of other arithmetic in the gateway: replaces that of a method, before it is
 * used.
 */
void bp_transform_method_replace(
	enum bp_transform_method method, const struct bp_transform_ops *ops);

/* For tests and measurements: the vector method for `width` doubles at a time (8: AVX-512, 4: AVX2,
 * 2: any processor); NULL where this processor does not support it. All return bit-identical
 * results. */
const struct bp_transform_ops *bp_transform_vector_ops(unsigned width);

#endif
