/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_PAYLOAD_VALUE_ITEMS_H
#define BP_PROTO_PAYLOAD_VALUE_ITEMS_H

#include "proto/payload/value_pick.h"

/*
 * Payloads of binary items with lengths: CBOR (RFC 8949) and MessagePack. A format reads one head
 * at a time; the walk over the items, for values at a path, is one.
 */

enum bp_item_kind {
	BP_ITEM_NUMBER, /* finite */
	BP_ITEM_BOOLEAN,
	BP_ITEM_STRING,
	BP_ITEM_ARRAY,
	BP_ITEM_MAP,
	BP_ITEM_OTHER, /* bytes, null, NaN, ... */
	BP_ITEM_END,   /* of a container without a length */
};

enum bp_item_result {
	BP_ITEM_OK,
	BP_ITEM_MORE,      /* the payload ends in it */
	BP_ITEM_MALFORMED, /* for any continuation */
};

struct bp_item {
	uint8_t kind;             /* enum bp_item_kind */
	bool endless;             /* a container up to END; a string in chunks */
	double number;            /* NUMBER; BOOLEAN: 1 or 0 */
	uint64_t n;               /* elements of an ARRAY, pairs of a MAP */
	const uint8_t *at, *next; /* its head, without tags, and the next item */
	const uint8_t *text;      /* STRING, unless in chunks: its bytes up to `next` */
};

struct bp_item_format {
	/* The item at `p`: with all its bytes, but without the content of a container. */
	enum bp_item_result (*read)(const uint8_t *p, const uint8_t *end, struct bp_item *item);
	/* The string whose head is at `at`, which was read before. False: it is not UTF-8. */
	bool (*decode)(const uint8_t *at, const uint8_t *end, struct bp_value_text *text);
	/* Whether a string in chunks denotes these bytes. */
	bool (*same)(const struct bp_item *item, const uint8_t *want, size_t len);
};
extern const struct bp_item_format bp_cbor_format, bp_msgpack_format;

/* Whether the payload is one item of the format or, with `beginning`, the beginning of one. */
bool bp_pick_items(struct bp_pick *pick, const struct bp_item_format *format,
	const uint8_t *payload, size_t len, bool beginning);

/* An integer of `width` bytes, most significant byte first. */
static inline uint64_t bp_item_integer(const uint8_t *p, unsigned width)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < width; i++)
		v = v << 8 | p[i];
	return v;
}

/* NUMBER, or OTHER if it is not finite. */
void bp_item_set_float32(struct bp_item *item, uint32_t bits);
void bp_item_set_float64(struct bp_item *item, uint64_t bits);

#endif
