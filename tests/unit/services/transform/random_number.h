/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SERVICES_TRANSFORM_RANDOM_NUMBER_H
#define BP_TESTS_UNIT_SERVICES_TRANSFORM_RANDOM_NUMBER_H

#include <math.h>

#include "tests/unit/proto/exact.h"

/* A double for what is to be written with a fraction of `bits` bits: any at all, or near the ends
 * of the types, or halfway between two numbers, or none. */
static inline double random_number(uint64_t *seed, unsigned bits)
{
	static const double ends[] = {0, 0x1p31, 0x1p31 - 1, 0x1p32, 0x1p32 - 1};
	const uint64_t r = next_random(seed);
	const double sign = r >> 32 & 1 ? -1 : 1, step = ldexp(1, -(int)bits);
	double v;

	switch (r % 8) {
	case 0:
		memcpy(&v, &r, sizeof(v));
		return v; /* one in a thousand or so is infinite or none */
	case 1:
	case 2: /* quarters about the end of a type in fixed point */
		v = ends[(r >> 8 & 0xff) % 5] + ((double)(r >> 40 & 63) - 32) / 4;
		return sign * v * step;
	case 3: /* about the largest float */
		v = 0x1.fffffep127 + ((double)(r >> 40 & 63) - 32) * 0x1p101;
		return sign * v;
	case 4: /* halfway */
		return sign * ((double)(uint32_t)(r >> 33) + 0.5) * step;
	case 5: /* about the least floats */
		return sign * (double)(r >> 40) * 0x1p-152;
	case 6:
		return r >> 8 & 15 ? sign * 64 : r >> 12 & 1 ? sign * INFINITY : sign * NAN;
	default:
		return sign * ldexp((double)(r >> 11), -53 + (int)(r % 40));
	}
}

#endif
