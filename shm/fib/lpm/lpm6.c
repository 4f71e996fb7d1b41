/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/fib/lpm/lpm.h"

#include "shm/fib/lpm/lpm_node.h"

#define BURST 64u

void bp_lpm6_lookup(
	const struct bp_fib *f, const uint8_t *const *dst, uint32_t *nexthop, unsigned n)
{
	const _Atomic uint32_t *word[BURST];
	uint8_t deeper[BURST];
	unsigned m = 0;

	for (unsigned i = 0; i < n; i++) {
		nexthop[i] = atomic_load_explicit(
			&f->lpm6_root[dst[i][0] << 8 | dst[i][1]], memory_order_acquire);
		deeper[m] = (uint8_t)i;
		m += nexthop[i] >> 31;
	}
	/* Level by level, with the addresses that still have a node. A valid tree ends with the
	 * address; a damaged one may not. */
	for (unsigned byte = BP_LPM6_ROOT_BITS / 8; m > 0 && byte < 16; byte++) {
		unsigned left = 0;

		for (unsigned i = 0; i < m; i++)
			__builtin_prefetch(bp_lpm_bounded_node(f, nexthop[deeper[i]]));
		for (unsigned i = 0; i < m; i++) {
			const struct bp_lpm_line *node = bp_lpm_bounded_node(f, nexthop[deeper[i]]);

			word[i] = bp_lpm_word(node, bp_lpm_run(node, dst[deeper[i]][byte]));
			__builtin_prefetch((const void *)word[i]);
		}
		for (unsigned i = 0; i < m; i++) {
			uint8_t who = deeper[i];

			nexthop[who] = atomic_load_explicit(word[i], memory_order_acquire);
			deeper[left] = who;
			left += nexthop[who] >> 31;
		}
		m = left;
	}
	bp_lpm_bound(f, nexthop, n);
}
