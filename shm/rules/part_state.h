/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_RULES_PART_STATE_H
#define BP_SHM_RULES_PART_STATE_H

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
	_Atomic uint64_t key;   /* of (combination, topic of the key, part); 0: free */
	_Atomic uint64_t word;  /* time, monotonic, ns << 2 | enum bp_truth, never unknown */
	_Atomic uint64_t value; /* as the bits of a double: for people; stored after the word, and
				   of it only if the check agrees */
	_Atomic uint32_t client;
	_Atomic uint32_t check; /* of value and word */
} __attribute__((aligned(16))); /* key and word are swapped together */

/* Entries (a multiple of the ways, a power of two) for at least n truths. */
uint64_t bp_part_state_len(uint32_t n);

/* The parts of one key. */
struct bp_part_key {
	struct bp_part_state *table;
	uint64_t len;
	uint64_t base; /* of the combination and the key */
};
static inline struct bp_part_key bp_part_key(
	struct bp_part_state *table, uint64_t len, uint64_t uid, uint64_t topic_hash)
{
	return (struct bp_part_key){table, len, bp_mix64(uid + bp_mix64(topic_hash))};
}

/*
 * Stores the truth of a part; client: any number but 0. BP_STATE_NOT_KEPT: it is not stored, as no
 * entry may be evicted. There is no undo: a publication that is read again after a restart stores
 * the same truth, and its journal restores the state of the combination.
 */
enum bp_state_loss bp_part_state_store(const struct bp_part_key *k, unsigned part, uint32_t client,
	enum bp_truth truth, double value, uint64_t now_ns);

/* The truth of a part, as any process reads it. */
struct bp_part_view {
	uint64_t word; /* 0: there is none */
	uint64_t age_ns;
	double value; /* NAN: not known */
};
/* The word alone; 0: none. */
uint64_t bp_part_state_word(const struct bp_part_key *k, unsigned part);
/* Its truth, unless it is older than max_age_ns (0: no limit). */
enum bp_truth bp_part_word_truth(uint64_t word, uint64_t max_age_ns, uint64_t now_ns);
void bp_part_state_view(
	const struct bp_part_key *k, unsigned part, uint64_t now_ns, struct bp_part_view *v);

#endif
