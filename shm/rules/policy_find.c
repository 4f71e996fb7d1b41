/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/rules/policy_index.h"

/*
 * The search in the index. All that it does is bounded, also in an image with loops: by the depth,
 * by the number of visited nodes and by that of the followed chains. Beyond these, all rules are
 * tested, which gives the same result.
 */

#define VISITS_MAX 256u
/* Work, in units of about a nanosecond. */
#define STEP_NODE 6u
#define STEP_CHAIN 10u

/* Returns slot.to, or BP_RULE_NONE. A free slot ends the search. */
static uint32_t slot_of(const struct bp_ruleset *rs, uint64_t tag, uint32_t kind)
{
	const struct bp_policy_slot *slots = bp_policy_slots(rs);

	for (uint64_t i = tag >> 32;; i++) {
		const struct bp_policy_slot *s = &slots[i & rs->policy_index.slot_mask];

		if (s->tag == tag && s->kind == kind)
			return s->to;
		if (s->tag == 0)
			return BP_RULE_NONE;
	}
}

static bool follow(struct bp_policy_find *f, uint32_t first, enum bp_policy_order order)
{
	if (first == BP_RULE_NONE)
		return true;
	if (f->n == BP_POLICY_CHAINS)
		return false;
	f->chain[f->n].rule = first;
	f->chain[f->n++].order = order;
	return true;
}

/* Whether the packet has the parts of the key, of which the missing hashes are computed. */
static bool has_key(struct bp_policy_find *f, const struct bp_policy_packet_view *p, unsigned key)
{
	const uint64_t secret = f->rs->edge_key;
	const unsigned missing = key & ~f->hashed;

	if (((key & BP_POLICY_KEY_CLIENT) && p->client == NULL) ||
		((key & BP_POLICY_KEY_USER) && p->user == NULL))
		return false;
	f->hashed |= key;
	if (missing & BP_POLICY_KEY_CLIENT)
		bp_policy_hash_client(&f->hash, secret, p->client, p->client_len);
	if (missing & BP_POLICY_KEY_USER)
		bp_policy_hash_user(&f->hash, secret, p->user, p->user_len);
	if (missing & BP_POLICY_KEY_HOST)
		bp_policy_hash_host(&f->hash, secret, p->address, p->ip6);
	if (missing & BP_POLICY_KEY_PACKET)
		bp_policy_hash_packet(&f->hash, p->packet);
	return true;
}

static bool follow_end(struct bp_policy_find *f, const struct bp_policy_packet_view *p,
	uint32_t node, unsigned end)
{
	const struct bp_policy_end *e = &bp_policy_nodes(f->rs)[node].end[end];
	/* any text may be that of an unknown client */
	const bool unknown = !p->known && (p->client == NULL || p->user == NULL);

	if (e->first == BP_RULE_NONE)
		return true;
	if (e->keys == 0 || unknown)
		return follow(f, e->first, BP_POLICY_BY_END);
	for (uint32_t keys = e->keys; keys != 0; keys &= keys - 1) {
		const unsigned key = (unsigned)__builtin_ctz(keys);

		f->steps += STEP_CHAIN;
		if (has_key(f, p, key) &&
			!follow(f,
				slot_of(f->rs, bp_policy_chain_tag(node, end, key, &f->hash),
					BP_POLICY_CHAIN),
				BP_POLICY_BY_KEY))
			return false;
	}
	return true;
}

struct branch {
	uint32_t node, depth;
};

/* Depth first: at most one branch waits at each depth. */
static bool walk(struct bp_policy_find *f, const struct bp_policy_packet_view *p,
	const struct bp_policy_level *level, uint32_t n_levels)
{
	const struct bp_policy_node *nodes = bp_policy_nodes(f->rs);
	struct branch waiting[BP_POLICY_DEPTH], at = {0, 0};
	uint64_t hash[BP_POLICY_DEPTH];
	uint32_t n_waiting = 0, n_hashed = 0;

	for (uint32_t visits = 0; visits < VISITS_MAX; visits++) {
		const struct bp_policy_node *n = &nodes[at.node];
		uint32_t plus = 0, child = 0;

		f->steps += STEP_NODE;
		if (!follow_end(f, p, at.node, 1) ||
			(at.depth == n_levels && !follow_end(f, p, at.node, 0)))
			return false;
		if (at.depth < n_levels && at.depth < BP_POLICY_DEPTH) {
			plus = n->plus;
			for (; n_hashed <= at.depth && n->literals != 0; n_hashed++)
				hash[n_hashed] = bp_policy_text_hash(
					f->rs->edge_key, level[n_hashed].p, level[n_hashed].n);
			if (n->literals != 0)
				child = slot_of(f->rs, bp_policy_edge_tag(at.node, hash[at.depth]),
						BP_POLICY_EDGE) +
					1;
		}
		if (child != 0) {
			if (plus != 0)
				waiting[n_waiting++] = (struct branch){plus, at.depth + 1};
			at = (struct branch){child - 1, at.depth + 1};
		} else if (plus != 0) {
			at = (struct branch){plus, at.depth + 1};
		} else if (n_waiting != 0) {
			at = waiting[--n_waiting];
		} else {
			return true;
		}
	}
	return false;
}

static bool has_wildcard(const struct bp_policy_packet_view *p)
{
	return memchr(p->topic, '+', p->topic_len) != NULL ||
	       memchr(p->topic, '#', p->topic_len) != NULL;
}

void bp_policy_find_begin(struct bp_policy_find *f, const struct bp_ruleset *rs,
	const struct bp_policy_packet_view *p, const struct bp_policy_level *level, uint32_t n)
{
	f->rs = rs;
	f->steps = f->all = f->n = 0;
	f->hashed = 0;
	f->is_all = rs->policy_index.n_nodes == 0 || !walk(f, p, level, n) ||
		    (p->packet == BP_POLICY_SUBSCRIBE && has_wildcard(p) &&
			    !follow(f, rs->policy_index.not_allowing, BP_POLICY_BY_ACTION));
}

uint32_t bp_policy_find_next(struct bp_policy_find *f)
{
	uint32_t next = BP_RULE_NONE;

	if (f->is_all)
		return f->all < f->rs->n_policy ? f->all++ : BP_RULE_NONE;
	for (uint32_t i = 0; i < f->n; i++)
		if (f->chain[i].rule < next)
			next = f->chain[i].rule;
	for (uint32_t i = 0; i < f->n && next != BP_RULE_NONE; i++) {
		const struct bp_policy_rule *r = bp_policy_rule(f->rs, next);

		if (f->chain[i].rule == next)
			f->chain[i].rule = r->next[f->chain[i].order];
	}
	f->steps += f->n;
	return next;
}
