/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_AGGREGATION_AGG_FULL_LIKE_H
#define BP_PROTO_AGGREGATION_AGG_FULL_LIKE_H

#include "proto/aggregation/agg_full_same_template.h"

/*
 * Appends one IPv4 message with the length and the remaining hops of the one before to an aggregate
 * that is not in the cache: its state is read and written with as few accesses as possible.
 */
_Static_assert(offsetof(struct bp_agg_full_writer, payloads) ==
			       offsetof(struct bp_agg_full_writer, directory) + 2 &&
		       offsetof(struct bp_agg_full_writer, last_len) ==
			       offsetof(struct bp_agg_full_writer, directory) + 4 &&
		       offsetof(struct bp_agg_full_writer, count) ==
			       offsetof(struct bp_agg_full_writer, directory) + 6 &&
		       offsetof(struct bp_agg_full_writer, last_hops) ==
			       offsetof(struct bp_agg_full_writer, directory) + 7,
	"one word");

/* A length that no message has: as last_len, it makes the next message different. */
#define BP_AGG_FULL_UNLIKE UINT16_MAX

/*
 * `from`: the source address of the message and 12 more bytes, of which two at offset 8 are its
 * port. `sum` is that of the payload, which is added to *all. False, and nothing is changed: length
 * or hops differ, it may not fit, or there was no message before, as last_len shows. The aggregate
 * must hold fewer messages than the maximum.
 */
static inline __attribute__((always_inline)) bool bp_agg_full_append_like(
	struct bp_agg_full_writer *w, const uint8_t *from, uint32_t hops, const uint8_t *payload,
	uint32_t len, uint32_t sum, uint64_t *all)
{
	const bp_v16 sender = bp_v16_load(from);
	uint32_t directory, payloads, addr, before;
	uint64_t state;
	uint16_t port;

	memcpy(&state, &w->directory, sizeof(state));
	if ((((uint32_t)(state >> 32) ^ (len | hops << 24)) & 0xff00ffff) != 0)
		return false;
	directory = (uint32_t)state & 0xffff;
	payloads = (uint32_t)state >> 16;
	/* the store may be longer than the entry */
	if (BP_AGG_FULL_HEADER + BP_AGG_FULL_SAME_TEMPLATE_ENTRY + directory + payloads + len >
			w->size ||
		BP_AGG_FULL_HEADER + BP_AGG_FULL_ENTRY4 + directory > w->front)
		return false;
	memcpy(&before, w->last_addr, 4);
	state += len << 16 | 1ull << 48;
	state += bp_agg_full_same_template_put(w->buf + BP_AGG_FULL_HEADER + directory, sender,
		(bp_v16)(bp_v4){before, 0, __builtin_bswap16(w->last_port), 0});
	bp_copy(w->buf + w->front + payloads, payload, len);
	/* other callers add unfolded sums: this may carry */
	*all = bp_sum_add(*all, (uint64_t)sum << 8 * (payloads & 1));
	memcpy(&w->directory, &state, sizeof(state));
	memcpy(&addr, from, 4);
	memcpy(&port, from + 8, 2);
	w->last_port = __builtin_bswap16(port);
	memcpy(w->last_addr, &addr, 4);
	return true;
}

/* Writes the entry of the first message of an aggregate, of IPv4; returns its size in bytes. */
static inline unsigned bp_agg_full_put_first4(
	uint8_t *p, const uint8_t *addr, uint32_t port, uint32_t hops, uint32_t len)
{
	const unsigned how_long = len < 256 ? 1 : 2;

	*p++ = (uint8_t)(how_long << BP_AGG_FULL_LENGTH_SHIFT | BP_AGG_FULL_HOPS |
			 2 << BP_AGG_FULL_PORT_SHIFT | 4);
	bp_put_be16(p, (uint16_t)(how_long == 1 ? len << 8 : len));
	p += how_long;
	*p++ = (uint8_t)hops;
	bp_put_be16(p, (uint16_t)port);
	memcpy(p + 2, addr, 4);
	return 1 + how_long + 1 + 2 + 4;
}

/* Appends the first IPv4 message to a new aggregate, in which it must fit. */
static inline void bp_agg_full_first4(struct bp_agg_full_writer *w, const uint8_t *addr,
	uint32_t port, uint32_t hops, const uint8_t *payload, uint32_t len)
{
	const unsigned entry =
		bp_agg_full_put_first4(w->buf + BP_AGG_FULL_HEADER, addr, port, hops, len);
	const uint64_t state =
		entry | len << 16 | (uint64_t)len << 32 | 1ull << 48 | (uint64_t)hops << 56;

	bp_copy(w->buf + w->front, payload, len);
	memcpy(&w->directory, &state, sizeof(state));
	w->last_port = (uint16_t)port;
	memcpy(w->last_addr, addr, 4);
}

#endif
