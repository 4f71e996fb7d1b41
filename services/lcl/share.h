/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_LCL_SHARE_H
#define BP_SERVICES_LCL_SHARE_H

#include <stdint.h>

#include "biplane/lcl.h"

/*
 * d / n is d times bp_lcl_per[n - 1], 2^63 / n rounded up, shifted by 63: exact as long as d times
 * what was rounded, less than n, is less than 2^63 (Granlund and Montgomery, "Division by Invariant
 * Integers using Multiplication", theorem 4.2). By 2 d it is the upper half of a product.
 */
#define BP_LCL_PER_SHIFT 63
extern const uint64_t bp_lcl_per[BP_LCL_HOPS_MAX];

/* What a hop may use of d >= 0, ns, with n = 1..BP_LCL_HOPS_MAX nodes ahead. */
static inline uint64_t bp_lcl_share(int32_t d, uint8_t n)
{
	const uint64_t twice = 2 * (uint64_t)(uint32_t)d;

	return (uint64_t)((__extension__(unsigned __int128) twice *
				  bp_lcl_per[(n - 1u) % BP_LCL_HOPS_MAX]) >>
			  (BP_LCL_PER_SHIFT + 1));
}

/* The same of any d: below 0 it is as much too late. */
static inline int32_t bp_lcl_meant(int32_t d, uint8_t n)
{
	int64_t late;

	if (__builtin_expect(d >= 0, 1))
		return (int32_t)bp_lcl_share(d, n);
	late = (int64_t)bp_lcl_share((int32_t)(0u - (uint32_t)d), n);
	return (int32_t)-late;
}

#endif
