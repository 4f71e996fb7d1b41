/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/aggregation/agg_full.h"

#include "proto/aggregation/agg_full_entries4.h"
#include "proto/aggregation/agg_full_head.h"

static uint32_t checksum(const uint8_t *p, size_t directory)
{
	uint32_t crc = bp_crc32c(BP_CRC32C_INIT, p, BP_AGG_FULL_AT_CHECKSUM);

	return ~bp_crc32c(crc, p + BP_AGG_FULL_HEADER, directory);
}

/* memmove() to a higher address for mostly short lengths: all bytes are read before any is
 * written. */
static void move_up(uint8_t *to, const uint8_t *from, size_t n)
{
	uint8_t a[32], b[32];

	if (n <= 32) {
		bp_copy(to, from, n);
	} else if (n <= 64) {
		memcpy(a, from, 32);
		memcpy(b, from + n - 32, 32);
		memcpy(to, a, 32);
		memcpy(to + n - 32, b, 32);
	} else {
		memmove(to, from, n);
	}
}

uint8_t *bp_agg_full_end_summed(const struct bp_agg_full_writer *w, uint16_t stream,
	uint32_t sequence, size_t *len, uint64_t *sum)
{
	const uint8_t *directory = w->buf + BP_AGG_FULL_HEADER;
	struct bp_agg_full_head head;
	uint8_t *p;

	if (w->count == 0)
		return NULL;
	head = bp_agg_full_head_of(
		w->family, w->count, directory, w->directory, stream, sequence, sum);
	*len = bp_agg_full_len(w);
	p = w->buf + w->front - w->directory - BP_AGG_FULL_HEADER;
	move_up(p + BP_AGG_FULL_HEADER, directory, w->directory);
	bp_agg_full_put_head(p, &head);
	return p;
}

uint8_t *bp_agg_full_end(
	const struct bp_agg_full_writer *w, uint16_t stream, uint32_t sequence, size_t *len)
{
	uint64_t sum;

	return bp_agg_full_end_summed(w, stream, sequence, len, &sum);
}

/* Checks that precede the directory, and its length. */
static enum bp_agg_full_error check_header(
	const uint8_t *p, size_t len, unsigned family, unsigned *directory)
{
	if (!bp_agg_full_is(p, len))
		return BP_AGG_FULL_E_MAGIC;
	if (len > BP_AGG_FULL_AT_VERSION && p[BP_AGG_FULL_AT_VERSION] >> 4 != BP_AGG_FULL_VERSION)
		return BP_AGG_FULL_E_VERSION;
	if (len < BP_AGG_FULL_HEADER)
		return BP_AGG_FULL_E_SHORT;
	*directory = bp_be16(p + BP_AGG_FULL_AT_DIRECTORY);
	if (*directory > len - BP_AGG_FULL_HEADER)
		return BP_AGG_FULL_E_SHORT;
	if (bp_be32(p + BP_AGG_FULL_AT_CHECKSUM) != checksum(p, *directory))
		return BP_AGG_FULL_E_CHECKSUM;
	return (p[BP_AGG_FULL_AT_VERSION] & 0x0f) == family ? BP_AGG_FULL_OK : BP_AGG_FULL_E_FAMILY;
}

/*
 * Meaning of the flags of an entry, as a table: the loop over the directory depends only on the
 * length of an entry to find the next one.
 */
#define LEN(l_, h_, p_, address_)                                                                  \
	((l_) == 3 || (p_) == 3 ? 0 : (uint8_t)(1 + (l_) + (h_) + (p_) + (address_)))
#define LENS4(l_, h_, p_)                                                                          \
	LEN(l_, h_, p_, 0), LEN(l_, h_, p_, 1), LEN(l_, h_, p_, 2), LEN(l_, h_, p_, 3),            \
		LEN(l_, h_, p_, 4), 0, 0, 0
#define LENS6(l_, h_, p_)                                                                          \
	LEN(l_, h_, p_, 0), LEN(l_, h_, p_, 1), LEN(l_, h_, p_, 2), LEN(l_, h_, p_, 3),            \
		LEN(l_, h_, p_, 8), LEN(l_, h_, p_, 10), LEN(l_, h_, p_, 12), LEN(l_, h_, p_, 16)
#define OF_PORTS(lens_, l_, h_)                                                                    \
	lens_(l_, h_, 0), lens_(l_, h_, 1), lens_(l_, h_, 2), lens_(l_, h_, 3)
#define OF_HOPS(lens_, l_) OF_PORTS(lens_, l_, 0), OF_PORTS(lens_, l_, 1)
#define OF_ALL(lens_) OF_HOPS(lens_, 0), OF_HOPS(lens_, 1), OF_HOPS(lens_, 2), OF_HOPS(lens_, 3)
/* Size of an entry in bytes, by its flags; 0: invalid flags. */
const uint8_t bp_agg_full_entry_len4[256] = {OF_ALL(LENS4)};
static const uint8_t entry_len6[256] = {OF_ALL(LENS6)};

#define N 0x80
/* The bytes of the sender in the piece, by their index in the last eight bytes of an entry. */
#define PICK(p_, a_)                                                                               \
	{                                                                                          \
		N, N, (a_) > 3 ? 4 : N, (a_) > 2 ? 5 : N, (a_) > 1 ? 6 : N, (a_) > 0 ? 7 : N, N,   \
			N, N, N, (p_) > 1 ? 6 - (a_) : N, (p_) > 0 ? 7 - (a_) : N, N, N, N, N      \
	}
#define PICKS(p_)                                                                                  \
	{                                                                                          \
		PICK(p_, 0), PICK(p_, 1), PICK(p_, 2), PICK(p_, 3), PICK(p_, 4)                    \
	}
