/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_RULES_STATE_TABLE_H
#define BP_SHM_RULES_STATE_TABLE_H

#include "shm/rules/rule_state.h"

/*
 * The table of states as memory: entries of (key, word) that workers share without a lock. For
 * shm/rules/rule_state.c and shm/rules/rule_last.c alone, which say what a word means.
 */

#define BP_STATE_RAISED (1ull << 63)
#define BP_STATE_HOLDING (1ull << 62)
#define BP_STATE_CLAIM (BP_STATE_RAISED | BP_STATE_HOLDING)
#define BP_STATE_LOW (BP_STATE_HOLDING - 1)

/* Whether both words are those of a pair that the same transition has raised: they differ in the
 * count of evaluations at most (rule_state.c). */
static inline bool bp_state_is_same_raise(uint64_t a, uint64_t b)
{
	const uint64_t number = ((uint64_t)1 << BP_TRANSITION_BITS) - 1;

	return (a & BP_STATE_CLAIM) == BP_STATE_RAISED && (b & BP_STATE_CLAIM) == BP_STATE_RAISED &&
	       ((a ^ b) & number) == 0;
}

/* What of a pair an entry has. */
enum bp_state_kind { BP_STATE_OF_PAIR, BP_STATE_LAST_TIME, BP_STATE_LAST_VALUE };

/* A change of the entry of a key. */
struct bp_state_change {
	/* Returns the next word for the word that the entry has, 0: none; both are no claims. May
	 * be called several times, the last call counts. */
	uint64_t (*next)(struct bp_state_change *c, uint64_t word);
	struct bp_rule_state *table;
	uint64_t len;
	uint64_t key;
	uint64_t now_ns;
	uint32_t client;
	uint32_t value;    /* the bits of a float */
	bool keeps_client; /* an unchanged state keeps its client and time; next() may set it */
	struct bp_rule_undo *undo;
	enum bp_state_loss loss; /* result */
	struct bp_rule_state *bucket;
	uint64_t claim; /* the claim that was seen before the last read of the bucket */
};

/* Never 0. The keys of one rule differ for any two topic hashes. */
uint64_t bp_state_key(uint64_t uid, uint64_t topic_hash, enum bp_state_kind kind);

/* Returns false if the change was given up after many collisions: nothing was changed then. */
bool bp_state_change(struct bp_state_change *c);

/* The entry of the key as this process reads it at one moment, and *word; NULL: none. */
const struct bp_rule_state *bp_state_peek(
	const struct bp_rule_state *table, uint64_t len, uint64_t key, uint64_t *word);

/* Time from `then` to `now`; UINT64_MAX if `then` cannot be of this clock. */
uint64_t bp_state_elapsed(uint64_t then, uint64_t now);

#endif
