/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_FIB_LPM_RIB_H
#define BP_SHM_FIB_LPM_RIB_H

#include <stdbool.h>
#include <stdint.h>

#include "biplane/fib.h"

/*
 * All prefixes of one family and their next hops, in the writer's own memory: a binary trie without
 * nodes that have only one child and no prefix (Patricia trie). Nodes have numbers, from 1; 0 is no
 * node.
 */
struct bp_rib_key {
	uint64_t word[2]; /* the address's bits from the highest on; IPv4 uses the first 32 */
};

struct bp_rib_node {
	struct bp_rib_key key; /* bits beyond `length` are 0 */
	uint32_t child[2];     /* by the bit after `length` */
	uint32_t nexthop;      /* 0: no prefix ends here, the node only branches */
	uint8_t length;
	bool refused; /* the caller's mark */
	uint16_t pad;
};
_Static_assert(sizeof(struct bp_rib_node) == 32, "two a line");

struct bp_rib {
	struct bp_rib_node *node; /* node[1] is the empty prefix's, always there */
	uint32_t used, capacity;
	uint32_t free;     /* a list, by child[0] */
	uint32_t prefixes; /* those with a next hop */
};

/* False without memory. */
bool bp_rib_init(struct bp_rib *rib);
void bp_rib_free(struct bp_rib *rib);

struct bp_rib_key bp_rib_key(const struct bp_prefix *p);

/*
 * The prefix's node, made if there was none; a new one has next hop 0, which the caller replaces.
 * Returns 0 without memory, with nothing changed.
 */
uint32_t bp_rib_insert(struct bp_rib *rib, const struct bp_rib_key *key, unsigned length);
/* 0: no such prefix. */
uint32_t bp_rib_find(const struct bp_rib *rib, const struct bp_rib_key *key, unsigned length);
/* Returns false when there was no such prefix. */
bool bp_rib_remove(struct bp_rib *rib, const struct bp_rib_key *key, unsigned length);

/* A place in the trie: the first node below it, and what covers it. */
struct bp_rib_position {
	uint32_t node;    /* the highest one of at least the place's length; 0: none */
	uint32_t nexthop; /* of the longest prefix that is not longer than the place; 0: none */
};

/* Descends from a higher position (for the whole trie {1, 0}) to the first `length` bits of the
 * key. */
struct bp_rib_position bp_rib_down(const struct bp_rib *rib, struct bp_rib_position from,
	const struct bp_rib_key *key, unsigned length);

/* Bit i of the key, 0 is the highest. */
static inline unsigned bp_rib_bit(const struct bp_rib_key *key, unsigned i)
{
	return key->word[i / 64] >> (63 - i % 64) & 1;
}

/* n bits (1..32) of the key from bit `from` on; they do not cross bit 64. */
static inline uint32_t bp_rib_bits(const struct bp_rib_key *key, unsigned from, unsigned n)
{
	return (uint32_t)(key->word[from / 64] << (from % 64) >> (64 - n));
}

/* Whether prefixes longer than `length` are at or below the node, which is at least that long. */
static inline bool bp_rib_longer(const struct bp_rib *rib, uint32_t node, unsigned length)
{
	const struct bp_rib_node *n = &rib->node[node];

	return node != 0 && (n->length > length || (n->child[0] | n->child[1]) != 0);
}

#endif
