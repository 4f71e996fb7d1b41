/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_AGG_ALIKE_H
#define BP_AGG_ALIKE_H

#include "agg/aggregator.h"
#include "agg/senders.h"
#include "proto/vec16.h"

/*
 * Messages that are alike: of one stream, as long and with as many hops to go, from one port and
 * one /8, and in frames of one length. What they have in common was judged with one of them; with
 * the others it is compared, and what is left are the checksums, the source port, and whether it is
 * one of the rule's senders, which is a comparison, too. Four are judged together.
 */

/* How payloads lie. */
enum bp_alike_kind {
	BP_ALIKE_NOTHING,
	BP_ALIKE_PAPER, /* format paper: flag header and message end octet 64 */
	BP_ALIKE_SHORT, /* within the first 48 octets */
	BP_ALIKE_LONG,
};

/* Octets of each frame that are read, however short its message is. */
#define BP_ALIKE_READS 48u

struct bp_alike {
	bp_v16 head[3], asked[3]; /* octets 0, 16 and 32 on of the one, and which of them count */
	bp_v16 payload;           /* which of the octets from 32 on are payload */
	bp_v16 last;              /* those of the last 16 octets that were not read before */
	bp_v4 ip, udp, sum;       /* to be added to the sums: of IP header, UDP, and payload */
	uint64_t lens, mac;       /* of the input */
	uint32_t end;             /* of the UDP payload, from the frame's first octet */
	uint16_t from;
	uint8_t kind; /* enum bp_alike_kind */
	uint8_t hops;
};

/*
 * Says in *x what is like the message in `in`, which was taken by a rule of these senders: usual as
 * bp_datagram_is_usual() has it, its payload of `len` octets. `paper`: the rule's format. False:
 * that can't be said, since too little of its frame can be read.
 */
bool bp_alike_set(struct bp_alike *x, const struct bp_agg_input *in, unsigned len, bool paper,
	const struct bp_agg_senders *senders);

/* Judges in[0..n): returns how many are so, from the first on. sum[0..n) may all be written; of
 * those that are so it is the bp_sum() of the payload, with format paper of the message without the
 * flag header. */
unsigned bp_alike_judge(
	const struct bp_alike *x, const struct bp_agg_input *in, unsigned n, uint32_t *sum);

#endif
