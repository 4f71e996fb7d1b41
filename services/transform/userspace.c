/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "services/transform/fixed.h"
#include "services/transform/methods.h"

/*
 * The paper's server as its authors build it for accuracy: readings, matrices and results have 25
 * bits of fraction, in between it is double. The bare point is rounded where it is written, not
 * before the matrix.
 */

/* Doubles of 2^27 and more have no 25 bits behind the point left to round. */
static double round_fixed(double v)
{
	return fabs(v) < 0x1p27 ? rint(v * BP_FIXED_ONE) * (1 / BP_FIXED_ONE) : v;
}

static void affine(struct bp_transform_points *p, const double *const matrix[], unsigned n)
{
	const double *last = NULL;
	double m[12];

	for (unsigned i = 0; i < n; i++) {
		if (matrix[i] != last) {
			last = matrix[i];
			for (unsigned k = 0; k < 12; k++)
				m[k] = round_fixed(last[k]);
		}
		bp_transform_affine_one(p, i, m);
		for (unsigned k = 0; k < 3; k++)
			p->v[k][i] = round_fixed(p->v[k][i]);
	}
}

const struct bp_transform_ops bp_transform_userspace = {
	.name = "userspace",
	.how = "the paper's server: the C library's sine and cosine, matrix and result in fixed "
	       "point",
	.to_cartesian = bp_transform_libm_to_cartesian,
	.affine = affine,
	.fixed_point = true,
};
