/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_AGGREGATION_DATAGRAM_H
#define BP_SERVICES_AGGREGATION_DATAGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "proto/net/frame.h"
#include "proto/net/ip.h"
#include "proto/net/vec16.h"

/*
 * A UDP datagram in an Ethernet frame: up to two VLAN tags (802.1Q, 802.1ad), IPv4 (RFC 791) or
 * IPv6 (RFC 8200), UDP (RFC 768). Fragments, and IPv6 with extension headers, are none here.
 *
 * Reading is in steps, because a worker needs the destination of every frame and the rest of few:
 * bp_datagram_parse() finds the fields and believes the lengths in none of them; the *_ok functions
 * check what it found.
 */

#define BP_UDP_HDR 8u
#define BP_UDP_LEN 4u
#define BP_UDP_CHECKSUM 6u
#define BP_IP4_ID 4u
#define BP_IP4_CHECKSUM 10u
#define BP_IP4_DF 0x4000u
#define BP_IP4_MF 0x2000u
#define BP_IP4_MF_OFFSET 0x3fffu

/* Length of the longest headers: Ethernet with two tags, IPv6, UDP. */
#define BP_DATAGRAM_HEAD_MOST (BP_ETHER_HDR + 8u + BP_IP6_HDR + BP_UDP_HDR)

/* Forced inline: otherwise the compilers leave some of these as calls, and lose the constant
 * offsets of a simple frame. */
#define BP_DATAGRAM_INLINE static inline __attribute__((always_inline))

struct bp_datagram {
	const uint8_t *frame;  /* Ethernet header; its first `len` bytes */
	uint32_t len;          /* bytes readable at `frame` */
	uint32_t frame_len;    /* more than len: the frame is in several segments */
	uint16_t l3, l4;       /* offsets of the IP and the UDP header; tags: 12 .. l3 - 2 */
	uint16_t l4_len;       /* of UDP header and payload, by the IP header; 0: that is wrong */
	uint16_t sport, dport; /* host byte order */
	uint8_t family;        /* 4 or 6 */
	uint8_t tos;           /* DSCP and ECN: TOS byte, traffic class */
	uint8_t hops;          /* TTL, hop limit */
	bool dont_fragment;    /* of IPv4 */
};

/* A plain frame: no tags, IPv4 without options. All of its heads can be read. */
static inline bool bp_datagram_is_simple_ip4(const uint8_t *frame, uint32_t len)
{
	return len >= BP_ETHER_HDR + BP_IP4_HDR + BP_UDP_HDR &&
	       bp_be16(frame + 12) == BP_ETHER_IP4 && frame[BP_ETHER_HDR] == 0x45;
}

/* bp_datagram_parse() of a simple frame, for a caller whose code is compiled with the constant
 * offsets. */
static inline bool bp_datagram_parse_simple_ip4(
	const uint8_t *frame, uint32_t len, uint32_t frame_len, struct bp_datagram *d)
{
	const uint8_t *ip = frame + BP_ETHER_HDR;
	const uint32_t total = bp_be16(ip + BP_IP4_TOTAL);

	if (ip[BP_IP4_PROTOCOL] != BP_PROTO_UDP ||
		(bp_be16(ip + BP_IP4_FRAGMENT) & BP_IP4_MF_OFFSET) != 0)
		return false;
	d->frame = frame;
	d->len = len;
	d->frame_len = frame_len;
	d->l3 = BP_ETHER_HDR;
	d->l4 = BP_ETHER_HDR + BP_IP4_HDR;
	d->l4_len = (uint16_t)(total > BP_IP4_HDR ? total - BP_IP4_HDR : 0);
	d->sport = bp_be16(ip + BP_IP4_HDR);
	d->dport = bp_be16(ip + BP_IP4_HDR + 2);
	d->family = 4;
	d->tos = ip[1];
	d->hops = ip[BP_IP4_TTL];
	d->dont_fragment = (ip[BP_IP4_FRAGMENT] & BP_IP4_DF >> 8) != 0;
	return true;
}

/* bp_datagram_parse() of any frame. */
bool bp_datagram_parse_general(
	const uint8_t *frame, uint32_t len, uint32_t frame_len, struct bp_datagram *d);

/*
 * Finds a UDP datagram in a frame of which frame[0..len) is readable. False: there is none, or its
 * UDP header is incomplete; *d is then invalid. Nothing else is checked: lengths may contradict the
 * frame and each other, and IPv4 may have options.
 */
