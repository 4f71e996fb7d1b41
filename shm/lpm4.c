/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/lpm.h"

#include "shm/lpm_node.h"

#define BURST 64u
#define SLOT_BITS 8

void bp_lpm4_lookup(const struct bp_fib *f, const uint32_t *dst, uint32_t *nexthop, unsigned n)
{
	const _Atomic uint32_t *word[BURST];
	uint8_t deeper[BURST];
	uint32_t any = 0;
	unsigned m = 0;

	/* The loads do not depend on each other: the processor waits for all of them together. */
	for (unsigned i = 0; i < n; i++) {
		nexthop[i] = atomic_load_explicit(
			&f->lpm4_root[dst[i] >> SLOT_BITS], memory_order_acquire);
		any |= nexthop[i];
	}
	if (__builtin_expect((any & BP_LPM_LINK) == 0, 1))
		return;
	for (unsigned i = 0; i < n; i++) {
		deeper[m] = (uint8_t)i;
		m += nexthop[i] >> 31;
	}
	for (unsigned i = 0; i < m; i++)
		__builtin_prefetch(&f->lines[nexthop[deeper[i]] & ~BP_LPM_LINK]);
	for (unsigned i = 0; i < m; i++) {
		const struct bp_lpm_line *node = &f->lines[nexthop[deeper[i]] & ~BP_LPM_LINK];

		word[i] = bp_lpm_word(node, bp_lpm_run(node, dst[deeper[i]] & 0xff));
		__builtin_prefetch((const void *)word[i]);
	}
	for (unsigned i = 0; i < m; i++)
		nexthop[deeper[i]] = atomic_load_explicit(word[i], memory_order_relaxed);
}
