/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_AGG_FULL_ENTRIES4_H
#define BP_PROTO_AGG_FULL_ENTRIES4_H

#include "proto/agg_full.h"
#include "proto/crc32c.h"

/*
 * Reads the directory of an aggregate of IPv4 entry by entry, for who does something with each
 * message at once. Judged is what bp_agg_full_read() judges, which alone says what is wrong.
 *
 * Most entries have the flags of the one before, and nothing but port and address. Such an entry is
 * taken from one load; and where the next one begins is then known by a branch that is foreseen,
 * instead of by way of the flags and a table.
 */
struct bp_agg_full_entries4 {
	const uint8_t *at, *end;     /* of the directory */
	uint32_t alike;              /* flags of such an entry; BP_AGG_FULL_NONE_ALIKE: none is */
	uint32_t octets;             /* of it */
	uint32_t new_addr, new_port; /* bits of both that are in it */
	uint32_t port_at;            /* bits behind the port in it */
	/* of the message; numbers */
	uint32_t addr, port, len;
	uint8_t hops;
};

#define BP_AGG_FULL_NONE_ALIKE 0x100u

enum bp_agg_full_entry {
	BP_AGG_FULL_BAD,
	BP_AGG_FULL_SENDER, /* length and hops are as before */
	BP_AGG_FULL_ALL,
};

/* Octets of an entry by its flags; 0: they mean nothing. */
extern const uint8_t bp_agg_full_entry_len4[256];

/*
 * Begins with the UDP payload p[0..len). False: it is damaged or no such aggregate; or its messages
 * have no payload, which is not read here. bp_agg_full_entries4_next() may be called until it says
 * BAD; after as many as p[BP_AGG_FULL_AT_COUNT] says, at least 1, `at` must be `end`.
 */
static inline bool bp_agg_full_entries4_begin(
	struct bp_agg_full_entries4 *x, const uint8_t *p, unsigned len)
{
	unsigned directory, flags;
	uint32_t crc;

	if (len <= BP_AGG_FULL_HEADER + 1 ||
		bp_be32(p) >> 8 != (BP_AGG_FULL_MAGIC << 8 | BP_AGG_FULL_VERSION << 4 | 4))
		return false;
	directory = bp_be16(p + BP_AGG_FULL_AT_DIRECTORY);
	/* one octet behind the directory can be read, for what would be another entry's flags */
	if (directory >= len - BP_AGG_FULL_HEADER)
		return false;
	crc = bp_crc32c(BP_CRC32C_INIT, p, BP_AGG_FULL_AT_CHECKSUM);
	crc = ~bp_crc32c(crc, p + BP_AGG_FULL_HEADER, directory);
	flags = p[BP_AGG_FULL_HEADER];
	if (crc != bp_be32(p + BP_AGG_FULL_AT_CHECKSUM) || flags >> BP_AGG_FULL_LENGTH_SHIFT == 0 ||
		(flags & 0x3f) != (BP_AGG_FULL_HOPS | 2 << BP_AGG_FULL_PORT_SHIFT | 4))
		return false;
	x->at = p + BP_AGG_FULL_HEADER;
	x->end = x->at + directory;
	x->alike = BP_AGG_FULL_NONE_ALIKE;
	x->addr = x->port = 0;
	return true;
}

/* The sender, from the last octets of an entry that ends at `at`. In front of the first lies the
 * header, so that eight can always be read. */
static inline void bp_agg_full_entries4_sender(struct bp_agg_full_entries4 *x)
{
	uint64_t fields;

	memcpy(&fields, x->at - 8, 8);
	fields = __builtin_bswap64(fields);
	x->addr ^= (x->addr ^ (uint32_t)fields) & x->new_addr;
	x->port ^= (x->port ^ (uint32_t)(fields >> x->port_at)) & x->new_port;
}

static inline enum bp_agg_full_entry bp_agg_full_entries4_other(
	struct bp_agg_full_entries4 *x, unsigned flags)
{
	const unsigned length = flags >> BP_AGG_FULL_LENGTH_SHIFT;
	const unsigned port = flags >> BP_AGG_FULL_PORT_SHIFT & 3;
	const unsigned address = flags & BP_AGG_FULL_ADDRESS;
	const uint8_t *p = x->at + 1;

	x->octets = bp_agg_full_entry_len4[flags];
	if (x->octets == 0 || x->octets > x->end - x->at)
		return BP_AGG_FULL_BAD;
	if (length != 0)
		x->len = length == 1 ? *p : bp_be16(p);
	if (flags & BP_AGG_FULL_HOPS)
		x->hops = p[length];
	x->new_addr = (uint32_t)((1ull << 8 * address) - 1);
	x->new_port = (1u << 8 * port) - 1;
	x->port_at = 8 * address;
	x->at += x->octets;
	bp_agg_full_entries4_sender(x);
	if (length == 0 && (flags & BP_AGG_FULL_HOPS) == 0) {
		x->alike = flags;
		return BP_AGG_FULL_SENDER;
	}
	x->alike = BP_AGG_FULL_NONE_ALIKE;
	return BP_AGG_FULL_ALL;
}

static inline __attribute__((always_inline)) enum bp_agg_full_entry bp_agg_full_entries4_next(
	struct bp_agg_full_entries4 *x)
{
	const unsigned flags = *x->at;

	if (__builtin_expect(flags != x->alike, 0))
		return bp_agg_full_entries4_other(x, flags);
	if (x->octets > x->end - x->at)
		return BP_AGG_FULL_BAD;
	x->at += x->octets;
	bp_agg_full_entries4_sender(x);
	return BP_AGG_FULL_SENDER;
}

#endif
