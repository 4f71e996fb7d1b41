/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/transform/fixed.h"

#include "services/transform/methods.h"

/* False: an entry is out of the range. */
static bool round_matrix(const double m[12], int64_t fixed[12])
{
	for (unsigned i = 0; i < 12; i++) {
		if (!(fabs(m[i]) < BP_FIXED_RANGE))
			return false;
		fixed[i] = bp_fixed_from(m[i]);
	}
	return true;
}

void bp_fixed_affine(struct bp_transform_points *p, const double *const matrix[], unsigned n)
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
		/* A point a little beyond the range may come back into it. */
		if (!in_range || !(fabs(p->v[0][i]) < 1.5 * BP_FIXED_RANGE) ||
			!(fabs(p->v[1][i]) < 1.5 * BP_FIXED_RANGE) ||
			!(fabs(p->v[2][i]) < 1.5 * BP_FIXED_RANGE)) {
			bp_transform_affine_one(p, i, last);
			continue;
		}
		for (unsigned k = 0; k < 3; k++)
			v[k] = bp_fixed_from(p->v[k][i]);
		for (unsigned row = 0; row < 3; row++)
			p->v[row][i] = bp_fixed_to(bp_fixed_mul(m[row], v[0]) +
						   bp_fixed_mul(m[3 + row], v[1]) +
						   bp_fixed_mul(m[6 + row], v[2]) + m[9 + row]);
	}
}
