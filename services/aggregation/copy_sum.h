/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_AGGREGATION_COPY_SUM_H
#define BP_SERVICES_AGGREGATION_COPY_SUM_H

#include "proto/net/copy.h"
#include "proto/net/frame.h"

/* The last n (1..7) bytes of the last word of 8 bytes, in the layout of bp_sum_tail(). */
static inline uint64_t bp_sum_last(uint64_t w, unsigned n)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return w >> (64 - 8 * n);
#else
	return w << (64 - 8 * n);
#endif
}

/* Copies `len` bytes between regions that do not overlap, and returns their bp_sum(). */
static inline uint64_t bp_copy_and_sum(uint8_t *to, const uint8_t *from, unsigned len)
{
	const uint8_t *const end = from + (len & ~15u);
	uint64_t sum = 0, other = 0, w;
	unsigned left = len & 15;

	for (; from != end; from += 16, to += 16) {
		memcpy(to, from, 16);
		sum = bp_sum_add(sum, bp_sum_word(from));
		other = bp_sum_add(other, bp_sum_word(from + 8));
	}
	if (left >= 8) {
		memcpy(&w, from, 8);
		memcpy(to, &w, 8);
		sum = bp_sum_add(sum, w);
		left -= 8;
		from += 8;
		to += 8;
	}
	if (left != 0 && len >= 8) {
		/* copies some bytes a second time instead of copying byte by byte */
		memcpy(&w, from + left - 8, 8);
		memcpy(to + left - 8, &w, 8);
		other = bp_sum_add(other, bp_sum_last(w, left));
	} else if (left != 0) {
		bp_copy(to, from, left);
		other = bp_sum_tail(from, left);
	}
	return bp_sum_add(sum, other);
}

#endif
