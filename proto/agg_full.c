/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/agg_full.h"

#include "proto/crc32c.h"

static uint32_t checksum(const uint8_t *p, size_t directory)
{
	uint32_t crc = bp_crc32c(BP_CRC32C_INIT, p, BP_AGG_FULL_AT_CHECKSUM);

	return ~bp_crc32c(crc, p + BP_AGG_FULL_HEADER, directory);
}

uint8_t *bp_agg_full_end(
	const struct bp_agg_full_writer *w, uint16_t stream, uint32_t sequence, size_t *len)
{
	uint8_t *p;

	if (w->count == 0)
		return NULL;
	p = w->buf + w->front - w->directory - BP_AGG_FULL_HEADER;
	memmove(p + BP_AGG_FULL_HEADER, w->buf + BP_AGG_FULL_HEADER, w->directory);
	bp_put_be16(p, BP_AGG_FULL_MAGIC);
	p[BP_AGG_FULL_AT_VERSION] = (uint8_t)(BP_AGG_FULL_VERSION << 4 | w->family);
	p[BP_AGG_FULL_AT_COUNT] = w->count;
	bp_put_be16(p + BP_AGG_FULL_AT_DIRECTORY, w->directory);
	bp_put_be16(p + BP_AGG_FULL_AT_STREAM, stream);
	bp_put_be32(p + BP_AGG_FULL_AT_SEQUENCE, sequence);
	bp_put_be32(p + BP_AGG_FULL_AT_CHECKSUM, checksum(p, w->directory));
	*len = bp_agg_full_len(w);
	return p;
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
