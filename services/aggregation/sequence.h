/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_AGGREGATION_SEQUENCE_H
#define BP_SERVICES_AGGREGATION_SEQUENCE_H

#include <stdint.h>

#include "shm/aggregation/agg.h"

/*
 * The streams of received aggregates of the full format, and the evaluation of their sequence
 * numbers: missing, late or duplicate. The number of streams is configured; a new stream replaces
 * the one whose last aggregate is oldest. No allocation after bp_sequences_new(); single-threaded.
 */
struct bp_sequences;

/* The key of a stream, as the sender of the aggregates defines it. In words, by which it is hashed
 * and compared. */
struct bp_sequence_key {
	uint64_t source[2], destination[2]; /* of the aggregates, as they lie in memory; IPv4: 0
					       behind the first four bytes */
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
 * Records an aggregate with this number. A stream begins at the first received number, or, where an
 * earlier one arrives late, at that one: `missing` minus `late` is therefore always the number of
 * missing aggregates between the ends of the stream, whatever the order, and with or without
 * duplicates. Only an aggregate that arrives later than the window stays missing; it is counted as
 * stale.
 */
void bp_sequences_record(
	struct bp_sequences *s, const struct bp_sequence_key *key, uint32_t number);

#endif
