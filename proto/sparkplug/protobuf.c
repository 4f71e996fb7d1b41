/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/sparkplug/protobuf.h"

bool bp_pb_long_varint(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
	const uint8_t *p = *at;
	uint64_t v = 0;

	for (unsigned i = 0; i < BP_PB_VARINT_MAX && p + i != end; i++) {
		v |= (uint64_t)(p[i] & 0x7f)
		     << (7 * i); /* bits beyond 64 are lost, as in protobuf */
		if (p[i] < 0x80) {
			*at = p + i + 1;
			*value = v;
			return true;
		}
	}
	return false;
}

bool bp_pb_skip_group(const uint8_t **at, const uint8_t *end, uint32_t number)
{
	uint32_t open[BP_PB_GROUPS_MAX]; /* above `depth` not set */
	unsigned depth = 1;

	open[0] = number;
	while (depth != 0) {
		uint32_t tag;
		struct bp_pb_field f;
		const uint8_t *begin = *at;

		if (!bp_pb_size(at, end, &tag) || tag < 8)
			return false;
		if ((tag & 7) == BP_PB_GROUP) {
			if (depth == BP_PB_GROUPS_MAX)
				return false;
			open[depth++] = tag >> 3;
		} else if ((tag & 7) == BP_PB_GROUP_END) {
			if (open[--depth] != tag >> 3)
				return false;
		} else {
			*at = begin;
			if (!bp_pb_read(at, end, &f))
				return false;
		}
	}
	return true;
}
