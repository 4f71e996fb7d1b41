/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/fib/lpm/lpm.h"

#include "shm/fib/lpm/lpm_node.h"

#define BURST 64u

/*
 * Notes the node that a word refers to for address `who`, at index m, and begins to load it.
 * Returns 0 if the word is a result: then the next entry overwrites this one. A branch on it would
 * be mispredicted often, so a result loads the first node instead, which stays in the cache.
 */
static inline unsigned keep_deeper(const struct bp_fib *f, uint32_t word, unsigned who, unsigned m,
	const struct bp_lpm_line **node, uint8_t *deeper)
{
	const uint32_t is_link = word >> 31;

	node[m] = bp_lpm_bounded_node(f, word & (0 - is_link));
	__builtin_prefetch(node[m]);
	deeper[m] = (uint8_t)who;
	return is_link;
}

/*
 * Level by level, with the addresses that still have a node: `m` of them at first. A valid tree
 * ends with the address, of `bytes` bytes; a damaged one may not.
 */
static inline void through_levels(const struct bp_fib *f, const uint8_t *const *dst, unsigned bytes,
	uint32_t *nexthop, unsigned m, const struct bp_lpm_line **node, uint8_t *deeper)
{
	const _Atomic uint32_t *word[BURST];

	for (unsigned byte = BP_LPM6_ROOT_BITS / 8; m > 0 && byte < bytes; byte++) {
		const unsigned now = m;

		for (unsigned i = 0; i < now; i++) {
			word[i] = bp_lpm_word(node[i], bp_lpm_run(node[i], dst[deeper[i]][byte]));
			__builtin_prefetch((const void *)word[i]);
		}
		m = 0;
		for (unsigned i = 0; i < now; i++) {
			const uint8_t who = deeper[i];

			nexthop[who] = atomic_load_explicit(word[i], memory_order_acquire);
			m += keep_deeper(f, nexthop[who], who, m, node, deeper);
		}
	}
}

void bp_lpm6_lookup(
	const struct bp_fib *f, const uint8_t *const *dst, uint32_t *nexthop, unsigned n)
{
	const struct bp_lpm_line *node[BURST];
	uint8_t deeper[BURST];
	unsigned m = 0;

	for (unsigned i = 0; i < n; i++) {
		nexthop[i] = atomic_load_explicit(
			&f->lpm6_root[dst[i][0] << 8 | dst[i][1]], memory_order_acquire);
		m += keep_deeper(f, nexthop[i], i, m, node, deeper);
	}
	through_levels(f, dst, 16, nexthop, m, node, deeper);
	bp_lpm_bound(f, nexthop, n);
}

void bp_lpm_vrf_lookup(const struct bp_fib *f, unsigned family, const uint8_t *vrf,
	const uint8_t *const *dst, uint32_t *nexthop, unsigned n)
{
	const struct bp_lpm_line *node[BURST];
	uint8_t deeper[BURST];
	unsigned m = 0;

	for (unsigned i = 0; i < n; i++) {
		const _Atomic uint32_t *root = bp_vrf_root(f, vrf[i], family);

		nexthop[i] = root == NULL ? BP_NH_NONE
					  : atomic_load_explicit(&root[dst[i][0] << 8 | dst[i][1]],
						    memory_order_acquire);
		m += keep_deeper(f, nexthop[i], i, m, node, deeper);
	}
	through_levels(f, dst, family == 4 ? 4 : 16, nexthop, m, node, deeper);
	bp_lpm_bound(f, nexthop, n);
}

uint32_t bp_lpm4_lookup_in(const struct bp_fib *f, uint8_t vrf, const uint8_t *dst)
{
	const uint32_t dst4 =
		(uint32_t)dst[0] << 24 | (uint32_t)dst[1] << 16 | (uint32_t)dst[2] << 8 | dst[3];
	uint32_t nexthop;

	if (vrf == BP_VRF_MAIN)
		bp_lpm4_lookup(f, &dst4, &nexthop, 1);
	else
		bp_lpm_vrf_lookup(f, 4, &vrf, &dst, &nexthop, 1);
	return nexthop;
}

uint32_t bp_lpm6_lookup_in(const struct bp_fib *f, uint8_t vrf, const uint8_t *dst)
{
	uint32_t nexthop;

	if (vrf == BP_VRF_MAIN)
		bp_lpm6_lookup(f, &dst, &nexthop, 1);
	else
		bp_lpm_vrf_lookup(f, 6, &vrf, &dst, &nexthop, 1);
	return nexthop;
}
