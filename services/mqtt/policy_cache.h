/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_POLICY_CACHE_H
#define BP_SERVICES_MQTT_POLICY_CACHE_H

#include "services/mqtt/topic_hash.h"
#include "shm/rules/policy.h"

/*
 * Decisions about publications, of a worker: a client that alternates topics is not decided about
 * by a search each time. Only decisions that depend on nothing but what the key covers are here:
 * the generation of the rules, the topic, and who the client is. The key is a hash under the
 * segment's secret key, as the hash of a topic: a sender without it cannot construct a collision.
 * The topic's match of mqtt.rules, which depends on less, is kept with the decision.
 */
#define BP_POLICY_CACHE_SETS 8192u
#define BP_POLICY_CACHE_WAYS 4u

struct bp_policy_cached {
	uint64_t key;        /* 0: free */
	uint64_t action : 3; /* may be BP_POLICY_UNDECIDED */
	uint64_t rule : 20;
	uint64_t slot : 20;
	/* what the topic matches of mqtt.rules: memo_rule of a flow, or BP_MEMO_UNKNOWN, minus that
	 */
	uint64_t memo : 21;
};

struct bp_policy_cache {
	/* a set is a cache line */
	struct bp_policy_cached set[BP_POLICY_CACHE_SETS][BP_POLICY_CACHE_WAYS]
		__attribute__((aligned(64)));
	uint32_t victim; /* the way that is replaced next */
};

static inline uint32_t bp_policy_cached_memo(const struct bp_policy_cached *c)
{
	return (uint32_t)c->memo + BP_MEMO_UNKNOWN;
}

static inline void bp_policy_cached_set_memo(struct bp_policy_cached *c, uint32_t memo_rule)
{
	const uint32_t memo = memo_rule - BP_MEMO_UNKNOWN;

	c->memo = memo >> 21 == 0 ? memo : 0;
}

/* `topic`: bp_topic_hash() of the view's topic. */
static inline uint64_t bp_policy_cache_key(
	const uint64_t key[2], uint32_t gen, const struct bp_policy_packet_view *v, uint64_t topic)
{
	const uint64_t lengths = (uint64_t)v->client_len << 32 | (uint64_t)v->user_len << 48;
	const uint64_t of_client = (uint64_t)v->version | (uint64_t)v->port << 8 |
				   (uint64_t)v->ip6 << 16 | (uint64_t)v->known << 17 |
				   (uint64_t)(v->client != NULL) << 18 |
				   (uint64_t)(v->user != NULL) << 19;
	const uint64_t client =
		v->client_len != 0 ? bp_topic_hash_by(key, v->client, v->client_len) : 0;
	const uint64_t user = v->user_len != 0 ? bp_topic_hash_by(key, v->user, v->user_len) : 0;
	uint64_t address[2] = {0, 0}, h;

	memcpy(address, v->address, v->ip6 ? 16 : 4);
	h = bp_mix(topic ^ key[0], (of_client | lengths) ^ key[1]) +
	    bp_mix(address[0] ^ key[1], address[1] ^ key[0] ^ gen);
	return bp_mix(h ^ client, user ^ key[1]) | 1;
}

/* The set of a topic on a connection. */
static inline struct bp_policy_cached *bp_policy_cache_set(
	struct bp_policy_cache *c, const struct bp_flow *f, uint64_t topic)
{
	return c->set[bp_mix(topic ^ f->k0, f->k1 ^ 0x9e3779b97f4a7c15ull) &
		      (BP_POLICY_CACHE_SETS - 1)];
}

/* The decision with this key; NULL: it is not there. */
static inline struct bp_policy_cached *bp_policy_cache_get(
	struct bp_policy_cached *set, uint64_t key)
{
	unsigned ways = 0;

	/* without a branch for each way, which cannot be predicted */
	for (unsigned i = 0; i < BP_POLICY_CACHE_WAYS; i++)
		ways |= (unsigned)(set[i].key == key) << i;
	return ways != 0 ? &set[__builtin_ctz(ways)] : NULL;
}

/* Returns NULL if it does not fit. */
static inline struct bp_policy_cached *bp_policy_cache_put(struct bp_policy_cache *c,
	struct bp_policy_cached *set, uint64_t key, const struct bp_policy_decision *d)
{
	unsigned way = c->victim++ % BP_POLICY_CACHE_WAYS;

	if ((d->rule | d->slot) >> 20 != 0)
		return NULL;
	for (unsigned i = 0; i < BP_POLICY_CACHE_WAYS; i++)
		if (set[i].key == 0)
			way = i;
	set[way] = (struct bp_policy_cached){
		.key = key, .action = d->action, .rule = d->rule, .slot = d->slot};
	return &set[way];
}

_Static_assert(BP_POLICY_UNDECIDED < 8, "an action has 3 bits");
_Static_assert(sizeof(((struct bp_policy_cache *)NULL)->set[0]) == 64, "a set is a cache line");

#endif
