/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_AGGREGATION_STAGE_H
#define BP_SERVICES_AGGREGATION_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/ip.h"

/*
 * Messages that wait for their aggregate without one: of many streams, each of which gets a message
 * now and then, nothing stays in the caches, and a message that is put into an aggregate waits for
 * some four lines of it. Here it touches two: what the stream's messages are told by, in an array
 * that is small, and a record that was freed last, which the caches still have. All of an aggregate
 * are put into it when it leaves, in a buffer that was sent last.
 *
 * Of IPv4 without tags alone, in format full, and short. One thread.
 */

#define BP_AGG_STAGE_MOST 8u     /* messages of a stream */
#define BP_AGG_STAGE_PAYLOAD 36u /* octets of a message */

/* A message: 64 octets of its frame from the IP header on, where TTL, source, port and payload stay
 * where they are, and what is needed besides is in the place of what all messages of a stream have
 * in common. */
struct bp_agg_record {
	uint64_t arrived_ns;
	uint8_t hops, len; /* len: of the payload */
	uint16_t more;     /* octets of its frame beyond bp_agg_least() */
	uint8_t src[4];    /* from here on as proto/agg_full_alike.h wants it: the port is at 8 */
	uint32_t sum;      /* of the payload, as bp_sum(): 18 words at most */
	uint8_t sport[2], mac[6];
	uint8_t payload[BP_AGG_STAGE_PAYLOAD];
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct bp_agg_record) == 64, "a line");
_Static_assert(offsetof(struct bp_agg_record, hops) == BP_IP4_TTL &&
		       offsetof(struct bp_agg_record, src) == BP_IP4_SRC &&
		       offsetof(struct bp_agg_record, sport) == BP_IP4_HDR &&
		       offsetof(struct bp_agg_record, payload) == BP_IP4_HDR + 8u,
	"as in the frame");

/* Of a stream: all that changes while it has no aggregate. */
struct bp_agg_staged {
	uint64_t usual; /* bp_agg_key_usual() of its key */
	/* Destination MAC address of all, messages << 48, and BP_AGG_STAGE_NONE where it has an
	 * aggregate, and nothing can be staged. */
	uint64_t state;
	uint32_t record[BP_AGG_STAGE_MOST]; /* places, in the order in which they came */
	/* what all its aggregates have, of any stream: format full's numbers */
	uint32_t sequence;
	uint16_t number;
	/* and of IPv4, who sent its first message */
	uint16_t sport; /* host byte order */
	uint8_t src[4];
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct bp_agg_staged) == 64, "a line");
#define BP_AGG_STAGE_ONE (1ull << 48)
#define BP_AGG_STAGE_NONE (1ull << 63)

/* Messages of a stream that are staged. */
static inline unsigned bp_agg_staged_count(const struct bp_agg_staged *g)
{
	return g->state >> 48 & 0xff;
}

struct bp_agg_stage {
	struct bp_agg_record *record;
	/* [0..n): places of free records, octets from the first record; the last one was freed
	 * last. Behind it there is room for BP_AGG_STAGE_MOST */
	uint32_t *unused;
	uint32_t n, size;
};

static inline struct bp_agg_record *bp_agg_record_at(const struct bp_agg_stage *s, uint32_t place)
{
	return (struct bp_agg_record *)(void *)((uint8_t *)s->record + place);
}

#endif
