/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_AGG_SEQUENCE_H
#define BP_AGG_SEQUENCE_H

#include <stdint.h>

#include "shm/agg.h"

/*
 * The streams that aggregates of format full come in, and what their sequence numbers say: which
 * are missing, late or here again. As many streams as configured; a new one takes the place of the
 * one that was heard of longest ago. No allocation after bp_sequences_new(); one thread.
 */
struct bp_sequences;

/* A stream: what one sender of aggregates says is one. All octets count, so unused ones are 0. */
struct bp_sequence_key {
	uint8_t source[16], destination[16]; /* of the aggregates; IPv4: the first four octets */
	uint16_t source_port, destination_port;
	uint16_t stream; /* its number in the format */
	uint8_t family;
	uint8_t rule;
};

/* Numbers behind the latest that are told apart one by one. */
#define BP_SEQUENCE_WINDOW 64u
/* A step further than this, in either direction, is another life of the stream. */
#define BP_SEQUENCE_STEP (1u << 24)

/* `stats`: BP_AGG_RULES_MAX of them; counted is in those of the stream's rule. `seed`: so that who
 * does not know it can't choose streams that collide. NULL: no memory. */
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
void bp_sequences_note(struct bp_sequences *s, const struct bp_sequence_key *key, uint32_t number);

#endif
