/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_TRANSFORM_POINTS_H
#define TESTS_TRANSFORM_POINTS_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "services/transform/accuracy.h"
#include "proto/transform/transform_matrix.h"
#include "services/transform/method.h"

#define ONE 33554432.0 /* 2^25 */
#define TURN 6.283185307179586

/* One reading, with a matrix or (NULL) without. */
static inline void transform_one(
	const struct bp_transform_ops *ops, const double reading[3], const double *m, double out[3])
{
	static struct bp_transform_points p;

	for (unsigned k = 0; k < 3; k++)
		p.v[k][0] = reading[k];
	ops->to_cartesian(&p, 1);
	if (m != NULL)
		ops->affine(&p, &m, 1);
	for (unsigned k = 0; k < 3; k++)
		out[k] = p.v[k][0];
}

/* The largest difference along an axis to what long double gives. */
static inline double off_by(const double reading[3], const double *m, const double out[3])
{
	long double place[3], most = 0;

	bp_transform_reference(reading, m, place);
	for (unsigned k = 0; k < 3; k++) {
		assert_true(isfinite(out[k]));
		if (fabsl(out[k] - place[k]) > most)
			most = fabsl(out[k] - place[k]);
	}
	return (double)most;
}

static inline double uniform(struct bp_transform_draw *d, double from, double to)
{
	return from + (to - from) * bp_transform_draw_uniform(d);
}

static inline int methods_up(void **state)
{
	bp_transform_methods_init();
	return 0;
}

#endif
