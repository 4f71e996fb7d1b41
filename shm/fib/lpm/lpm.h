/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_FIB_LPM_LPM_H
#define BP_SHM_FIB_LPM_LPM_H

#include "shm/fib/fib.h"

/*
 * Longest prefix match for workers, many at a time: numbers of next hops, BP_NH_NONE where no
 * prefix matches. Waits for memory together: every step touches all addresses before the next step.
 */

#define BP_LPM4_SLOT_BITS 8 /* of an address, beyond the root's */

/* `dst` in host byte order. n is at most 64. */
void bp_lpm4_lookup(const struct bp_fib *f, const uint32_t *dst, uint32_t *nexthop, unsigned n);
/*
 * As above, for a caller that looks up burst after burst. Prefixes of more than 24 bits take a
 * second step; most traffic needs it always or never. `*nodes` is the caller's, false at first:
 * whether its last burst needed the second step, which decides which of two loops is tried first.
 * The result does not depend on it.
 */
void bp_lpm4_lookup_retry(
	const struct bp_fib *f, uint8_t *nodes, const uint32_t *dst, uint32_t *nexthop, unsigned n);
/* Begins to load what the lookup of these addresses reads first. */
static inline void bp_lpm4_prefetch(const struct bp_fib *f, const uint32_t *dst, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		__builtin_prefetch((const void *)&f->lpm4_root[dst[i] >> BP_LPM4_SLOT_BITS]);
}
/* dst[i]: 16 bytes in network byte order, at any alignment. n is at most 64. */
void bp_lpm6_lookup(
	const struct bp_fib *f, const uint8_t *const *dst, uint32_t *nexthop, unsigned n);

/*
 * In VRFs: vrf[i] is that of address dst[i], which is 4 or 16 bytes in network byte order, at any
 * alignment. BP_NH_NONE for a VRF that has no number. n is at most 64.
 */
void bp_lpm_vrf_lookup(const struct bp_fib *f, unsigned family, const uint8_t *vrf,
	const uint8_t *const *dst, uint32_t *nexthop, unsigned n);

/* One address in network byte order, in a VRF or the main one. */
uint32_t bp_lpm4_lookup_in(const struct bp_fib *f, uint8_t vrf, const uint8_t *dst);
uint32_t bp_lpm6_lookup_in(const struct bp_fib *f, uint8_t vrf, const uint8_t *dst);

#endif
