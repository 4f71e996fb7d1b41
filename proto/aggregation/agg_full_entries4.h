/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_AGGREGATION_AGG_FULL_ENTRIES4_H
#define BP_PROTO_AGGREGATION_AGG_FULL_ENTRIES4_H

#include "proto/aggregation/agg_full.h"
#include "proto/net/crc32c.h"
#include "proto/net/vec16.h"

/*
 * Reads the directory of an aggregate of IPv4 entry by entry, for a caller that processes each
 * message immediately. It checks the same as bp_agg_full_read(), which also reports the error.
 *
 * Most entries have the flags of the one before, and only port and address. Such an entry is read
 * with one load; the start of the next one is then known from a predicted branch, instead of the
 * flags and a table lookup.
 */
struct bp_agg_full_entries4 {
	const uint8_t *end;           /* of the directory */
	uint32_t same_template_flags; /* flags of such an entry; BP_AGG_FULL_NO_SAME_TEMPLATE: none
					 is */
	uint32_t bytes;               /* of the entry */
	bp_v16 pick;  /* index of each byte of the piece in the last bytes of the entry */
	bp_v16 keep;  /* all ones where the entry has no byte */
	uint32_t len; /* of the message, and of the following ones with the same length */
	uint8_t hops;
};

/*
 * Fields that change for each message, separate so that they stay in registers. `piece` is the part
 * of the head that entries change: bytes 10 to 25 from the IPv4 header on, which are its checksum,
 * source, destination, both ports and UDP length. The caller sets all of it except source and
 * source port.
 */
struct bp_agg_full_at4 {
	const uint8_t *p; /* in the directory */
	bp_v16 piece;
};

#define BP_AGG_FULL_PIECE4 10u

#define BP_AGG_FULL_NO_SAME_TEMPLATE 0x100u

enum bp_agg_full_entry {
	BP_AGG_FULL_BAD,
	BP_AGG_FULL_SENDER, /* length and hops are as before */
	BP_AGG_FULL_ALL,
};

/* Size of an entry in bytes, by its flags; 0: invalid flags. */
extern const uint8_t bp_agg_full_entry_len4[256];
/* By the number of port and address bytes in an entry: bp_agg_full_entries4.pick, for the last
 * eight bytes of the entry. */
extern const bp_v16 bp_agg_full_pick4[3][5];

/*
 * Begins with the UDP payload p[0..len). False: it is damaged or not such an aggregate; or its
 * messages have no payload, which is not supported here. bp_agg_full_entries4_next() may be called
 * until it returns BAD; after p[BP_AGG_FULL_AT_COUNT] calls, at least 1, `at` must be at the end.
 */
static inline bool bp_agg_full_entries4_begin(
	struct bp_agg_full_entries4 *x, struct bp_agg_full_at4 *at, const uint8_t *p, unsigned len)
{
	unsigned directory, flags;
	uint32_t crc;

	if (len <= BP_AGG_FULL_HEADER ||
		bp_be32(p) >> 8 != (BP_AGG_FULL_MAGIC << 8 | BP_AGG_FULL_VERSION << 4 | 4))
		return false;
	directory = bp_be16(p + BP_AGG_FULL_AT_DIRECTORY);
	/* one byte after the directory is readable, as the flags of a further entry */
	if (directory >= len - BP_AGG_FULL_HEADER)
		return false;
	crc = bp_crc32c(BP_CRC32C_INIT, p, BP_AGG_FULL_AT_CHECKSUM);
	crc = ~bp_crc32c(crc, p + BP_AGG_FULL_HEADER, directory);
	flags = p[BP_AGG_FULL_HEADER];
	if (crc != bp_be32(p + BP_AGG_FULL_AT_CHECKSUM) || flags >> BP_AGG_FULL_LENGTH_SHIFT == 0 ||
		(flags & 0x3f) != (BP_AGG_FULL_HOPS | 2 << BP_AGG_FULL_PORT_SHIFT | 4))
		return false;
	x->end = p + BP_AGG_FULL_HEADER + directory;
	x->same_template_flags = BP_AGG_FULL_NO_SAME_TEMPLATE;
	at->p = p + BP_AGG_FULL_HEADER;
	return true;
}

/* Reads the fields of an entry that differs in kind from the one before. */
static inline enum bp_agg_full_entry bp_agg_full_entries4_check(
	struct bp_agg_full_entries4 *x, const uint8_t *p)
{
	const unsigned flags = *p++;
	const unsigned length = flags >> BP_AGG_FULL_LENGTH_SHIFT;
	const unsigned port = flags >> BP_AGG_FULL_PORT_SHIFT & 3;
	const unsigned address = flags & BP_AGG_FULL_ADDRESS;

	x->bytes = bp_agg_full_entry_len4[flags];
	if (x->bytes == 0 || x->bytes > x->end - p + 1)
		return BP_AGG_FULL_BAD;
	if (length != 0)
		x->len = length == 1 ? *p : bp_be16(p);
	if (flags & BP_AGG_FULL_HOPS)
		x->hops = p[length];
	x->pick = bp_agg_full_pick4[port][address];
	x->keep = (bp_v16)(x->pick > 127);
	x->same_template_flags = length == 0 && (flags & BP_AGG_FULL_HOPS) == 0
					 ? flags
					 : BP_AGG_FULL_NO_SAME_TEMPLATE;
	return x->same_template_flags == flags ? BP_AGG_FULL_SENDER : BP_AGG_FULL_ALL;
}

static inline __attribute__((always_inline)) enum bp_agg_full_entry bp_agg_full_entries4_next(
	struct bp_agg_full_entries4 *x, struct bp_agg_full_at4 *at)
{
	enum bp_agg_full_entry e = BP_AGG_FULL_SENDER;

	if (__builtin_expect(*at->p != x->same_template_flags, 0)) {
		e = bp_agg_full_entries4_check(x, at->p);
		if (e == BP_AGG_FULL_BAD)
			return e;
	}
	at->p += x->bytes;
	if (at->p > x->end)
		return BP_AGG_FULL_BAD;
	/* in front of the first lies the header, so that eight can always be read */
	at->piece = (at->piece & x->keep) | bp_v16_pick(bp_v16_load_half(at->p - 8), x->pick);
	return e;
}

#endif
