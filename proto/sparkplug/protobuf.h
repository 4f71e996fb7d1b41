/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_SPARKPLUG_PROTOBUF_H
#define BP_PROTO_SPARKPLUG_PROTOBUF_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/net/vec16.h"

/* One field of a message in the encoding of protobuf. */

enum bp_pb_wire {
	BP_PB_VARINT = 0,
	BP_PB_FIXED64 = 1,
	BP_PB_BYTES = 2,
	BP_PB_GROUP = 3,
	BP_PB_GROUP_END = 4,
	BP_PB_FIXED32 = 5,
};

#define BP_PB_VARINT_MAX 10  /* bytes */
#define BP_PB_SIZE_MAX 5     /* bytes of a tag or a length */
#define BP_PB_GROUPS_MAX 100 /* nested groups, as in the reference implementation */

struct bp_pb_field {
	uint32_t number;
	uint8_t wire;        /* enum bp_pb_wire; of a group: it was skipped */
	uint64_t value;      /* varint, fixed64, fixed32 */
	const uint8_t *data; /* BP_PB_BYTES */
	uint32_t len;
};

/* protobuf.c: varints of any length. */
bool bp_pb_long_varint(const uint8_t **at, const uint8_t *end, uint64_t *value);
/* protobuf.c: skips the fields of a group up to its end. */
bool bp_pb_skip_group(const uint8_t **at, const uint8_t *end, uint32_t number);

static inline bool bp_pb_varint(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
	const uint8_t *p = *at;

	if (p != end && *p < 0x80) {
		*value = *p;
		*at = p + 1;
		return true;
	}
	if (end - p >= 2 && p[1] < 0x80) {
		*value = (*p & 0x7f) | (uint32_t)p[1] << 7;
		*at = p + 2;
		return true;
	}
	return bp_pb_long_varint(at, end, value);
}

/* A fixed-width number of n bytes, little endian. */
static inline bool bp_pb_fixed(const uint8_t **at, const uint8_t *end, unsigned n, uint64_t *value)
{
	uint64_t v = 0;

	if ((uint64_t)(end - *at) < n)
		return false;
	for (unsigned i = 0; i < n; i++)
		v |= (uint64_t)(*at)[i] << (8 * i);
	*at += n;
	*value = v;
	return true;
}

/* A tag or a length. Bits above 32 are lost, as in the reference implementation. */
static inline bool bp_pb_size(const uint8_t **at, const uint8_t *end, uint32_t *value)
{
	const uint8_t *begin = *at;
	uint64_t v;

	if (!bp_pb_varint(at, end, &v) || *at - begin > BP_PB_SIZE_MAX)
		return false;
	*value = (uint32_t)v;
	return true;
}

/* The end of the varint at `p`, or NULL. */
static inline const uint8_t *bp_pb_varint_end(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *at = p;
	uint64_t v;

	if (p != end && *p < 0x80)
		return p + 1;
	if (end - p >= 8) {
		v = ~bp_load_le64(p) & 0x8080808080808080u;
		if (__builtin_expect(v != 0, 1))
			return p + __builtin_ctzll(v) / 8 + 1;
	}
	return bp_pb_long_varint(&at, end, &v) ? at : NULL;
}

/*
 * As bp_pb_read(), but finds the value without reading it: data[0..len) for every wire type, except
 * that of a group. Likewise what is malformed.
 */
static inline bool bp_pb_locate(const uint8_t **at, const uint8_t *end, struct bp_pb_field *f)
{
	const uint8_t *next;
	uint32_t tag, len;

	if (!bp_pb_size(at, end, &tag) || tag < 8)
		return false;
	f->number = tag >> 3;
	f->wire = tag & 7;
	f->data = *at;
	switch ((enum bp_pb_wire)f->wire) {
	case BP_PB_VARINT:
		next = bp_pb_varint_end(*at, end);
		if (next == NULL)
			return false;
		f->len = (uint32_t)(next - *at);
		*at = next;
		return true;
	case BP_PB_FIXED64:
	case BP_PB_FIXED32:
		f->len = f->wire == BP_PB_FIXED64 ? 8 : 4;
		break;
	case BP_PB_BYTES:
		if (!bp_pb_size(at, end, &len))
			return false;
		f->data = *at;
		f->len = len;
		break;
	case BP_PB_GROUP:
		return bp_pb_skip_group(at, end, f->number);
	default:
		return false;
	}
	if (f->len > (uint64_t)(end - *at))
		return false;
	*at += f->len;
	return true;
}

/* Reads the field at *at, which is before `end`. False: it is malformed. */
static inline bool bp_pb_read(const uint8_t **at, const uint8_t *end, struct bp_pb_field *f)
{
	uint32_t tag, len;

	if (!bp_pb_size(at, end, &tag) || tag < 8)
		return false;
	f->number = tag >> 3;
	f->wire = tag & 7;
	switch ((enum bp_pb_wire)f->wire) {
	case BP_PB_VARINT:
		return bp_pb_varint(at, end, &f->value);
	case BP_PB_FIXED64:
		return bp_pb_fixed(at, end, 8, &f->value);
	case BP_PB_FIXED32:
		return bp_pb_fixed(at, end, 4, &f->value);
	case BP_PB_BYTES:
		if (!bp_pb_size(at, end, &len) || len > (uint64_t)(end - *at))
			return false;
		f->data = *at;
		f->len = len;
		*at += len;
		return true;
	case BP_PB_GROUP:
		return bp_pb_skip_group(at, end, f->number);
	case BP_PB_GROUP_END:
		return false;
	}
	return false;
}

#endif
