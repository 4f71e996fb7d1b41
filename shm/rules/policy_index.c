/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "shm/rules/policy_index.h"

/* The index of the policy: it is built in ordinary memory, and copied to the image. */

#define SHORT 4u /* rules of a chain that is not split */

struct chain_end {
	uint32_t last, n;
};

struct bp_policy_draft_index {
	uint64_t key;
	uint32_t n_rules, n_nodes, n_slots; /* n_slots: those in use */
	uint32_t slot_mask;
	struct bp_policy_node *nodes;
	struct chain_end (*chain_end)[2]; /* of each node */
	struct bp_policy_slot *slots;
	uint32_t *last; /* of each slot: the last rule of its chain */
	uint32_t *next[BP_POLICY_ORDERS];
	uint32_t not_allowing, last_not_allowing;
};

static uint64_t power_of_two(uint64_t at_least)
{
	uint64_t p = 1;

	while (p < at_least)
		p <<= 1;
	return p;
}

/* The slot of the tag, which may be a free one. */
static uint32_t slot_at(
	const struct bp_policy_slot *slots, uint32_t mask, uint64_t tag, uint32_t kind)
{
	uint32_t i = (uint32_t)(tag >> 32) & mask;

	while (slots[i].tag != 0 && (slots[i].tag != tag || slots[i].kind != kind))
		i = (i + 1) & mask;
	return i;
}

static uint32_t node_add(struct bp_policy_draft_index *x)
{
	const struct bp_policy_end none = {.first = BP_RULE_NONE};

	x->nodes[x->n_nodes] = (struct bp_policy_node){.end = {none, none}};
	return x->n_nodes++;
}

static uint32_t literal_child(
	struct bp_policy_draft_index *x, uint32_t node, const char *level, uint32_t n)
{
	const uint64_t tag =
		bp_policy_edge_tag(node, bp_policy_text_hash(x->key, (const uint8_t *)level, n));
	struct bp_policy_slot *s = &x->slots[slot_at(x->slots, x->slot_mask, tag, BP_POLICY_EDGE)];

	if (s->tag == 0) {
		*s = (struct bp_policy_slot){tag, node_add(x), BP_POLICY_EDGE};
		x->n_slots++;
		x->nodes[node].literals++;
	}
	return s->to;
}

static uint32_t plus_child(struct bp_policy_draft_index *x, uint32_t node)
{
	if (x->nodes[node].plus == 0)
		x->nodes[node].plus = node_add(x);
	return x->nodes[node].plus;
}

static bool is_level(const char *level, uint32_t n, const char *text)
{
	return n == strlen(text) && memcmp(level, text, n) == 0;
}

static bool is_any(const char *level, uint32_t n)
{
	return is_level(level, n, "+") || is_level(level, n, BP_POLICY_CLIENT_LEVEL) ||
	       is_level(level, n, BP_POLICY_USER_LEVEL);
}

static void chain_add(struct bp_policy_draft_index *x, uint32_t node, unsigned end, uint32_t rule)
{
	struct chain_end *c = &x->chain_end[node][end];

	if (c->n++ == 0)
		x->nodes[node].end[end].first = rule;
	else
		x->next[BP_POLICY_BY_END][c->last] = rule;
	c->last = rule;
}

/* Overlapping filters matter for these, also with the wildcards of a subscription. */
static void not_allowing_add(
	struct bp_policy_draft_index *x, const struct bp_policy_rule_spec *r, uint32_t i)
{
	if (r->action == BP_POLICY_ALLOW ||
		(r->packet != BP_POLICY_ANY && r->packet != BP_POLICY_SUBSCRIBE))
		return;
	if (x->not_allowing == BP_RULE_NONE)
		x->not_allowing = i;
	else
		x->next[BP_POLICY_BY_ACTION][x->last_not_allowing] = i;
	x->last_not_allowing = i;
}

static void add_rule(
	struct bp_policy_draft_index *x, const struct bp_policy_rule_spec *r, uint32_t i)
{
	const char *level = r->topic;
	uint32_t node = 0, n;

	for (unsigned order = 0; order < BP_POLICY_ORDERS; order++)
		x->next[order][i] = BP_RULE_NONE;
	not_allowing_add(x, r, i);
	if (r->topic[0] == '\0') {
		chain_add(x, 0, 1, i);
		return;
	}
	for (uint32_t depth = 0; depth < BP_POLICY_DEPTH; depth++) {
		n = (uint32_t)strcspn(level, "/");
		if (is_level(level, n, "#"))
			break;
		node = is_any(level, n) ? plus_child(x, node) : literal_child(x, node, level, n);
		level += n;
		if (*level++ == '\0') {
			chain_add(x, node, 0, i);
			return;
		}
	}
	chain_add(x, node, 1, i);
}

