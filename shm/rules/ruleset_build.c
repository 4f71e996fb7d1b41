/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm/rules/policy_index.h"
#include "shm/rules/ruleset_draft.h"

/*
 * The image is first built in ordinary memory, and copied to the bank only when all of it is known
 * to be valid and to fit.
 */

#define FILTER_ROOM 1216u        /* of an average rule: nodes, edges and the filter's text */
#define BANK_FLAT (256u * 1024u) /* so that a few rules may have the longest filters */
#define IMAGE_MAX ((uint64_t)UINT32_MAX) /* offsets have 32 bits */

int bp_draft_no_memory(struct bp_draft *d)
{
	snprintf(d->err, d->err_size, "not enough memory to compile %u rules", d->n);
	return -1;
}

int bp_draft_too_big(struct bp_draft *d, uint64_t need)
{
	snprintf(d->err, d->err_size,
		"%u rules need at least %llu bytes compiled, their bank in the segment has %llu; "
		"shorten the topic filters, or raise mqtt.max_rules or mqtt.max_policy_rules and "
		"restart",
		d->n, (unsigned long long)need, (unsigned long long)d->bank_size);
	return -1;
}

uint64_t bp_ruleset_bank_size(uint32_t max_rules)
{
	const uint64_t rule = sizeof(struct bp_rule) + sizeof(struct bp_value_source) +
			      sizeof(struct bp_ruleset_window) + FILTER_ROOM;

	return (max_rules * rule + BANK_FLAT + 63) & ~63ull;
}

/* --- the image --------------------------------------------------------------------------- */

static uint64_t aligned(uint64_t offset)
{
	return (offset + 63) & ~63ull;
}

/* Computes all offsets. Returns 0, or -1 with an error message if the bank is too small. */
static int layout(struct bp_draft *d, struct bp_ruleset *h)
{
	/* at most half full, so that a search ends soon, and always at a free slot */
	const uint64_t slots = bp_draft_power_of_two(2 * (uint64_t)d->n_edges + 1);
	const uint64_t rules = aligned(sizeof(*h));
	const uint64_t sources = aligned(rules + d->n * (uint64_t)sizeof(*d->rules));
	const uint64_t nodes = aligned(sources + d->n_sources * (uint64_t)sizeof(*d->sources));
	const uint64_t absent = aligned(nodes + d->n_nodes * (uint64_t)sizeof(*d->nodes));
	const uint64_t edges = aligned(absent + d->n_absent * (uint64_t)sizeof(uint32_t));
	const uint64_t windows = edges + slots * sizeof(struct bp_ruleset_edge);
	const uint64_t strings = windows + d->n_windows * sizeof(struct bp_ruleset_window);
	const uint64_t texts = strings + d->n_strings * (uint64_t)sizeof(*d->strings);
	const uint64_t policy = aligned(texts + d->text_bytes);

	h->policy = (uint32_t)policy;
	h->size = (policy + bp_policy_image_size(d->policy, d->policy_index) + 7) &
		  ~7ull; /* copied in words */
	if (h->size > d->bank_size || h->size > IMAGE_MAX)
		return bp_draft_too_big(d, h->size);
	h->rules = (uint32_t)rules;
	h->sources = (uint32_t)sources;
	h->nodes = (uint32_t)nodes;
	h->absent = (uint32_t)absent;
	h->n_absent = d->n_absent;
	h->edges = (uint32_t)edges;
	h->strings = (uint32_t)strings;
	h->n_strings = d->n_strings;
	h->windows = (uint32_t)windows;
	h->n_windows = d->n_windows;
	h->window_pane_ns = d->window_pane_ns;
	h->edge_mask = (uint32_t)(slots - 1);
	h->n_rules = d->n_specs;
	h->n_parts = d->n - d->n_specs;
	h->n_sources = d->n_sources;
	h->n_nodes = d->n_nodes;
	h->edge_key = d->key;
	for (uint32_t i = 0; i < d->n; i++)
		h->n_sparkplug += d->spec[i]->value.kind == BP_VALUE_SPARKPLUG;
	return 0;
}

/* Replaces the rule number in bp_rule.filter with the offset of that rule's text. */
static void write_texts(struct bp_draft *d, const struct bp_ruleset *h, uint8_t *bank)
{
	uint32_t end = h->strings + h->n_strings * (uint32_t)sizeof(struct bp_value_strings);

	/* the first rule of a chain precedes the others */
	for (uint32_t i = 0; i < d->n; i++) {
		struct bp_rule *r = &d->rules[i];

		if (r->filter != i) {
			r->filter = d->rules[r->filter].filter;
			continue;
		}
		memcpy(bank + end, d->spec[i]->filter, r->filter_len);
		r->filter = end;
		end += r->filter_len;
	}
	memset(bank + end, 0, h->policy - end);
}

static void write_edges(struct bp_draft *d, const struct bp_ruleset *h, uint8_t *bank)
{
	struct bp_ruleset_edge *edges = (struct bp_ruleset_edge *)(void *)(bank + h->edges);

	memset(edges, 0, ((size_t)h->edge_mask + 1) * sizeof(*edges));
	for (uint32_t k = 0; k < d->n_edges; k++) {
		const struct bp_draft_edge *from = &d->edges[k];
		const uint64_t hash = bp_edge_hash(&from->level, from->parent);
		uint32_t i = (uint32_t)hash;
		struct bp_ruleset_edge *e;

		while (edges[i & h->edge_mask].child)
			i++;
		e = &edges[i & h->edge_mask];
		e->child = from->child;
		e->parent = from->parent;
		e->tag = bp_edge_tag(&from->level, hash);
		if (from->level.len > 16) {
			e->text = d->rules[from->rule].filter + from->at;
		} else {
			e->word[0] = from->level.word[0];
			e->word[1] = from->level.word[1];
		}
	}
}