const bp_v16 bp_agg_full_pick4[3][5] = {PICKS(0), PICKS(1), PICKS(2)};

/* The bits of an address that follow, by their code; of IPv6 in two halves. */
static const uint32_t new_bits4[8] = {0, 0xff, 0xffff, 0xffffff, 0xffffffff};
static const uint64_t new_high6[8] = {0, 0, 0, 0, 0, 0xffff, 0xffffffff, UINT64_MAX};
static const uint64_t new_low6[8] = {
	0, 0xff, 0xffff, 0xffffff, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};

/* Whether the first entry has everything. */
static bool is_first(unsigned family, unsigned flags)
{
	return flags >> BP_AGG_FULL_LENGTH_SHIFT != 0 && (flags & BP_AGG_FULL_HOPS) != 0 &&
	       (flags >> BP_AGG_FULL_PORT_SHIFT & 3) == 2 &&
	       (flags & BP_AGG_FULL_ADDRESS) == (family == 4 ? 4 : 7);
}

/* Sender and length of a message after the entries so far. Addresses are numbers, so that no value
 * is loaded directly after stores of its single bytes, which would stall. */
struct entry {
	uint64_t high, low; /* of an IPv6 address; of IPv4: 0, and the address */
	uint16_t port, len;
	uint8_t hops;
};

static inline uint64_t be64(const uint8_t *p)
{
	return __builtin_bswap64(bp_sum_word(p));
}

/* Reads the entry p[0..len) into *e, which holds the preceding one. The address is at its end,
 * preceded by the header and other entries: a load of 16 bytes that ends there is in bounds. */
static inline void read_entry(const uint8_t *p, unsigned len, unsigned family, struct entry *e)
{
	const unsigned flags = *p, address = flags & BP_AGG_FULL_ADDRESS;
	const unsigned length = flags >> BP_AGG_FULL_LENGTH_SHIFT;
	const unsigned port = flags >> BP_AGG_FULL_PORT_SHIFT & 3;
	const uint8_t *end = p + len;

	p++;
	if (length != 0)
		e->len = length == 1 ? *p : bp_be16(p);
	p += length;
	if (flags & BP_AGG_FULL_HOPS)
		e->hops = *p++;
	if (port != 0)
		e->port = port == 1 ? (uint16_t)((e->port & 0xff00) | *p) : bp_be16(p);
	if (family == 4) {
		e->low ^= (e->low ^ bp_be32(end - 4)) & new_bits4[address];
	} else {
		e->low ^= (e->low ^ be64(end - 8)) & new_low6[address];
		e->high ^= (e->high ^ be64(end - 16)) & new_high6[address];
	}
}

static inline void write_message(
	struct bp_agg_message *m, unsigned family, const struct entry *e, size_t payload)
{
	const uint64_t half[2] = {__builtin_bswap64(family == 4 ? e->low << 32 : e->high),
		__builtin_bswap64(family == 4 ? 0 : e->low)};

	memcpy(m->from.addr, half, 16);
	m->from.port = e->port;
	m->from.hops = e->hops;
	m->offset = (uint16_t)payload;
	m->len = e->len;
}

/* Reads the directory, of which only the length was checked. Inlined for each family. */
static inline __attribute__((always_inline)) enum bp_agg_full_error read_directory(const uint8_t *p,
	size_t len, unsigned family, unsigned directory, unsigned count,
	struct bp_agg_message *messages)
{
	const size_t end = BP_AGG_FULL_HEADER + directory;
	size_t at = BP_AGG_FULL_HEADER, payload = end;
	struct entry e = {0};

	if (directory != 0 && !is_first(family, p[at]))
		return BP_AGG_FULL_E_ENTRY;
	for (unsigned i = 0; i < count; i++) {
		unsigned entry;

		if (at == end)
			return BP_AGG_FULL_E_COUNT;
		entry = (family == 4 ? bp_agg_full_entry_len4 : entry_len6)[p[at]];
		if (entry == 0 || entry > end - at)
			return BP_AGG_FULL_E_ENTRY;
		read_entry(p + at, entry, family, &e);
		if (e.len > len - payload)
			return BP_AGG_FULL_E_LENGTH;
		write_message(&messages[i], family, &e, payload);
		at += entry;
		payload += e.len;
	}
	if (at != end)
		return BP_AGG_FULL_E_COUNT;
	return payload == len ? BP_AGG_FULL_OK : BP_AGG_FULL_E_LENGTH;
}

enum bp_agg_full_error bp_agg_full_read(const uint8_t *p, size_t len, unsigned family,
	struct bp_agg_full *out, struct bp_agg_message *messages, unsigned most)
{
	unsigned directory, count;
	enum bp_agg_full_error e = check_header(p, len, family, &directory);

	if (e != BP_AGG_FULL_OK)
		return e;
	count = p[BP_AGG_FULL_AT_COUNT];
	if (count > most)
		return BP_AGG_FULL_E_MANY;
	if (count == 0)
		return BP_AGG_FULL_E_COUNT;
	if (len > UINT16_MAX)
		return BP_AGG_FULL_E_LENGTH; /* no UDP payload is; offsets have 16 bits */
	e = family == 4 ? read_directory(p, len, 4, directory, count, messages)
			: read_directory(p, len, 6, directory, count, messages);
	if (e != BP_AGG_FULL_OK)
		return e;
	out->sequence = bp_be32(p + BP_AGG_FULL_AT_SEQUENCE);
	out->stream = bp_be16(p + BP_AGG_FULL_AT_STREAM);
	out->count = (uint8_t)count;
	return BP_AGG_FULL_OK;
}
