/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_RULES_RULESET_DRAFT_H
#define BP_SHM_RULES_RULESET_DRAFT_H

#include "shm/rules/ruleset_image.h"

/* A rule set before its image is written, for the files shm/rules/ruleset_*.c alone. Functions that
 * fail have written an error message. */

/* An edge before its position in the table is known. */
struct bp_draft_edge {
	uint32_t parent, child;
	struct bp_level level; /* text points into the specs */
	uint32_t rule;         /* the rule whose filter has the level ... */
	uint32_t at;           /* ... and its position there */
};

/* The ends of the two chains of rules that a node may have. */
struct bp_draft_tails {
	uint32_t rule, hash_rule;
};

struct bp_draft {
	const struct bp_policy_spec *policy;
	struct bp_policy_draft_index *policy_index;
	const struct bp_rule_spec *specs;
	uint32_t n_specs;
	uint32_t n; /* rules, and the parts of combinations after them */
	const struct bp_rule_spec **spec;
	uint64_t key;
	uint64_t bank_size;
	char *err;
	size_t err_size;

	struct bp_rule *rules;
	struct bp_value_source *sources;
	uint32_t n_sources;
	uint32_t *source_index; /* open addressing: source + 1, 0: free */
	uint32_t source_mask;
	struct bp_value_strings *strings;
	uint32_t n_strings;

	struct bp_ruleset_node *nodes;
	struct bp_draft_tails *tails;
	uint32_t n_nodes, nodes_room;
	struct bp_draft_edge *edges;
	uint32_t n_edges, edges_room;
	uint32_t *edge_index; /* open addressing: edge + 1, 0: free */
	uint32_t edge_mask;

	uint64_t text_bytes;
	uint32_t n_absent;
	uint32_t n_windows;
	uint64_t window_pane_ns;
};

static inline uint64_t bp_draft_power_of_two(uint64_t at_least)
{
	uint64_t p = 1;

	while (p < at_least)
		p <<= 1;
	return p;
}

/* ruleset_build.c: return -1. */
int bp_draft_no_memory(struct bp_draft *d);
int bp_draft_too_big(struct bp_draft *d, uint64_t need);

/* ruleset_rules.c: compiles the rules, and adds their filters. Returns 0, or -1. */
int bp_draft_rules(struct bp_draft *d);

/* ruleset_trie.c: adds the filter of rule i. Returns 0, or -1. */
int bp_draft_filter_add(struct bp_draft *d, uint32_t i);
/* Returns the index of the new node, or 0 (the root, which is never a child) with an error
 * message. */
uint32_t bp_draft_node_add(struct bp_draft *d);

/* ruleset_slots.c: gives the rules their slots. Returns 0, or -1. */
int bp_draft_slots_assign(struct bp_draft *d, uint32_t max_rules, const struct bp_ruleset *old);

#endif
