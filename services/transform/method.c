/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/transform/method.h"

#include <math.h>
#include <string.h>

#include "services/transform/methods.h"

/* ---- exact ---- */

static void to_cartesian_libm(struct bp_transform_points *p, unsigned n)
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

static void affine_exact(struct bp_transform_points *p, const double *const matrix[], unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		bp_transform_affine_one(p, i, matrix[i]);
}

const struct bp_transform_ops bp_transform_exact = {
	.name = "exact",
	.how = "the C library's sine and cosine",
	.to_cartesian = to_cartesian_libm,
	.affine = affine_exact,
};

/* ---- all methods ---- */

static const struct bp_transform_ops *methods[BP_TRANSFORM_METHODS] = {
	[BP_TRANSFORM_VECTOR] = &bp_transform_vector2,
	[BP_TRANSFORM_EXACT] = &bp_transform_exact,
};

const struct bp_transform_ops *bp_transform_vector_ops(unsigned width)
{
#ifdef BP_TRANSFORM_X86
	if (width == 8)
		return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")
			       ? &bp_transform_vector8
			       : NULL;
	if (width == 4)
		return __builtin_cpu_supports("avx2") ? &bp_transform_vector4 : NULL;
#endif
	return width == 2 ? &bp_transform_vector2 : NULL;
}

void bp_transform_methods_init(void)
{
	static bool done;

	if (done)
		return;
	done = true;
	for (unsigned width = 2; width <= 8; width *= 2) {
		const struct bp_transform_ops *ops = bp_transform_vector_ops(width);

		if (ops != NULL)
			methods[BP_TRANSFORM_VECTOR] = ops;
	}
}

const struct bp_transform_ops *bp_transform_ops(enum bp_transform_method method)
{
	return methods[method];
}

void bp_transform_method_replace(
	enum bp_transform_method method, const struct bp_transform_ops *ops)
{
	methods[method] = ops;
}

int bp_transform_method_find(const char *name)
{
	for (int i = 0; i < BP_TRANSFORM_METHODS; i++)
		if (strcmp(methods[i]->name, name) == 0)
			return i;
	return -1;
}
