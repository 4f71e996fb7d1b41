/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "shm/rules/policy.h"
#include "shm/rules/ruleset_image.h"
#include "shm/rules/window.h"

/* Whether n elements of `size` bytes at `offset` are in the image, with the required alignment. */
static bool array_valid(
	const struct bp_ruleset *rs, uint32_t offset, uint64_t n, uint64_t size, uint32_t align)
{
	const uint64_t bytes = n * size; /* n < 2^33, size < 2^12 */

	return offset >= sizeof(*rs) && offset % align == 0 && offset <= rs->size &&
	       bytes <= rs->size - offset;
}

/* A bool from another process may be any byte, and reading an invalid one is undefined
 * behaviour. */
static bool is_bool(const bool *b)
{
	uint8_t byte;

	memcpy(&byte, b, sizeof(byte));
	return byte <= 1;
}

/* A chain has only increasing indexes, so following it ends. */
static bool chain_valid(const struct bp_ruleset *rs, uint32_t first, int64_t after)
{
	return first == BP_RULE_NONE || (first < bp_ruleset_all(rs) && (int64_t)first > after);
}

static bool combination_valid(const struct bp_ruleset *rs, uint32_t i)
{
	const struct bp_rule_combination *c = &bp_ruleset_rule(rs, i)->combination;

	if (i >= rs->n_rules || c->n_parts == 0 || c->n_parts > BP_PARTS_MAX ||
		c->n_names > BP_COMBINATION_NAMES_MAX || c->first_part < rs->n_rules ||
		(uint64_t)c->first_part + c->n_parts > bp_ruleset_all(rs) ||
		!bp_program_valid(&c->program, c->n_parts))
		return false;
	for (unsigned k = 0; k < c->n_parts; k++) {
		const struct bp_rule *r = bp_ruleset_rule(rs, c->first_part + k);

		if (r->role != BP_RULE_PART || r->part.combination != i || r->part.part != k ||
			r->part.slot != bp_ruleset_rule(rs, i)->slot)
			return false;
	}
	return true;
}

/* A part is one of its combination, which is checked with it. */
static bool role_valid(const struct bp_ruleset *rs, uint32_t i)
{
	const struct bp_rule *r = bp_ruleset_rule(rs, i);

	switch (r->role) {
	case BP_RULE_PLAIN:
		return i < rs->n_rules;
	case BP_RULE_COMBINATION:
		return combination_valid(rs, i);
	case BP_RULE_PART:
		return i >= rs->n_rules && r->part.combination < rs->n_rules &&
		       bp_ruleset_rule(rs, r->part.combination)->role == BP_RULE_COMBINATION &&
		       r->part.part <
			       bp_ruleset_rule(rs, r->part.combination)->combination.n_parts &&
		       bp_ruleset_rule(rs, r->part.combination)->combination.first_part +
				       (uint64_t)r->part.part ==
			       i;
	default:
		return false;
	}
}

static bool window_valid(const struct bp_rule *r)
{
	const struct bp_window_spec *w = &r->window;

	if (r->fast_window != BP_RULE_FAST_NO && (!r->windowed || !bp_window_is_fast(w)))
		return false;
	return !r->windowed ||
	       (is_bool(&w->given) && is_bool(&w->tumbling) && w->function < BP_WINDOW_FUNCTIONS &&
		       w->values <= BP_WINDOW_VALUES_MAX &&
		       (w->values >= 2 || (w->values == 0 && w->time_ns >= BP_WINDOW_TIME_MIN)) &&
		       w->percentile >= 0 && w->percentile <= 100);
}

/* A search in them finds the rule of the uid, or none. */
static bool windows_valid(const struct bp_ruleset *rs)
{
	const struct bp_ruleset_window *w = bp_ruleset_windows(rs);

	for (uint32_t i = 0; i < rs->n_windows; i++)
		if (w[i].rule >= bp_ruleset_all(rs) || !bp_ruleset_rule(rs, w[i].rule)->windowed ||
			bp_ruleset_rule(rs, w[i].rule)->uid != w[i].uid ||
			(i != 0 && w[i].uid < w[i - 1].uid))
			return false;
	return true;
}

