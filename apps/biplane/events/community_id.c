/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/events/community_id.h"

#include <nettle/base64.h>
#include <nettle/sha1.h>
#include <string.h>

_Static_assert(BASE64_ENCODE_RAW_LENGTH(SHA1_DIGEST_SIZE) + 2 + 1 == BP_COMMUNITY_ID, "its length");

static uint8_t *put(uint8_t *p, const void *from, size_t n)
{
	memcpy(p, from, n);
	return p + n;
}

void bp_community_id(bool ip6, const uint8_t *src_ip, uint16_t src_port, const uint8_t *dest_ip,
	uint16_t dest_port, uint8_t protocol, char out[BP_COMMUNITY_ID])
{
	const size_t width = ip6 ? 16 : 4;
	const uint8_t ports[2][2] = {{(uint8_t)(src_port >> 8), (uint8_t)src_port},
		{(uint8_t)(dest_port >> 8), (uint8_t)dest_port}};
	const uint8_t head[2] = {0, 0}, protocol_and_pad[2] = {protocol, 0};
	const int order = memcmp(src_ip, dest_ip, width);
	/* the smaller end first */
	const bool swap =
		order > 0 || (order == 0 && memcmp(ports[0], ports[1], sizeof(ports[0])) > 0);
	uint8_t bytes[2 + 2 * 16 + 2 + 4], digest[SHA1_DIGEST_SIZE], *p = bytes;
	struct sha1_ctx sha1;

	p = put(p, head, sizeof(head));
	p = put(p, swap ? dest_ip : src_ip, width);
	p = put(p, swap ? src_ip : dest_ip, width);
	p = put(p, protocol_and_pad, sizeof(protocol_and_pad));
	p = put(p, ports[swap], sizeof(ports[0]));
	p = put(p, ports[!swap], sizeof(ports[0]));
	sha1_init(&sha1);
	sha1_update(&sha1, (size_t)(p - bytes), bytes);
	sha1_digest(&sha1, sizeof(digest), digest);
	memcpy(out, "1:", 2);
	base64_encode_raw(out + 2, sizeof(digest), digest);
	out[BP_COMMUNITY_ID - 1] = '\0';
}
