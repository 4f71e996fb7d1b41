/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "shm/rules/ruleset_image.h"

/*
 * A depth-first walk over the trie. Every node is visited at most once and every level of the topic
 * is split and hashed at most once, so the cost of a hostile topic is bounded by its length and by
 * the nodes that its prefix reaches. The number of levels is that of the deepest filter, and at
 * most one branch waits at each of them; the filters therefore bound both arrays.
 */
struct branch {
	uint32_t node, depth;
};

/* The first '/' in [p, end), or end. */
static inline const uint8_t *find_slash(const uint8_t *p, const uint8_t *end)
{
	const uint64_t ones = 0x0101010101010101ull;

	for (; p < end; p += 8) {
		const size_t n = (size_t)(end - p);
		const uint64_t v = (n >= 8 ? bp_load64(p) : bp_load_part(p, n)) ^ ('/' * ones);
		/* the lowest set bit marks the first byte that is zero */
		const uint64_t zero = (v - ones) & ~v & (ones << 7);

		if (zero)
			return p + (unsigned)__builtin_ctzll(zero) / 8;
	}
	return end;
}

static inline uint32_t find_child(const struct bp_ruleset *rs, uint32_t parent, struct bp_level *l)
{
	const struct bp_ruleset_edge *edges = bp_ruleset_edges(rs);
	const uint32_t mask = rs->edge_mask;
	uint64_t h, tag;

	if (l->hash == 0)
		bp_level_hash(l, rs->edge_key);
	h = bp_edge_hash(l, parent);
	tag = bp_edge_tag(l, h);
	for (uint32_t i = (uint32_t)h;; i++) {
		const struct bp_ruleset_edge *e = &edges[i & mask];

		if (e->child == 0)
			return 0;
		if (e->tag != tag || e->parent != parent)
			continue;
		if (l->len > 16) {
			if (memcmp((const uint8_t *)rs + e->text, l->text, l->len) == 0)
				return e->child;
		} else if (e->word[0] == l->word[0] && e->word[1] == l->word[1]) {
			return e->child;
		}
	}
}

uint32_t bp_ruleset_window(const struct bp_ruleset *rs, uint64_t uid)
{
	const struct bp_ruleset_window *w = bp_ruleset_windows(rs);
	uint32_t from = 0, to = rs->generation != 0 ? rs->n_windows : 0;

	while (from < to) {
		const uint32_t at = from + (to - from) / 2;

		if (w[at].uid == uid)
			return w[at].rule;
		if (w[at].uid < uid)
			from = at + 1;
		else
			to = at;
	}
	return BP_RULE_NONE;
}

uint32_t bp_ruleset_match(const struct bp_ruleset *rs, const uint8_t *topic, uint32_t len,
	bp_rule_found found, void *arg)
{
	struct bp_level level[BP_LEVELS_MAX];
	struct branch waiting[BP_LEVELS_MAX];
	const struct bp_ruleset_node *nodes = bp_ruleset_nodes(rs);
	const uint8_t *const end = topic + len;
	const uint8_t *next = topic; /* start of the next level */
	bool ended = false;          /* all levels are split */
	uint32_t n_levels = 0, n_waiting = 0, node = 0, depth = 0, looked = 0;
	/* MQTT 5.0, 4.7.2: a filter that begins with a wildcard does not see $SYS and the like */
	bool wildcards = len == 0 || topic[0] != '$';

	if (rs->generation == 0 || rs->n_nodes == 0)
		return 0;
	for (;;) {
		const struct bp_ruleset_node *n = &nodes[node];
		uint32_t plus = wildcards ? n->plus : 0, child = 0;

		looked++;
		if (n->hash_rule != BP_RULE_NONE && wildcards)
			found(n->hash_rule, arg);
		wildcards = true;
		if (depth == n_levels && ended) {
			if (n->rule != BP_RULE_NONE)
				found(n->rule, arg);
			plus = 0;
		} else if ((plus || n->literals) && depth < BP_LEVELS_MAX) {
			struct bp_level *l = &level[depth];

			if (depth == n_levels) {
				const uint8_t *slash = find_slash(next, end);

				l->text = next;
				l->len = (uint32_t)(slash - next);
				l->hash = 0;
				ended = slash == end;
				next = slash + !ended;
				n_levels++;
			}
			if (n->literals)
				child = find_child(rs, node, l);
		} else {
			plus = 0;
		}
		if (child) {
			if (plus)
				waiting[n_waiting++] = (struct branch){plus, depth + 1};
			node = child;
			depth++;
		} else if (plus) {
			node = plus;
			depth++;
		} else if (n_waiting) {
			n_waiting--;
			node = waiting[n_waiting].node;
			depth = waiting[n_waiting].depth;
		} else {
			return looked;
		}
	}
}
