/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_AGG_FULL_ALIKE_H
#define BP_PROTO_AGG_FULL_ALIKE_H

#include "proto/agg_full.h"

/*
 * Appends messages of IPv4 that are as long and have as many hops to go as the one before. Their
 * entries have port and address alone, six octets at most, and are put together in a register. The
 * writer's state is in registers too, between begin and end.
 */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "written for little-endian machines");

#define BP_AGG_FULL_ALIKE_ENTRY 7u

struct bp_agg_full_alike {
	uint8_t *entries, *payloads;
	unsigned directory, length; /* octets of the directory; of it and the payloads */
	int directory_most, most;   /* with so many there is room for another */
	uint32_t addr, port;        /* of the message before; network byte order */
};

/* The writer holds a message. */
static inline void bp_agg_full_alike_begin(
	struct bp_agg_full_alike *x, const struct bp_agg_full_writer *w)
{
	x->entries = w->buf + BP_AGG_FULL_HEADER;
	x->payloads = w->buf + w->front + w->payloads;
	x->directory = w->directory;
	x->length = (unsigned)w->directory + w->payloads;
	x->directory_most = (int)w->front - (int)(BP_AGG_FULL_HEADER + BP_AGG_FULL_ENTRY4);
	x->most = (int)w->size - (int)(BP_AGG_FULL_HEADER + BP_AGG_FULL_ALIKE_ENTRY + w->last_len);
	memcpy(&x->addr, w->last_addr, 4);
	x->port = __builtin_bswap16(w->last_port);
}

/* Whether there surely is room for another message. */
static inline bool bp_agg_full_alike_fits(const struct bp_agg_full_alike *x)
{
	return (int)x->directory <= x->directory_most && (int)x->length <= x->most;
}

/* How many bits of the last octets two numbers in host byte order differ in, by whole octets. */
static inline unsigned bp_agg_full_differ_bits(uint32_t x)
{
	return (70 - (unsigned)__builtin_clzll(2 * (uint64_t)x + 1)) & ~7u;
}

/* Address and port in network byte order. There must be room. */
static inline void bp_agg_full_alike_append(struct bp_agg_full_alike *x, uint32_t addr,
	uint32_t port, const uint8_t *payload, unsigned len)
{
	const unsigned address = bp_agg_full_differ_bits(__builtin_bswap32(addr ^ x->addr));
	const unsigned ports = bp_agg_full_differ_bits(__builtin_bswap32(port ^ x->port) >> 16);
	/* octets of the address behind those of the port behind the flags; ports, in bits, is
	 * where the flags have it, in octets */
	const uint64_t fields = ((uint64_t)addr >> (32 - address)) << ports | port >> (16 - ports);
	const uint64_t entry = fields << 8 | ports | address >> 3;
	const unsigned octets = 1 + ((ports + address) >> 3);

	memcpy(x->entries + x->directory, &entry, 8);
	bp_copy(x->payloads, payload, len);
	x->payloads += len;
	x->directory += octets;
	x->length += octets + len;
	x->addr = addr;
	x->port = port;
}

/* `n`: messages that were appended. */
static inline void bp_agg_full_alike_end(
	struct bp_agg_full_writer *w, const struct bp_agg_full_alike *x, unsigned n)
{
	w->directory = (uint16_t)x->directory;
	w->payloads = (uint16_t)(x->length - x->directory);
	w->count = (uint8_t)(w->count + n);
	memcpy(w->last_addr, &x->addr, 4);
	w->last_port = __builtin_bswap16((uint16_t)x->port);
}

#endif
