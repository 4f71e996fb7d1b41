/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_RULES_EXACT_SUM_H
#define BP_SHM_RULES_EXACT_SUM_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/*
 * Sums of doubles without rounding: a sum is an integer of 128 bits in two's complement, in units
 * of 2^-80. So a value that is subtracted again leaves nothing behind. A value is representable if
 * it is 0, or its magnitude is from 2^-28 (4e-9) to below 2^36 (7e10): its 53 bits are whole units
 * then. A sum of 2^11 of them is in range.
 */
#define BP_EXACT_UNITS 80
#define BP_EXACT_SHIFTS 64u /* of the 53 bits of a value */

/* Two words: the compiler moves an integer of 128 bits as a vector, which waits for its halves. */
struct bp_exact_sum {
	uint64_t low, high;
};

static inline struct bp_exact_sum bp_exact_add(struct bp_exact_sum a, struct bp_exact_sum b)
{
	const uint64_t low = a.low + b.low;

	return (struct bp_exact_sum){low, a.high + b.high + (low < a.low)};
}

/* x, or -x if `negative` is all ones. */
static inline struct bp_exact_sum bp_exact_signed(struct bp_exact_sum x, uint64_t negative)
{
	return bp_exact_add((struct bp_exact_sum){x.low ^ negative, x.high ^ negative},
		(struct bp_exact_sum){negative & 1, 0});
}

/* By how many bits the mantissa of a value is shifted; BP_EXACT_SHIFTS or more: it is 0 or not
 * representable. */
static inline uint32_t bp_exact_shift(uint64_t bits)
{
	return (uint32_t)(bits >> 52 & 0x7ff) - (1023 + 52 - BP_EXACT_UNITS);
}

/* False: it is not representable, and counts as 0. */
static inline bool bp_exact_of(double v, struct bp_exact_sum *x)
{
	uint64_t bits, mantissa;
	uint32_t shift;

	memcpy(&bits, &v, sizeof(bits));
	shift = bp_exact_shift(bits);
	mantissa = (bits & 0xfffffffffffffull) | 1ull << 52;
	if (__builtin_expect(shift >= BP_EXACT_SHIFTS, 0)) {
		*x = (struct bp_exact_sum){0};
		return bits << 1 == 0;
	}
	*x = bp_exact_signed(
		(struct bp_exact_sum){mantissa << shift, mantissa >> 1 >> (63 - shift)},
		-(bits >> 63));
	return true;
}

/* The sum with `to` instead of `from`, which is a part of it. False: `to` is not representable. */
static inline bool bp_exact_replace(
	struct bp_exact_sum sum, double from, double to, struct bp_exact_sum *result)
{
	struct bp_exact_sum x, y;
	uint64_t a, b;
	int64_t more;
	uint32_t shift;

	memcpy(&a, &from, sizeof(a));
	memcpy(&b, &to, sizeof(b));
	shift = bp_exact_shift(b);
	/* Of one sign and one power of two, as most: only the mantissas differ. */
	if (__builtin_expect((a ^ b) >> 52 == 0 && shift < BP_EXACT_SHIFTS, 1)) {
		more = (int64_t)((b - a) ^ -(b >> 63)) + (int64_t)(b >> 63);
		*result = bp_exact_add(sum, (struct bp_exact_sum){(uint64_t)more << shift,
						    (uint64_t)(more >> 1 >> (63 - shift))});
		return true;
	}
	if (!bp_exact_of(-from, &x) || !bp_exact_of(to, &y))
		return false;
	*result = bp_exact_add(sum, bp_exact_add(x, y));
	return true;
}

/* The nearest double, or a neighbor of it. */
static inline double bp_exact_double(struct bp_exact_sum sum)
{
	/* The lower half as a signed number: what is lost of it is small for the sum, too, which is
	 * at least as large as this half if the upper one is not 0. */
	const int64_t low = (int64_t)sum.low, high = (int64_t)(sum.high + (sum.low >> 63));

	return (double)high * 0x1p-16 + (double)low * 0x1p-80;
}

#endif
