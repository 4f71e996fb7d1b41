/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_CHECKSUM_H
#define BP_BENCH_HARNESS_CHECKSUM_H

#include <stdint.h>
#include <string.h>

/* Updates a checksum after a change of covered bytes (RFC 1624, eqn. 3): `change` is the sum of the
 * new value and the complement of the old one, in 16 or 32 bits, below 2^34. */
static inline void bench_sum_move(uint8_t *p, uint64_t change)
{
	uint64_t s;
	uint16_t sum;

	memcpy(&sum, p, 2);
	s = change + (uint16_t)~sum;
	s = (s & 0xffff) + (s >> 16);
	s = (s & 0xffff) + (s >> 16);
	s += s >> 16;
	sum = (uint16_t)~s;
	memcpy(p, &sum, 2);
}

/* Replaces 4 bytes and returns the change. */
static inline uint64_t bench_replace32(uint8_t *p, uint32_t value)
{
	uint32_t old;

	memcpy(&old, p, 4);
	memcpy(p, &value, 4);
	return (uint64_t)(uint32_t)~old + value;
}

#endif
