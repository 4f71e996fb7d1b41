/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_RULES_EXACT_SUM_H
#define BP_SHM_RULES_EXACT_SUM_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/*
 * Sums of doubles without rounding: a sum is an integer of 128 bits, in units of 2^-80. So a value
 * that is subtracted again leaves nothing behind. A value is representable if it is 0, or its
 * magnitude is from 2^-28 (4e-9) to below 2^36 (7e10): its 53 bits are whole units then. A sum of
 * 2^11 of them is in range.
 */
#define BP_EXACT_UNITS 80
#define BP_EXACT_SHIFTS 64u /* of the 53 bits of a value */

typedef unsigned __int128 bp_exact_sum; /* in two's complement */

/* False: it is not representable. */
static inline bool bp_exact_of(double v, bp_exact_sum *x)
{
	uint64_t bits, mantissa;
	uint32_t shift;
	bp_exact_sum negative;

	memcpy(&bits, &v, sizeof(bits));
	shift = (uint32_t)(bits >> 52 & 0x7ff) - (1023 + 52 - BP_EXACT_UNITS);
	mantissa = (bits & 0xfffffffffffffull) | 1ull << 52;
	if (__builtin_expect(shift >= BP_EXACT_SHIFTS, 0)) {
		*x = 0;
		return bits << 1 == 0;
	}
	negative = -(bp_exact_sum)(bits >> 63);
	*x = (bp_exact_sum)(mantissa >> 1 >> (63 - shift)) << 64 | mantissa << shift;
	*x = (*x ^ negative) - negative;
	return true;
}

/* The nearest double, or a neighbor of it. */
static inline double bp_exact_double(bp_exact_sum sum)
{
	const bp_exact_sum negative = -(sum >> 127), x = (sum ^ negative) - negative;
	const int64_t high = (int64_t)(x >> 64);
	const int64_t middle = (uint32_t)(x >> 32), low = (uint32_t)x;
	/* without cancellation: all three are positive */
	const double v =
		(double)high * 0x1p-16 + ((double)middle * 0x1p-48 + (double)low * 0x1p-80);

	return negative != 0 ? -v : v;
}

#endif
