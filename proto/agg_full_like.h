/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_AGG_FULL_LIKE_H
#define BP_PROTO_AGG_FULL_LIKE_H

#include "proto/agg_full.h"

/*
 * Appends one message of IPv4 that is as long and has as many hops to go as the one before, to an
 * aggregate that was not touched for long: its state is read and written in as few pieces as can
 * be.
 */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "written for little-endian machines");
_Static_assert(offsetof(struct bp_agg_full_writer, payloads) ==
			       offsetof(struct bp_agg_full_writer, directory) + 2 &&
		       offsetof(struct bp_agg_full_writer, last_len) ==
			       offsetof(struct bp_agg_full_writer, directory) + 4 &&
		       offsetof(struct bp_agg_full_writer, count) ==
			       offsetof(struct bp_agg_full_writer, directory) + 6 &&
		       offsetof(struct bp_agg_full_writer, last_hops) ==
			       offsetof(struct bp_agg_full_writer, directory) + 7,
	"one word");

/* The length that no message has: where it is last_len, none is like the one before. */
#define BP_AGG_FULL_UNLIKE UINT16_MAX

/*
 * `addr` and `udp` lie in the frame. `sum` is the payload's bp_sum(), which is added to *all.
 * False, and nothing is changed: it is not like that, there may be no room, or there was none
 * before, as last_len says. The aggregate must hold fewer messages than it may.
 */
static inline __attribute__((always_inline)) bool bp_agg_full_append_like(
	struct bp_agg_full_writer *w, const uint8_t *addr, const uint8_t *udp, uint32_t hops,
	const uint8_t *payload, uint32_t len, uint64_t sum, uint64_t *all)
{
	uint32_t directory, payloads, port, from, before, ports_same, same, octets;
	uint64_t state, entry;
	uint16_t sport;

	memcpy(&state, &w->directory, sizeof(state));
	if ((((uint32_t)(state >> 32) ^ (len | hops << 24)) & 0xff00ffff) != 0)
		return false;
	directory = (uint32_t)state & 0xffff;
	payloads = (uint32_t)state >> 16;
	/* an entry that is written at once may be longer than it is */
	if (BP_AGG_FULL_HEADER + 7 + directory + payloads + len > w->size ||
		BP_AGG_FULL_HEADER + BP_AGG_FULL_ENTRY4 + directory > w->front)
		return false;
	memcpy(&from, addr, 4);
	memcpy(&before, w->last_addr, 4);
	memcpy(&sport, udp, 2);
	port = sport;
	/* bits, by whole octets, that are as before */
	same = (uint32_t)__builtin_ctzll((from ^ before) | 1ull << 32) & ~7u;
	ports_same =
		(uint32_t)__builtin_ctz((port ^ __builtin_bswap16(w->last_port)) | 1u << 16) & ~7u;
	/* octets of the address behind those of the port behind the flags; ports, in bits, is
	 * where the flags have it, in octets */
	entry = (uint64_t)from >> same << (16 - ports_same) | port >> ports_same;
	entry = entry << 8 | (16 - ports_same) | (4 - same / 8);
	octets = (8 + 16 + 32 - ports_same - same) >> 3;
	memcpy(w->buf + BP_AGG_FULL_HEADER + directory, &entry, 8);
	bp_copy(w->buf + w->front + payloads, payload, len);
	*all = bp_sum_add(*all, bp_sum_moved(sum, payloads));
	state += octets | len << 16 | 1ull << 48;
	memcpy(&w->directory, &state, sizeof(state));
	w->last_port = (uint16_t)__builtin_bswap16(sport);
	memcpy(w->last_addr, &from, 4);
	return true;
}

/* Appends the first message of IPv4 to an aggregate that was begun, and has room for it. */
static inline void bp_agg_full_first4(struct bp_agg_full_writer *w, const uint8_t *addr,
	uint32_t port, uint32_t hops, const uint8_t *payload, uint32_t len)
{
	const unsigned how_long = len < 256 ? 1 : 2, entry = 1 + how_long + 1 + 2 + 4;
	uint8_t *p = w->buf + BP_AGG_FULL_HEADER;
	const uint64_t state =
		entry | len << 16 | (uint64_t)len << 32 | 1ull << 48 | (uint64_t)hops << 56;

	*p++ = (uint8_t)(how_long << BP_AGG_FULL_LENGTH_SHIFT | BP_AGG_FULL_HOPS |
			 2 << BP_AGG_FULL_PORT_SHIFT | 4);
	bp_put_be16(p, (uint16_t)(how_long == 1 ? len << 8 : len));
	p += how_long;
	*p++ = (uint8_t)hops;
	bp_put_be16(p, (uint16_t)port);
	memcpy(p + 2, addr, 4);
	bp_copy(w->buf + w->front, payload, len);
	memcpy(&w->directory, &state, sizeof(state));
	w->last_port = (uint16_t)port;
	memcpy(w->last_addr, addr, 4);
}

#endif
