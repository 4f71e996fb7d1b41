/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_LPM_NODE_H
#define BP_SHM_LPM_NODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shm/fib.h"

/*
 * A node of the longest-prefix-match structures: it decides by the next 8 bits of an address, its
 * slot. 256 slots are kept as runs of equal value: a bit says where a run begins, and counting the
 * bits up to a slot gives the place of its value. A node with up to BP_LPM_NEAR values, as nearly
 * all are, is one cache line.
 *
 * A value is 0 (no prefix that begins in this node covers the slot: the best match so far stands),
 * the number of a next hop, or BP_LPM_CHILD + the line at which the slot's child begins. `best` is
 * the longest match of all addresses of the node among the prefixes that end where the node begins
 * or, in its parent, before; 0 leaves the best match so far.
 *
 * Where runs begin follows from the prefixes alone, not from their next hops: so a change of next
 * hop is one store a run, and only a prefix that comes or goes makes a new node.
 */
#define BP_LPM_CHILD 0x80000000u
#define BP_LPM_SLOTS 256u
#define BP_LPM_NEAR 5u /* values in the first line */

struct bp_lpm_line {
	uint8_t bytes[64];
} __attribute__((aligned(64)));

struct bp_lpm_node {
	uint64_t begins[4]; /* bit s: a run begins at slot s; bit 0 is set */
	_Atomic uint32_t best;
	uint8_t before[4]; /* runs that begin before slots 0, 64, 128, 192 */
	uint32_t n;        /* runs */
	_Atomic uint32_t value[];
};
_Static_assert(offsetof(struct bp_lpm_node, value) + BP_LPM_NEAR * 4 == 64, "one line");

static inline uint32_t bp_lpm_node_lines(uint32_t n)
{
	return (uint32_t)((offsetof(struct bp_lpm_node, value) + 4 * n + 63) / 64);
}
#define BP_LPM_NODE_LINES_MAX 17u

static inline struct bp_lpm_node *bp_lpm_node_at(const struct bp_fib *f, uint32_t line)
{
	return (struct bp_lpm_node *)&f->lines[line];
}

/* Place of the value of a slot. */
static inline uint32_t bp_lpm_node_index(const struct bp_lpm_node *n, uint8_t slot)
{
	uint32_t word = slot >> 6;

	return n->before[word] +
	       (uint32_t)__builtin_popcountll(n->begins[word] << (63 - (slot & 63))) - 1;
}

/* Where runs begin, as a writer has it before there is a node. */
struct bp_lpm_shape {
	uint64_t begins[4];
	uint32_t n;
};

/* A run for every slot in `begins`; slot 0 is added. */
void bp_lpm_shape_make(struct bp_lpm_shape *s, const uint64_t begins[4]);

/* Writes a node that nobody reads yet. slots[s]: the value of slot s. */
void bp_lpm_node_write(struct bp_lpm_node *n, const struct bp_lpm_shape *s, uint32_t best,
	const uint32_t slots[BP_LPM_SLOTS]);

/* Whether what lies there is a node that a reader can use: its numbers fit each other and `lines`,
 * the lines that there are from its beginning on. */
bool bp_lpm_node_valid(const struct bp_lpm_node *n, uint32_t lines);

#endif
