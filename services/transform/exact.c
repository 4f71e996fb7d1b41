/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "services/transform/methods.h"

void bp_transform_libm_to_cartesian(struct bp_transform_points *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const double r = p->v[0][i];
		double sin_phi, cos_phi, sin_theta, cos_theta, across;

		sincos(p->v[1][i], &sin_phi, &cos_phi);
		sincos(p->v[2][i], &sin_theta, &cos_theta);
		across = r * sin_theta;
		p->v[0][i] = across * cos_phi;
		p->v[1][i] = across * sin_phi;
		p->v[2][i] = r * cos_theta;
	}
}

static void affine(struct bp_transform_points *p, const double *const matrix[], unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		bp_transform_affine_one(p, i, matrix[i]);
}

const struct bp_transform_ops bp_transform_exact = {
	.name = "exact",
	.how = "the C library's sine and cosine",
	.to_cartesian = bp_transform_libm_to_cartesian,
	.affine = affine,
};
