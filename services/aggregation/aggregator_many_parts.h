/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_AGGREGATION_AGGREGATOR_MANY_PARTS_H
#define BP_SERVICES_AGGREGATION_AGGREGATOR_MANY_PARTS_H

#include "services/aggregation/aggregator_judge.h"
#include "services/aggregation/aggregator_message.h"

/* What the steps of a burst of several streams share (aggregator_many.c). */

#define BP_AGGREGATOR_BURST 64u

/* A burst of several streams. Of each usual message that waits to be placed: */
struct bp_aggregator_burst {
	uint64_t usual[BP_AGGREGATOR_BURST]; /* bp_agg_key_usual() */
	uint32_t sum[BP_AGGREGATOR_BURST];   /* of the payload; format paper: unless it is asked for
						again */
	uint32_t hash[BP_AGGREGATOR_BURST];
	uint16_t len[BP_AGGREGATOR_BURST]; /* of the payload */
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

/* Whether four messages, which are alike, are all for the rule of those before. */
static inline __attribute__((always_inline)) bool bp_aggregator_many_for_rule(
	const struct bp_aggregator *a, const struct bp_agg_input *in)
{
	if (__builtin_expect(a->many.sure, 1))
		return true;
	for (unsigned q = 0; q < 4; q++) {
		uint64_t to[2];

		bp_agg_match_words(4, in[q].frame + AT_IP + BP_IP4_DST, to);
		if (bp_agg_match_find(&a->match, in[q].port, 4, to,
			    bp_be16(in[q].frame + AT_UDP + 2)) != a->many.rule)
			return false;
	}
	return true;
}

/* Reads all of them: sums, keys, and which are odd; fetches the slots of their streams, and looks
 * for the first of these. */
void bp_aggregator_many_read(struct bp_aggregator_burst *k);
/* Next time, messages are to be like this one, of the usual shape. */
void bp_aggregator_many_note(
	struct bp_aggregator *a, const struct bp_agg_input *in, uint64_t usual, unsigned len);

/* Stages messages, as far as that goes, and places the others. */
void bp_aggregator_many_stage(struct bp_aggregator_burst *k);
/* Places a message, whatever it is. */
void bp_aggregator_many_place(struct bp_aggregator_burst *k, unsigned i);
/* Enters what was taken, before anything else does so. */
void bp_aggregator_many_enter(struct bp_aggregator_burst *k);

#endif
