/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_LPM_H
#define BP_SHM_LPM_H

#include "shm/fib.h"

/*
 * Longest prefix match for workers, many at a time: numbers of next hops, BP_NH_NONE where no
 * prefix matches. Waits for memory together: every step touches all addresses before the next step.
 */

/* `dst` in host byte order. n is at most 64. */
void bp_lpm4_lookup(const struct bp_fib *f, const uint32_t *dst, uint32_t *nexthop, unsigned n);
/* dst[i]: 16 bytes in network byte order, at any alignment. n is at most 64. */
void bp_lpm6_lookup(
	const struct bp_fib *f, const uint8_t *const *dst, uint32_t *nexthop, unsigned n);

#endif
