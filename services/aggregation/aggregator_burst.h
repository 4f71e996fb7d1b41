/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_AGGREGATION_AGGREGATOR_BURST_H
#define BP_SERVICES_AGGREGATION_AGGREGATOR_BURST_H

#include "services/aggregation/aggregator_check.h"

/* A burst of several streams, on its way through aggregator_take.c, aggregator_stage.c and
 * aggregator_append.c. */

#define BP_AGGREGATOR_BURST 64u

/* For each simple IPv4 message that waits to be placed: */
struct bp_aggregator_burst {
	uint64_t key4[BP_AGGREGATOR_BURST]; /* bp_agg_key4() */
	uint32_t sum[BP_AGGREGATOR_BURST]; /* of the payload; format lin2018: unless it is asked for
					      again */
	uint32_t hash[BP_AGGREGATOR_BURST];
	uint16_t len[BP_AGGREGATOR_BURST];   /* of the payload */
	uint32_t shape[BP_AGGREGATOR_BURST]; /* bp_aggregator_shape() */
	/* to be staged: a guess, staged[-1]: none is known; and the record's place */
	struct bp_agg_staged *g[BP_AGGREGATOR_BURST];
	uint32_t record[BP_AGGREGATOR_BURST];
	struct bp_agg_stream *s[BP_AGGREGATOR_BURST]; /* a guess; stream[-1]: none is known */
	struct bp_aggregator *a;
	struct bp_agg_input *in;
	uint64_t now_ns, wall_ns;
	uint64_t others;             /* a bit for each that is no such message */
	uint64_t general;            /* and of those, for each that the general path takes */
	uint64_t taken, taken_bytes; /* of rule `rule`, and not in the aggregator's sums yet */
	bool stages;                 /* it may be staged, and there are records for all */
	unsigned n, at;              /* at: of in[0] in the whole burst */
	unsigned predicted;          /* s[0..guessed) are written */
	unsigned sample;             /* the last message that was parsed individually; n: none */
	struct bp_aggregator_message message[BP_AGGREGATOR_BURST]; /* of the general way */
};

/* For an IPv4 frame without tags and options. */
#define AT_IP BP_ETHER_HDR
#define AT_UDP (BP_ETHER_HDR + BP_IP4_HDR)
#define AT_PAYLOAD (AT_UDP + BP_UDP_HDR)

/* The shape of a message: payload length in bytes << 8, and frame length in bytes beyond the
 * minimum << 16. A hop limit fits below. UNSTAGED: the message is too long for the staging area. */
#define BP_AGGREGATOR_UNSTAGED UINT32_MAX

static inline uint32_t bp_aggregator_shape(uint32_t frame_len, unsigned len)
{
	const uint32_t more = frame_len - bp_agg_min_len(len);

	return len <= BP_AGG_STAGE_PAYLOAD && more <= UINT16_MAX ? len << 8 | more << 16
								 : BP_AGGREGATOR_UNSTAGED;
}

/* Looks for the streams of the messages up to `until`, which were read, and fetches them. */
static inline __attribute__((always_inline)) void bp_aggregator_burst_find_streams(
	struct bp_aggregator_burst *k, unsigned until)
{
	for (; k->predicted < until; k->predicted++) {
		const unsigned i = k->predicted;

		if (__builtin_expect(((k->others ^ k->general) >> i & 1) != 0, 0))
			continue;
		k->s[i] = bp_agg_streams_predict(&k->a->streams, k->hash[i]);
		__builtin_prefetch(k->s[i], 1);
	}
}

/* Stages messages, as far as that goes, and places the others. */
void bp_aggregator_stage_burst(struct bp_aggregator_burst *k);
/* Puts all into aggregates, or those for a rule alone where others are among them. */
void bp_aggregator_append_burst(struct bp_aggregator_burst *k);
/* Places a message of any kind. */
void bp_aggregator_append_one(struct bp_aggregator_burst *k, unsigned i);
/* Enters what was taken, before anything else does so. */
void bp_aggregator_burst_settle(struct bp_aggregator_burst *k);

#endif
