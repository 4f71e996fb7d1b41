/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_RULES_PART_STATE_H
#define BP_SHM_RULES_PART_STATE_H

#include <string.h>

#include "shm/cas128.h"
#include "shm/hash.h"
#include "shm/rules/combination.h"
#include "shm/rules/rule_state.h"

/*
 * The last truth of each part of a combination, per key: whether its condition held, and when. The
 * table is in the segment, so that it survives a restart of the data plane, and is shared by the
 * workers, because the parts of a key come from different connections.
 *
 * A truth is one 16-byte compare-and-swap of (key, word), so no reader sees half a change and a
 * worker that is killed leaves none. Buckets of BP_PART_STATE_WAYS entries; a full bucket evicts as
 * the table of rule states does (rule_state.h), so that a client that invents topics evicts only
 * its own truths.
 */
#define BP_PART_STATE_WAYS 4

struct bp_part_state {
	_Atomic uint64_t key;   /* of (part, topic); 0: free */
	_Atomic uint64_t word;  /* time, monotonic, ns << 2 | enum bp_truth, never unknown */
	_Atomic uint64_t value; /* as the bits of a double: for people; stored after the word, and
				   of it only if the check agrees */
	_Atomic uint32_t client;
	_Atomic uint32_t check; /* of value and word */
} __attribute__((aligned(16))); /* key and word are swapped together */

/* Entries (a multiple of the ways, a power of two) for at least n truths. */
uint64_t bp_part_state_len(uint32_t n);

/* A part and a topic of it. */
struct bp_part_key {
	struct bp_part_state *bucket;
	uint64_t key;
	struct bp_part_state *table;
	uint64_t len;
};
static inline struct bp_part_key bp_part_key(
	struct bp_part_state *table, uint64_t len, uint64_t part_uid, uint64_t topic_hash)
{
	const uint64_t key = topic_hash + part_uid; /* both are hashes, one under a secret key */
	const uint64_t bucket = key & (len / BP_PART_STATE_WAYS - 1);

	return (struct bp_part_key){
		table + bucket * BP_PART_STATE_WAYS, key != 0 ? key : 1, table, len};
}

/*
 * Stores the truth of a part; client: any number but 0. BP_STATE_NOT_KEPT: it is not stored, as no
 * entry may be evicted. There is no undo: a publication that is read again after a restart stores
 * the same truth, and its journal restores the state of the combination.
 */
enum bp_state_loss bp_part_state_store(const struct bp_part_key *k, uint32_t client,
	enum bp_truth truth, double value, uint64_t now_ns);

#define BP_PART_TRUTH 3u
#define BP_PART_TIME_SHIFT 2
static inline uint32_t bp_part_check(uint64_t value, uint64_t word)
{
	return (uint32_t)((value ^ word * 0x9e3779b97f4a7c15ull) * 0xc2b2ae3d27d4eb4full >> 32);
}
/* After a change of `e`: whether it is the entry of the key that counts. Otherwise it is removed.
 */
bool bp_part_state_settle(const struct bp_part_key *k, struct bp_part_state *e, uint64_t word);

/* A value of a part whose truth may be the one that is stored. */
struct bp_part_repeat {
	enum bp_truth truth;
	double value;
	uint64_t max_age_ns; /* of the part; 0: no limit */
	uint64_t now_ns;
	uint64_t since_ns; /* truths that were stored until then do not count as repeated */
	bool shared;       /* by several workers */
};
/* In each period of this length, the first value is no repetition: 68.7 s. */
#define BP_PART_STEADY_SHIFT 36

/*
 * True: the part has the same truth already, which gets the new time and value; its combination was
 * evaluated with this truth, in this period and after since_ns. The entry keeps its client. False:
 * nothing is stored.
 */
static inline bool bp_part_state_repeat(const struct bp_part_key *k, const struct bp_part_repeat *r)
{
	const uint64_t word = r->now_ns << BP_PART_TIME_SHIFT | r->truth;
	struct bp_part_state *e = k->bucket;
	uint64_t old, then, bits;

	for (unsigned i = 1; atomic_load_explicit(&e->key, memory_order_acquire) != k->key;
		i++, e++)
		if (i == BP_PART_STATE_WAYS)
			return false;
	old = atomic_load_explicit(&e->word, memory_order_acquire);
	then = old >> BP_PART_TIME_SHIFT;
	if ((old & BP_PART_TRUTH) != r->truth || then <= r->since_ns || then > r->now_ns ||
		(then ^ r->now_ns) >> BP_PART_STEADY_SHIFT != 0 ||
		(r->max_age_ns != 0 && r->now_ns - then > r->max_age_ns))
		return false;
	if (!r->shared)
		atomic_store_explicit(&e->word, word, memory_order_relaxed);
	else if (!bp_cas128(&e->key, k->key, old, k->key, word) ||
		 !bp_part_state_settle(k, e, word))
		return false;
	memcpy(&bits, &r->value, sizeof(bits));
	atomic_store_explicit(&e->value, bits, memory_order_relaxed);
	atomic_store_explicit(&e->check, bp_part_check(bits, word), memory_order_relaxed);
	return true;
}

/* The truth of a part, as any process reads it. */
struct bp_part_view {
	uint64_t word; /* 0: there is none */
	uint64_t age_ns;
	double value; /* NAN: not known */
};
/* The word alone; 0: none. */
uint64_t bp_part_state_word(const struct bp_part_key *k);
/* Its truth, unless it is older than max_age_ns (0: no limit). */
enum bp_truth bp_part_word_truth(uint64_t word, uint64_t max_age_ns, uint64_t now_ns);
void bp_part_state_view(const struct bp_part_key *k, uint64_t now_ns, struct bp_part_view *v);

#endif
