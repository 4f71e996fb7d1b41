/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_AGGREGATION_AGGREGATOR_BURST_H
#define BP_SERVICES_AGGREGATION_AGGREGATOR_BURST_H

#include "services/aggregation/aggregator_check.h"

/* A burst of several streams, on its way through aggregator_take.c, aggregator_stage.c and
 * aggregator_append.c. */

#define BP_AGGREGATOR_BURST 64u

/* Of each usual message that waits to be placed: */
struct bp_aggregator_burst {
	uint64_t usual[BP_AGGREGATOR_BURST]; /* bp_agg_key_usual() */
	uint32_t sum[BP_AGGREGATOR_BURST];   /* of the payload; format paper: unless it is asked for
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
	uint64_t odd;                 /* a bit for each that is no usual message */
	uint64_t general;             /* and of those, for each that the general way does */
	uint64_t taken, taken_octets; /* of rule `rule`, and not in the aggregator's sums yet */
	bool stages;                  /* it may be staged, and there are records for all */
	unsigned n, at;               /* at: of in[0] in the whole burst */
	unsigned guessed;             /* s[0..guessed) are written */
	unsigned unlike;              /* the last that was read one by one; n: none */
	struct bp_aggregator_message message[BP_AGGREGATOR_BURST]; /* of the general way */
};

/* Of a frame of the usual shape. */
#define AT_IP BP_ETHER_HDR
#define AT_UDP (BP_ETHER_HDR + BP_IP4_HDR)
#define AT_PAYLOAD (AT_UDP + BP_UDP_HDR)

/* Of a message: octets of its payload << 8, and of its frame beyond the least << 16. A hop limit
 * fits below. UNSTAGED: it is too long to be staged. */
#define BP_AGGREGATOR_UNSTAGED UINT32_MAX

static inline uint32_t bp_aggregator_shape(uint32_t frame_len, unsigned len)
{
	const uint32_t more = frame_len - bp_agg_least(len);

	return len <= BP_AGG_STAGE_PAYLOAD && more <= UINT16_MAX ? len << 8 | more << 16
								 : BP_AGGREGATOR_UNSTAGED;
}

/* Looks for the streams of the messages up to `until`, which were read, and fetches them. */
static inline __attribute__((always_inline)) void bp_aggregator_many_guess(
	struct bp_aggregator_burst *k, unsigned until)
{
	for (; k->guessed < until; k->guessed++) {
		const unsigned i = k->guessed;

		if (__builtin_expect(((k->odd ^ k->general) >> i & 1) != 0, 0))
			continue;
		k->s[i] = bp_agg_streams_guess(&k->a->streams, k->hash[i]);
		__builtin_prefetch(k->s[i], 1);
	}
}

/* Stages messages, as far as that goes, and places the others. */
void bp_aggregator_many_stage(struct bp_aggregator_burst *k);
/* Puts all into aggregates, or those for a rule alone where others are among them. */
void bp_aggregator_append_burst(struct bp_aggregator_burst *k);
/* Places a message, whatever it is. */
void bp_aggregator_many_place(struct bp_aggregator_burst *k, unsigned i);
/* Enters what was taken, before anything else does so. */
void bp_aggregator_many_enter(struct bp_aggregator_burst *k);

#endif
