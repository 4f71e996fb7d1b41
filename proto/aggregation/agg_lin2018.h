/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_AGGREGATION_AGG_LIN2018_H
#define BP_PROTO_AGGREGATION_AGG_LIN2018_H

#include <stddef.h>
#include <stdint.h>

/*
 * The aggregation format of Lin et al., "The SDN Approach for the Aggregation/Disaggregation of
 * Sensor Data" (2018), section 3 and Figure 6, as a UDP payload: a flag header of six bytes, of
 * which the first is the type, and messages of 16 bytes each. It has no message count: the UDP
 * length determines it. docs/reference/aggregation-format.md specifies it byte by byte.
 *
 * The caller that finds the payload checks that the UDP length matches the IP header.
 */
#define BP_AGG_LIN2018_MESSAGE 0xfa /* type: one message, as a sensor sends it */
#define BP_AGG_LIN2018_PACKET 0xfc  /* type: an N-packet */

#define BP_AGG_LIN2018_HEADER 6u
#define BP_AGG_LIN2018_MESSAGE_LEN 16u
/* Bytes of a UDP payload that holds `n_` messages. */
#define BP_AGG_LIN2018_LEN(n_) (BP_AGG_LIN2018_HEADER + BP_AGG_LIN2018_MESSAGE_LEN * (n_))

struct bp_agg_lin2018 {
	const uint8_t *messages; /* count times BP_AGG_LIN2018_MESSAGE_LEN bytes, in the input */
	uint16_t count;          /* at least 1 */
	uint8_t type;            /* BP_AGG_LIN2018_MESSAGE (count is 1) or BP_AGG_LIN2018_PACKET */
};

enum bp_agg_lin2018_error {
	BP_AGG_LIN2018_OK,
	BP_AGG_LIN2018_E_SHORT,  /* ends within the flag header */
	BP_AGG_LIN2018_E_TYPE,   /* neither 0xfa nor 0xfc */
	BP_AGG_LIN2018_E_EMPTY,  /* a flag header without messages */
	BP_AGG_LIN2018_E_LENGTH, /* the last message is cut, or bytes follow it */
	BP_AGG_LIN2018_E_SINGLE, /* type 0xfa with more than one message */
	BP_AGG_LIN2018_E_MANY    /* more messages than the caller allows */
};

/*
 * Checks the UDP payload p[0..len), of at most `most` messages (N). The padding may have any
 * content: the paper does not specify it. *out is written with OK only.
 */
enum bp_agg_lin2018_error bp_agg_lin2018_read(
	const uint8_t *p, size_t len, unsigned most, struct bp_agg_lin2018 *out);

/* Number of messages in a UDP payload of `room` bytes: 91 for IPv4 and an MTU of 1500. */
static inline unsigned bp_agg_lin2018_max_messages(unsigned room)
{
	return room < BP_AGG_LIN2018_HEADER
		       ? 0
		       : (room - BP_AGG_LIN2018_HEADER) / BP_AGG_LIN2018_MESSAGE_LEN;
}

/* Writes the flag header, with a padding of zeros, to p[0..BP_AGG_LIN2018_HEADER). */
static inline void bp_agg_lin2018_put_header(uint8_t *p, uint8_t type)
{
	p[0] = type;
	for (unsigned i = 1; i < BP_AGG_LIN2018_HEADER; i++)
		p[i] = 0;
}

/*
 * Writes message `i` (from 0) of a payload at p, which has at least BP_AGG_LIN2018_LEN(i + 1)
 * bytes. Only the messages are written: header and messages in any order.
 */
static inline void bp_agg_lin2018_put(
	uint8_t *p, unsigned i, const uint8_t message[BP_AGG_LIN2018_MESSAGE_LEN])
{
	__builtin_memcpy(p + BP_AGG_LIN2018_LEN(i), message, BP_AGG_LIN2018_MESSAGE_LEN);
}

#endif
