/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_HEALTH_DATAGRAM_H
#define BP_DATAPLANE_HEALTH_DATAGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "dataplane/nodes/driver_sum.h"
#include "proto/net/ip.h"
#include "shm/hash.h"

/*
 * UDP datagrams (RFC 768) in frames of one mbuf, without VLAN tags, IP options or extension
 * headers, as nodes phd and cse read and write them. Addresses are 16 bytes in network byte order,
 * IPv4 as ::ffff:a.b.c.d.
 */
#define BP_UDP_HDR 8u
#define BP_UDP_LENGTH 4u
#define BP_UDP_CHECKSUM 6u
#define BP_IP4_DF 0x4000u /* "don't fragment", in the fragment field */

/*
 * RFC 1071 sum of the addresses and the protocol: the pseudo-header without the length (RFC 768;
 * RFC 8200 8.1).
 */
static inline uint64_t bp_datagram_peers_sum(const uint8_t *ip, bool ip6)
{
	const uint64_t protocol = (uint64_t)BP_PROTO_UDP << 8;

	return ip6 ? bp_sum(ip + BP_IP6_SRC, 32, protocol) : bp_sum(ip + BP_IP4_SRC, 8, protocol);
}

struct bp_datagram {
	const uint8_t *ip;  /* the IP header */
	const uint8_t *udp; /* the UDP header */
	const uint8_t *payload;
	uint32_t len; /* length of the payload, bytes */
	bool ip6;
};

static inline bool bp_datagram_is_ip6(const struct rte_mbuf *m)
{
	return bp_be16(rte_pktmbuf_mtod(m, const uint8_t *) + 12) == BP_ETHER_IP6;
}

static inline uint16_t bp_datagram_sport(const struct bp_datagram *d)
{
	return bp_be16(d->udp);
}

static inline uint16_t bp_datagram_dport(const struct bp_datagram *d)
{
	return bp_be16(d->udp + 2);
}

/*
 * Reads a frame that node ip4 or ip6 selected: the headers are complete, and the frame contains the
 * whole IP packet. False: invalid UDP length. Does not verify the checksum.
 */
static inline bool bp_datagram_lengths(const struct rte_mbuf *m, struct bp_datagram *d)
{
	const uint8_t *ip = rte_pktmbuf_mtod_offset(m, const uint8_t *, BP_ETHER_HDR);
	uint32_t room, udp_len;

	d->ip = ip;
	d->ip6 = bp_datagram_is_ip6(m);
	if (unlikely(d->ip6)) {
		d->udp = ip + BP_IP6_HDR;
		room = bp_be16(ip + BP_IP6_PAYLOAD);
	} else {
		d->udp = ip + BP_IP4_HDR;
		room = bp_be16(ip + BP_IP4_TOTAL) - BP_IP4_HDR;
	}
	udp_len = bp_be16(d->udp + BP_UDP_LENGTH);
	if (unlikely(udp_len < BP_UDP_HDR || udp_len > room))
		return false;
	d->payload = d->udp + BP_UDP_HDR;
	d->len = udp_len - BP_UDP_HDR;
	return true;
}

/* Whether the checksum is right; over IPv4 it may be absent. */
static inline bool bp_datagram_is_complete(const struct rte_mbuf *m, const struct bp_datagram *d)
{
	const uint32_t udp_len = d->len + BP_UDP_HDR;
	uint64_t sum;

	switch (bp_driver_sum(m, d->ip6 ? NULL : d->ip, BP_IP4_HDR)) {
	case BP_SUM_GOOD:
		return true;
	case BP_SUM_BAD:
		return false;
	case BP_SUM_UNKNOWN:
		break;
	}
	if (unlikely((d->udp[BP_UDP_CHECKSUM] | d->udp[BP_UDP_CHECKSUM + 1]) == 0))
		return !d->ip6; /* no checksum */
	/* addresses and UDP header are adjacent */
	sum = (uint64_t)__builtin_bswap32(udp_len) + ((uint64_t)BP_PROTO_UDP << 8);
	sum = d->ip6 ? bp_sum(d->ip + BP_IP6_SRC, 32 + udp_len, sum)
		     : bp_sum(d->ip + BP_IP4_SRC, 8 + udp_len, sum);
	return bp_sum_ok(sum);
}

/*
 * Reads the frame and verifies the checksum. False: invalid length or wrong checksum, or no
 * checksum over IPv6.
 */
static inline bool bp_datagram_read(const struct rte_mbuf *m, struct bp_datagram *d)
{
	return bp_datagram_lengths(m, d) && bp_datagram_is_complete(m, d);
}

/*
 * The same as bp_datagram_is_complete() for a caller that knows the sum of the payload (bp_sum())
 * without reading all of it.
 */
