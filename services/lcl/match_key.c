/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/lcl/match_parts.h"

#include "proto/ip.h"

#define PROTO_ROUTING 43
#define PROTO_DESTINATION 60
/* A chain of extension headers longer than this is nobody's honest traffic. */
#define IP6_EXT_MAX 8
#define IP4_OFFSET 0x1fff
#define IP6_OFFSET 0xfff8
/* Of UDP's and TCP's headers: the ports. */
#define PORTS 4u

/* `at`: of the transport header in the datagram, which ends at `end` by its own word, and of which
 * `len` octets can be read. */
static inline void ports(struct bp_lcl_key *key, const uint8_t *ip, size_t at, size_t end,
	size_t len, uint8_t protocol)
{
	if ((protocol != BP_PROTO_UDP && protocol != BP_PROTO_TCP) || at + PORTS > end ||
		at + PORTS > len)
		return;
	key->l4 = protocol;
	key->port = bp_be16(ip + at + 2);
}

static inline void read_ip4(struct bp_lcl_key *key, const uint8_t *ip, size_t len)
{
	const size_t header = len != 0 ? (size_t)(ip[0] & 0x0f) * 4 : 0;
	uint32_t address;

	if (len < BP_IP4_HDR || ip[0] >> 4 != 4 || header < BP_IP4_HDR)
		return;
	key->family = 4;
	key->dscp = ip[1] >> 2;
	memcpy(&address, ip + BP_IP4_SRC, sizeof(address));
	key->source[0] = address;
	memcpy(&address, ip + BP_IP4_DST, sizeof(address));
	key->destination[0] = address;
	if ((bp_be16(ip + BP_IP4_FRAGMENT) & IP4_OFFSET) == 0)
		ports(key, ip, header, bp_be16(ip + BP_IP4_TOTAL), len, ip[BP_IP4_PROTOCOL]);
}

static void read_ip6(struct bp_lcl_key *key, const uint8_t *ip, size_t len)
{
	size_t at = BP_IP6_HDR;
	uint8_t next;

	if (len < BP_IP6_HDR || ip[0] >> 4 != 6)
		return;
	key->family = 6;
	key->dscp = (uint8_t)(bp_be16(ip) >> 6 & 0x3f);
	memcpy(key->source, ip + BP_IP6_SRC, 16);
	memcpy(key->destination, ip + BP_IP6_DST, 16);
	next = ip[BP_IP6_NEXT];
	for (unsigned i = 0; next == BP_PROTO_HOP_BY_HOP || next == PROTO_ROUTING ||
			     next == PROTO_DESTINATION || next == BP_PROTO_FRAGMENT;
		i++) {
		if (i == IP6_EXT_MAX || at + 8 > len)
			return;
		if (next != BP_PROTO_FRAGMENT) {
			next = ip[at];
			at += 8 + (size_t)ip[at + 1] * 8;
			continue;
		}
		if ((bp_be16(ip + at + 2) & IP6_OFFSET) != 0)
			return;
		next = ip[at];
		at += 8;
	}
	ports(key, ip, at, BP_IP6_HDR + bp_be16(ip + BP_IP6_PAYLOAD), len, next);
}

static inline bool is_tag(uint16_t type)
{
	return type == BP_ETHER_VLAN || type == BP_ETHER_QINQ || type == BP_ETHER_QINQ_OLD;
}

bool bp_lcl_key_of(const uint8_t *frame, size_t len, struct bp_lcl_key *key)
{
	size_t at = BP_ETHER_HDR;

	*key = (struct bp_lcl_key){
		.vlan = BP_LCL_UNTAGGED, .pcp = BP_LCL_ANY_PCP, .dscp = BP_LCL_ANY_DSCP};
	if (len < at)
		return false;
	key->ethertype = bp_be16(frame + at - 2);
	for (unsigned tags = 0; tags < 2 && is_tag(key->ethertype); tags++) {
		if (tags == 0 && at + 2 <= len) {
			key->vlan = bp_be16(frame + at) & 0x0fff;
			key->pcp = frame[at] >> 5;
		} else if (tags == 0) {
			key->vlan = BP_LCL_ANY;
		}
		at += 4;
		key->ethertype = at <= len ? bp_be16(frame + at - 2) : 0;
	}
	if (key->ethertype == BP_ETHER_IP4)
		read_ip4(key, frame + at, len - at);
	else if (key->ethertype == BP_ETHER_IP6)
		read_ip6(key, frame + at, len - at);
	return true;
}
