/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/lpm.h"
#include "shm/lpm_node.h"

#define BURST 64u

/* One lookup under way. */
struct walk {
	const uint8_t *dst; /* the octet that decides next */
	uint32_t ref;       /* the node's line */
	uint32_t i;         /* whose lookup it is */
	const _Atomic uint32_t *at;
};

void bp_lpm6_lookup(
	const struct bp_fib *f, const uint8_t *const *dst, uint32_t *nexthop, unsigned n)
{
	const _Atomic uint32_t *root = f->lpm6_root;
	struct walk walk[BURST];
	unsigned left = 0;

	for (unsigned i = 0; i < n; i++) {
		uint32_t v = atomic_load_explicit(
			&root[(uint32_t)dst[i][0] << 8 | dst[i][1]], memory_order_acquire);
		bool child = v & BP_LPM_CHILD;

		nexthop[i] = child ? 0 : v;
		walk[left] = (struct walk){.dst = dst[i] + 2, .ref = v & ~BP_LPM_CHILD, .i = i};
		__builtin_prefetch(&f->lines[child ? v & ~BP_LPM_CHILD : 0]);
		left += child;
	}
	while (left != 0) {
		unsigned deeper = 0;

		for (unsigned k = 0; k < left; k++) {
			const struct bp_lpm_node *node = bp_lpm_node_at(f, walk[k].ref);
			uint32_t best = atomic_load_explicit(&node->best, memory_order_relaxed);

			if (best != 0)
				nexthop[walk[k].i] = best;
			walk[k].at = &node->value[bp_lpm_node_index(node, *walk[k].dst)];
			__builtin_prefetch((const void *)walk[k].at);
		}
		for (unsigned k = 0; k < left; k++) {
			uint32_t v = atomic_load_explicit(walk[k].at, memory_order_acquire);
			struct walk *next = &walk[deeper];

			if (v & BP_LPM_CHILD) {
				*next = (struct walk){.dst = walk[k].dst + 1,
					.ref = v & ~BP_LPM_CHILD,
					.i = walk[k].i};
				__builtin_prefetch(&f->lines[next->ref]);
				deeper++;
			} else if (v != 0) {
				nexthop[walk[k].i] = v;
			}
		}
		left = deeper;
	}
}
