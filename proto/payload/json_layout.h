/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_PAYLOAD_JSON_LAYOUT_H
#define BP_PROTO_PAYLOAD_JSON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/payload/number.h"
#include "proto/payload/value.h"
#include "proto/net/vec16.h"

/*
 * A device sends the same JSON text repeatedly with other digits in it. A layout stores one text
 * whose number was found, and the bytes that may differ without changing the result except for the
 * number: a matching text is valid and has its number at the same position, and is neither parsed
 * nor checked again. Exact: for a matching text, bp_json_layout_value() returns the result of
 * bp_value_json() (proof: json_layout.c). A text that does not match may still be valid.
 */

#define BP_JSON_LAYOUT_MAX 256u /* longer texts are not kept */

struct bp_json_layout {
	uint16_t len;   /* of the text; 0: empty */
	uint16_t at, n; /* position of the number in it */
	uint16_t pad;
	/* Byte i may be low[i] .. low[i] + range[i]; beyond len both are 0 or not looked at. */
	uint8_t low[BP_JSON_LAYOUT_MAX] __attribute__((aligned(16)));
	uint8_t range[BP_JSON_LAYOUT_MAX] __attribute__((aligned(16)));
};

/*
 * As bp_value_json(), and keeps the layout, for texts of this path, of a text that has a value:
 * layout->len = 0 when it is too long or the path has no steps. Without a value *layout is as it
 * was.
 */
bool bp_json_layout_learn(const uint8_t *text, size_t len, const struct bp_json_path *path,
	struct bp_json_layout *layout, double *value);

/* Not zero if one of the 16 bytes from the i-th on has a value that is not permitted. */
static inline bp_v16 bp_json_layout_mismatch(
	const struct bp_json_layout *l, const uint8_t *text, size_t i)
{
	return bp_v16_above(
		bp_v16_load(text + i) - bp_v16_load(l->low + i), bp_v16_load(l->range + i));
}

static inline bp_v16 bp_json_layout_misfit64(
	const struct bp_json_layout *l, const uint8_t *text, size_t i)
{
	return (bp_json_layout_mismatch(l, text, i) | bp_json_layout_mismatch(l, text, i + 16)) |
	       (bp_json_layout_mismatch(l, text, i + 32) |
		       bp_json_layout_mismatch(l, text, i + 48));
}

/*
 * Whether the text matches the layout. The last block overlaps the one before it, so that lengths
 * in the same 64 take the same branches. No read outside [text, text + len).
 */
static inline bool bp_json_layout_matches(
	const struct bp_json_layout *l, const uint8_t *text, size_t len)
{
	bp_v16 misfit = bp_v16_of(0);
	size_t i;

	if (len != l->len)
		return false;
	if (len >= 64) {
		for (i = 0; i + 64 < len; i += 64)
			misfit |= bp_json_layout_misfit64(l, text, i);
		misfit |= bp_json_layout_misfit64(l, text, len - 64);
	} else if (len >= 16) {
		for (i = 0; i + 16 < len; i += 16)
			misfit |= bp_json_layout_mismatch(l, text, i);
		misfit |= bp_json_layout_mismatch(l, text, len - 16);
	} else if (len != 0) {
		misfit = bp_v16_above(
			bp_v16_load_upto(text, len) - bp_v16_load(l->low), bp_v16_load(l->range));
	} else {
		return false;
	}
	return bp_v16_mask(bp_v16_eq(misfit, 0)) == 0xffff;
}

/* The result of bp_value_json() for a matching text. False, and *value unchanged: not finite. */
static inline bool bp_json_layout_value(
	const struct bp_json_layout *l, const uint8_t *text, double *value)
{
	const uint8_t *p = text + l->at;
	uint32_t end = (uint32_t)l->at + l->n;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	/* one load that ends with the number */
	if (l->n - 1u < BP_NUMBER_SHORT && end >= 8 &&
		bp_number_short(bp_load_le64(text + end - 8) >> (64 - 8 * l->n), l->n, value))
		return true;
#endif
	*value = bp_number_value(p, p + l->n, text + l->len);
	return true;
}

#endif