static inline bool bp_datagram_parse(
	const uint8_t *frame, uint32_t len, uint32_t frame_len, struct bp_datagram *d)
{
	return __builtin_expect(bp_datagram_is_simple_ip4(frame, len), 1)
		       ? bp_datagram_parse_simple_ip4(frame, len, frame_len, d)
		       : bp_datagram_parse_general(frame, len, frame_len, d);
}

/*
 * bp_datagram_parse() for a frame that it rejects: the first fragment of a UDP datagram, which has
 * the UDP header, to determine the destination of the datagram. With IPv6 the fragment header must
 * be the only extension header. *d has wrong lengths, as every fragment has.
 */
bool bp_datagram_parse_fragment(
	const uint8_t *frame, uint32_t len, uint32_t frame_len, struct bp_datagram *d);

/* The source, 4 or 16 bytes, followed by the destination. */
static inline const uint8_t *bp_datagram_src(const struct bp_datagram *d)
{
	return d->frame + d->l3 + (d->family == 4 ? BP_IP4_SRC : BP_IP6_SRC);
}

static inline const uint8_t *bp_datagram_dst(const struct bp_datagram *d)
{
	return d->frame + d->l3 + (d->family == 4 ? BP_IP4_DST : BP_IP6_DST);
}

static inline const uint8_t *bp_datagram_payload(const struct bp_datagram *d)
{
	return d->frame + d->l4 + BP_UDP_HDR;
}

static inline bool bp_datagram_has_options(const struct bp_datagram *d)
{
	return d->family == 4 && d->l4 - d->l3 != BP_IP4_HDR;
}

/* Whether the frame is in one segment and contains the whole IP packet, and the UDP length agrees
 * with the IP length. Bytes after the packet are padding of a short frame. */
BP_DATAGRAM_INLINE bool bp_datagram_lengths_ok(const struct bp_datagram *d)
{
	return d->l4_len >= BP_UDP_HDR && d->l4_len == bp_be16(d->frame + d->l4 + BP_UDP_LEN) &&
	       d->l4 + (uint32_t)d->l4_len <= d->len && d->len >= d->frame_len;
}

/* Bytes of payload, where the lengths are right. */
static inline unsigned bp_datagram_payload_len(const struct bp_datagram *d)
{
	return d->l4_len - BP_UDP_HDR;
}

/* Whether the IPv4 header checksum is correct; the options must be within `len`, which
 * bp_datagram_parse() ensures. IPv6 has no header checksum. */
BP_DATAGRAM_INLINE bool bp_datagram_ip_ok(const struct bp_datagram *d)
{
	const uint8_t *ip = d->frame + d->l3;

	if (d->family != 4)
		return true;
	if (d->l4 - d->l3 == BP_IP4_HDR)
		return bp_ip4_checksum_ok20(ip);
	return bp_sum_ok(bp_sum(ip, (size_t)(d->l4 - d->l3), 0));
}

/* False: the sender wrote no UDP checksum, which IPv4 allows. */
static inline bool bp_datagram_has_checksum(const struct bp_datagram *d)
{
	return (d->frame[d->l4 + BP_UDP_CHECKSUM] | d->frame[d->l4 + BP_UDP_CHECKSUM + 1]) != 0;
}

/* The sum of the payload, for bp_datagram_udp_ok() and for callers that write a checksum over it.
 * The lengths must be valid. */
BP_DATAGRAM_INLINE uint64_t bp_datagram_payload_sum(const struct bp_datagram *d)
{
	return bp_sum(bp_datagram_payload(d), bp_datagram_payload_len(d), 0);
}

/* The pseudo-header of the UDP checksum: source and destination, `protocol` UDP and a length (RFC
 * 768). */
static inline uint64_t bp_datagram_pseudo_sum(
	unsigned family, const uint8_t *src_dst, unsigned l4_len)
{
	const uint64_t sum =
		(uint64_t)__builtin_bswap16((uint16_t)l4_len) + ((uint64_t)BP_PROTO_UDP << 8);

	if (family == 4)
		return bp_sum_add(bp_sum_word(src_dst), sum);
	return bp_sum(src_dst, 32, sum);
}

/* Whether the UDP checksum that is there is right, with the payload's sum. The lengths must be
 * right. */
BP_DATAGRAM_INLINE bool bp_datagram_udp_ok(const struct bp_datagram *d, uint64_t payload_sum)
{
	uint64_t sum = bp_datagram_pseudo_sum(d->family, bp_datagram_src(d), d->l4_len);

	sum = bp_sum_add(sum, bp_sum_word(d->frame + d->l4));
	return bp_sum_ok(bp_sum_add(sum, payload_sum));
}

