/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_TRANSFORM_METHODS_H
#define BP_SERVICES_TRANSFORM_METHODS_H

#include "services/transform/method.h"

/* The methods, for method.c and for the methods of bench/transform/. */

extern const struct bp_transform_ops bp_transform_vector2, bp_transform_vector4,
	bp_transform_vector8; /* the wide ones with BP_TRANSFORM_X86 only */
extern const struct bp_transform_ops bp_transform_exact;

/* M v + t in double, for methods without a faster implementation; the order of additions is that of
 * all methods in double. */
static inline void bp_transform_affine_one(
	struct bp_transform_points *p, unsigned i, const double m[12])
{
	const double x = p->v[0][i], y = p->v[1][i], z = p->v[2][i];

	for (unsigned row = 0; row < 3; row++)
		p->v[row][i] = m[row] * x + m[3 + row] * y + m[6 + row] * z + m[9 + row];
}

#endif
