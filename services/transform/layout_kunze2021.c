/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/transform/layout.h"

#include <string.h>

#include "proto/net/ip4_four.h"

/*
 * Eight payloads per step. The last step of a burst is padded with a constant payload, so that no
 * separate code for the remainder is needed.
 */
#define STEP 8u
#define READS 16u /* bytes of one load; the fourth word is an output */

static const double scale = 0x1p25, min = -0x1p31, max = 0x1p31 - 1;
/* Numbers in [under, over) round to -2^31 .. 2^31 - 1, half to even. */
static const double under = -0x1p31 - 0.5, over = 0x1p31 - 0.5;

typedef double two __attribute__((vector_size(16)));
typedef int64_t two_masks __attribute__((vector_size(16)));

static inline bp_v4 swapped(bp_v4 v)
{
	const bp_v16 b = (bp_v16)v;

	return (bp_v4)__builtin_shufflevector(
		b, b, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
}

static inline bp_v4 load4(const uint8_t *at)
{
	bp_v4 v;

	memcpy(&v, at, sizeof(v));
	return swapped(v);
}

/* A word below the exponent of 2^52 is the double 2^52 + word: exact, for unsigned words too. */
static inline void put_four(double to[4], bp_v4 w, double bias)
{
	const bp_v4 exponent = {0x43300000, 0x43300000, 0x43300000, 0x43300000};
	const two low = ((two)bp_v4_low(w, exponent) - bias) * 0x1p-25;
	const two high = ((two)bp_v4_high(w, exponent) - bias) * 0x1p-25;

	memcpy(to, &low, sizeof(low));
	memcpy(to + 2, &high, sizeof(high));
}

static inline void read4(
	const uint8_t *const payload[], unsigned offset, struct bp_transform_points *p, unsigned i)
{
	const bp_v4 sign = {1u << 31, 1u << 31, 1u << 31, 1u << 31};
	const bp_v4 a = load4(payload[0] + offset), b = load4(payload[1] + offset);
	const bp_v4 c = load4(payload[2] + offset), d = load4(payload[3] + offset);
	const bp_v4 ab = bp_v4_low(a, b), cd = bp_v4_low(c, d);

	put_four(&p->v[0][i], bp_v4_firsts(ab, cd) ^ sign, 0x1p52 + 0x1p31);
	put_four(&p->v[1][i], bp_v4_lasts(ab, cd), 0x1p52);
	put_four(&p->v[2][i], bp_v4_firsts(bp_v4_high(a, b), bp_v4_high(c, d)), 0x1p52);
}

/* Two numbers as fixed point in the lowest words; adds the number of saturated ones to *beyond. */
static inline bp_v4 fixed_two(const double *v, two_masks *beyond)
{
	two s;
	two_masks within;

	memcpy(&s, v, sizeof(s));
	s *= scale;
	within = (s < over) & (s >= under);
	*beyond |= ~within;
	within = s < max;
	s = (two)(((two_masks)s & within) | ((two_masks)(two){max, max} & ~within));
	within = s > min;
	s = (two)(((two_masks)s & within) | ((two_masks)(two){min, min} & ~within));
	/* The sum has steps of 1: it is rounded, and its lowest 32 bits are the number. */
	return (bp_v4)(s + 0x1.8p52);
}

static inline bp_v4 fixed_four(const double *v, two_masks *beyond)
{
	return __builtin_shufflevector(fixed_two(v, beyond), fixed_two(v + 2, beyond), 0, 2, 4, 6);
}

static inline void store3(uint8_t *at, bp_v4 v)
{
	v = swapped(v);
	memcpy(at, &v, 12);
}

/* Whether anything was beyond the range. */
static inline bool write4(
	uint8_t *const payload[], unsigned offset, const struct bp_transform_points *p, unsigned i)
{
	two_masks beyond = {0, 0};
	const bp_v4 x = fixed_four(&p->v[0][i], &beyond), y = fixed_four(&p->v[1][i], &beyond);
	const bp_v4 z = fixed_four(&p->v[2][i], &beyond);

	store3(payload[0] + offset, bp_v4_firsts(bp_v4_low(x, y), bp_v4_low(z, z)));
	store3(payload[1] + offset, bp_v4_lasts(bp_v4_low(x, y), bp_v4_low(z, z)));
	store3(payload[2] + offset, bp_v4_firsts(bp_v4_high(x, y), bp_v4_high(z, z)));
	store3(payload[3] + offset, bp_v4_lasts(bp_v4_high(x, y), bp_v4_high(z, z)));
	return (beyond[0] | beyond[1]) != 0;
}

static inline void read8(
	const uint8_t *const payload[], unsigned offset, struct bp_transform_points *p, unsigned i)
{
	read4(payload, offset, p, i);
	read4(payload + 4, offset, p, i + 4);
}

static inline bool write8(
	uint8_t *const payload[], unsigned offset, const struct bp_transform_points *p, unsigned i)
{
	const bool first = write4(payload, offset, p, i);

	return write4(payload + 4, offset, p, i + 4) || first;
}

/* Handles saturated results of payloads i.., which are rare. */
static __attribute__((noinline, cold)) uint64_t find_saturated(
	const struct bp_transform_points *p, unsigned i, unsigned n, uint8_t saturated[])
{
	uint64_t any = 0;

	for (; i < n; i++) {
		saturated[i] = 0;
		for (unsigned c = 0; c < 3; c++) {
			const double s = p->v[c][i] * scale;

			saturated[i] |= (uint8_t)(!(s < over && s >= under) << c);
		}
		any |= (uint64_t)(saturated[i] != 0) << i;
	}
	return any;
}

typedef void read_step(
	const uint8_t *const payload[], unsigned offset, struct bp_transform_points *p, unsigned i);
typedef bool write_step(
	uint8_t *const payload[], unsigned offset, const struct bp_transform_points *p, unsigned i);

static inline __attribute__((always_inline)) void read_steps(read_step *step,
	const uint8_t *const payload[], unsigned offset, unsigned n, struct bp_transform_points *p)
{
	static const uint8_t zeros[READS];
	const uint8_t *filled[STEP];
	unsigned i = 0;

	for (; i + STEP <= n; i += STEP)
		step(payload + i, offset, p, i);
	if (i == n)
		return;
	for (unsigned j = 0; j < STEP; j++)
		filled[j] = i + j < n ? payload[i + j] + offset : zeros;
	step(filled, 0, p, i);
}

static inline __attribute__((always_inline)) uint64_t write_steps(write_step *step,
	uint8_t *const payload[], unsigned offset, unsigned n, const struct bp_transform_points *p,
	uint8_t saturated[])
{
	uint8_t nowhere[READS], *filled[STEP];
	uint64_t any = 0;
	unsigned i = 0;

	for (; i + STEP <= n; i += STEP) {
		if (__builtin_expect(step(payload + i, offset, p, i), 0))
			any |= find_saturated(p, i, i + STEP, saturated);
		else
			memset(saturated + i, 0, STEP);
	}
	if (i == n)
		return any;
	for (unsigned j = 0; j < STEP; j++)
		filled[j] = i + j < n ? payload[i + j] + offset : nowhere;
	step(filled, 0, p, i);
	return any | find_saturated(p, i, n, saturated);
}

static void read_v4(
	const uint8_t *const payload[], unsigned offset, unsigned n, struct bp_transform_points *p)
{
	read_steps(read8, payload, offset, n, p);
}

static uint64_t write_v4(uint8_t *const payload[], unsigned offset, unsigned n,
	const struct bp_transform_points *p, uint8_t saturated[])
{
	return write_steps(write8, payload, offset, n, p, saturated);
}

static const struct bp_transform_kunze2021_ops v4_ops = {read_v4, write_v4};

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))

