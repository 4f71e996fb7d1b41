/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_AGGREGATION_DISAGGREGATOR_STATE_H
#define BP_SERVICES_AGGREGATION_DISAGGREGATOR_STATE_H

#include "services/aggregation/datagram.h"
#include "services/aggregation/disaggregator.h"
#include "services/aggregation/match.h"
#include "services/aggregation/sequence.h"
#include "proto/aggregation/agg_full_entries4.h"

/* The internal state of a disaggregator, private to its two source files. */

struct bp_disaggregator_rule {
	uint8_t format;                /* enum bp_agg_format */
	struct bp_agg_senders senders; /* of the destination's family: no other can be in its
					  aggregates */
	bool possible; /* whether all addresses in the first of them can be a sender's */
};

/* The part of a message's headers that is the same in all messages of an aggregate, or in all since
 * the length or the hop limit changed. Its third piece is bp_agg_full_at4.piece. */
struct bp_disaggregator_head {
	bp_v16 front;     /* bytes 0..15: Ethernet, version, TOS */
	uint64_t ip;      /* 16..23: length, fragment, TTL, protocol */
	uint32_t ip_sum;  /* sum of the fields that the IPv4 checksum covers, except the source */
	uint64_t udp_sum; /* sum of the fields that the UDP checksum covers, except that piece and
			     the payload */
	uint64_t fixed;   /* the part of ip_sum that is common to the aggregate */
	uint32_t tail;    /* bits that a payload of 17 to 24 bytes lacks of 24; 64: others */
};

/* The working state of services/aggregation/disaggregator_ip4.c. A struct in memory gives better
 * code: the compilers use constant fields in place and keep registers for the rest. */
struct bp_disaggregator_ip4 {
	uint64_t to;          /* input port and destination of the previous aggregate */
	uint8_t rule;         /* of that */
	uint64_t mask, value; /* for that piece: senders that need no further check */
	struct bp_agg_full_entries4 entries;
	struct bp_disaggregator_head head;
};

struct bp_disaggregator {
	struct bp_disagg_stats *stats;
	struct bp_sequences *sequences;
	struct bp_agg_match match;
	struct bp_disaggregator_ip4 ip4;
	struct bp_disaggregator_rule rule[BP_AGG_RULES_MAX];
};

#define BP_DISAGGREGATOR_NOWHERE UINT64_MAX /* no port has that number */

static inline bool bp_disaggregator_for_this_machine(
	const uint8_t *frame, bool routed, uint64_t mac)
{
	/* two bytes more than the address has; a datagram's frame has them */
	return routed ? (bp_sum_word(frame) ^ mac) << 16 == 0 : (frame[0] & 1) == 0;
}

static inline unsigned bp_disaggregator_rule_of(
	const struct bp_disaggregator *d, const struct bp_datagram *g, unsigned port)
{
	uint64_t to[2];

	bp_agg_match_words(g->family, bp_datagram_dst(g), to);
	return bp_agg_match_find(&d->match, port, g->family, to, g->dport);
}

/* An aggregate with this head was accepted: its number has come. */
static inline void bp_disaggregator_record(struct bp_disaggregator *d, const struct bp_datagram *g,
	unsigned rule, unsigned stream, uint32_t sequence)
{
	struct bp_sequence_key key;

	bp_agg_match_words(g->family, bp_datagram_src(g), key.source);
	bp_agg_match_words(g->family, bp_datagram_dst(g), key.destination);
	key.rest = bp_sequence_rest(g->sport, g->dport, stream, g->family, rule);
	bp_sequences_record(d->sequences, &key, sequence);
}

static inline void bp_disaggregator_count(struct bp_disaggregator *d, unsigned rule,
	uint32_t frame_len, unsigned messages, uint64_t bytes)
{
	struct bp_disagg_stats *stats = &d->stats[rule];

	bp_agg_stat_add(&stats->aggregates, 1);
	bp_agg_stat_add(&stats->aggregate_bytes, frame_len);
	bp_agg_stat_add(&stats->messages, messages);
	bp_agg_stat_add(&stats->message_bytes, bytes);
}

#endif
