/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/net/arp.h"

#include <string.h>

#include "proto/net/ip.h"

#define AT_OPERATION (BP_ETHER_HDR + 6u)
#define AT_SENDER_MAC (BP_ETHER_HDR + 8u)
#define AT_SENDER_IP (BP_ETHER_HDR + 14u)
#define AT_TARGET_MAC (BP_ETHER_HDR + 18u)
#define AT_TARGET_IP (BP_ETHER_HDR + 24u)

bool bp_arp_is_request(const uint8_t *frame, uint32_t len, const uint8_t **target)
{
	/* EtherType, hardware Ethernet, protocol IPv4, their address lengths, request */
	static const uint8_t want[10] = {0x08, 0x06, 0x00, 0x01, 0x08, 0x00, 6, 4, 0x00, 0x01};

	if (len < BP_ARP_FRAME || memcmp(frame + 12, want, sizeof(want)) != 0)
		return false;
	/* a station never sends from a group address */
	if (frame[AT_SENDER_MAC] & 1)
		return false;
	*target = frame + AT_TARGET_IP;
	return true;
}

void bp_arp_write_reply(uint8_t *frame, const uint8_t mac[6])
{
	uint8_t asked[4];

	memcpy(asked, frame + AT_TARGET_IP, 4);
	/* the requester becomes the target: MAC and address are adjacent */
	memcpy(frame + AT_TARGET_MAC, frame + AT_SENDER_MAC, 10);
	memcpy(frame + AT_SENDER_MAC, mac, 6);
	memcpy(frame + AT_SENDER_IP, asked, 4);
	frame[AT_OPERATION + 1] = 2;
	memcpy(frame, frame + AT_TARGET_MAC, 6);
	memcpy(frame + 6, mac, 6);
}
