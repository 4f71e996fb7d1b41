/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_NET_CHECKSUM_FOUR_H
#define BP_PROTO_NET_CHECKSUM_FOUR_H

#include "proto/net/ip4_four.h"
#if defined(__SSE4_1__)
#include <smmintrin.h>
#endif

/*
 * Internet checksums (RFC 1071) of four frames in parallel: sixteen bytes of a frame at a time are
 * added to four sums, and at the end the sums of four frames form one vector, so that one
 * comparison checks them.
 *
 * The words are added as signed numbers, since there is an instruction for those: each counts
 * BP_CHECKSUM_LESS too little, which is added for all at the end.
 */
#define BP_CHECKSUM_LESS 32768u

/* For bp_v4_words(): which of the eight words count. */
typedef int16_t bp_v8_s16 __attribute__((vector_size(16)));

/* The sums of words 0 and 1, 2 and 3, 4 and 5, 6 and 7: of the selected ones (1, else 0), each
 * BP_CHECKSUM_LESS less. The portable versions are for other processors; tests compare both. */
static inline bp_v4 bp_v4_words_portable(bp_v16 bytes, bp_v8_s16 asked)
{
	const bp_v8_s16 word = (bp_v8_s16)(bytes ^ (bp_v16)((bp_v4){0} + 0x80008000)) * asked;
	bp_v4 sum;

	for (unsigned i = 0; i < 4; i++)
		sum[i] = (uint32_t)(word[2 * i] + word[2 * i + 1]);
	return sum;
}

static inline bp_v4 bp_v4_words(bp_v16 bytes, bp_v8_s16 asked)
{
#if defined(__SSE2__)
	const bp_v4 moved = (bp_v4)bytes ^ 0x80008000;

	return (bp_v4)_mm_madd_epi16((__m128i)moved, (__m128i)asked);
#elif defined(__aarch64__)
	const int16x8_t moved = (int16x8_t)((bp_v4)bytes ^ 0x80008000), by = (int16x8_t)asked;

	return (bp_v4)vpaddq_s32(
		vmull_s16(vget_low_s16(moved), vget_low_s16(by)), vmull_high_s16(moved, by));
#else
	return bp_v4_words_portable(bytes, asked);
#endif
}

/* The lesser of each two words. */
static inline bp_v16 bp_v8_min_portable(bp_v16 a, bp_v16 b)
{
	typedef uint16_t words __attribute__((vector_size(16)));
	const words x = (words)a, y = (words)b;
	const words less = (words)(x < y);

	return (bp_v16)((x & less) | (y & ~less));
}

static inline bp_v16 bp_v8_min(bp_v16 a, bp_v16 b)
{
#if defined(__SSE4_1__)
	return (bp_v16)_mm_min_epu16((__m128i)a, (__m128i)b);
#else
	return bp_v8_min_portable(a, b);
#endif
}

/* Of two vectors of four sums each, halfway to one sum each: numbers 0 and 2 are parts of the
 * first's, 1 and 3 of the second's. */
static inline bp_v4 bp_v4_sum_two(bp_v4 a, bp_v4 b)
{
	return bp_v4_low(a, b) + bp_v4_high(a, b);
}

/* And of four, by twos: the sum of each. */
static inline bp_v4 bp_v4_sum_four(bp_v4 first_two, bp_v4 last_two)
{
	return bp_v4_firsts(first_two, last_two) + bp_v4_lasts(first_two, last_two);
}

/* All ones if a sum of words, which is not 0, is a multiple of 65,535, as it is over a correct
 * checksum. */
static inline bp_v4 bp_v4_sums_ok(bp_v4 sum)
{
	/* A sum of k times 65,535 has k - 1 in the upper and 65,536 - k in the lower half. */
	return (bp_v4)((sum & 0xffff) + (sum >> 16) == 0xffff);
}

#endif