static void write_absent(const struct bp_draft *d, const struct bp_ruleset *h, uint8_t *bank)
{
	uint32_t *at = (uint32_t *)(void *)(bank + h->absent);

	for (uint32_t i = 0; i < d->n; i++)
		if (d->rules[i].absent)
			*at++ = i;
}

static int by_uid(const void *x, const void *y)
{
	const struct bp_ruleset_window *a = x, *b = y;

	return (a->uid > b->uid) - (a->uid < b->uid);
}

static void write_windows(const struct bp_draft *d, const struct bp_ruleset *h, uint8_t *bank)
{
	struct bp_ruleset_window *w = (struct bp_ruleset_window *)(void *)(bank + h->windows);
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->n; i++)
		if (d->rules[i].windowed)
			w[n++] = (struct bp_ruleset_window){.uid = d->rules[i].uid, .rule = i};
	qsort(w, n, sizeof(*w), by_uid);
}

static void write_image(struct bp_draft *d, const struct bp_ruleset *h, uint8_t *bank)
{
	write_texts(d, h, bank);
	write_edges(d, h, bank);
	write_absent(d, h, bank);
	write_windows(d, h, bank);
	memcpy(bank + h->rules, d->rules, d->n * sizeof(*d->rules));
	memcpy(bank + h->sources, d->sources, d->n_sources * sizeof(*d->sources));
	memcpy(bank + h->strings, d->strings, d->n_strings * sizeof(*d->strings));
	memcpy(bank + h->nodes, d->nodes, d->n_nodes * sizeof(*d->nodes));
	memcpy(bank, h, sizeof(*h));
}

static int draft_init(struct bp_draft *d)
{
	const size_t n = (size_t)d->n + 1;
	const uint64_t sources = bp_draft_power_of_two(2 * n);

	d->spec = malloc(n * sizeof(void *));
	d->rules = aligned_alloc(64, n * sizeof(*d->rules));
	d->sources = malloc(n * sizeof(*d->sources));
	d->strings = malloc(n * sizeof(*d->strings));
	d->source_index = calloc(sources, sizeof(*d->source_index));
	d->source_mask = (uint32_t)(sources - 1);
	d->nodes_room = d->edges_room = 1024;
	d->nodes = malloc(d->nodes_room * sizeof(*d->nodes));
	d->tails = malloc(d->nodes_room * sizeof(*d->tails));
	d->edges = malloc(d->edges_room * sizeof(*d->edges));
	d->edge_index = calloc(2 * (size_t)d->edges_room, sizeof(*d->edge_index));
	d->edge_mask = 2 * d->edges_room - 1;
	if (!d->spec || !d->rules || !d->sources || !d->strings || !d->source_index || !d->nodes ||
		!d->tails || !d->edges || !d->edge_index)
		return bp_draft_no_memory(d);
	d->policy_index = bp_policy_index_build(d->policy, d->key);
	if (d->policy_index == NULL)
		return bp_draft_no_memory(d);
	bp_draft_node_add(d); /* the root */
	return 0;
}

static void draft_free(struct bp_draft *d)
{
	free(d->spec);
	free(d->rules);
	free(d->sources);
	free(d->strings);
	free(d->source_index);
	free(d->nodes);
	free(d->tails);
	free(d->edges);
	free(d->edge_index);
	bp_policy_index_free(d->policy_index);
}

/* The parts follow the rules. */
static uint32_t count_all(const struct bp_rule_spec *specs, uint32_t n)
{
	uint64_t all = n;

	for (uint32_t i = 0; i < n; i++)
		if (specs[i].combination != NULL)
			all += specs[i].combination->n_parts;
	return all < UINT32_MAX ? (uint32_t)all : UINT32_MAX;
}

static int write_policy(const struct bp_draft *d, struct bp_ruleset *h, uint8_t *image,
	const struct bp_ruleset_input *input)
{
	return bp_policy_image_write(h, image, d->policy, d->policy_index, input->max_policy_rules,
		input->old, d->err, d->err_size);
}

int bp_ruleset_compile(void *bank, uint64_t bank_size, const struct bp_ruleset_input *input,
	char *err, size_t err_size)
{
	static const struct bp_policy_spec no_policy;
	struct bp_draft d = {.specs = input->specs,
		.policy = input->policy != NULL ? input->policy : &no_policy,
		.n_specs = input->n,
		.n = count_all(input->specs, input->n),
		.key = bp_mix64(input->now_ns ^ bp_mix64(input->generation)),
		.bank_size = bank_size,
		.err = err,
		.err_size = err_size};
	struct bp_ruleset h;
	int rc = -1;

	memset(&h, 0, sizeof(h));
	h.generation = input->generation;
	h.loaded_ns = input->now_ns;
	if (input->clone)
		h.clone = *input->clone;
	if (d.n > input->max_rules) {
		snprintf(err, err_size,
			"%u rules, but the segment was created for %u; raise mqtt.max_rules and "
			"restart",
			d.n, input->max_rules);
		return -1;
	}
	if (draft_init(&d) == 0 && bp_draft_rules(&d) == 0 && layout(&d, &h) == 0 &&
		bp_draft_slots_assign(&d, input->max_rules, input->old) == 0 &&
		write_policy(&d, &h, bank, input) == 0) {
		write_image(&d, &h, bank);
		rc = 0;
	}
	draft_free(&d);
	return rc;
}
