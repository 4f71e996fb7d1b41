/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/sparkplug/layout.h"

#include <string.h>

#include "proto/sparkplug/fields.h"
#include "proto/sparkplug/protobuf.h"

/*
 * Proof that a matching payload has the same index. The learned payload is valid. The bits that may
 * differ are:
 *
 * (a) of a varint that is no tag and no length, the seven lower bits of each byte. The upper bit is
 *     fixed, so it ends at the same byte, and any value of the other bits is valid. Of the fields
 *     whose value is in the index (datatype, is_historical, is_null) all bits are fixed.
 * (b) all bits of a number of fixed width.
 * (c) all bits of the bytes of a field with a length, except the metrics of the payload, which
 *     consist of fields themselves: the reader does not read them, not even the name of a metric.
 *
 * All other bits are fixed: tags, lengths, and groups as a whole. Hence the reader takes the same
 * branches for both payloads, and each field is at the same position.
 */

static bool is_in_index(uint32_t number)
{
	return number == METRIC_DATATYPE || number == METRIC_IS_HISTORICAL ||
	       number == METRIC_IS_NULL;
}

/* The value of a field, as said above: `metric`: of a metric, not of the payload. */
static void allow_field(
	uint8_t *mask, const uint8_t *payload, const struct bp_pb_field *f, bool metric)
{
	uint8_t *m = mask + (f->data - payload);

	switch ((enum bp_pb_wire)f->wire) {
	case BP_PB_VARINT:
		if (!metric || !is_in_index(f->number))
			memset(m, 0x80, f->len);
		break;
	case BP_PB_FIXED32:
	case BP_PB_FIXED64:
	case BP_PB_BYTES:
		memset(m, 0, f->len);
		break;
	case BP_PB_GROUP:
	case BP_PB_GROUP_END:
		break;
	}
}

static void allow_metric(uint8_t *mask, const uint8_t *payload, const struct bp_pb_field *metric)
{
	const uint8_t *at = metric->data, *end = at + metric->len;
	struct bp_pb_field f;

	while (at != end && bp_pb_locate(&at, end, &f))
		allow_field(mask, payload, &f, true);
}

void bp_sparkplug_layout_learn(struct bp_sparkplug_layout *l, const uint8_t *payload, size_t len,
	const struct bp_sparkplug_index *index)
{
	const uint8_t *at = payload, *end = payload + len;
	struct bp_pb_field f;

	memset(l->mask, 0xff, len);
	while (at != end && bp_pb_locate(&at, end, &f)) {
		if (f.number == PAYLOAD_METRICS && f.wire == BP_PB_BYTES)
			allow_metric(l->mask, payload, &f);
		else
			allow_field(l->mask, payload, &f, false);
	}
	for (size_t i = 0; i < len; i++)
		l->bits[i] = payload[i] & l->mask[i];
	l->index = *index;
	l->len = (uint16_t)len;
}
