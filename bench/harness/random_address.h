/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_RANDOM_ADDRESS_H
#define BP_BENCH_HARNESS_RANDOM_ADDRESS_H

#include <stdint.h>
#include <string.h>

#include "bench/harness/draw.h"
#include "proto/net/frame.h"

/* Offsets in UDP over IPv4 frames without VLAN tags and options. */
#define BENCH_AT_IP_SUM 24u
#define BENCH_AT_SRC 26u
#define BENCH_AT_DST 30u
#define BENCH_AT_UDP_SUM 40u

/* RFC 1624, eqn. 3, for a change of 16 bits. The result must not be 0, which would mean no checksum
 * in UDP (RFC 768). */
static inline void bench_sum_move16(uint8_t *p, uint32_t change)
{
	uint32_t s;
	uint16_t sum;

	memcpy(&sum, p, 2);
	s = change + (uint16_t)~sum;
	sum = (uint16_t) ~((s & 0xffff) + (s >> 16));
	sum = sum != 0 ? sum : 0xffff;
	memcpy(p, &sum, 2);
}

/*
 * Replaces the address at `at` by a random one of the n (at most 65,536) addresses from `first` on,
 * a multiple of 65,536; the old address is one of them. Both checksums stay correct.
 */
static inline void bench_random_address(
	uint8_t *frame, unsigned at, uint32_t first, uint32_t n, uint64_t *seed)
{
	uint16_t old;
	uint32_t i, change;

	i = bench_draw(seed, n);
	/* only the last two bytes change */
	memcpy(&old, frame + at + 2, 2);
	bp_put_be32(frame + at, first + i);
	change = __builtin_bswap16((uint16_t)i) + (uint32_t)(uint16_t)~old;
	change = (change & 0xffff) + (change >> 16);
	bench_sum_move16(frame + BENCH_AT_IP_SUM, change);
	bench_sum_move16(frame + BENCH_AT_UDP_SUM, change);
}

#endif
