/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm/rules/rule_uid.h"
#include "shm/rules/ruleset_image.h"
#include "shm/rules/window.h"

/*
 * The image is first built in ordinary memory, and copied to the bank only when all of it is known
 * to be valid and to fit.
 */

#define FILTER_ROOM 1216u        /* of an average rule: nodes, edges and the filter's text */
#define BANK_FLAT (256u * 1024u) /* so that a few rules may have the longest filters */
#define STRINGS_SEARCHED 64u     /* the latest, for equal ones */
#define IMAGE_MAX ((uint64_t)UINT32_MAX) /* offsets have 32 bits */

/* An edge before its position in the table is known. */
struct draft_edge {
	uint32_t parent, child;
	struct bp_level level; /* text points into the specs */
	uint32_t rule;         /* the rule whose filter has the level ... */
	uint32_t at;           /* ... and its position there */
};

/* The ends of the two chains of rules that a node may have. */
struct tails {
	uint32_t rule, hash_rule;
};

struct draft {
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
	struct tails *tails;
	uint32_t n_nodes, nodes_room;
	struct draft_edge *edges;
	uint32_t n_edges, edges_room;
	uint32_t *edge_index; /* open addressing: edge + 1, 0: free */
	uint32_t edge_mask;

	uint64_t text_bytes;
	uint32_t n_absent;
	uint32_t n_windows;
	uint64_t window_pane_ns;
};

static int no_memory(struct draft *d)
{
	snprintf(d->err, d->err_size, "not enough memory to compile %u rules", d->n);
	return -1;
}

static int too_big(struct draft *d, uint64_t need)
{
	snprintf(d->err, d->err_size,
		"%u rules need at least %llu bytes compiled, their bank in the segment has %llu; "
		"shorten the topic filters, or raise mqtt.max_rules and restart",
		d->n, (unsigned long long)need, (unsigned long long)d->bank_size);
	return -1;
}

static uint64_t power_of_two(uint64_t at_least)
{
	uint64_t p = 1;

	while (p < at_least)
		p <<= 1;
	return p;
}

uint64_t bp_ruleset_bank_size(uint32_t max_rules)
{
	const uint64_t rule = sizeof(struct bp_rule) + sizeof(struct bp_value_source) +
			      sizeof(struct bp_ruleset_window) + FILTER_ROOM;

	return (max_rules * rule + BANK_FLAT + 63) & ~63ull;
}

/* --- sources ----------------------------------------------------------------------------- */

/* Canonical sources have their padding cleared, so their bytes can be compared. */
static bool same_bytes(const void *a, const void *b, size_t n)
{
	return memcmp(a, b, n) == 0;
}

/* 1 + the index of the rule's strings. They are few: most rules compare numbers. */
static uint32_t strings_intern(struct draft *d, const struct bp_value_strings *strings)
{
	for (uint32_t i = d->n_strings; i-- > 0 && d->n_strings - i <= STRINGS_SEARCHED;) {
		if (same_bytes(&d->strings[i], strings, sizeof(*strings)))
			return i + 1;
	}
	d->strings[d->n_strings++] = *strings;
	return d->n_strings;
}

static uint32_t source_intern(struct draft *d, const struct bp_rule_spec *spec)
{
	struct bp_value_source canonical;
	uint32_t i;

	bp_value_source_canonical(&canonical, &spec->value);
	if (canonical.type == BP_VALUE_STRING)
		canonical.strings = strings_intern(d, &spec->strings);
	i = (uint32_t)bp_stable_hash(&canonical, sizeof(canonical));
	for (;; i++) {
		uint32_t *at = &d->source_index[i & d->source_mask];

		if (*at == 0) {
			memcpy(&d->sources[d->n_sources], &canonical, sizeof(canonical));
			*at = ++d->n_sources;
			return *at - 1;
		}
		if (same_bytes(&d->sources[*at - 1], &canonical, sizeof(canonical)))
			return *at - 1;
	}
}

/* --- the trie ---------------------------------------------------------------------------- */

/* Returns the index of the new node, or 0 (the root, which is never a child) with an error
 * message. */
static uint32_t node_add(struct draft *d)
{
	if (d->n_nodes * sizeof(*d->nodes) > d->bank_size) {
		too_big(d, d->n_nodes * sizeof(*d->nodes));
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
			no_memory(d);
			return 0;
		}
		d->nodes_room = room;
	}
	d->nodes[d->n_nodes] = (struct bp_ruleset_node){BP_RULE_NONE, BP_RULE_NONE, 0, 0};
	d->tails[d->n_nodes] = (struct tails){BP_RULE_NONE, BP_RULE_NONE};
	return d->n_nodes++;
}

