/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_AGGREGATION_RESTORE_H
#define BP_SERVICES_AGGREGATION_RESTORE_H

#include <stdbool.h>
#include <stdint.h>

#include "services/aggregation/datagram.h"
#include "proto/agg_full.h"
#include "proto/agg_paper.h"

/*
 * The frames of the messages of an aggregate: its Ethernet header, an IP and a UDP header of their
 * own, and the payload.
 */

/* An aggregate that was judged: all that restoring its messages needs. */
struct bp_disagg_packet {
	struct bp_datagram datagram; /* the aggregate, in the frame that was given */
	const uint8_t *payload;      /* its UDP payload */
	uint8_t rule;
	uint8_t count;    /* messages, at least 1 */
	uint8_t ip_at;    /* where in a restored frame the IP header begins */
	uint8_t head_len; /* octets of a restored frame up to what message[] names */
	bool flagged;     /* `flag` stands in each UDP payload before what message[] names */
	uint8_t flag[BP_AGG_PAPER_HEADER];
	/* Where each payload lies in `payload`, and who sent it. */
	struct bp_agg_message message[BP_AGG_FULL_MOST];
};

/*
 * Notes what is the same in all messages of the aggregate in datagram `d`: Ethernet header with
 * tags, destination, TOS octet and Don't Fragment are its own. `flag`: BP_AGG_PAPER_HEADER octets
 * that stand in each message's UDP payload before what p->message[] names; NULL: none.
 */
void bp_disagg_prepare(
	struct bp_disagg_packet *p, const struct bp_datagram *d, const uint8_t *flag);

/* Octets of the frame of message i. */
static inline uint32_t bp_disagg_frame_len(const struct bp_disagg_packet *p, unsigned i)
{
	return p->head_len + (uint32_t)p->message[i].len;
}

/*
 * Writes the frames of messages first .. first + n - 1, each of bp_disagg_frame_len() octets, with
 * right checksums, to to[0..n). `id`: IPv4 identification of the first one, the next one's is one
 * more; used without Don't Fragment (RFC 6864).
 */
void bp_disagg_write(const struct bp_disagg_packet *p, unsigned first, unsigned n, uint16_t id,
	uint8_t *const to[]);

#endif
