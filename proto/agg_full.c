/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/agg_full.h"

#include "proto/crc32c.h"

static uint32_t checksum(const uint8_t *p, size_t directory)
{
	uint32_t crc = bp_crc32c(BP_CRC32C_INIT, p, BP_AGG_FULL_AT_CHECKSUM);

	return ~bp_crc32c(crc, p + BP_AGG_FULL_HEADER, directory);
}

static void put_be64(uint8_t *p, uint64_t v)
{
	v = __builtin_bswap64(v);
	memcpy(p, &v, 8);
}

/* memmove() upwards of what is mostly short: all is read before anything is written. */
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
	/* Written to the payloads at last: what was just written in pieces could not be read at
	 * once. */
	uint8_t h[BP_AGG_FULL_HEADER], *p;
	uint32_t crc;

	if (w->count == 0)
		return NULL;
	/* magic, version and family, count; directory, stream */
	put_be64(h, (uint64_t)BP_AGG_FULL_MAGIC << 48 |
			    (uint64_t)(BP_AGG_FULL_VERSION << 4 | w->family) << 40 |
			    (uint64_t)w->count << 32 | (uint64_t)w->directory << 16 | stream);
	bp_put_be32(h + BP_AGG_FULL_AT_SEQUENCE, sequence);
	crc = bp_crc32c(BP_CRC32C_INIT, h, BP_AGG_FULL_AT_CHECKSUM);
	bp_put_be32(h + BP_AGG_FULL_AT_CHECKSUM, ~bp_crc32c(crc, directory, w->directory));
	*sum = bp_sum(h, sizeof(h), bp_sum(directory, w->directory, 0));
	*len = bp_agg_full_len(w);
	p = w->buf + w->front - w->directory - BP_AGG_FULL_HEADER;
	move_up(p + BP_AGG_FULL_HEADER, directory, w->directory);
	memcpy(p, h, sizeof(h));
	return p;
}

uint8_t *bp_agg_full_end(
	const struct bp_agg_full_writer *w, uint16_t stream, uint32_t sequence, size_t *len)
{
	uint64_t sum;

	return bp_agg_full_end_summed(w, stream, sequence, len, &sum);
}

/* All that is judged before the directory is looked into, and its length. */
static enum bp_agg_full_error judge_header(
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

/* The length of the entry with these flags, 0 when they mean nothing. */
static unsigned judge_flags(unsigned family, unsigned flags, bool first)
{
	const unsigned length = flags >> BP_AGG_FULL_LENGTH_SHIFT;
	const unsigned port = flags >> BP_AGG_FULL_PORT_SHIFT & 3;
	const unsigned octets = bp_agg_full_suffix(family, flags & BP_AGG_FULL_ADDRESS);

	if (length == 3 || port == 3 || octets == 0xff)
		return 0;
	if (first && (length == 0 || port != 2 || (flags & BP_AGG_FULL_HOPS) == 0 ||
			     octets != (family == 4 ? 4 : 16)))
		return 0;
	return bp_agg_full_entry_len(family, flags);
}

/* Reads an entry that is all there on top of *m, which is as the last one left it. */
static void read_entry(const uint8_t *p, unsigned family, struct bp_agg_message *m)
{
	const unsigned flags = *p++;
	const unsigned length = flags >> BP_AGG_FULL_LENGTH_SHIFT;
	const unsigned port = flags >> BP_AGG_FULL_PORT_SHIFT & 3;
	const unsigned octets = bp_agg_full_suffix(family, flags & BP_AGG_FULL_ADDRESS);

	if (length != 0)
		m->len = length == 1 ? *p : bp_be16(p);
	p += length;
	if (flags & BP_AGG_FULL_HOPS)
		m->from.hops = *p++;
	if (port != 0)
		m->from.port = port == 1 ? (uint16_t)((m->from.port & 0xff00) | *p) : bp_be16(p);
	p += port;
	bp_agg_full_copy_address(m->from.addr + (family == 4 ? 4 : 16) - octets, p, octets);
}

enum bp_agg_full_error bp_agg_full_read(const uint8_t *p, size_t len, unsigned family,
	struct bp_agg_full *out, struct bp_agg_message *messages, unsigned most)
{
	struct bp_agg_message m = {0};
	unsigned directory, count, entry;
	size_t at = BP_AGG_FULL_HEADER, end, payload;
	enum bp_agg_full_error e = judge_header(p, len, family, &directory);

	if (e != BP_AGG_FULL_OK)
		return e;
	count = p[BP_AGG_FULL_AT_COUNT];
	if (count > most)
		return BP_AGG_FULL_E_MANY;
	if (count == 0)
		return BP_AGG_FULL_E_COUNT;
	if (len > UINT16_MAX)
		return BP_AGG_FULL_E_LENGTH; /* no UDP payload is; offsets have 16 bits */
	end = BP_AGG_FULL_HEADER + directory;
	payload = end;
	for (unsigned i = 0; i < count; i++) {
		if (at == end)
			return BP_AGG_FULL_E_COUNT;
		entry = judge_flags(family, p[at], i == 0);
		if (entry == 0 || entry > end - at)
			return BP_AGG_FULL_E_ENTRY;
		read_entry(p + at, family, &m);
		if (m.len > len - payload)
			return BP_AGG_FULL_E_LENGTH;
		m.offset = (uint16_t)payload;
		messages[i] = m;
		at += entry;
		payload += m.len;
	}
	if (at != end)
		return BP_AGG_FULL_E_COUNT;
	if (payload != len)
		return BP_AGG_FULL_E_LENGTH;
	out->sequence = bp_be32(p + BP_AGG_FULL_AT_SEQUENCE);
	out->stream = bp_be16(p + BP_AGG_FULL_AT_STREAM);
	out->count = (uint8_t)count;
	return BP_AGG_FULL_OK;
}
