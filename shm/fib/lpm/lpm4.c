/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/fib/lpm/lpm.h"

#include "shm/fib/lpm/lpm_node.h"

#define BURST 64u
#define PATIENCE 32 /* bursts without nodes until they are taken for rare */

/*
 * For a burst with addresses that lead to nodes. The loads are independent of each other, so their
 * cache misses overlap. There is no unpredictable branch: without a node, the prefetched memory is
 * cached anyway. Returns the number of addresses that led to a node.
 */
static __attribute__((noinline)) unsigned through_nodes(
	const struct bp_fib *f, const uint32_t *dst, uint32_t *nexthop, unsigned n)
{
	const _Atomic uint32_t *word[BURST];
	uint8_t deeper[BURST];
	unsigned m = 0;

	for (unsigned i = 0; i < n; i++) {
		uint32_t w = atomic_load_explicit(
			&f->lpm4_root[dst[i] >> BP_LPM4_SLOT_BITS], memory_order_acquire);
		const void *next = (w & BP_LPM_LINK) != 0 ? (const void *)bp_lpm_bounded_node(f, w)
							  : (const void *)&nexthop[i];

		__builtin_prefetch(next);
		nexthop[i] = w;
		deeper[m] = (uint8_t)i;
		m += w >> 31;
	}
	for (unsigned i = 0; i < m; i++) {
		const struct bp_lpm_line *node = bp_lpm_bounded_node(f, nexthop[deeper[i]]);

		word[i] = bp_lpm_word(node, bp_lpm_run(node, dst[deeper[i]] & 0xff));
		__builtin_prefetch((const void *)word[i]);
	}
	for (unsigned i = 0; i < m; i++)
		nexthop[deeper[i]] = atomic_load_explicit(word[i], memory_order_relaxed);
	bp_lpm_bound(f, nexthop, n);
	return m;
}

/* Whether a burst has a single address, such as traffic to this host. */
static bool all_to_one(const uint32_t *dst, unsigned n)
{
	uint32_t differ = 0;

	for (unsigned i = 1; i < n; i++)
		differ |= dst[i] ^ dst[0];
	return differ == 0;
}

void bp_lpm4_lookup_retry(
	const struct bp_fib *f, uint8_t *nodes, const uint32_t *dst, uint32_t *nexthop, unsigned n)
{
	uint32_t any = 0;

	if (*nodes == 0) {
		for (unsigned i = 0; i < n; i++) {
			nexthop[i] = atomic_load_explicit(
				&f->lpm4_root[dst[i] >> BP_LPM4_SLOT_BITS], memory_order_acquire);
			any |= nexthop[i];
		}
		if (__builtin_expect((any & BP_LPM_LINK) == 0, 1)) {
			bp_lpm_bound(f, nexthop, n);
			return;
		}
	}
	if (n > 1 && dst[0] == dst[n - 1] && all_to_one(dst, n)) {
		through_nodes(f, dst, nexthop, 1);
		for (unsigned i = 1; i < n; i++)
			nexthop[i] = nexthop[0];
		return; /* one address does not predict the others */
	}
	*nodes = through_nodes(f, dst, nexthop, n) != 0 ? PATIENCE
							: (uint8_t)(*nodes - (*nodes != 0));
}

void bp_lpm4_lookup(const struct bp_fib *f, const uint32_t *dst, uint32_t *nexthop, unsigned n)
{
	through_nodes(f, dst, nexthop, n);
}