static inline bool bp_datagram_is_complete_to(
	const struct rte_mbuf *m, const struct bp_datagram *d, uint64_t payload)
{
	const uint64_t said = RTE_MBUF_F_RX_L4_CKSUM_MASK | RTE_MBUF_F_RX_IP_CKSUM_MASK;
	uint64_t sum;

	if (unlikely((m->ol_flags & said) != 0 || d->ip6))
		return bp_datagram_is_complete(m, d);
	sum = bp_sum_add(bp_sum_word(d->ip + BP_IP4_SRC), bp_sum_word(d->udp));
	sum = bp_sum_add(sum,
		payload + __builtin_bswap32(d->len + BP_UDP_HDR) + ((uint64_t)BP_PROTO_UDP << 8));
	return likely(bp_sum_ok(sum)) || bp_datagram_is_complete(m, d);
}

/*
 * Returns the source address as two words of bp_load64(), in registers: a load that overlaps
 * several recent smaller stores would stall.
 */
static inline void bp_datagram_source(const struct bp_datagram *d, uint64_t out[2])
{
	uint32_t v4;

	if (unlikely(d->ip6)) {
		out[0] = bp_load64(d->ip + BP_IP6_SRC);
		out[1] = bp_load64(d->ip + BP_IP6_SRC + 8);
		return;
	}
	memcpy(&v4, d->ip + BP_IP4_SRC, sizeof(v4));
	out[0] = 0;
	out[1] = 0xffff0000u | (uint64_t)le32toh(v4) << 32;
}

/*
 * Writes EtherType, IP and UDP header of a frame, without the Ethernet addresses; lengths and
 * checksums are 0. Ports are in host byte order. Returns the length of all headers in bytes.
 */
static inline uint32_t bp_datagram_head(uint8_t *frame, bool ip6, const uint8_t from[16],
	const uint8_t to[16], uint16_t sport, uint16_t dport)
{
	uint8_t *ip = frame + BP_ETHER_HDR, *udp = ip + (ip6 ? BP_IP6_HDR : BP_IP4_HDR);

	bp_put_be16(frame + 12, ip6 ? BP_ETHER_IP6 : BP_ETHER_IP4);
	memset(ip, 0, (size_t)(udp - ip) + BP_UDP_HDR);
	if (ip6) {
		ip[0] = 0x60;
		ip[BP_IP6_NEXT] = BP_PROTO_UDP;
		ip[BP_IP6_HOPS] = 64;
		memcpy(ip + BP_IP6_SRC, from, 16);
		memcpy(ip + BP_IP6_DST, to, 16);
	} else {
		ip[0] = 0x45;
		/* never fragmented: the identification need not be unique (RFC 6864 4.1) */
		bp_put_be16(ip + BP_IP4_FRAGMENT, BP_IP4_DF);
		ip[BP_IP4_TTL] = 64;
		ip[BP_IP4_PROTOCOL] = BP_PROTO_UDP;
		memcpy(ip + BP_IP4_SRC, from + 12, 4);
		memcpy(ip + BP_IP4_DST, to + 12, 4);
	}
	bp_put_be16(udp, sport);
	bp_put_be16(udp + 2, dport);
	return (uint32_t)(udp - frame) + BP_UDP_HDR;
}

/*
 * Writes the lengths and checksums of a frame with headers of `head` bytes and a payload of `len`
 * bytes. ip_sum: the folded sum of the IPv4 header; udp_sum: the sum of the pseudo-header, UDP
 * header and the first `summed` bytes of the payload; both without the lengths.
 */
static inline void bp_datagram_seal(uint8_t *frame, uint32_t head, bool ip6, uint32_t len,
	uint32_t summed, uint64_t ip_sum, uint64_t udp_sum)
{
	uint8_t *ip = frame + BP_ETHER_HDR, *udp = frame + head - BP_UDP_HDR;
	const uint16_t udp_len = __builtin_bswap16((uint16_t)(len + BP_UDP_HDR));
	uint16_t sum;

	if (unlikely(ip6)) {
		memcpy(ip + BP_IP6_PAYLOAD, &udp_len, 2);
	} else {
		const uint16_t total = __builtin_bswap16((uint16_t)(len + BP_UDP_HDR + BP_IP4_HDR));

		memcpy(ip + BP_IP4_TOTAL, &total, 2);
		/* ip_sum is folded */
		sum = (uint16_t)~bp_sum_fold_short((uint32_t)ip_sum + total);
		memcpy(ip + 10, &sum, 2);
	}
	memcpy(udp + BP_UDP_LENGTH, &udp_len, 2);
	/* once in the pseudo-header, once in the UDP header */
	udp_sum = bp_sum_add(
		udp_sum, bp_sum_moved(bp_sum(udp + BP_UDP_HDR + summed, len - summed, 0), summed));
	udp_sum = (udp_sum & UINT32_MAX) + (udp_sum >> 32) + udp_len + udp_len;
	sum = (uint16_t)~bp_sum_fold(udp_sum);
	if (unlikely(sum == 0)) /* 0 would mean that there is no checksum */
		sum = UINT16_MAX;
	memcpy(udp + BP_UDP_CHECKSUM, &sum, 2);
}

#endif
