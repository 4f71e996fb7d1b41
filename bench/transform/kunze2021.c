/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/transform/kunze2021.h"

#include <math.h>
#include <string.h>

#include "services/transform/methods.h"

/*
 * The server of the paper as its authors build it for accuracy: readings, matrices and results have
 * 25 fraction bits, with double precision in between. A point without a matrix is rounded when it
 * is written, not before the multiplication.
 */

/* Doubles of 2^27 and more have no bits after the 25th fraction bit to round. */
static double round_fixed(double v)
{
	return fabs(v) < 0x1p27 ? rint(v * 0x1p25) * (1 / 0x1p25) : v;
}

static void affine_userspace(
	struct bp_transform_points *p, const double *const matrix[], unsigned n)
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

static void to_cartesian_userspace(struct bp_transform_points *p, unsigned n)
{
	bp_transform_exact.to_cartesian(p, n);
}

const struct bp_transform_ops bench_kunze2021_userspace = {
	.name = "kunze2021_userspace",
	.how = "the paper's server: the C library's sine and cosine, matrix and result in fixed "
	       "point",
	.to_cartesian = to_cartesian_userspace,
	.affine = affine_userspace,
};

const struct bp_transform_ops *bench_kunze2021(unsigned i)
{
	static const struct bp_transform_ops *const methods[BENCH_KUNZE2021_METHODS] = {
		&bench_kunze2021_large, &bench_kunze2021_medium, &bench_kunze2021_small,
		&bench_kunze2021_chebyshev, &bench_kunze2021_userspace};

	return methods[i];
}

const struct bp_transform_ops *bench_kunze2021_find(const char *name)
{
	for (unsigned i = 0; i < BENCH_KUNZE2021_METHODS; i++)
		if (strcmp(bench_kunze2021(i)->name, name) == 0)
			return bench_kunze2021(i);
	return NULL;
}
