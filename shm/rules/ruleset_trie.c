/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm/rules/ruleset_draft.h"

/* The trie of a draft. */

uint32_t bp_draft_node_add(struct bp_draft *d)
{
	if (d->n_nodes * sizeof(*d->nodes) > d->bank_size) {
		bp_draft_too_big(d, d->n_nodes * sizeof(*d->nodes));
		return 0;
	}
	if (d->n_nodes == d->nodes_room) {
		const uint32_t room = d->nodes_room * 2;
		void *nodes = realloc(d->nodes, room * sizeof(*d->nodes));
		void *tails;

		if (nodes)
			d->nodes = nodes;
		tails = realloc(d->tails, room * sizeof(*d->tails));
		if (tails)
			d->tails = tails;
		if (!nodes || !tails) {
			bp_draft_no_memory(d);
			return 0;
		}
		d->nodes_room = room;
	}
	d->nodes[d->n_nodes] = (struct bp_ruleset_node){BP_RULE_NONE, BP_RULE_NONE, 0, 0};
	d->tails[d->n_nodes] = (struct bp_draft_tails){BP_RULE_NONE, BP_RULE_NONE};
	return d->n_nodes++;
}

static void edge_index_put(struct bp_draft *d, uint32_t edge)
{
	const struct bp_draft_edge *e = &d->edges[edge];
	uint32_t i = (uint32_t)bp_edge_hash(&e->level, e->parent);

	while (d->edge_index[i & d->edge_mask])
		i++;
	d->edge_index[i & d->edge_mask] = edge + 1;
}

static int edges_grow(struct bp_draft *d)
{
	const uint32_t room = d->edges_room * 2;
	void *edges = realloc(d->edges, room * sizeof(*d->edges));
	uint32_t *index;

	if (!edges)
		return bp_draft_no_memory(d);
	d->edges = edges;
	index = calloc(2 * (size_t)room, sizeof(*index));
	if (!index)
		return bp_draft_no_memory(d);
	free(d->edge_index);
	d->edge_index = index;
	d->edge_mask = 2 * room - 1;
	d->edges_room = room;
	for (uint32_t i = 0; i < d->n_edges; i++)
		edge_index_put(d, i);
	return 0;
}

static uint32_t edge_find(const struct bp_draft *d, uint32_t parent, const struct bp_level *l)
{
	for (uint32_t i = (uint32_t)bp_edge_hash(l, parent);; i++) {
		const uint32_t at = d->edge_index[i & d->edge_mask];
		const struct bp_draft_edge *e;

		if (at == 0)
			return 0;
		e = &d->edges[at - 1];
		if (e->parent == parent && e->level.hash == l->hash && e->level.len == l->len &&
			memcmp(e->level.text, l->text, l->len) == 0)
			return e->child;
	}
}

/* The child of `parent` along a literal level, created if necessary; 0 with an error message. */
static uint32_t literal_child(
	struct bp_draft *d, uint32_t parent, struct bp_level *l, uint32_t rule, uint32_t at)
{
	uint32_t child;

	bp_level_hash(l, d->key);
	child = edge_find(d, parent, l);
	if (child)
		return child;
	if (d->n_edges == d->edges_room && edges_grow(d) != 0)
		return 0;
	child = bp_draft_node_add(d);
	if (child == 0)
		return 0;
	d->nodes[parent].literals++;
	d->edges[d->n_edges] = (struct bp_draft_edge){parent, child, *l, rule, at};
	edge_index_put(d, d->n_edges++);
	return child;
}

static uint32_t plus_child(struct bp_draft *d, uint32_t parent)
{
	if (d->nodes[parent].plus == 0) {
		const uint32_t child = bp_draft_node_add(d);

		d->nodes[parent].plus = child;
	}
	return d->nodes[parent].plus;
}

/* Rule i has a text of its own. */
static void own_text(struct bp_draft *d, uint32_t i)
{
	d->rules[i].filter = i; /* the rule with the text; later an offset */
	d->text_bytes += d->rules[i].filter_len;
}

/* Puts rule i at the end of a chain; its filter's text is that of the chain's first rule, unless
 * the filter of a part has names for its levels. */
static void chain(struct bp_draft *d, uint32_t *first, uint32_t *last, uint32_t i)
{
	if (*first == BP_RULE_NONE)
		*first = i;
	else
		d->rules[*last].next = i;
	if (*first == i || strcmp(d->spec[*first]->filter, d->spec[i]->filter) != 0)
		own_text(d, i);
	else
		d->rules[i].filter = *first;
	*last = i;
}

static int bad_filter(struct bp_draft *d, uint32_t i)
{
	snprintf(d->err, d->err_size,
		"rule %s: \"%s\" is not a topic filter; + and # replace whole levels, # only "
		"the last",
		d->spec[i]->name, d->spec[i]->filter);
	return -1;
}

/* Whether a level of the filter is any level: + or, in a part, a name in braces. */
static bool is_plus(const struct bp_draft *d, uint32_t i, const struct bp_level *l)
{
	return (l->len == 1 && l->text[0] == '+') ||
	       (d->rules[i].role == BP_RULE_PART && l->len > 1 && l->text[0] == '{');
}

int bp_draft_filter_add(struct bp_draft *d, uint32_t i)
{
	const char *filter = d->spec[i]->filter;
	const uint32_t len = d->rules[i].filter_len;
	uint32_t node = 0;

	if (d->rules[i].role == BP_RULE_COMBINATION) {
		own_text(d, i); /* none */
		return 0;
	}
	if (len == 0)
		return bad_filter(d, i);
	for (uint32_t at = 0, end; at <= len; at = end + 1) {
		const char *slash = memchr(filter + at, '/', len - at);
		struct bp_level l = {.text = (const uint8_t *)filter + at};

		end = slash ? (uint32_t)(slash - filter) : len;
		l.len = end - at;
		if (l.len == 1 && filter[at] == '#') {
			if (slash)
				return bad_filter(d, i);
			chain(d, &d->nodes[node].hash_rule, &d->tails[node].hash_rule, i);
			return 0;
		}
		if (is_plus(d, i, &l))
			node = plus_child(d, node);
		else if (memchr(l.text, '+', l.len) || memchr(l.text, '#', l.len))
			return bad_filter(d, i);
		else
			node = literal_child(d, node, &l, i, at);
		if (node == 0)
			return -1;
	}
	chain(d, &d->nodes[node].rule, &d->tails[node].rule, i);
	return 0;
}
