/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_AGGREGATION_AGG_FULL_HEAD_H
#define BP_PROTO_AGGREGATION_AGG_FULL_HEAD_H

#include "proto/aggregation/agg_full.h"
#include "proto/net/crc32c.h"

/*
 * The header of format full, as words in memory order: they are written last, since a load directly
 * after several smaller stores stalls.
 */
struct bp_agg_full_head {
	uint64_t first; /* magic, version and family, count; directory, stream */
	uint32_t sequence, check;
};

/* The header of `count` messages, with the directory at directory[0..len), which need not follow
 * it yet. *sum: bp_sum() of both. */
static inline __attribute__((always_inline)) struct bp_agg_full_head bp_agg_full_head_of(
	unsigned family, unsigned count, const uint8_t *directory, unsigned len, uint16_t stream,
	uint32_t sequence, uint64_t *sum)
{
	struct bp_agg_full_head h = {
		.first = __builtin_bswap64((uint64_t)BP_AGG_FULL_MAGIC << 48 |
					   (uint64_t)(BP_AGG_FULL_VERSION << 4 | family) << 40 |
					   (uint64_t)count << 32 | (uint64_t)len << 16 | stream),
		.sequence = __builtin_bswap32(sequence)};
	uint32_t crc = bp_crc32c(BP_CRC32C_INIT, (const uint8_t *)&h.first, 8);

	crc = bp_crc32c(crc, (const uint8_t *)&h.sequence, 4);
	h.check = __builtin_bswap32(~bp_crc32c(crc, directory, len));
	*sum = bp_sum_add(bp_sum(directory, len, (uint64_t)h.sequence + h.check), h.first);
	return h;
}

/* Writes BP_AGG_FULL_HEADER bytes. */
static inline void bp_agg_full_put_head(uint8_t *to, const struct bp_agg_full_head *h)
{
	memcpy(to, &h->first, 8);
	memcpy(to + BP_AGG_FULL_AT_SEQUENCE, &h->sequence, 4);
	memcpy(to + BP_AGG_FULL_AT_CHECKSUM, &h->check, 4);
}

#endif
