/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_AGGREGATION_AGG_FULL_SAME_TEMPLATE_H
#define BP_PROTO_AGGREGATION_AGG_FULL_SAME_TEMPLATE_H

#include "proto/aggregation/agg_full.h"
#include "proto/net/vec16.h"

/*
 * Appends IPv4 messages with the length and the remaining hops of the one before. Their entries
 * have only port and address, at most six bytes, and each is composed by one shuffle of the bytes
 * of its frame, selected by a table. The writer's state is in registers between begin and end.
 */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "written for little-endian machines");

#define BP_AGG_FULL_SAME_TEMPLATE_ENTRY 7u

/* The bytes of the entry by their index in 16 bytes that begin with the source address and have
 * the source port at offset 8, and the constant bytes: flags, and the length of the entry in the
 * last one. */
struct bp_agg_full_same_template_entry {
	uint8_t at[8], rest[8];
};
/* By the unchanged bytes: a bit for each byte of the address, from the first on; two bits for the
 * port. */
extern const struct bp_agg_full_same_template_entry bp_agg_full_same_template_entry[64];

struct bp_agg_full_same_template {
	uint8_t *entries, *payloads; /* position of the next ones */
	bp_v16 before;               /* address and port of the message before, as above */
};

/* Whether at least `n` more messages, at least 1, fit in an aggregate that holds a message. */
static inline bool bp_agg_full_same_template_fit(const struct bp_agg_full_writer *w, unsigned n)
{
	const unsigned entries = BP_AGG_FULL_SAME_TEMPLATE_ENTRY * n;

	/* the store may be longer than the entry */
	return BP_AGG_FULL_HEADER + w->directory + entries + BP_AGG_FULL_ENTRY4 -
			       BP_AGG_FULL_SAME_TEMPLATE_ENTRY <=
		       w->front &&
	       bp_agg_full_len(w) + entries + n * w->last_len <= w->size;
}

/* The writer holds a message. */
static inline struct bp_agg_full_same_template bp_agg_full_same_template_begin(
	const struct bp_agg_full_writer *w)
{
	uint32_t addr;

	memcpy(&addr, w->last_addr, 4);
	return (struct bp_agg_full_same_template){
		.entries = w->buf + BP_AGG_FULL_HEADER + w->directory,
		.payloads = w->buf + w->front + w->payloads,
		.before = (bp_v16)(bp_v4){addr, 0, __builtin_bswap16(w->last_port), 0}};
}

/* Writes the entry of a message from `from`, after one from `before`: stores eight bytes. Returns
 * the size of the entry. */
static inline unsigned bp_agg_full_same_template_put(uint8_t *to, bp_v16 from, bp_v16 before)
{
	const uint32_t same = bp_v16_mask((bp_v16)(from == before));
	const struct bp_agg_full_same_template_entry *e =
		&bp_agg_full_same_template_entry[(same & 15) | (same >> 4 & 0x30)];

	bp_v16_store_half(
		to, bp_v16_pick(from, bp_v16_load_half(e->at)) | bp_v16_load_half(e->rest));
	return e->rest[7];
}

/* `from`: the source address of the message, and 12 more bytes, of which two at offset 8 are its
 * port. */
static inline void bp_agg_full_same_template_append(
	struct bp_agg_full_same_template *x, bp_v16 from, const uint8_t *payload, unsigned len)
{
	x->entries += bp_agg_full_same_template_put(x->entries, from, x->before);
	bp_copy(x->payloads, payload, len);
	x->payloads += len;
	x->before = from;
}

/* `n`: messages that were appended. */
static inline void bp_agg_full_same_template_end(
	struct bp_agg_full_writer *w, const struct bp_agg_full_same_template *x, unsigned n)
{
	const bp_v4 last = (bp_v4)x->before;
	const uint32_t addr = last[0];

	w->directory = (uint16_t)(x->entries - (w->buf + BP_AGG_FULL_HEADER));
	w->payloads = (uint16_t)(x->payloads - (w->buf + w->front));
	w->count = (uint8_t)(w->count + n);
	memcpy(w->last_addr, &addr, 4);
	w->last_port = __builtin_bswap16((uint16_t)last[2]);
}

#endif