AVX512 static inline __m512i load_four(const uint8_t *const payload[], unsigned offset)
{
	__m512i v = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(payload[0] + offset)));

	v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(payload[1] + offset)), 1);
	v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(payload[2] + offset)), 2);
	return _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(payload[3] + offset)), 3);
}

AVX512 static inline __m512i swapped_avx512(__m512i v)
{
	return _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(_mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4,
					      11, 10, 9, 8, 15, 14, 13, 12)));
}

/* The word-th of each reading. */
AVX512 static inline __m256i words(__m512i a, __m512i b, int word)
{
	const __m512i which = _mm512_add_epi32(_mm512_set1_epi32(word),
		_mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 0, 0, 0, 0, 0, 0, 0));

	return _mm512_castsi512_si256(_mm512_permutex2var_epi32(a, which, b));
}

AVX512 static inline void read_step_avx512(
	const uint8_t *const payload[], unsigned offset, struct bp_transform_points *p, unsigned i)
{
	const __m512i a = swapped_avx512(load_four(payload, offset));
	const __m512i b = swapped_avx512(load_four(payload + 4, offset));
	const __m512d step = _mm512_set1_pd(0x1p-25);

	_mm512_storeu_pd(&p->v[0][i], _mm512_mul_pd(_mm512_cvtepi32_pd(words(a, b, 0)), step));
	_mm512_storeu_pd(&p->v[1][i], _mm512_mul_pd(_mm512_cvtepu32_pd(words(a, b, 1)), step));
	_mm512_storeu_pd(&p->v[2][i], _mm512_mul_pd(_mm512_cvtepu32_pd(words(a, b, 2)), step));
}

