/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_RULES_RULESET_IMAGE_H
#define BP_SHM_RULES_RULESET_IMAGE_H

#include "shm/hash.h"
#include "shm/rules/ruleset.h"

/* The trie inside an image. For the files shm/rules/ruleset_*.c alone. */

/* A filter of n bytes has at most n + 1 levels. */
#define BP_LEVELS_MAX (BP_RULE_FILTER_MAX + 1)

/* Node 0 is the root; a child's index is above its parent's. */
struct bp_ruleset_node {
	uint32_t rule;      /* first rule whose filter ends here, or BP_RULE_NONE */
	uint32_t hash_rule; /* first rule whose filter continues with # and ends, or BP_RULE_NONE */
	uint32_t plus;      /* child for +, 0: none */
	uint32_t literals;  /* children for other levels */
};

/* Half a cache line; levels of up to 16 bytes are compared without leaving it. */
struct bp_ruleset_edge {
	uint32_t child; /* 0: free slot */
	uint32_t parent;
	uint64_t tag; /* upper half of the hash, below it the level's length: see bp_edge_tag() */
	union {
		uint64_t word[2]; /* len <= 16: the level, zero padded */
		uint32_t text;    /* len > 16: offset of its text from the image's start */
	};
};
_Static_assert(sizeof(struct bp_ruleset_edge) == 32, "two edges a cache line");

struct bp_level {
	const uint8_t *text;
	uint32_t len;
	uint64_t hash; /* 0: not computed yet */
	uint64_t word[2];
};

/* Fills hash and word. */
static inline void bp_level_hash(struct bp_level *l, uint64_t key)
{
	const uint8_t *p = l->text;
	uint32_t n = l->len;
	uint64_t h = key;

	for (; n > 16; n -= 16, p += 16)
		h = bp_fold(bp_load64(p) ^ h, bp_load64(p + 8) ^ 0xe7037ed1a0b428dbull);
	if (n >= 8) {
		l->word[0] = bp_load64(p);
		l->word[1] = n == 16 ? bp_load64(p + 8) : bp_load_part(p + 8, n - 8);
	} else {
		l->word[0] = bp_load_part(p, n);
		l->word[1] = 0;
	}
	l->hash = bp_fold(l->word[0] ^ h,
			  l->word[1] ^ 0xa0761d6478bd642full ^ ((uint64_t)l->len << 32)) |
		  1;
}

/* Hash of the edge from `parent` along `l`: the slot from the low bits, the tag from the high. */
static inline uint64_t bp_edge_hash(const struct bp_level *l, uint32_t parent)
{
	uint64_t h = (l->hash + parent) * 0x9e3779b97f4a7c15ull;

	return h ^ h >> 32;
}

static inline uint64_t bp_edge_tag(const struct bp_level *l, uint64_t hash)
{
	return (hash & 0xffffffff00000000ull) | l->len;
}
static inline uint32_t bp_edge_len(const struct bp_ruleset_edge *e)
{
	return (uint32_t)e->tag;
}

static inline const struct bp_ruleset_node *bp_ruleset_nodes(const struct bp_ruleset *rs)
{
	return (const struct bp_ruleset_node *)(const void *)((const uint8_t *)rs + rs->nodes);
}
static inline const struct bp_ruleset_window *bp_ruleset_windows(const struct bp_ruleset *rs)
{
	return (const struct bp_ruleset_window *)(const void *)((const uint8_t *)rs + rs->windows);
}
static inline const struct bp_ruleset_edge *bp_ruleset_edges(const struct bp_ruleset *rs)
{
	return (const struct bp_ruleset_edge *)(const void *)((const uint8_t *)rs + rs->edges);
}

#endif