/* A rule with absent has only the steps that absence.c does. */
static bool absence_valid(const struct bp_rule *r)
{
	if (r->absent == 0)
		return r->absent_ns == 0;
	return r->absent == 1 && r->absent_ns != 0 && r->stateful == 1 &&
	       r->role == BP_RULE_PLAIN && r->hold == BP_HOLD_NONE && r->windowed == 0 &&
	       r->quiet_ns == 0 && r->deadband == 0;
}

static bool rules_valid(const struct bp_ruleset *rs, uint32_t max_rules)
{
	for (uint32_t i = 0; i < bp_ruleset_all(rs); i++) {
		const struct bp_rule *r = bp_ruleset_rule(rs, i);

		if (r->source >= rs->n_sources || r->slot >= max_rules ||
			!chain_valid(rs, r->next, i) || r->name_len > BP_RULE_NAME_MAX ||
			r->to_len > BP_RULE_TO_MAX || r->severity >= BP_SEVERITIES ||
			r->name[BP_RULE_NAME_MAX] || r->to[BP_RULE_TO_MAX] || !window_valid(r) ||
			!array_valid(rs, r->filter, r->filter_len, 1, 1) || !role_valid(rs, i) ||
			!absence_valid(r))
			return false;
	}
	return true;
}

static bool absent_valid(const struct bp_ruleset *rs)
{
	const uint32_t *rule = bp_ruleset_absent(rs);

	for (uint32_t i = 0; i < rs->n_absent; i++)
		if (rule[i] >= rs->n_rules || bp_ruleset_rule(rs, rule[i])->absent_ns == 0)
			return false;
	return true;
}

/* Checks a path, whose counts of steps and names are used unchecked; a binary source is checked
 * where it is read. */
static bool path_valid(const struct bp_json_path *p)
{
	if (p->steps > BP_JSON_STEPS_MAX)
		return false;
	for (uint32_t i = 0; i < p->steps; i++) {
		if (p->step[i].name_off + p->step[i].name_len > BP_JSON_NAMES_MAX ||
			p->step[i].every > 1)
			return false;
	}
	return true;
}

/* Its length is used unchecked. The name itself is only compared. */
static bool sparkplug_valid(const struct bp_value_source *s)
{
	return s->sparkplug.what <= BP_SPARKPLUG_ONLINE && is_bool(&s->sparkplug.has_death) &&
	       s->names.metric[BP_SPARKPLUG_NAME_MAX] == '\0' &&
	       s->names.member[BP_SPARKPLUG_MEMBER_MAX] == '\0';
}

bool bp_value_source_valid(const struct bp_value_source *s)
{
	return (!bp_value_has_path(s) || path_valid(&s->json)) &&
	       (s->kind != BP_VALUE_SPARKPLUG || sparkplug_valid(s));
}

static bool sources_valid(const struct bp_ruleset *rs)
{
	for (uint32_t i = 0; i < rs->n_sources; i++) {
		const struct bp_value_source *s = bp_ruleset_source(rs, i);

		if (!bp_value_source_valid(s) || s->strings > rs->n_strings ||
			(s->strings != 0 && !bp_value_strings_valid(bp_ruleset_strings(rs, s))))
			return false;
	}
	return true;
}

/* The reached nodes and rules: a node or rule with two parents would be visited once for each path
 * to it, which may exceed the number of nodes. */
struct reached {
	uint64_t *bits;
};

static bool reach(struct reached *r, uint32_t i)
{
	const uint64_t bit = 1ull << (i % 64);

	if (r->bits[i / 64] & bit)
		return false;
	r->bits[i / 64] |= bit;
	return true;
}

/* No filter has a combination: only its parts are evaluated with a value of a payload. */
static bool chain_reach(const struct bp_ruleset *rs, struct reached *rules, uint32_t first)
{
	return first == BP_RULE_NONE ||
	       (bp_ruleset_rule(rs, first)->role != BP_RULE_COMBINATION && reach(rules, first));
}