AVX512 static inline __m256i fixed_avx512(const double *v, __mmask8 *beyond)
{
	__m512d s = _mm512_mul_pd(_mm512_loadu_pd(v), _mm512_set1_pd(scale));

	*beyond |= _mm512_cmp_pd_mask(s, _mm512_set1_pd(over), _CMP_NLT_UQ) |
		   _mm512_cmp_pd_mask(s, _mm512_set1_pd(under), _CMP_LT_OQ);
	/* in this order: if one operand is NaN, the second one is returned */
	s = _mm512_min_pd(s, _mm512_set1_pd(max));
	s = _mm512_max_pd(s, _mm512_set1_pd(min));
	return _mm512_cvt_roundpd_epi32(s, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

AVX512 static inline void store_three(uint8_t *at, __m128i v)
{
	const uint32_t z = (uint32_t)_mm_extract_epi32(v, 2);

	_mm_storel_epi64((__m128i *)at, v);
	memcpy(at + 8, &z, sizeof(z));
}

AVX512 static inline void store_four(uint8_t *const payload[], unsigned offset, __m512i v)
{
	v = swapped_avx512(v);
	store_three(payload[0] + offset, _mm512_castsi512_si128(v));
	store_three(payload[1] + offset, _mm512_extracti32x4_epi32(v, 1));
	store_three(payload[2] + offset, _mm512_extracti32x4_epi32(v, 2));
	store_three(payload[3] + offset, _mm512_extracti32x4_epi32(v, 3));
}

AVX512 static inline bool write_step_avx512(
	uint8_t *const payload[], unsigned offset, const struct bp_transform_points *p, unsigned i)
{
	const __m512i first =
		_mm512_setr_epi32(0, 8, 16, 16, 1, 9, 17, 17, 2, 10, 18, 18, 3, 11, 19, 19);
	__mmask8 beyond = 0;
	const __m256i x = fixed_avx512(&p->v[0][i], &beyond),
		      y = fixed_avx512(&p->v[1][i], &beyond);
	const __m512i z = _mm512_castsi256_si512(fixed_avx512(&p->v[2][i], &beyond));
	const __m512i xy = _mm512_inserti64x4(_mm512_castsi256_si512(x), y, 1);

	store_four(payload, offset, _mm512_permutex2var_epi32(xy, first, z));
	store_four(payload + 4, offset,
		_mm512_permutex2var_epi32(xy, _mm512_add_epi32(first, _mm512_set1_epi32(4)), z));
	return beyond != 0;
}

AVX512 static void read_avx512(
	const uint8_t *const payload[], unsigned offset, unsigned n, struct bp_transform_points *p)
{
	read_steps(read_step_avx512, payload, offset, n, p);
}

AVX512 static uint64_t write_avx512(uint8_t *const payload[], unsigned offset, unsigned n,
	const struct bp_transform_points *p, uint8_t saturated[])
{
	return write_steps(write_step_avx512, payload, offset, n, p, saturated);
}

static const struct bp_transform_kunze2021_ops avx512_ops = {read_avx512, write_avx512};

static bool avx512_supported(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#else
#define avx512_ops v4_ops

static bool avx512_supported(void)
{
	return false;
}
#endif

const struct bp_transform_kunze2021_ops *bp_transform_kunze2021_ops(unsigned readings)
{
	if (readings == 8)
		return avx512_supported() ? &avx512_ops : NULL;
	return readings == 4 ? &v4_ops : NULL;
}

void bp_transform_kunze2021_read(
	const uint8_t *const payload[], unsigned offset, unsigned n, struct bp_transform_points *p)
{
	(avx512_supported() ? &avx512_ops : &v4_ops)->read(payload, offset, n, p);
}

uint64_t bp_transform_kunze2021_write(uint8_t *const payload[], unsigned offset, unsigned n,
	const struct bp_transform_points *p, uint8_t saturated[])
{
	return (avx512_supported() ? &avx512_ops : &v4_ops)
		->write(payload, offset, n, p, saturated);
}