static void edge_index_put(struct draft *d, uint32_t edge)
{
	const struct draft_edge *e = &d->edges[edge];
	uint32_t i = (uint32_t)bp_edge_hash(&e->level, e->parent);

	while (d->edge_index[i & d->edge_mask])
		i++;
	d->edge_index[i & d->edge_mask] = edge + 1;
}

static int edges_grow(struct draft *d)
{
	const uint32_t room = d->edges_room * 2;
	void *edges = realloc(d->edges, room * sizeof(*d->edges));
	uint32_t *index;

	if (!edges)
		return no_memory(d);
	d->edges = edges;
	index = calloc(2 * (size_t)room, sizeof(*index));
	if (!index)
		return no_memory(d);
	free(d->edge_index);
	d->edge_index = index;
	d->edge_mask = 2 * room - 1;
	d->edges_room = room;
	for (uint32_t i = 0; i < d->n_edges; i++)
		edge_index_put(d, i);
	return 0;
}

static uint32_t edge_find(const struct draft *d, uint32_t parent, const struct bp_level *l)
{
	for (uint32_t i = (uint32_t)bp_edge_hash(l, parent);; i++) {
		const uint32_t at = d->edge_index[i & d->edge_mask];
		const struct draft_edge *e;

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
	struct draft *d, uint32_t parent, struct bp_level *l, uint32_t rule, uint32_t at)
{
	uint32_t child;

	bp_level_hash(l, d->key);
	child = edge_find(d, parent, l);
	if (child)
		return child;
	if (d->n_edges == d->edges_room && edges_grow(d) != 0)
		return 0;
	child = node_add(d);
	if (child == 0)
		return 0;
	d->nodes[parent].literals++;
	d->edges[d->n_edges] = (struct draft_edge){parent, child, *l, rule, at};
	edge_index_put(d, d->n_edges++);
	return child;
}

static uint32_t plus_child(struct draft *d, uint32_t parent)
{
	if (d->nodes[parent].plus == 0) {
		const uint32_t child = node_add(d);

		d->nodes[parent].plus = child;
	}
	return d->nodes[parent].plus;
}

/* Rule i has a text of its own. */
static void own_text(struct draft *d, uint32_t i)
{
	d->rules[i].filter = i; /* the rule with the text; later an offset */
	d->text_bytes += d->rules[i].filter_len;
}

/* Puts rule i at the end of a chain; its filter's text is that of the chain's first rule, unless
 * the filter of a part has names for its levels. */
static void chain(struct draft *d, uint32_t *first, uint32_t *last, uint32_t i)
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

static int bad_filter(struct draft *d, uint32_t i)
{
	snprintf(d->err, d->err_size,
		"rule %s: \"%s\" is not a topic filter; + and # replace whole levels, # only "
		"the last",
		d->spec[i]->name, d->spec[i]->filter);
	return -1;
}

/* Whether a level of the filter is any level: + or, in a part, a name in braces. */
static bool is_plus(const struct draft *d, uint32_t i, const struct bp_level *l)
{
	return (l->len == 1 && l->text[0] == '+') ||
	       (d->rules[i].role == BP_RULE_PART && l->len > 1 && l->text[0] == '{');
}

static int filter_add(struct draft *d, uint32_t i)
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

/* --- slots ------------------------------------------------------------------------------- */

struct known_slot {
	uint64_t uid;
	uint32_t slot; /* BP_RULE_NONE: free, or taken by a rule of the new set */
};

/* Gives unchanged rules their old slots (`known` has them by uid) and marks them in `taken`. */
static void slots_keep(struct draft *d, struct known_slot *known, uint64_t mask, uint8_t *taken)
{
	for (uint32_t i = 0; i < d->n; i++) {
		for (uint64_t k = d->rules[i].uid;; k++) {
			struct known_slot *s = &known[k & mask];

			if (s->slot == BP_RULE_NONE && s->uid == 0)
				break;
			if (s->uid != d->rules[i].uid || s->slot == BP_RULE_NONE)
				continue;
			d->rules[i].slot = s->slot;
			taken[s->slot] = 2;
			s->slot = BP_RULE_NONE;
			break;
		}
	}
}

/* Assigns slots whose mark in `taken` is at most `most` to the remaining rules, lowest first. */
static void slots_take(struct draft *d, uint32_t max_rules, uint8_t *taken, uint8_t most)
{
	uint32_t slot = 0;

	for (uint32_t i = 0; i < d->n; i++) {
		if (d->rules[i].slot != BP_RULE_NONE)
			continue;
		while (slot < max_rules && taken[slot] > most)
			slot++;
		if (slot == max_rules)
			return;
		taken[slot] = 2;
		d->rules[i].slot = slot;
	}
}

static int slots_assign(struct draft *d, uint32_t max_rules, const struct bp_ruleset *old)
{
	const uint32_t n_old = old && old->generation ? bp_ruleset_all(old) : 0;
	const uint64_t size = power_of_two(2 * ((uint64_t)n_old + 1));
	struct known_slot *known = malloc(size * sizeof(*known));
	uint8_t *taken = calloc((size_t)max_rules + 1, 1); /* 1: by the old set, 2: by the new */

	if (!known || !taken) {
		free(known);
		free(taken);
		return no_memory(d);
	}
	for (uint64_t i = 0; i < size; i++)
		known[i] = (struct known_slot){0, BP_RULE_NONE};
	for (uint32_t i = 0; i < n_old; i++) {
		const struct bp_rule *r = bp_ruleset_rule(old, i);
		uint64_t k = r->uid;

		if (r->slot >= max_rules || taken[r->slot])
			continue; /* of a bank with more slots */
		while (known[k & (size - 1)].slot != BP_RULE_NONE)
			k++;
		known[k & (size - 1)] = (struct known_slot){r->uid, r->slot};
		taken[r->slot] = 1;
	}
	slots_keep(d, known, size - 1, taken);
	slots_take(d, max_rules, taken, 0);
	slots_take(d, max_rules, taken, 1);
	free(known);
	free(taken);
	return 0;
}

/* --- rules ------------------------------------------------------------------------------- */

static uint8_t fast_way(const struct bp_value_source *source)
{
	if (source->extended)
		return BP_RULE_FAST_NO;
	switch ((enum bp_value_kind)source->kind) {
	case BP_VALUE_TEXT:
		return BP_RULE_FAST_TEXT;
	case BP_VALUE_JSON:
		return BP_RULE_FAST_JSON;
	case BP_VALUE_BINARY:
		return BP_RULE_FAST_BINARY;
	case BP_VALUE_SPARKPLUG: /* depends on the birth */
	case BP_VALUE_CBOR:
	case BP_VALUE_MSGPACK:
		break;
	}
	return BP_RULE_FAST_NO;
}

/* true raises and false clears: the values 1 and 0. */
static void combination_fill(struct bp_rule *r, const struct bp_combination_spec *c)
{
	r->role = BP_RULE_COMBINATION;
	r->raise = (struct bp_condition){.op = BP_COND_GE, .a = 1};
	r->clear = (struct bp_condition){.op = BP_COND_LT, .a = 1};
	r->has_clear = true;
	r->combination.n_parts = c->n_parts;
	r->combination.program = c->program;
}

static int rule_fill(struct draft *d, uint32_t i)
{
	const struct bp_rule_spec *s = d->spec[i];
	struct bp_rule *r = &d->rules[i];
	const size_t name = strnlen(s->name, sizeof(s->name));
	const size_t to = strnlen(s->to, sizeof(s->to));
	const size_t filter = strnlen(s->filter, sizeof(s->filter));

	/* a part has no name of its own */
	if ((name == 0 && i < d->n_specs) || name == sizeof(s->name) || to == sizeof(s->to) ||
		filter == sizeof(s->filter)) {
		snprintf(d->err, d->err_size,
			"rule %u (%.*s): a name has 1 to %d bytes, a topic filter at most %d, `to` "
			"at "
			"most %d",
			i, BP_RULE_NAME_MAX, s->name, BP_RULE_NAME_MAX, BP_RULE_FILTER_MAX,
			BP_RULE_TO_MAX);
		return -1;
	}
	memset(r, 0, sizeof(*r));
	r->uid = bp_rule_uid(s);
	r->raise = s->raise;
	bp_short_ranges_fill(&r->short_raise, &s->raise);
	r->has_clear = s->has_clear;
	r->hold = s->hold;
	r->repeat = s->repeat;
	r->action = s->action;
	r->hold_count = s->hold_count;
	r->source = source_intern(d, s);
	r->slot = BP_RULE_NONE;
	r->next = BP_RULE_NONE;
	r->clear = s->clear;
	r->hold_ns = s->hold_ns;
	r->absent_ns = s->absent_ns;
	r->absent = s->absent_ns != 0;
	r->literal = strpbrk(s->filter, "+#") == NULL;
	d->n_absent += r->absent;
	r->windowed = s->window.given;
	r->window = s->window;
	d->n_windows += s->window.given;
	if (s->window.given && bp_window_expires(&s->window) &&
		(d->window_pane_ns == 0 || bp_window_pane_ns(&s->window) < d->window_pane_ns))
		d->window_pane_ns = bp_window_pane_ns(&s->window);
	r->payload = s->payload;
	r->destination = s->destination;
	r->severity = s->severity;
	r->value_type = s->value.type;
	if (s->combination != NULL)
		combination_fill(r, s->combination);
	r->quiet_ns = s->quiet_ns;
	r->deadband = s->deadband;
	r->stateful = bp_rule_spec_stateful(s);
	if (s->quiet_ns != 0 || s->deadband != 0)
		r->stateful |= BP_RULE_HAS_LAST;
	r->fast = r->stateful || r->windowed ? BP_RULE_FAST_NO : fast_way(&d->sources[r->source]);
	r->name_len = (uint8_t)name;
	r->to_len = (uint16_t)to;
	r->to_client = memmem(s->to, to, "{client}", 8) != NULL;
	r->filter_len = (uint16_t)filter;
	memcpy(r->name, s->name, name);
	memcpy(r->to, s->to, to);
	return 0;
}

/* ---- combinations ---- */

static int bad_part(struct draft *d, uint32_t rule, unsigned k, const char *why)
{
	snprintf(d->err, d->err_size, "rule %s: part %u: %s", d->spec[rule]->name, k, why);
	return -1;
}

/* The levels of a part's names, in the order of those of the first part. */
static const char *levels_fill(
	struct bp_rule *r, const char *filter, const struct bp_level_names *first)
{
	struct bp_level_names names;
	const char *why;
	uint32_t at;

	if (!bp_level_names_read(filter, r->filter_len, &names, &why, &at))
		return why;
	if (names.n != first->n)
		return bp_level_names_differ;
	for (unsigned n = 0; n < first->n; n++) {
		const int k = bp_level_names_find(&names, first->at[n].name, first->at[n].len);

		if (k < 0)
			return bp_level_names_differ;
		r->part.level[n] = (uint16_t)names.at[k].level;
	}
	return NULL;
}

/* A part is a rule without an alarm of its own. */
static int part_fill(struct draft *d, uint32_t rule, unsigned k, const struct bp_level_names *names)
{
	struct bp_rule *r = &d->rules[d->rules[rule].combination.first_part + k];
	const struct bp_rule_spec *s = &d->spec[rule]->combination->part[k];
	const char *why;

	memset(&r->part, 0, sizeof(r->part));
	r->role = BP_RULE_PART;
	r->stateful = false;
	r->fast = BP_RULE_FAST_NO;
	r->uid = bp_part_uid(d->rules[rule].uid, k);
	r->part.max_age_ns = s->max_age_ns;
	r->part.combination = rule;
	r->part.part = (uint8_t)k;
	r->name_len = d->rules[rule].name_len; /* traces show its combination */
	memcpy(r->name, d->rules[rule].name, sizeof(r->name));
	why = levels_fill(r, s->filter, names);
	return why == NULL ? 0 : bad_part(d, rule, k, why);
}

static int parts_fill(struct draft *d, uint32_t rule)
{
	struct bp_rule_combination *c = &d->rules[rule].combination;
	const struct bp_rule_spec *first = d->spec[c->first_part];
	struct bp_level_names names;
	const char *why;
	uint32_t at;

	if (!bp_program_valid(&c->program, c->n_parts))
		return bad_part(d, rule, 0, "the program of the combination is not valid");
	if (!bp_level_names_read(first->filter, (uint32_t)strlen(first->filter), &names, &why, &at))
		return bad_part(d, rule, 0, why);
	c->n_names = (uint8_t)names.n;
	for (unsigned k = 0; k < c->n_parts; k++)
		if (part_fill(d, rule, k, &names) != 0)
			return -1;
	return 0;
}

/* --- the image --------------------------------------------------------------------------- */

static uint64_t aligned(uint64_t offset)
{
	return (offset + 63) & ~63ull;
}

/* Computes all offsets. Returns 0, or -1 with an error message if the bank is too small. */
static int layout(struct draft *d, struct bp_ruleset *h)
{
	/* at most half full, so that a search ends soon, and always at a free slot */
	const uint64_t slots = power_of_two(2 * (uint64_t)d->n_edges + 1);
	const uint64_t rules = aligned(sizeof(*h));
	const uint64_t sources = aligned(rules + d->n * (uint64_t)sizeof(*d->rules));
	const uint64_t nodes = aligned(sources + d->n_sources * (uint64_t)sizeof(*d->sources));
	const uint64_t absent = aligned(nodes + d->n_nodes * (uint64_t)sizeof(*d->nodes));
	const uint64_t edges = aligned(absent + d->n_absent * (uint64_t)sizeof(uint32_t));
	const uint64_t windows = edges + slots * sizeof(struct bp_ruleset_edge);
	const uint64_t strings = windows + d->n_windows * sizeof(struct bp_ruleset_window);
	const uint64_t texts = strings + d->n_strings * (uint64_t)sizeof(*d->strings);

	h->size = (texts + d->text_bytes + 7) & ~7ull; /* copied in words */
	if (h->size > d->bank_size || h->size > IMAGE_MAX)
		return too_big(d, h->size);
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
static void write_texts(struct draft *d, const struct bp_ruleset *h, uint8_t *bank)
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
	memset(bank + end, 0, h->size - end);
}

static void write_edges(struct draft *d, const struct bp_ruleset *h, uint8_t *bank)
{
	struct bp_ruleset_edge *edges = (struct bp_ruleset_edge *)(void *)(bank + h->edges);

	memset(edges, 0, ((size_t)h->edge_mask + 1) * sizeof(*edges));
	for (uint32_t k = 0; k < d->n_edges; k++) {
		const struct draft_edge *from = &d->edges[k];
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

static void write_absent(const struct draft *d, const struct bp_ruleset *h, uint8_t *bank)
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

static void write_windows(const struct draft *d, const struct bp_ruleset *h, uint8_t *bank)
{
	struct bp_ruleset_window *w = (struct bp_ruleset_window *)(void *)(bank + h->windows);
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->n; i++)
		if (d->rules[i].windowed)
			w[n++] = (struct bp_ruleset_window){.uid = d->rules[i].uid, .rule = i};
	qsort(w, n, sizeof(*w), by_uid);
}

static void write_image(struct draft *d, const struct bp_ruleset *h, uint8_t *bank)
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

static int draft_init(struct draft *d)
{
	const size_t n = (size_t)d->n + 1;
	const uint64_t sources = power_of_two(2 * n);

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
		return no_memory(d);
	node_add(d); /* the root */
	return 0;
}

static void draft_free(struct draft *d)
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

static void list_specs(struct draft *d)
{
	uint32_t part = d->n_specs;

	for (uint32_t i = 0; i < d->n_specs; i++) {
		const struct bp_combination_spec *c = d->specs[i].combination;

		d->spec[i] = &d->specs[i];
		for (unsigned k = 0; c != NULL && k < c->n_parts; k++)
			d->spec[part++] = &c->part[k];
	}
}

static int draft_rules(struct draft *d)
{
	uint32_t part = d->n_specs;

	list_specs(d);
	for (uint32_t i = 0; i < d->n; i++)
		if (rule_fill(d, i) != 0)
			return -1;
	for (uint32_t i = 0; i < d->n_specs; i++) {
		if (d->rules[i].role != BP_RULE_COMBINATION)
			continue;
		d->rules[i].combination.first_part = part;
		part += d->rules[i].combination.n_parts;
		if (parts_fill(d, i) != 0)
			return -1;
	}
	for (uint32_t i = 0; i < d->n; i++)
		if (filter_add(d, i) != 0)
			return -1;
	return 0;
}

int bp_ruleset_build(void *bank, uint64_t bank_size, const struct bp_rule_spec *specs, uint32_t n,
	uint32_t max_rules, const struct bp_mirror_target *clone, const struct bp_ruleset *old,
	uint64_t generation, uint64_t now_ns, char *err, size_t err_size)
{
	struct draft d = {.specs = specs,
		.n_specs = n,
		.n = count_all(specs, n),
		.key = bp_mix64(now_ns ^ bp_mix64(generation)),
		.bank_size = bank_size,
		.err = err,
		.err_size = err_size};
	struct bp_ruleset h;
	int rc = -1;

	memset(&h, 0, sizeof(h));
	h.generation = generation;
	h.loaded_ns = now_ns;
	if (clone)
		h.clone = *clone;
	if (d.n > max_rules) {
		snprintf(err, err_size,
			"%u rules, but the segment was created for %u; raise mqtt.max_rules and "
			"restart",
			d.n, max_rules);
		return -1;
	}
	if (draft_init(&d) == 0 && draft_rules(&d) == 0 && layout(&d, &h) == 0 &&
		slots_assign(&d, max_rules, old) == 0) {
		write_image(&d, &h, bank);
		rc = 0;
	}
	draft_free(&d);
	return rc;
}