static bool nodes_valid(
	const struct bp_ruleset *rs, struct reached *nodes_reached, struct reached *rules)
{
	const struct bp_ruleset_node *nodes = bp_ruleset_nodes(rs);

	for (uint32_t i = 0; i < rs->n_nodes; i++) {
		const struct bp_ruleset_node *n = &nodes[i];

		if (!chain_valid(rs, n->rule, -1) || !chain_valid(rs, n->hash_rule, -1) ||
			!chain_reach(rs, rules, n->rule) || !chain_reach(rs, rules, n->hash_rule) ||
			(n->plus && (n->plus <= i || n->plus >= rs->n_nodes ||
					    !reach(nodes_reached, n->plus))))
			return false;
	}
	for (uint32_t i = 0; i < bp_ruleset_all(rs); i++) {
		if (!chain_reach(rs, rules, bp_ruleset_rule(rs, i)->next))
			return false;
	}
	return true;
}

static bool edges_valid(const struct bp_ruleset *rs, struct reached *nodes)
{
	const struct bp_ruleset_edge *edges = bp_ruleset_edges(rs);
	uint64_t used = 0;

	for (uint64_t i = 0; i <= rs->edge_mask; i++) {
		const struct bp_ruleset_edge *e = &edges[i];

		if (e->child == 0)
			continue;
		used++;
		if (e->child <= e->parent || e->child >= rs->n_nodes || !reach(nodes, e->child) ||
			bp_edge_len(e) > BP_RULE_FILTER_MAX ||
			(bp_edge_len(e) > 16 && !array_valid(rs, e->text, bp_edge_len(e), 1, 1)))
			return false;
	}
	return used <= rs->edge_mask; /* a free slot ends every search */
}

static bool trie_valid(const struct bp_ruleset *rs)
{
	struct reached nodes = {calloc(rs->n_nodes / 64 + 1, sizeof(uint64_t))};
	struct reached rules = {calloc(bp_ruleset_all(rs) / 64 + 1, sizeof(uint64_t))};
	const bool valid = nodes.bits && rules.bits && nodes_valid(rs, &nodes, &rules) &&
			   edges_valid(rs, &nodes);

	free(nodes.bits);
	free(rules.bits);
	return valid;
}

bool bp_ruleset_valid(const struct bp_ruleset *rs, uint64_t bank_size, uint32_t max_rules)
{
	if (bank_size < sizeof(*rs))
		return false;
	if (rs->generation == 0)
		return true;
	return rs->size <= bank_size && rs->n_nodes > 0 &&
	       (rs->edge_mask & ((uint64_t)rs->edge_mask + 1)) == 0 &&
	       (uint64_t)rs->n_rules + rs->n_parts < BP_RULE_NONE &&
	       array_valid(rs, rs->rules, bp_ruleset_all(rs), sizeof(struct bp_rule), 64) &&
	       array_valid(rs, rs->sources, rs->n_sources, sizeof(struct bp_value_source), 8) &&
	       array_valid(rs, rs->strings, rs->n_strings, sizeof(struct bp_value_strings), 1) &&
	       array_valid(rs, rs->nodes, rs->n_nodes, sizeof(struct bp_ruleset_node), 16) &&
	       array_valid(rs, rs->absent, rs->n_absent, sizeof(uint32_t), 4) &&
	       array_valid(rs, rs->edges, (uint64_t)rs->edge_mask + 1,
		       sizeof(struct bp_ruleset_edge), 32) &&
	       array_valid(rs, rs->windows, rs->n_windows, sizeof(struct bp_ruleset_window), 8) &&
	       is_bool(&rs->clone.enabled) && is_bool(&rs->clone.has_ip4) &&
	       is_bool(&rs->clone.has_ip6) && rs->clone.port < BP_MAX_PORTS &&
	       rules_valid(rs, max_rules) && absent_valid(rs) && windows_valid(rs) &&
	       sources_valid(rs) && trie_valid(rs) && bp_policy_image_valid(rs);
}
