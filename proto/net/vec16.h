/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_NET_VEC16_H
#define BP_PROTO_NET_VEC16_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif
#if defined(__SSSE3__)
#include <tmmintrin.h>
#endif
#if defined(__SSE4_1__)
#include <smmintrin.h>
#endif
#if defined(__aarch64__)
#include <arm_neon.h>
#endif

/*
 * Sixteen bytes at a time, with the compilers' vector types, so that every machine has them; what
 * compilers do not generate from these is written for x86-64 and arm64. The packet path uses only
 * this header, ip4_four.h and checksum_four.h. No load here reads outside the range it is given.
 */

typedef uint8_t bp_v16 __attribute__((vector_size(16)));
typedef uint32_t bp_v4 __attribute__((vector_size(16)));

static inline bp_v16 bp_v16_of(uint8_t c)
{
	return (bp_v16){c, c, c, c, c, c, c, c, c, c, c, c, c, c, c, c};
}

static inline bp_v16 bp_v16_load(const uint8_t *p)
{
	bp_v16 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t bp_load_le64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	return v;
}

static inline uint32_t bp_load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap32(v);
#endif
	return v;
}

/*
 * p[0..n), n <= 8, as a little-endian number, zero above. Overlapping loads instead of a loop: the
 * bytes that two loads share are or-ed with themselves.
 */
static inline uint64_t bp_load_short(const uint8_t *p, size_t n)
{
	if (n >= 4) {
		size_t shift = 8 * (n - 4);

		return bp_load32(p) | (uint64_t)bp_load32(p + n - 4) << shift;
	}
	if (n == 0)
		return 0;
	return (uint64_t)p[0] | (uint64_t)p[n >> 1] << (8 * (n >> 1)) |
	       (uint64_t)p[n - 1] << (8 * (n - 1));
}

/* The first 16 of p[0..n), with zeros after the end. */
static inline bp_v16 bp_v16_load_upto(const uint8_t *p, size_t n)
{
	uint64_t half[2];
	bp_v16 v;

	if (__builtin_expect(n >= 16, 1))
		return bp_v16_load(p);
	if (n > 8) {
		half[0] = bp_load_le64(p);
		half[1] = bp_load_le64(p + n - 8) >> (8 * (16 - n));
	} else {
		half[0] = bp_load_short(p, n);
		half[1] = 0;
	}
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	half[0] = __builtin_bswap64(half[0]);
	half[1] = __builtin_bswap64(half[1]);
#endif
#if defined(__SSE2__)
	v = (bp_v16)_mm_set_epi64x((long long)half[1], (long long)half[0]);
#else
	memcpy(&v, half, sizeof(v));
#endif
	return v;
}

/* Bit i is the top bit of byte i. */
static inline uint32_t bp_v16_mask(bp_v16 v)
{
#if defined(__SSE2__)
	return (uint32_t)_mm_movemask_epi8((__m128i)v);
#elif defined(__aarch64__)
	const bp_v16 bit = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
	const uint8x16_t set =
		vandq_u8(vreinterpretq_u8_s8(vshrq_n_s8(vreinterpretq_s8_u8((uint8x16_t)v), 7)),
			(uint8x16_t)bit);

	return (uint32_t)vaddv_u8(vget_low_u8(set)) | (uint32_t)vaddv_u8(vget_high_u8(set)) << 8;
#else
	uint8_t b[16];
	uint32_t m = 0;

	memcpy(b, &v, sizeof(b));
	for (unsigned i = 0; i < 16; i++)
		m |= (uint32_t)(b[i] >> 7) << i;
	return m;
#endif
}

/* Whether all bytes have their top bit set, as those of a true comparison have. */
static inline int bp_v16_all(bp_v16 v)
{
	return bp_v16_mask(v) == 0xffff;
}

static inline int bp_v16_same(bp_v16 a, bp_v16 b)
{
	return bp_v16_all((bp_v16)(a == b));
}

/* Bytes all ones where equal. */
static inline bp_v16 bp_v16_eq(bp_v16 a, uint8_t c)
{
	return (bp_v16)(a == bp_v16_of(c));
}

/* Bytes other than zero where a > b. */
static inline bp_v16 bp_v16_above(bp_v16 a, bp_v16 b)
{
#if defined(__SSE2__)
	return (bp_v16)_mm_subs_epu8((__m128i)a, (__m128i)b);
#else
	return (bp_v16)(a > b);
#endif
}

/* Twice eight bytes in the machine's order. */
static inline bp_v16 bp_v16_of64(uint64_t first, uint64_t last)
{
	return (bp_v16)(__attribute__((vector_size(16))) uint64_t){first, last};
}

