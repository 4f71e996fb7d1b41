/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_AGG_RESTORE_H
#define BP_AGG_RESTORE_H

#include <stdbool.h>
#include <stdint.h>

#include "agg/datagram.h"
#include "proto/agg_full.h"

/*
 * The frames of the messages of an aggregate. What they have in common is prepared once: the octets
 * in front of the payload, and the sums of what does not differ. A message is then a copy with few
 * octets changed.
 */

/* Octets before a restored message's payload, at most: the paper's flag header is among them. */
#define BP_DISAGG_HEAD_MAX 96u

/* An aggregate that was judged: all that restoring its messages needs. */
struct bp_disagg_packet {
	const uint8_t *payload; /* UDP payload of the aggregate, in the frame that was given */
	uint8_t rule;
	uint8_t count;      /* messages, at least 1 */
	uint8_t family;     /* 4 or 6 */
	uint8_t ip_at;      /* where in the frame the IP header begins */
	uint16_t head_len;  /* octets of a restored frame up to its payload */
	uint32_t frame_len; /* of the aggregate's frame */
	uint16_t id_mask;   /* 0 with Don't Fragment: no identification then (RFC 6864) */
	/* Sums over what is the same in all (bp_sum(), not folded). */
	uint64_t ip_sum;   /* of the IPv4 header */
	uint64_t head_sum; /* of what the UDP checksum covers in front of the payload */
	/* Of a frame; 0 where messages differ. */
	uint8_t head[BP_DISAGG_HEAD_MAX];
	/* Where each payload lies in `payload`, and who sent it. */
	struct bp_agg_message message[BP_AGG_FULL_MOST];
};

/*
 * Writes what is the same in all messages of the aggregate in datagram `d`: Ethernet header with
 * tags, destination, TOS octet and Don't Fragment are its own. `in_front`: octets that stand in
 * each message's UDP payload before what p->message[] names, an even number of up to 6.
 */
void bp_disagg_prepare(struct bp_disagg_packet *p, const struct bp_datagram *d,
	const uint8_t *in_front, unsigned n_in_front);

/* Octets of the frame of message i. */
static inline uint32_t bp_disagg_frame_len(const struct bp_disagg_packet *p, unsigned i)
{
	return p->head_len + (uint32_t)p->message[i].len;
}
/* Writes that frame, of bp_disagg_frame_len() octets, with right checksums. `id`: IPv4
 * identification, used without Don't Fragment. */
void bp_disagg_write(const struct bp_disagg_packet *p, unsigned i, uint16_t id, uint8_t *to);

#endif
