/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/fuzz.h"

#include "proto/net/frame.h"

/*
 * Any frame of which only the first bytes are contiguous: all offsets and lengths found are inside
 * it. The first two bytes of the input say how much of it is contiguous, and how much longer it was
 * on the link.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t contiguous, len;
	struct bp_frame f = {0};
	uint8_t *p;

	if (size < 2)
		return 0;
	len = (uint32_t)(size - 2) + data[1];
	contiguous = (uint32_t)(size - 2);
	if (data[0] < contiguous && (data[0] & 1) != 0)
		contiguous = data[0];
	p = exact_copy(data + 2, contiguous);
	if (bp_frame_parse(p, contiguous, len, &f) == BP_FRAME_TCP) {
		HOLDS(f.data == p && f.contiguous <= contiguous);
		HOLDS(f.l3 >= BP_ETHER_HDR && f.l3 < f.l4 && f.l4 + 20 <= f.payload);
		HOLDS(f.payload <= f.contiguous);
		HOLDS((uint64_t)f.payload + f.payload_len <= len);
		HOLDS(f.vlan_outer < 4096 && f.vlan_inner < 4096);
		HOLDS(f.sport == bp_be16(p + f.l4) && f.seq == bp_be32(p + f.l4 + 4));
	}
	free(p);
	return 0;
}
