/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_AGG_DISAGGREGATOR_H
#define BP_AGG_DISAGGREGATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "biplane/aggregation.h"
#include "proto/agg_full.h"
#include "shm/agg.h"

/*
 * Takes aggregates apart: what one worker has. As agg/aggregator.h: no DPDK, no system call, no
 * allocation after bp_disaggregator_new(); one thread.
 */
struct bp_disaggregator;

enum bp_disagg_verdict {
	BP_DISAGG_OTHER, /* not for a rule of the port: goes on */
	BP_DISAGG_PLAIN, /* for a rule, and no aggregate: goes on, behind what waits for its pace */
	BP_DISAGG_SPLIT, /* an aggregate: its messages are in `bp_disagg_packet` */
	BP_DISAGG_REFUSED,
};
/* Why an aggregate is refused whole: counters disagg_... of group drop. */
enum bp_disagg_refusal {
	BP_DISAGG_UDP_CHECKSUM, /* of UDP: wrong, or none where the format needs it */
	BP_DISAGG_LENGTHS,      /* of Ethernet, IP and UDP do not agree */
	BP_DISAGG_VERSION,
	BP_DISAGG_STRUCTURE_CHECKSUM,
	BP_DISAGG_FAMILY,
	BP_DISAGG_COUNT,  /* length and count disagree */
	BP_DISAGG_ENTRY,  /* the directory is malformed */
	BP_DISAGG_FORGED, /* a sender that is in none of the prefixes, or that none can be */
};

#define BP_DISAGG_HEAD_MAX 96u /* octets before a restored message's payload, at most */

/* An aggregate that was judged: all that restoring its messages needs. */
struct bp_disagg_packet {
	const uint8_t *payload; /* UDP payload of the aggregate, in the frame that was given */
	uint8_t rule;
	uint8_t count;
	uint16_t head_len; /* of a restored frame, up to its payload */
	uint64_t head_sum; /* what is the same in all: of the pseudo header and UDP header */
	uint64_t ip_sum;
	uint8_t head[BP_DISAGG_HEAD_MAX]; /* of the first message; IPv4 or IPv6 and UDP inside */
	uint8_t family;
	uint8_t ip_at; /* where the IP header begins */
	struct bp_agg_message message[BP_AGG_FULL_MOST];
};

struct bp_disaggregator_options {
	uint32_t streams;              /* received streams that are remembered */
	struct bp_disagg_stats *stats; /* BP_AGG_RULES_MAX of them */
	uint64_t seed;
};

struct bp_disaggregator *bp_disaggregator_new(const struct bp_disaggregator_options *o);
void bp_disaggregator_free(struct bp_disaggregator *d);
/* New rules: forgets the streams, clears the statistics. */
void bp_disaggregator_set_rules(struct bp_disaggregator *d, const struct bp_agg_rules *rules);
bool bp_disaggregator_wants(const struct bp_disaggregator *d, unsigned port);

/*
 * Judges a frame (frame[0..len), contiguous; frame_len more than len: in several pieces, which can
 * be no aggregate). With SPLIT, *out is written and stays true as long as `frame` is; with REFUSED
 * *why; *rule with all but OTHER. Counts in the statistics and in the stream's sequence numbers.
 */
enum bp_disagg_verdict bp_disaggregator_read(struct bp_disaggregator *d, const uint8_t *frame,
	uint32_t len, uint32_t frame_len, unsigned port, bool routed, uint64_t mac,
	struct bp_disagg_packet *out, uint8_t *rule, enum bp_disagg_refusal *why);

/* Octets of the frame of message i. */
static inline uint32_t bp_disagg_frame_len(const struct bp_disagg_packet *p, unsigned i)
{
	return p->head_len + (uint32_t)p->message[i].len;
}
/* Writes that frame, of bp_disagg_frame_len() octets, with right checksums. `id`: IPv4
 * identification, used without Don't Fragment. */
void bp_disagg_write(const struct bp_disagg_packet *p, unsigned i, uint16_t id, uint8_t *to);

#endif