/* ---- split chains ---- */

static bool is_host(const struct bp_prefix *a)
{
	return a->length == (a->family == 4 ? 32 : 128);
}

static unsigned key_of(const struct bp_policy_draft_index *x, const struct bp_policy_rule_spec *r,
	struct bp_policy_identity_hash *h)
{
	unsigned key = 0;

	if (r->client[0] != '\0' && strchr(r->client, '*') == NULL) {
		key |= BP_POLICY_KEY_CLIENT;
		bp_policy_hash_client(
			h, x->key, (const uint8_t *)r->client, (uint32_t)strlen(r->client));
	}
	if (r->user[0] != '\0' && strchr(r->user, '*') == NULL) {
		key |= BP_POLICY_KEY_USER;
		bp_policy_hash_user(h, x->key, (const uint8_t *)r->user, (uint32_t)strlen(r->user));
	}
	if (r->has_address && is_host(&r->address)) {
		key |= BP_POLICY_KEY_HOST;
		bp_policy_hash_host(h, x->key, r->address.bytes, r->address.family == 6);
	}
	if (r->packet != BP_POLICY_ANY) {
		key |= BP_POLICY_KEY_PACKET;
		bp_policy_hash_packet(h, r->packet);
	}
	return key;
}

static void split(struct bp_policy_draft_index *x, const struct bp_policy_rule_spec *rules,
	uint32_t node, unsigned end)
{
	struct bp_policy_end *e = &x->nodes[node].end[end];

	for (uint32_t i = e->first; i != BP_RULE_NONE; i = x->next[BP_POLICY_BY_END][i]) {
		struct bp_policy_identity_hash h;
		const unsigned key = key_of(x, &rules[i], &h);
		const uint64_t tag = bp_policy_chain_tag(node, end, key, &h);
		const uint32_t at = slot_at(x->slots, x->slot_mask, tag, BP_POLICY_CHAIN);

		e->keys |= 1u << key;
		if (x->slots[at].tag == 0) {
			x->slots[at] = (struct bp_policy_slot){tag, i, BP_POLICY_CHAIN};
			x->n_slots++;
		} else {
			x->next[BP_POLICY_BY_KEY][x->last[at]] = i;
		}
		x->last[at] = i;
	}
}

/* ---- the whole ---- */

static uint64_t levels_of(const char *topic)
{
	uint64_t n = 1;

	for (; *topic != '\0'; topic++)
		n += *topic == '/';
	return n < BP_POLICY_DEPTH ? n : BP_POLICY_DEPTH;
}

/* Memory for the most nodes and slots that the rules may have. */
static bool reserve(struct bp_policy_draft_index *x, const struct bp_policy_spec *spec)
{
	const size_t n = spec->n_rules;
	uint64_t levels = 1, slots;

	for (uint32_t i = 0; i < n; i++)
		levels += levels_of(spec->rules[i].topic);
	slots = power_of_two(2 * (levels + n));
	if (slots > UINT32_MAX)
		return false;
	x->slot_mask = (uint32_t)(slots - 1);
	x->nodes = malloc(levels * sizeof(*x->nodes));
	x->chain_end = calloc(levels, sizeof(*x->chain_end));
	x->slots = calloc(slots, sizeof(*x->slots));
	x->last = malloc(slots * sizeof(*x->last));
	for (unsigned order = 0; order < BP_POLICY_ORDERS; order++) {
		x->next[order] = malloc(n * sizeof(**x->next));
		if (x->next[order] == NULL)
			return false;
	}
	return x->nodes != NULL && x->chain_end != NULL && x->slots != NULL && x->last != NULL;
}

/* At most half full, so that a search ends soon, and always at a free slot. */
static bool shrink(struct bp_policy_draft_index *x)
{
	const uint64_t n = power_of_two(2ull * x->n_slots + 1);
	struct bp_policy_slot *slots = calloc(n, sizeof(*slots));

	for (uint32_t i = 0; slots != NULL && i <= x->slot_mask; i++) {
		const struct bp_policy_slot *s = &x->slots[i];

		if (s->tag != 0)
			slots[slot_at(slots, (uint32_t)(n - 1), s->tag, s->kind)] = *s;
	}
	if (slots == NULL)
		return false;
	free(x->slots);
	x->slots = slots;
	x->slot_mask = (uint32_t)(n - 1);
	return true;
}

struct bp_policy_draft_index *bp_policy_index_build(const struct bp_policy_spec *spec, uint64_t key)
{
	struct bp_policy_draft_index *x = calloc(1, sizeof(*x));

