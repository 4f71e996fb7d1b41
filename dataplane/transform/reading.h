/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_TRANSFORM_READING_H
#define BP_DATAPLANE_TRANSFORM_READING_H

#include <stdbool.h>
#include <stdint.h>

#include "services/aggregation/datagram.h"
#include "services/aggregation/match.h"
#include "shm/transform/transform.h"

/*
 * Readings in frames: whether a datagram can be taken, and what its receivers' headers need of it.
 * No mbufs here.
 */

/* What is told of a datagram that a rule is for. */
enum bp_reading_verdict {
	BP_READING_TAKEN,
	BP_READING_LENGTH,   /* lengths contradict each other, or are less than the layout's */
	BP_READING_CHECKSUM, /* of the IPv4 header or of UDP; none, with IPv6 */
	BP_READING_SHAPE,    /* a first fragment, or behind extension headers */
	BP_READING_SOURCE,   /* an address, IP or MAC, that no sender can have */
	BP_READING_VERDICTS,
};

/* Written at one go. */
struct bp_reading_kind {
	uint16_t l3, l4; /* offsets of the IP and the UDP header */
	uint8_t family;
	uint8_t rule;
	uint8_t unused[2];
};

struct bp_reading {
	uint8_t *frame;   /* Ethernet header */
	uint64_t from[2]; /* the source, as bp_transform_words() has it */
	/* Sum, in the machine's byte order, of all that the UDP checksum covers but the layout's
	 * outputs and the checksum itself. */
	uint64_t rest;
	struct bp_reading_kind kind;
};

static inline uint8_t *bp_reading_payload(const struct bp_reading *r)
{
	return r->frame + r->kind.l4 + BP_UDP_HDR;
}

/* Four octets as a part of a sum (bp_sum()). */
static inline uint64_t bp_reading_half(const uint8_t *p)
{
	uint32_t w;

	memcpy(&w, p, sizeof(w));
	return w;
}

/* The sum of the outputs of a payload as they lie there. */
static inline uint64_t bp_reading_outputs(
	const struct bp_transform_layout *l, const uint8_t *payload)
{
	uint64_t sum = 0;

	if (__builtin_expect(l->paper, 1)) {
		const unsigned at = l->out[0].offset;
		const uint8_t *p = payload + at;

		return bp_sum_moved(bp_sum_add(bp_sum_word(p), bp_reading_half(p + 8)), at);
	}
	for (unsigned i = 0; i < 3; i++) {
		const struct bp_transform_field *f = &l->out[i];

		sum = bp_sum_add(
			sum, bp_sum_moved(bp_sum(payload + f->offset,
						  f->type == BP_TRANSFORM_FLOAT64 ? 8 : 4, 0),
				     f->offset));
	}
	return sum;
}

/*
 * Looks for a datagram that the parser refuses but that would reach somebody as a reading all the
 * same: a first fragment of IPv4 or IPv6, or one behind extension headers. False: there is none, or
 * its UDP header is not in this frame. d's length says nothing.
 */
bool bp_reading_parse_hidden(
	const uint8_t *frame, uint32_t len, uint32_t frame_len, struct bp_datagram *d);

/* Judges a datagram, which lies in one piece or is refused. BP_READING_TAKEN: *r has everything but
 * `rule`. */
enum bp_reading_verdict bp_reading_judge(
	const struct bp_datagram *d, const struct bp_transform_layout *l, struct bp_reading *r);

/* Whether a reading's datagram can go back to its sender: it was sent to an address that can send,
 * and its TTL or hop limit is not used up. */
bool bp_reading_answerable(const struct bp_reading *r);

#endif
