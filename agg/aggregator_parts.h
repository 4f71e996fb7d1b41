/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_AGG_AGGREGATOR_PARTS_H
#define BP_AGG_AGGREGATOR_PARTS_H

#include "agg/aggregator.h"
#include "agg/datagram.h"
#include "agg/match.h"
#include "agg/streams.h"

/* What the files of the aggregator share; for nobody else. */

/*
 * An aggregate in its buffer: BP_AGG_AHEAD octets, the writer's front (header and directory), the
 * payloads. The head is written at the end, right before the header, which then has moved up to the
 * payloads. Where nothing moves up it still fits in BP_AGG_AHEAD; 80 of it and 16 of the header put
 * directory and payloads of the usual aggregate into few cache lines.
 */
#define BP_AGG_AHEAD 80u
_Static_assert(BP_AGG_AHEAD >= BP_DATAGRAM_HEAD_MOST, "the head fits before the aggregate");
/* Format paper needs no directory; this is where its first message lies, after the flag header. */
#define BP_AGG_PAPER_FRONT 16u

#define BP_AGG_HOPS 64 /* TTL or hop limit of aggregates (RFC 1700) */

struct bp_aggregator_rule {
	uint64_t max_delay_ns;
	int32_t longest; /* payload of a message; -1: none is taken */
	uint16_t size;   /* octets of an aggregate's UDP payload */
	uint16_t front;  /* of the writer, as it begins */
	uint16_t from_udp;
	uint8_t from[16];
	uint8_t family, format, port;
	uint8_t messages; /* N as configured */
	uint8_t most;     /* what of it fits; less only with format paper */
	bool has_from;
};

struct bp_aggregator {
	struct bp_agg_match match;
	struct bp_agg_streams streams;
	struct bp_aggregator_rule rule[BP_AGG_RULES_MAX];
	uint32_t n_rules;
	/* No aggregate is due before. It may be that none is even then: it moves on by poll. */
	uint64_t soonest_ns;
	struct bp_agg_stats *stats;
	struct bp_aggregator_hooks hooks;
	uint64_t random;
	/* Messages of one rule that were taken and are not in its statistics yet. */
	uint64_t taken, taken_octets;
	uint32_t taken_rule;
	uint16_t room;
	uint16_t id; /* of IPv4, of the next aggregate that may be fragmented */
	uint8_t at;  /* for bp_agg_output */
};

/* When the aggregate that is first in a rule's list is due. */
static inline uint64_t bp_aggregator_due(const struct bp_aggregator_rule *r, uint64_t began_ns)
{
	if (r->max_delay_ns == 0 || r->max_delay_ns > UINT64_MAX - began_ns)
		return UINT64_MAX;
	return began_ns + r->max_delay_ns;
}

static inline uint64_t bp_aggregator_random(struct bp_aggregator *a)
{
	return bp_mix64(a->random += 0x9e3779b97f4a7c15);
}

/* Enters what was taken into the statistics. */
void bp_aggregator_settle(struct bp_aggregator *a);
/* Sends the aggregate of a stream that has one. */
void bp_aggregator_leave(struct bp_aggregator *a, uint32_t stream, enum bp_agg_flush reason,
	uint64_t now_ns, uint64_t wall_ns);

#endif
