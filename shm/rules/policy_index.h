/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_RULES_POLICY_INDEX_H
#define BP_SHM_RULES_POLICY_INDEX_H

#include "shm/hash.h"
#include "shm/rules/policy.h"
#include "shm/rules/ruleset_image.h"

/*
 * The index of the policy, for the files shm/rules/policy*.c and ruleset_*.c alone: which rules may
 * match a packet. A trie over the levels of the rules' topic filters, in which {client} and {user}
 * are +; a rule without a topic is one with #. Where a filter ends, its rules are a chain by
 * ascending index (BP_POLICY_BY_END). A long chain is also split by what the rules have of a client
 * and packet (BP_POLICY_BY_KEY). One chain has all rules that do not allow and may match a
 * subscription (BP_POLICY_BY_ACTION): one with wildcards may overlap any filter, but is covered
 * only by filters on its own way through the trie.
 *
 * The edges of the trie and the split chains are in one hash table, which compares hashes alone: a
 * rule that is found is always tested, so that what the index finds in excess costs time only.
 *
 * bp_policy_find_begin() and bp_policy_find_next() return the rules in their order.
 */

#define BP_POLICY_DEPTH 16u /* levels of the trie; a longer filter ends there as if with # */

/* What a chain is split by: bits, and so a key is one of BP_POLICY_KEYS combinations of them. */
enum {
	BP_POLICY_KEY_CLIENT = 1, /* exact client identifier */
	BP_POLICY_KEY_USER = 2,   /* exact user name */
	BP_POLICY_KEY_HOST = 4,   /* address of one host */
	BP_POLICY_KEY_PACKET = 8, /* packet type */
	BP_POLICY_KEYS = 16,
};

/* Rules whose filters end at a node. */
struct bp_policy_end {
	uint32_t first; /* BP_POLICY_BY_END; BP_RULE_NONE: there are none */
	uint32_t keys;  /* 1 << key: there are rules with this key; 0: they are not split */
};

struct bp_policy_node {
	uint32_t plus;               /* child for +, 0: none */
	uint32_t literals;           /* children for other levels */
	struct bp_policy_end end[2]; /* the filter ends here; it continues with # and ends */
};

enum { BP_POLICY_EDGE, BP_POLICY_CHAIN };
struct bp_policy_slot {
	uint64_t tag; /* bp_policy_edge_tag() or bp_policy_chain_tag(); 0: free */
	uint32_t to;  /* child node, or first rule, BP_POLICY_BY_KEY */
	uint32_t kind;
};

static inline const struct bp_policy_node *bp_policy_nodes(const struct bp_ruleset *rs)
{
	return (const struct bp_policy_node *)(const void *)((const uint8_t *)rs +
							     rs->policy_index.nodes);
}
static inline const struct bp_policy_slot *bp_policy_slots(const struct bp_ruleset *rs)
{
	return (const struct bp_policy_slot *)(const void *)((const uint8_t *)rs +
							     rs->policy_index.slots);
}

static inline uint64_t bp_policy_text_hash(uint64_t key, const uint8_t *text, uint32_t n)
{
	struct bp_level l = {.text = text, .len = n};

	bp_level_hash(&l, key);
	return l.hash;
}
static inline uint64_t bp_policy_edge_tag(uint32_t node, uint64_t level)
{
	return bp_fold(level ^ node, 0x9e3779b97f4a7c15ull) | 1;
}

/* The hashes of what a rule or a packet has, by bit of the key. */
struct bp_policy_identity_hash {
	uint64_t part[4];
};
static inline void bp_policy_hash_client(
	struct bp_policy_identity_hash *h, uint64_t key, const uint8_t *client, uint32_t n)
{
	h->part[0] = bp_policy_text_hash(key, client, n);
}
static inline void bp_policy_hash_user(
	struct bp_policy_identity_hash *h, uint64_t key, const uint8_t *user, uint32_t n)
{
	h->part[1] = bp_policy_text_hash(key ^ 1, user, n);
}
static inline void bp_policy_hash_host(
	struct bp_policy_identity_hash *h, uint64_t key, const uint8_t *address, bool ip6)
{
	h->part[2] = bp_policy_text_hash(key ^ 2, address, ip6 ? 16 : 4);
}
static inline void bp_policy_hash_packet(struct bp_policy_identity_hash *h, uint8_t packet)
{
	h->part[3] = packet;
}
static inline uint64_t bp_policy_chain_tag(
	uint32_t node, unsigned end, unsigned key, const struct bp_policy_identity_hash *h)
{
	uint64_t x = (uint64_t)node << 8 | end << 4 | key;

	for (unsigned i = 0; i < 4; i++)
		if (key & 1u << i)
			x = bp_fold(x ^ h->part[i], 0xe7037ed1a0b428dbull);
	return bp_fold(x, 0xa0761d6478bd642full) | 1;
}

/* ---- policy_find.c ---- */

struct bp_policy_level {
	const uint8_t *p;
	uint32_t n;
};

#define BP_POLICY_CHAINS 32u /* that one packet may follow; with more, all rules are tested */
struct bp_policy_find {
	const struct bp_ruleset *rs;
	uint32_t steps; /* units of work */
	uint32_t all;   /* all rules are tested: the next one */
	bool is_all;
	uint32_t n;
	struct {
		uint32_t rule; /* the next one */
		enum bp_policy_order order;
	} chain[BP_POLICY_CHAINS];
	struct bp_policy_identity_hash hash;
	unsigned hashed; /* bits of a key */
};

/* `level`: those of the topic of `p`, if it has one. */
void bp_policy_find_begin(struct bp_policy_find *f, const struct bp_ruleset *rs,
	const struct bp_policy_packet_view *p, const struct bp_policy_level *level, uint32_t n);
/* The index of the next rule that may match; BP_RULE_NONE: there is none. */
uint32_t bp_policy_find_next(struct bp_policy_find *f);

/* ---- policy_index.c ---- */

/* NULL: no memory, or more levels than 32 bits count. Without rules it is empty.
 * The caller frees it. */
struct bp_policy_draft_index *bp_policy_index_build(
	const struct bp_policy_spec *spec, uint64_t key);
void bp_policy_index_free(struct bp_policy_draft_index *x);
uint64_t bp_policy_index_size(const struct bp_policy_draft_index *x);
/* Writes it at d + at, and into the rules of the policy, which are there; d is at offset h->policy
 * of the image. */
void bp_policy_index_write(const struct bp_policy_draft_index *x, struct bp_ruleset *h, uint8_t *d,
	uint64_t at, struct bp_policy_rule *rules);
bool bp_policy_index_valid(const struct bp_ruleset *rs);

#endif
