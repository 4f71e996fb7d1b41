/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_NET_SUM_CARRY_H
#define BP_PROTO_NET_SUM_CARRY_H

#include <stdint.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "proto/net/frame.h"

/* The bp_sum() of six words as a chain of add-with-carry: compilers do not generate it from
 * comparisons of sums. */
static inline uint64_t bp_sum_six(
	uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
#if defined(__x86_64__)
	unsigned long long sum;
	unsigned char carry;

	carry = _addcarry_u64(0, a, b, &sum);
	carry = _addcarry_u64(carry, sum, c, &sum);
	carry = _addcarry_u64(carry, sum, d, &sum);
	carry = _addcarry_u64(carry, sum, e, &sum);
	carry = _addcarry_u64(carry, sum, f, &sum);
	_addcarry_u64(carry, sum, 0, &sum);
	return sum;
#else
	const uint64_t left = bp_sum_add(bp_sum_add(a, b), c);

	return bp_sum_add(left, bp_sum_add(bp_sum_add(d, e), f));
#endif
}

#endif
