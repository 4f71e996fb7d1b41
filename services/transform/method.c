/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/transform/method.h"

#include <string.h>

#include "services/transform/methods.h"

static const struct bp_transform_ops *methods[BP_TRANSFORM_METHODS] = {
	[BP_TRANSFORM_VECTOR] = &bp_transform_vector2,
	[BP_TRANSFORM_EXACT] = &bp_transform_exact,
	[BP_TRANSFORM_LARGE] = &bp_transform_large,
	[BP_TRANSFORM_MEDIUM] = &bp_transform_medium,
	[BP_TRANSFORM_SMALL] = &bp_transform_small,
	[BP_TRANSFORM_CHEBYSHEV] = &bp_transform_chebyshev,
	[BP_TRANSFORM_USERSPACE] = &bp_transform_userspace,
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
	bp_transform_tables_make();
}

const struct bp_transform_ops *bp_transform_ops(enum bp_transform_method method)
{
	return methods[method];
}

int bp_transform_method_find(const char *name)
{
	for (int i = 0; i < BP_TRANSFORM_METHODS; i++)
		if (strcmp(methods[i]->name, name) == 0)
			return i;
	return -1;
}
