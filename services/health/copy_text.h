/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_HEALTH_COPY_TEXT_H
#define BP_SERVICES_HEALTH_COPY_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSSE3__)
#include <tmmintrin.h>
#endif

#include "proto/net/vec16.h"

/* Small writers, each of which returns the end of its output. */

#define bp_put(p, literal)                                                                         \
	((uint8_t *)memcpy(p, literal, sizeof(literal) - 1) + sizeof(literal) - 1)

static inline uint8_t *bp_put_bytes(uint8_t *p, const void *from, size_t n)
{
	memcpy(p, from, n);
	return p + n;
}

/*
 * As bp_put_bytes(), in whole vectors: 32 bytes may be read and written for any n, and 15 after it;
 * the text of a layout and the buffer of a request have this headroom.
 */
static inline uint8_t *bp_put_text(uint8_t *p, const uint8_t *from, size_t n)
{
	const bp_v16 first = bp_v16_load(from), second = bp_v16_load(from + 16);

	memcpy(p, &first, 16);
	memcpy(p + 16, &second, 16);
	for (size_t i = 32; __builtin_expect(i < n, 0); i += 16) {
		const bp_v16 more = bp_v16_load(from + i);

		memcpy(p + i, &more, 16);
	}
	return p + n;
}

/* Sixteen lower case hex digits of `v`, the highest first. */
#if defined(__SSSE3__)
static inline void bp_hex16(uint8_t *p, uint64_t v)
{
	const __m128i digits = _mm_setr_epi8(
		'0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f');
	const __m128i nibble = _mm_set1_epi8(0x0f);
	const __m128i x = _mm_cvtsi64_si128((long long)__builtin_bswap64(v));
	const __m128i high = _mm_and_si128(_mm_srli_epi16(x, 4), nibble);

	_mm_storeu_si128((__m128i *)(void *)p,
		_mm_shuffle_epi8(digits, _mm_unpacklo_epi8(high, _mm_and_si128(x, nibble))));
}
#else
static inline void bp_hex16(uint8_t *p, uint64_t v)
{
	for (unsigned i = 16; i-- > 0; v >>= 4)
		p[i] = (uint8_t) "0123456789abcdef"[v & 0x0f];
}
#endif

/* As above, as two words in host byte order: the values that bp_sum_word() would read. */
static inline void bp_hex16_words(uint64_t v, uint64_t out[2])
{
	bp_hex16((uint8_t *)out, v);
}

/* The lowest n hex digits, n at most 8. */
static inline uint8_t *bp_put_hex(uint8_t *p, uint32_t v, unsigned n)
{
	uint8_t digits[16];

	bp_hex16(digits, v);
	memcpy(p, digits + sizeof(digits) - n, n);
	return p + n;
}

static inline uint8_t *bp_put_decimal(uint8_t *p, uint32_t v)
{
	uint8_t digits[10];
	unsigned n = 0;

	do {
		digits[n++] = (uint8_t)('0' + v % 10);
		v /= 10;
	} while (v != 0);
	while (n != 0)
		*p++ = digits[--n];
	return p;
}

#endif
