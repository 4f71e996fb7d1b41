/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/lpm.h"
#include "shm/lpm_node.h"

#define BURST 64u

/* Addresses whose first 24 bits don't decide: one node more. */
static __attribute__((noinline)) void descend(
	const struct bp_fib *f, const uint32_t *dst, uint32_t *nexthop, unsigned n)
{
	uint8_t which[BURST];
	const _Atomic uint32_t *at[BURST];
	unsigned deep = 0;

	for (unsigned i = 0; i < n; i++) {
		which[deep] = (uint8_t)i;
		__builtin_prefetch(
			&f->lines[nexthop[i] & BP_LPM_CHILD ? nexthop[i] & ~BP_LPM_CHILD : 0]);
		deep += nexthop[i] >> 31;
	}
	for (unsigned k = 0; k < deep; k++) {
		unsigned i = which[k];
		const struct bp_lpm_node *node = bp_lpm_node_at(f, nexthop[i] & ~BP_LPM_CHILD);

		nexthop[i] = atomic_load_explicit(&node->best, memory_order_relaxed);
		at[k] = &node->value[bp_lpm_node_index(node, (uint8_t)dst[i])];
		__builtin_prefetch((const void *)at[k]);
	}
	for (unsigned k = 0; k < deep; k++) {
		uint32_t v = atomic_load_explicit(at[k], memory_order_relaxed);

		nexthop[which[k]] = v != 0 ? v : nexthop[which[k]];
	}
}

void bp_lpm4_lookup(const struct bp_fib *f, const uint32_t *dst, uint32_t *nexthop, unsigned n)
{
	const _Atomic uint32_t *root = f->lpm4_root;
	uint32_t any = 0;

	for (unsigned i = 0; i < n; i++)
		__builtin_prefetch((const void *)&root[dst[i] >> 8]);
	for (unsigned i = 0; i < n; i++) {
		/* what a child reference leads to was written before the reference */
		nexthop[i] = atomic_load_explicit(&root[dst[i] >> 8], memory_order_acquire);
		any |= nexthop[i];
	}
	if (any & BP_LPM_CHILD)
		descend(f, dst, nexthop, n);
}