	if (x == NULL || spec->n_rules == 0)
		return x;
	x->key = key;
	x->n_rules = spec->n_rules;
	x->not_allowing = BP_RULE_NONE;
	if (!reserve(x, spec)) {
		bp_policy_index_free(x);
		return NULL;
	}
	node_add(x); /* the root */
	for (uint32_t i = 0; i < spec->n_rules; i++)
		add_rule(x, &spec->rules[i], i);
	for (uint32_t node = 0; node < x->n_nodes; node++)
		for (unsigned end = 0; end < 2; end++)
			if (x->chain_end[node][end].n > SHORT)
				split(x, spec->rules, node, end);
	if (!shrink(x)) {
		bp_policy_index_free(x);
		return NULL;
	}
	return x;
}

void bp_policy_index_free(struct bp_policy_draft_index *x)
{
	if (x == NULL)
		return;
	free(x->nodes);
	free(x->chain_end);
	free(x->slots);
	free(x->last);
	for (unsigned order = 0; order < BP_POLICY_ORDERS; order++)
		free(x->next[order]);
	free(x);
}

static uint64_t nodes_size(const struct bp_policy_draft_index *x)
{
	return x->n_nodes * (uint64_t)sizeof(*x->nodes);
}

uint64_t bp_policy_index_size(const struct bp_policy_draft_index *x)
{
	return x->n_nodes == 0
		       ? 0
		       : nodes_size(x) + (x->slot_mask + 1ull) * (uint64_t)sizeof(*x->slots);
}

void bp_policy_index_write(const struct bp_policy_draft_index *x, struct bp_ruleset *h, uint8_t *d,
	uint64_t at, struct bp_policy_rule *rules)
{
	const uint64_t slots = at + nodes_size(x);

	if (x->n_nodes == 0)
		return;
	memcpy(d + at, x->nodes, nodes_size(x));
	memcpy(d + slots, x->slots, (x->slot_mask + 1ull) * sizeof(*x->slots));
	h->policy_index = (struct bp_policy_index){.nodes = h->policy + (uint32_t)at,
		.n_nodes = x->n_nodes,
		.slots = h->policy + (uint32_t)slots,
		.slot_mask = x->slot_mask,
		.not_allowing = x->not_allowing};
	for (uint32_t i = 0; i < x->n_rules; i++) {
		for (unsigned order = 0; order < BP_POLICY_ORDERS; order++)
			rules[i].next[order] = x->next[order][i];
	}
}

/* ---- an index of another process ---- */

static bool is_rule(const struct bp_ruleset *rs, uint32_t i)
{
	return i == BP_RULE_NONE || i < rs->n_policy;
}

static bool inside(const struct bp_ruleset *rs, uint32_t at, uint64_t n, uint64_t size)
{
	return at % 8 == 0 && at >= sizeof(*rs) && at <= rs->size && n <= (rs->size - at) / size;
}

static bool node_valid(const struct bp_ruleset *rs, const struct bp_policy_node *n)
{
	return n->plus < rs->policy_index.n_nodes && is_rule(rs, n->end[0].first) &&
	       is_rule(rs, n->end[1].first) && n->end[0].keys < 1u << BP_POLICY_KEYS &&
	       n->end[1].keys < 1u << BP_POLICY_KEYS;
}

static bool slots_valid(const struct bp_ruleset *rs)
{
	const struct bp_policy_slot *s = bp_policy_slots(rs);
	uint64_t used = 0;

	for (uint64_t i = 0; i <= rs->policy_index.slot_mask; i++) {
		if (s[i].tag == 0)
			continue;
		used++;
		if (s[i].kind > BP_POLICY_CHAIN ||
			s[i].to >= (s[i].kind == BP_POLICY_EDGE ? rs->policy_index.n_nodes
								: rs->n_policy))
			return false;
	}
	return used <= rs->policy_index.slot_mask; /* a free slot ends every search */
}

bool bp_policy_index_valid(const struct bp_ruleset *rs)
{
	const struct bp_policy_index *x = &rs->policy_index;

	if (x->n_nodes == 0)
		return true;
	if (!is_rule(rs, x->not_allowing) ||
		!inside(rs, x->nodes, x->n_nodes, sizeof(struct bp_policy_node)) ||
		!inside(rs, x->slots, x->slot_mask + 1ull, sizeof(struct bp_policy_slot)) ||
		(x->slot_mask & (x->slot_mask + 1ull)) != 0)
		return false;
	for (uint32_t i = 0; i < x->n_nodes; i++)
		if (!node_valid(rs, &bp_policy_nodes(rs)[i]))
			return false;
	/* chains have ascending indexes, so that they end */
	for (uint32_t i = 0; i < rs->n_policy; i++) {
		const uint32_t *next = bp_policy_rule(rs, i)->next;

		for (unsigned order = 0; order < BP_POLICY_ORDERS; order++)
			if (!is_rule(rs, next[order]) || next[order] <= i)
				return false;
	}
	return slots_valid(rs);
}