/* The first and the last eight bytes in the machine's order. */
static inline uint64_t bp_v16_first(bp_v16 a)
{
	return ((__attribute__((vector_size(16))) uint64_t)a)[0];
}

static inline uint64_t bp_v16_last(bp_v16 a)
{
	return ((__attribute__((vector_size(16))) uint64_t)a)[1];
}

/* Bytes all ones where '0'..'9'. */
static inline bp_v16 bp_v16_digit(bp_v16 a)
{
	return (bp_v16)((a - bp_v16_of('0')) < bp_v16_of(10));
}

/* The lesser of each two bytes. */
static inline bp_v16 bp_v16_min(bp_v16 a, bp_v16 b)
{
#if defined(__SSE2__)
	return (bp_v16)_mm_min_epu8((__m128i)a, (__m128i)b);
#else
	const bp_v16 less = (bp_v16)(a < b);

	return (a & less) | (b & ~less);
#endif
}

/* Byte i is byte at[i] of v, or 0 where the top bit of at[i] is set; at[i] is below 16 else. */
static inline bp_v16 bp_v16_pick_portable(bp_v16 v, bp_v16 at)
{
	bp_v16 out;

	for (unsigned i = 0; i < 16; i++)
		out[i] = at[i] & 0x80 ? 0 : v[at[i]];
	return out;
}

static inline bp_v16 bp_v16_pick(bp_v16 v, bp_v16 at)
{
#if defined(__SSSE3__)
	return (bp_v16)_mm_shuffle_epi8((__m128i)v, (__m128i)at);
#elif defined(__aarch64__)
	return (bp_v16)vqtbl1q_u8((uint8x16_t)v, (uint8x16_t)at);
#else
	return bp_v16_pick_portable(v, at);
#endif
}

/* Bit i of 0..15: 16-bit word i of the two vectors equals `word`. */
static inline uint32_t bp_v16_words_equal(bp_v16 first, bp_v16 last, uint16_t word)
{
	typedef uint16_t words __attribute__((vector_size(16)));
	const words want = (words){0} + word;
	const bp_v16 low = (bp_v16)((words)first == want), high = (bp_v16)((words)last == want);

#if defined(__SSE2__)
	return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16((__m128i)low, (__m128i)high));
#else
	return bp_v16_mask(__builtin_shufflevector(
		low, high, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30));
#endif
}

/* Four numbers of eight digits each, 0..9 and the first the highest: two in a, two in b. */
static inline bp_v4 bp_v16_join_digits_portable(bp_v16 a, bp_v16 b)
{
	typedef uint16_t words __attribute__((vector_size(16)));
	const words two_a = ((words)a & 0xff) * 10 + ((words)a >> 8);
	const words two_b = ((words)b & 0xff) * 10 + ((words)b >> 8);
	const bp_v4 four_a = ((bp_v4)two_a & 0xffff) * 100 + ((bp_v4)two_a >> 16);
	const bp_v4 four_b = ((bp_v4)two_b & 0xffff) * 100 + ((bp_v4)two_b >> 16);
	const bp_v4 four = (bp_v4)__builtin_shufflevector(
		(words)four_a, (words)four_b, 0, 2, 4, 6, 8, 10, 12, 14);

	return (four & 0xffff) * 10000 + (four >> 16);
}

static inline bp_v4 bp_v16_join_digits(bp_v16 a, bp_v16 b)
{
#if defined(__SSE4_1__)
	const __m128i tens = _mm_set1_epi16(1 << 8 | 10), hundreds = _mm_set1_epi32(1 << 16 | 100);
	const __m128i n =
		_mm_packus_epi32(_mm_madd_epi16(_mm_maddubs_epi16((__m128i)a, tens), hundreds),
			_mm_madd_epi16(_mm_maddubs_epi16((__m128i)b, tens), hundreds));

	return (bp_v4)_mm_madd_epi16(n, _mm_set1_epi32(1 << 16 | 10000));
#else
	return bp_v16_join_digits_portable(a, b);
#endif
}

/* The 8 bytes at p; zero above. */
static inline bp_v16 bp_v16_load_half(const uint8_t *p)
{
#if defined(__SSE2__)
	return (bp_v16)_mm_loadl_epi64((const __m128i *)(const void *)p);
#else
	bp_v16 v = {0};

	memcpy(&v, p, 8);
	return v;
#endif
}

/* Writes the first 8 bytes to p. */
static inline void bp_v16_store_half(uint8_t *p, bp_v16 v)
{
	memcpy(p, &v, 8);
}

/* Whether all bits are 0. */
static inline int bp_v16_none(bp_v16 v)
{
#if defined(__SSE4_1__)
	return _mm_testz_si128((__m128i)v, (__m128i)v);
#else
	return bp_v16_first(v) == 0 && bp_v16_last(v) == 0;
#endif
}

#endif
