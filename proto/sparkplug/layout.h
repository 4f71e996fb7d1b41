/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_SPARKPLUG_LAYOUT_H
#define BP_PROTO_SPARKPLUG_LAYOUT_H

#include "proto/net/vec16.h"
#include "proto/sparkplug/index.h"

/*
 * A device repeats the same message with other values. A layout keeps the index of one payload, and
 * the bits that may differ without changing the index: a payload that matches is valid and has this
 * index, and is not read field by field. Exact (proof: layout.c). A payload that does not match may
 * still be valid.
 */

#define BP_SPARKPLUG_LAYOUT_MAX 512u /* bytes of a payload */
#define BP_SPARKPLUG_LAYOUT_MIN 16u

struct bp_sparkplug_layout {
	uint16_t len; /* of the payload; 0: empty */
	uint8_t bits[BP_SPARKPLUG_LAYOUT_MAX] __attribute__((aligned(16)));
	uint8_t mask[BP_SPARKPLUG_LAYOUT_MAX]
		__attribute__((aligned(16))); /* of `bits` that count */
	struct bp_sparkplug_index index;
};

/* Whether a layout of a payload with this index, which is valid, can be kept. */
static inline bool bp_sparkplug_layout_fits(size_t len, const struct bp_sparkplug_index *index)
{
	return index->whole && len >= BP_SPARKPLUG_LAYOUT_MIN && len <= BP_SPARKPLUG_LAYOUT_MAX;
}

void bp_sparkplug_layout_learn(struct bp_sparkplug_layout *l, const uint8_t *payload, size_t len,
	const struct bp_sparkplug_index *index);

static inline bp_v16 bp_sparkplug_layout_differ(
	const struct bp_sparkplug_layout *l, const uint8_t *payload, size_t i)
{
	return (bp_v16_load(payload + i) & bp_v16_load(l->mask + i)) ^ bp_v16_load(l->bits + i);
}

/* No read outside [payload, payload + len): the last block overlaps the one before it. */
static inline bool bp_sparkplug_layout_matches(
	const struct bp_sparkplug_layout *l, const uint8_t *payload, size_t len)
{
	bp_v16 differ;

	if (len != l->len || len == 0)
		return false;
	differ = bp_sparkplug_layout_differ(l, payload, len - 16);
	for (size_t i = 0; i + 16 < len; i += 16)
		differ |= bp_sparkplug_layout_differ(l, payload, i);
	return bp_v16_none(differ);
}

#endif
