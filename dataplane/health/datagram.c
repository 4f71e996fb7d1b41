/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/health/datagram.h"

#define TTL 64
#define DF 0x4000

uint32_t bp_datagram_head(uint8_t *frame, bool ip6, const uint8_t from[16], const uint8_t to[16],
	uint16_t sport, uint16_t dport)
{
	uint8_t *ip = frame + BP_ETHER_HDR, *udp = ip + (ip6 ? BP_IP6_HDR : BP_IP4_HDR);

	bp_put_be16(frame + 12, ip6 ? BP_ETHER_IP6 : BP_ETHER_IP4);
	memset(ip, 0, (size_t)(udp - ip) + BP_UDP_HDR);
	if (ip6) {
		ip[0] = 0x60;
		ip[BP_IP6_NEXT] = BP_PROTO_UDP;
		ip[BP_IP6_HOPS] = TTL;
		memcpy(ip + BP_IP6_SRC, from, 16);
		memcpy(ip + BP_IP6_DST, to, 16);
	} else {
		ip[0] = 0x45;
		/* never cut: the identification need not differ (RFC 6864 4.1) */
		bp_put_be16(ip + BP_IP4_FRAGMENT, DF);
		ip[BP_IP4_TTL] = TTL;
		ip[BP_IP4_PROTOCOL] = BP_PROTO_UDP;
		memcpy(ip + BP_IP4_SRC, from + 12, 4);
		memcpy(ip + BP_IP4_DST, to + 12, 4);
	}
	bp_put_be16(udp, sport);
	bp_put_be16(udp + 2, dport);
	return (uint32_t)(udp - frame) + BP_UDP_HDR;
}
