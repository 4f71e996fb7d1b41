/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_FIB_LPM_LPM_NODE_H
#define BP_SHM_FIB_LPM_LPM_NODE_H

#include "shm/fib/fib.h"

/*
 * Nodes of the longest-prefix-match trees, and the words that refer to them.
 *
 * A word (an entry of a root, a value of a node) is the result for an address at this point of the
 * tree: the number of a next hop, which is the longest match among all prefixes, or, with bit 31,
 * the line at which a more specific node begins. Words are complete: a reader never has to keep the
 * words that it read higher in the tree. The last word it reads is the result, and was valid at the
 * instant at which it was read, regardless of concurrent changes.
 *
 * A node holds the words of the 256 slots of the next 8 bits, as runs of slots with the same word:
 * a bitmap in which a set bit begins a run, and one word per run. A run ends where a prefix or a
 * deeper node begins or ends, also when the words are equal, so that a change of next hops never
 * changes the shape. A node of up to BP_LPM_FIRST runs is one line; a full one is BP_LPM_LINES_MAX.
 *
 * In a node that readers can reach only single words change; another shape is another node.
 */
#define BP_LPM_LINK 0x80000000u /* the other bits are the number of a line */
#define BP_LPM_SLOTS 256u
#define BP_LPM_FIRST 7u /* words in a node's first line */
#define BP_LPM_MORE 16u /* words in each further one */
#define BP_LPM_LINES_MAX 17u

#define BP_LPM4_ROOT_BITS 24u
#define BP_LPM6_ROOT_BITS 16u
#define BP_VRF_ROOT_BITS 16u
#define BP_LPM_STRIDE 8u

/*
 * Additional lines after the last one: wherever a node begins and whatever it contains, a reader
 * stays in the table. A reader bounds each index when it reads it, since the control plane may
 * write anything at any time.
 */
#define BP_LPM_RUN_MASK 511u
#define BP_LPM_SLACK 33u
_Static_assert(36 + (BP_LPM_RUN_MASK + 1) * 4 <= BP_LPM_SLACK * 64, "every run's word is there");

/* A node's first line; the words continue in the lines that follow. */
struct bp_lpm_line {
	uint64_t runs[4];  /* slot s: bit s % 64 of runs[s / 64]; slot 0 always begins one */
	uint8_t before[4]; /* number of bits set in the words of `runs` before this one */
	_Atomic uint32_t word[BP_LPM_FIRST];
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct bp_lpm_line) == 64, "one line");

/* Word of run i. Those beyond the first line are in the lines that follow. */
static inline _Atomic uint32_t *bp_lpm_word(const struct bp_lpm_line *node, unsigned i)
{
	return (_Atomic uint32_t *)(uintptr_t)((const char *)node +
					       offsetof(struct bp_lpm_line, word)) +
	       i;
}

/* Number of the run that a slot is in. */
static inline unsigned bp_lpm_run(const struct bp_lpm_line *node, unsigned slot)
{
	/* The bits of this slot and below, moved up: the shift needs no special case for slot 63.
	 */
	uint64_t upto = node->runs[slot / 64] << (63 - slot % 64);

	return (node->before[slot / 64] + (unsigned)__builtin_popcountll(upto) - 1) &
	       BP_LPM_RUN_MASK;
}

/* The node that a word refers to; the first node where the line is out of range. */
static inline const struct bp_lpm_line *bp_lpm_bounded_node(const struct bp_fib *f, uint32_t word)
{
	const uint32_t line = word & ~BP_LPM_LINK;

	return &f->lines[line < f->max_lines ? line : 0];
}

/* The root of a VRF; NULL: it has no number. */
static inline _Atomic uint32_t *bp_vrf_root(const struct bp_fib *f, unsigned vrf, unsigned family)
{
	if (vrf == BP_VRF_MAIN || vrf > BP_MAX_VRFS)
		return NULL;
	return f->vrf_roots + (2 * (vrf - 1) + (family == 6)) * (size_t)BP_VRF_ROOT;
}

/* Words as readers may use them: numbers of next hops that there are. */
static inline void bp_lpm_bound(const struct bp_fib *f, uint32_t *nexthop, unsigned n)
{
	const uint32_t last = f->max_nexthops - 1;

	for (unsigned i = 0; i < n; i++)
		nexthop[i] = nexthop[i] <= last ? nexthop[i] : BP_NH_NONE;
}

static inline unsigned bp_lpm_runs(const struct bp_lpm_line *node)
{
	return node->before[3] + (unsigned)__builtin_popcountll(node->runs[3]);
}

/* How many lines a node of n runs takes. */
static inline unsigned bp_lpm_lines_for(unsigned n)
{
	return n <= BP_LPM_FIRST ? 1 : 1 + (n - BP_LPM_FIRST + BP_LPM_MORE - 1) / BP_LPM_MORE;
}

#endif
