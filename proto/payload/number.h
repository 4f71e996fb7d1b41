/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_PAYLOAD_NUMBER_H
#define BP_PROTO_PAYLOAD_NUMBER_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#if defined(__SSE4_1__)
#include <smmintrin.h>
#endif

#include "proto/payload/value.h"
#include "proto/net/vec16.h"

/* 10^0 .. 10^22: the powers of ten that a double holds exactly. */
#define BP_POW10_EXACT 22
extern const double bp_pow10[BP_POW10_EXACT + 1];

#define BP_NUMBER_SHORT 8

/* Indexed by the number of characters from the point on, including it; 0 without a point. */
extern const double bp_number_scale[BP_NUMBER_SHORT + 1];

/* [n][k]: moves n characters to the end of eight, without the k-th if k < n. */
extern const uint8_t bp_number_moves[BP_NUMBER_SHORT + 1][BP_NUMBER_SHORT + 1][8];

/*
 * bp_number_digits(): `n` characters (1..8; the first in the lowest byte of `chunk`, zero above the
 * last) that are digits and at most one point, with at least one digit: the format of nearly every
 * sensor. Their number is *digits / bp_number_scale[*point], correctly rounded by that one
 * division. False for all other texts, valid or not. All characters are processed in parallel,
 * without a branch on their number, which would be mispredicted.
 */

#if defined(__SSE4_1__)

/* Of the eight bytes from [n] on the last n are all ones, the others 0. */
extern const uint8_t bp_number_last[2 * BP_NUMBER_SHORT];

/* The number of the eight digits that `moves` selects from the first eight bytes of x. */
static inline uint32_t bp_number_joined(__m128i x, const uint8_t moves[8])
{
	x = _mm_shuffle_epi8(x, _mm_loadl_epi64((const __m128i *)(const void *)moves));
	x = _mm_maddubs_epi16(x, _mm_set1_epi16(1 << 8 | 10));
	x = _mm_madd_epi16(x, _mm_set1_epi32(1 << 16 | 100));
	x = _mm_packus_epi32(x, x);
	x = _mm_madd_epi16(x, _mm_set1_epi32(1 << 16 | 10000));
	return (uint32_t)_mm_cvtsi128_si32(x);
}

static inline bool bp_number_digits(uint64_t chunk, unsigned n, uint32_t *digits, unsigned *point)
{
	__m128i x = _mm_xor_si128(_mm_cvtsi64_si128((long long)chunk), _mm_set1_epi8('0'));
	__m128i is_digit = _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(9)), x);
	__m128i is_point = _mm_cmpeq_epi8(x, _mm_set1_epi8('.' ^ '0'));
	unsigned digit_mask = (unsigned)_mm_movemask_epi8(is_digit);
	unsigned point_mask = (unsigned)_mm_movemask_epi8(is_point), k;

	if ((digit_mask | point_mask) != (1u << n) - 1 || (point_mask & (point_mask - 1)) != 0 ||
		digit_mask == 0)
		return false;
	k = (unsigned)__builtin_ctz(point_mask | 1u << n);
	*digits = bp_number_joined(x, bp_number_moves[n][k]);
	*point = n - k;
	return true;
}

#else

static inline bool bp_number_digits(uint64_t chunk, unsigned n, uint32_t *digits, unsigned *point)
{
	const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
	uint64_t t = chunk ^ (ones * '.');
	uint64_t dot = ~(((t & ~tops) + ~tops) | t) & tops;
	uint64_t below = ((dot & -dot) >> 7) - 1; /* all ones without a point */
	uint64_t d = (chunk & below) | ((chunk >> 8) & ~below);
	unsigned count = n - (dot != 0);

	if (count == 0)
		return false;
	*point = dot != 0 ? n - ((unsigned)__builtin_ctzll(dot) >> 3) : 0;
	d = (d ^ (ones * '0')) << (8 * (8 - count));
	if ((((d + ones * 0x76) | d) & tops) != 0)
		return false;
	d = d * 10 + (d >> 8);
	d = ((d & 0x000000ff000000ffu) * 0x000f424000000064u +
		    ((d >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u) >>
	    32;
	*digits = (uint32_t)d;
	return true;
}

#endif

/*
 * bp_number_digits() of the `n` characters that end at `end`, before which at least eight bytes can
 * be read. False also for n = 0 and n > 8.
 */
static inline bool bp_number_digits_before(
	const uint8_t *end, uint32_t n, uint32_t *digits, unsigned *point)
{
#if defined(__SSE4_1__)
	__m128i x, is_digit, is_point;
	unsigned point_mask, k;

	if (n - 1 >= BP_NUMBER_SHORT)
		return false;
	/* the bytes before them become zeros, so that there are always eight */
	x = _mm_xor_si128(
		_mm_loadl_epi64((const __m128i *)(const void *)(end - 8)), _mm_set1_epi8('0'));
	x = _mm_and_si128(x, _mm_loadl_epi64((const __m128i *)(const void *)(bp_number_last + n)));
	is_digit = _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(9)), x);
	is_point = _mm_cmpeq_epi8(x, _mm_set1_epi8('.' ^ '0'));
	point_mask = (unsigned)_mm_movemask_epi8(is_point);
	if (_mm_movemask_epi8(_mm_or_si128(is_digit, is_point)) != 0xffff ||
		(point_mask & (point_mask - 1)) != 0 || point_mask >> (BP_NUMBER_SHORT - 1) >= n)
		return false;
	k = (unsigned)__builtin_ctz(point_mask | 1u << BP_NUMBER_SHORT);
	*digits = bp_number_joined(x, bp_number_moves[BP_NUMBER_SHORT][k]);
	*point = BP_NUMBER_SHORT - k;
	return true;
#else
	return n - 1 < BP_NUMBER_SHORT &&
	       bp_number_digits(bp_load_short(end - n, n), n, digits, point);
#endif
}

/* Their number, the same double as strtod: exact operands, one rounding. */
static inline bool bp_number_short(uint64_t chunk, unsigned n, double *value)
{
	unsigned point;
	uint32_t digits;

	if (!bp_number_digits(chunk, n, &digits, &point))
		return false;
	*value = (double)(int32_t)digits / bp_number_scale[point];
	return true;
}

/* The first n bytes (1..8) of [p, end), which is longer, as bp_load_short() gives them. */
static inline uint64_t bp_number_load(const uint8_t *p, size_t n, const uint8_t *end)
{
	if (__builtin_expect(end - p < 8, 0))
		return bp_load_short(p, n);
	return bp_load_le64(p) & ~(uint64_t)0 >> (64 - 8 * n);
}

/* A number beyond the range of double compares as the largest of its sign. */
static inline double bp_number_in_range(double v, bool negative)
{
	return isfinite(v) ? v : negative ? -DBL_MAX : DBL_MAX;
}

/* The value of [p, number_end), which is a JSON number; the text continues to `end`. */
static inline double bp_number_value(
	const uint8_t *p, const uint8_t *number_end, const uint8_t *end)
{
	bool negative = *p == '-';
	size_t n = (size_t)(number_end - p) - negative;
	double v;

	if (n <= BP_NUMBER_SHORT &&
		bp_number_short(bp_number_load(p + negative, n, end), (unsigned)n, &v)) {
		return negative ? -v : v;
	}
	v = HUGE_VAL;
	bp_number_parse(p, number_end, false, &v);
	return bp_number_in_range(v, negative);
}

#endif
