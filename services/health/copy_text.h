/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_HEALTH_COPY_TEXT_H
#define BP_SERVICES_HEALTH_COPY_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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
static inline void bp_hex16(uint8_t *p, uint64_t v)
{
	const bp_v16 digits = {
		'0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'};
	const bp_v16 x = bp_v16_of64(__builtin_bswap64(v), 0);
	const bp_v16 text =
		bp_v16_pick(digits, __builtin_shufflevector(x >> 4, x & bp_v16_of(0x0f), 0, 16, 1,
					    17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23));

	memcpy(p, &text, sizeof(text));
}

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