/*
 * Whether a datagram can have this source: a unicast address that is neither loopback nor of "this
 * network", a port and a TTL other than 0. Both ends check this, so the far end accepts every
 * message that is aggregated.
 */
BP_DATAGRAM_INLINE bool bp_datagram_sender_possible(
	unsigned family, const uint8_t *address, unsigned port, unsigned hops)
{
	if (port == 0 || hops == 0)
		return false;
	if (family == 4)
		return bp_ip4_kind(address[0]) == BP_IP4_UNICAST;
	return !bp_ip6_is_multicast(address) && !bp_ip6_is_martian(address);
}

/* Headers to be written. */
struct bp_datagram_head {
	const uint8_t *src, *dst; /* 4 or 16 bytes */
	/* Numbers in host byte order of at most 16 bits; the compilers read them with 32, and a
	 * processor waits where what it reads was just written by a shorter move. */
	uint32_t sport, dport;
	uint32_t id; /* of IPv4 */
	uint8_t family, tos, hops;
	bool dont_fragment;
};

static inline unsigned bp_datagram_head_len(unsigned family)
{
	return (family == 4 ? BP_IP4_HDR : BP_IP6_HDR) + BP_UDP_HDR;
}

/* Eight bytes of a header as a number, in memory order. */
static inline uint64_t bp_head_word(uint64_t number)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return __builtin_bswap64(number);
#else
	return number;
#endif
}

/*
 * Writes IP and UDP headers, bp_datagram_head_len() bytes, with correct checksums, for a payload of
 * `len` bytes. `payload_sum`: its bp_sum(); the payload need not follow the headers yet. The IP
 * packet must not exceed 65,535 bytes.
 */
static inline void bp_datagram_put_head(
	uint8_t *to, const struct bp_datagram_head *h, unsigned len, uint64_t payload_sum)
{
	const unsigned l4_len = BP_UDP_HDR + len, total = BP_IP4_HDR + l4_len;
	uint8_t *udp = to + (h->family == 4 ? BP_IP4_HDR : BP_IP6_HDR);
	/* The words are stored and summed from registers: a load of a different size right after
	 * the store would stall. */
	uint64_t ip, ports, sum;
	uint32_t src, dst, rest;
	uint16_t check;

	if (h->family == 4) {
		ip = bp_head_word((uint64_t)(0x4500u | h->tos) << 48 | (uint64_t)total << 32 |
				  h->id << 16 | (h->dont_fragment ? BP_IP4_DF : 0));
		bp_put_be32((uint8_t *)&rest, (uint32_t)h->hops << 24 | BP_PROTO_UDP << 16);
		memcpy(&src, h->src, 4);
		memcpy(&dst, h->dst, 4);
		sum = (uint64_t)src + dst;
		check = (uint16_t)~bp_sum_fold(bp_sum_add(ip, sum + rest));
		memcpy(to, &ip, 8);
		memcpy(to + BP_IP4_TTL, &rest, 4);
		memcpy(to + BP_IP4_CHECKSUM, &check, 2);
		memcpy(to + BP_IP4_SRC, &src, 4);
		memcpy(to + BP_IP4_DST, &dst, 4);
	} else {
		ip = bp_head_word((uint64_t)(0x60000000u | (uint32_t)h->tos << 20) << 32 |
				  (uint64_t)l4_len << 16 | BP_PROTO_UDP << 8 | h->hops);
		memcpy(to, &ip, 8);
		memcpy(to + BP_IP6_SRC, h->src, 16);
		memcpy(to + BP_IP6_DST, h->dst, 16);
		sum = bp_sum(h->src, 16, bp_sum(h->dst, 16, 0));
	}
	ports = bp_head_word((uint64_t)h->sport << 48 | (uint64_t)h->dport << 32 | l4_len << 16);
	memcpy(udp, &ports, 8);
	/* length and protocol of the pseudo header */
	sum = bp_sum_add(sum, bp_head_word((uint64_t)l4_len << 32 | BP_PROTO_UDP));
	sum = bp_sum_add(sum, ports);
	check = (uint16_t)~bp_sum_fold(bp_sum_add(sum, payload_sum));
	/* 0 means that there is no checksum (RFC 768, RFC 8200 8.1) */
	check = check != 0 ? check : 0xffff;
	memcpy(udp + BP_UDP_CHECKSUM, &check, 2);
}

#endif
