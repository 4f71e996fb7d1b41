/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_NET_IP_H
#define BP_PROTO_NET_IP_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "proto/net/frame.h"

/*
 * IPv4 (RFC 791, RFC 1812) and IPv6 (RFC 8200) headers as a forwarder sees them: offsets from the
 * header's first byte, in an untagged frame that begins BP_ETHER_HDR bytes before it.
 */
#define BP_IP4_HDR 20u
#define BP_IP4_TOTAL 2u
#define BP_IP4_FRAGMENT 6u
#define BP_IP4_TTL 8u
#define BP_IP4_PROTOCOL 9u
#define BP_IP4_SRC 12u
#define BP_IP4_DST 16u

#define BP_IP6_HDR 40u
#define BP_IP6_PAYLOAD 4u
#define BP_IP6_NEXT 6u
#define BP_IP6_HOPS 7u
#define BP_IP6_SRC 8u
#define BP_IP6_DST 24u

#define BP_ETHER_ARP 0x0806

#define BP_PROTO_HOP_BY_HOP 0
#define BP_PROTO_ICMP 1
#define BP_PROTO_IGMP 2
#define BP_PROTO_TCP 6
#define BP_PROTO_UDP 17
#define BP_PROTO_FRAGMENT 44
#define BP_PROTO_ICMP6 58
#define BP_PROTO_EIGRP 88
#define BP_PROTO_OSPF 89
#define BP_PROTO_PIM 103
#define BP_PROTO_VRRP 112

/* The class of an address by its first byte (RFC 1812 5.3.7, RFC 6890). */
enum bp_ip4_kind {
	BP_IP4_UNICAST,
	BP_IP4_MARTIAN,   /* 0/8, 127/8, 240/4: must not be forwarded */
	BP_IP4_MULTICAST, /* 224/4 */
};

static inline enum bp_ip4_kind bp_ip4_kind(uint8_t first)
{
	if ((uint8_t)(first - 1) < 223 && first != 127)
		return BP_IP4_UNICAST;
	return first >> 4 == 0xe ? BP_IP4_MULTICAST : BP_IP4_MARTIAN;
}

/* RFC 3927: 169.254/16, which stays on its link. */
static inline bool bp_ip4_is_link_local(const uint8_t *a)
{
	return a[0] == 169 && a[1] == 254;
}

/* Whether the checksum of a header of 20 bytes is right (RFC 1071). */
static inline bool bp_ip4_checksum_ok20(const uint8_t *h)
{
	uint64_t a = bp_sum_word(h), b = bp_sum_word(h + 8), sum;
	uint32_t c;

	memcpy(&c, h + 16, 4);
	sum = a + b;
	sum += sum < b;
	sum += c;
	sum += sum < c;
	return bp_sum_ok(sum);
}

/*
 * Decrements the TTL and updates the checksum (RFC 1624): both are in the four bytes from the TTL
 * on.
 */
static inline void bp_ip4_decrement_ttl(uint8_t *h)
{
	uint16_t check;

	memcpy(&check, h + 10, 2);
	h[BP_IP4_TTL]--;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	check = (uint16_t)(check + 0x0001 + (check >= 0xfffe));
#else
	check = (uint16_t)(check + 0x0100 + (check >= 0xfeff));
#endif
	memcpy(h + 10, &check, 2);
}

static inline bool bp_ip6_is_multicast(const uint8_t *a)
{
	return a[0] == 0xff;
}

static inline bool bp_ip6_is_link_local(const uint8_t *a)
{
	return a[0] == 0xfe && (a[1] & 0xc0) == 0x80;
}

/* :: or ::1, also with an embedded IPv4 address (::ffff:0:0/96 and ::/96): RFC 4291 2.5. */
static inline bool bp_ip6_is_martian(const uint8_t *a)
{
	uint64_t high;
	uint32_t middle;

	memcpy(&high, a, 8);
	memcpy(&middle, a + 8, 4);
	return high == 0 && (middle == 0 || middle == __builtin_bswap32(0xffff));
}

#endif
