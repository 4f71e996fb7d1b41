/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/fuzz.h"

#include "proto/net/arp.h"
#include "proto/net/frame.h"
#include "proto/net/nd.h"

/* A request is answered in place: the answer is no request, and its target was inside the frame. */
static void resolve(const uint8_t *frame, uint32_t len)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};
	const uint8_t *target;
	uint8_t *p = malloc(len > BP_ND_ADVERTISEMENT_FRAME ? len : BP_ND_ADVERTISEMENT_FRAME);

	memcpy(p, frame, len);
	if (bp_arp_is_request(frame, len, &target)) {
		HOLDS(len >= BP_ARP_FRAME && target > frame && target + 4 <= frame + len);
		bp_arp_write_reply(p, mac);
		HOLDS(!bp_arp_is_request(p, len, &target));
	} else if (bp_nd_is_solicitation(frame, len, &target)) {
		HOLDS(target > frame && target + 16 <= frame + len);
		bp_nd_write_advertisement(p, mac);
		HOLDS(!bp_nd_is_solicitation(p, BP_ND_ADVERTISEMENT_FRAME, &target));
	}
	free(p);
}

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
	resolve(p, contiguous);
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
