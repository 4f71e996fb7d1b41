/* SPDX-License-Identifier: BSD-3-Clause */
#include <stddef.h>

#include "shm/hash.h"
#include "shm/rules/policy.h"
#include "shm/rules/policy_rate.h"

/* The time of a worker, which is that of its burst, is behind that of another one by less. */
#define SKEW_NS 10000000000ull

uint64_t bp_policy_rates_len(uint64_t n)
{
	uint64_t len = BP_POLICY_BUCKET_WAYS;

	while (len < n)
		len *= 2;
	return len;
}

static uint64_t load(_Atomic uint64_t *p)
{
	return atomic_load_explicit(p, memory_order_relaxed);
}

static bool swap(_Atomic uint64_t *p, uint64_t *expected, uint64_t v)
{
	return atomic_compare_exchange_strong_explicit(
		p, expected, v, memory_order_relaxed, memory_order_relaxed);
}

/* Buckets of a set that clients and topics leave to addresses, and so the others are left to them,
 * however long those of addresses take until they are full. */
#define LASTING_MIN (BP_POLICY_BUCKET_WAYS / 2)

static bool is_lasting(uint64_t key)
{
	return key & BP_POLICY_KEY_LASTING;
}

/* What was read of a bucket that is not full. */
struct in_use {
	uint64_t key; /* 0: there is none */
	uint64_t full_ns;
};

/* Whether a bucket may be taken over by `key`; `lasting`: of addresses in the set. */
static bool may_take(const struct in_use *b, uint64_t key, unsigned lasting)
{
	if (b->key == 0 || is_lasting(b->key) == is_lasting(key))
		return true;
	return is_lasting(key) ? lasting < LASTING_MIN : lasting > LASTING_MIN;
}

/* The bucket of the key in its set, or the one to take over for it: a full one, or, of those that
 * it may take, the one that is full the soonest, of an address the last. */
static struct bp_policy_bucket *find(
	const struct bp_policy_rates *t, uint64_t key, uint64_t now_ns, bool *found)
{
	struct bp_policy_bucket *set =
		&t->bucket[(key >> 8) * BP_POLICY_BUCKET_WAYS & (t->len - 1)];
	struct in_use use[BP_POLICY_BUCKET_WAYS];
	struct bp_policy_bucket *first = NULL;
	uint64_t lowest = UINT64_MAX;
	unsigned lasting = 0;

	for (unsigned w = 0; w < BP_POLICY_BUCKET_WAYS; w++) {
		use[w] = (struct in_use){load(&set[w].key), load(&set[w].full_ns)};
		*found = use[w].key == key;
		if (*found)
			return &set[w];
		if (use[w].full_ns <= now_ns)
			use[w].key = 0;
		lasting += is_lasting(use[w].key);
	}
	for (unsigned w = 0; w < BP_POLICY_BUCKET_WAYS; w++) {
		const uint64_t lost = use[w].key == 0
					      ? 0
					      : ((use[w].full_ns - now_ns) >> 1 |
							(uint64_t)is_lasting(use[w].key) << 63);

		if (lost < lowest && may_take(&use[w], key, lasting)) {
			lowest = lost;
			first = &set[w];
		}
	}
	return first;
}

/*
 * For the first packet of a key, which never exceeds the rate. A worker that takes over the same
 * bucket at the same time, or that uses it for its former key, changes what is stored by one
 * packet. Returns whether a rate is forgotten: that of the former key, or this one.
 */
static bool take_over(struct bp_policy_bucket *b, uint64_t key, uint64_t full_ns, uint64_t now_ns)
{
	uint64_t before;
	bool lost;

	if (b == NULL)
		return true;
	before = load(&b->key);
	lost = before != 0 && load(&b->full_ns) > now_ns;
	if (swap(&b->key, &before, key))
		atomic_store_explicit(&b->full_ns, full_ns, memory_order_relaxed);
	return lost;
}

bool bp_policy_rate_exceeded(const struct bp_policy_rates *t, uint64_t key, uint64_t period_ns,
	uint64_t depth_ns, uint64_t now_ns, bool *evicted)
{
	bool found;
	struct bp_policy_bucket *b = find(t, key, now_ns, &found);
	uint64_t full;

	*evicted = false;
	if (!found) {
		*evicted = take_over(b, key, now_ns + period_ns, now_ns);
		return false;
	}
	full = load(&b->full_ns);
	/* each failure is a packet that another worker has added: the burst bounds them */
	for (;;) {
		uint64_t ahead = full > now_ns ? full - now_ns : 0;

		/* no worker stores this: the table is damaged, or is that of a later time */
		if (ahead > depth_ns + SKEW_NS)
			ahead = 0;
		if (ahead + period_ns > depth_ns)
			return true;
		if (swap(&b->full_ns, &full, now_ns + ahead + period_ns))
			return false;
	}
}

/* An address, of IPv6 its /64: one client has all others of that. */
static uint64_t address_key(const struct bp_policy_packet_view *p)
{
	return bp_hash_bytes(p->hash_key, p->address, p->ip6 ? 8 : 4);
}

uint64_t bp_policy_rate_key(const struct bp_policy_rule *r, const struct bp_policy_packet_view *p)
{
	uint64_t h;

	if (r->rate_per == BP_POLICY_PER_TOPIC) {
		h = bp_hash_bytes(p->hash_key, p->topic, p->topic_len);
	} else {
		h = address_key(p);
		if (r->rate_per == BP_POLICY_PER_CLIENT && p->client != NULL) {
			const uint64_t key[2] = {h, p->hash_key[1]};

			h = bp_hash_bytes(key, p->client, p->client_len);
		}
	}
	h = bp_mix64(h ^ r->uid) | 1;
	return r->rate_per == BP_POLICY_PER_ADDRESS ? h | BP_POLICY_KEY_LASTING
						    : h & ~BP_POLICY_KEY_LASTING;
}
