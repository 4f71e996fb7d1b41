/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_AGGREGATION_SEQUENCE_H
#define BP_SERVICES_AGGREGATION_SEQUENCE_H

#include <stdint.h>

#include "shm/aggregation/agg.h"

/*
 * The streams that aggregates of format full come in, and what their sequence numbers say: which
 * are missing, late or here again. As many streams as configured; a new one takes the place of the
 * one that was heard of longest ago. No allocation after bp_sequences_new(); one thread.
 */
struct bp_sequences;

/* A stream: what one sender of aggregates says is one. In words, of which it is hashed and
 * compared.
 */
struct bp_sequence_key {
	uint64_t source[2], destination[2]; /* of the aggregates, as they lie in memory; IPv4: 0
					       behind the first four octets */
	uint64_t rest;                      /* bp_sequence_rest() */
};

/* Ports of the aggregates, the stream's number in the format, and the rule. */
static inline uint64_t bp_sequence_rest(
	unsigned sport, unsigned dport, unsigned stream, unsigned family, unsigned rule)
{
	return (uint64_t)sport << 48 | (uint64_t)dport << 32 | (uint64_t)stream << 16 |
	       (uint64_t)family << 8 | rule;
}

static inline unsigned bp_sequence_rule(const struct bp_sequence_key *key)
{
	return key->rest & 0xff;
}

/* Width of the window of sequence numbers before the latest in which each number is tracked. */
#define BP_SEQUENCE_WINDOW 64u
/* A larger step, in either direction, means that the stream restarted. */
#define BP_SEQUENCE_STEP (1u << 24)

/* `stats`: BP_AGG_RULES_MAX entries; the entry of the stream's rule is updated. `seed`: secret hash
 * seed, so that a sender cannot choose streams that collide. NULL: no memory. */
struct bp_sequences *bp_sequences_new(
	uint32_t streams, struct bp_disagg_stats *stats, uint64_t seed);
void bp_sequences_free(struct bp_sequences *s);
/* Forgets all streams. Counts nothing. */
void bp_sequences_clear(struct bp_sequences *s);

/*
 * An aggregate with this number has come. A stream begins at the first number that came, or, where
 * one from before that comes late, at that one: so `missing` less `late` is at any time what has
 * not come of what lies between the stream's ends, whatever the order, and duplicates or not. Only
 * what comes later than the window reaches stays missing for ever; it is counted as stale.
 */
void bp_sequences_record(
	struct bp_sequences *s, const struct bp_sequence_key *key, uint32_t number);

#endif
