/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_NET_FRAME_H
#define BP_PROTO_NET_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * A TCP segment in an Ethernet frame: up to three VLAN tags (802.1Q, 802.1ad); LLC and SNAP (IEEE
 * 802.2), a PPPoE session (RFC 2516) or MPLS labels (RFC 3032), if any; IPv4 (RFC 791) or IPv6 with
 * extension headers (RFC 8200), an authentication header (RFC 4302), if any; TCP (RFC 9293).
 */

#define BP_ETHER_HDR 14u
#define BP_ETHER_IP4 0x0800
#define BP_ETHER_IP6 0x86dd
#define BP_VLAN_TAG 4 /* bytes */
#define BP_ETHER_VLAN 0x8100
#define BP_ETHER_QINQ 0x88a8
#define BP_ETHER_QINQ_OLD 0x9100
#define BP_ETHER_PPPOE 0x8864
#define BP_ETHER_MPLS 0x8847
#define BP_ETHER_MPLS_UPSTREAM 0x8848
#define BP_ETHER_LENGTH_MAX 1500 /* up to here it is a length, and LLC follows (IEEE 802.3) */

#define BP_TCP_FIN 0x01
#define BP_TCP_SYN 0x02
#define BP_TCP_RST 0x04
#define BP_TCP_PSH 0x08
#define BP_TCP_ACK 0x10
#define BP_TCP_URG 0x20

enum bp_frame_kind {
	BP_FRAME_OTHER, /* not TCP over IP */
	BP_FRAME_TCP,
	BP_FRAME_FRAGMENT, /* a piece of an IP datagram that carries TCP */
	BP_FRAME_BAD,      /* lengths that contradict the frame */
	BP_FRAME_UNREAD,   /* may carry TCP, in an unread part: `unread` */
};

/* In the order of the counters not_inspected_*. */
enum bp_frame_unread {
	BP_UNREAD_VLAN,
	BP_UNREAD_LLC,
	BP_UNREAD_PPPOE,
	BP_UNREAD_MPLS,
	BP_UNREAD_TUNNEL,
	BP_UNREAD_REASONS,
};

/* A part of a payload that is not contiguous. */
struct bp_piece {
	const uint8_t *data;
	uint32_t len;
};

struct bp_frame {
	const uint8_t *data; /* first byte of the Ethernet header; its first `contiguous` bytes */
	uint32_t contiguous; /* bytes readable at data */
	uint16_t l2;         /* bytes of Ethernet header and VLAN tags */
	uint16_t l3, l4, payload; /* offsets from data */
	/* VLAN identifiers (12 bits), 0: none; a priority tag has none */
	uint16_t vlan_outer, vlan_inner;
	uint32_t tunnel; /* further key of a connection: the third VLAN identifier in the upper
			  * half, the PPPoE session in the lower */
	uint16_t sport, dport; /* host byte order */
	uint32_t payload_len; /* of the TCP segment, by the IP header; may exceed what is contiguous
			       */
	uint32_t seq, ack;    /* host byte order */
	uint8_t tcp_flags;
	bool ip6;
	bool to_broker; /* set by the caller */
	uint8_t unread; /* enum bp_frame_unread, with BP_FRAME_UNREAD */
	/* with BP_FRAME_FRAGMENT: the first one of its datagram; the ports are known then, or in an
	 * unread header */
	bool is_first, has_ports;
	uint8_t n_more; /* further pieces of the payload: set by the caller */
	/* Ingress port + 1, set by the caller; 0: unknown, as in a capture of both directions */
	uint8_t port;
	bool routed; /* that port is routed, not bridged */
	/* number of the network of that port, set by the caller: connections of different networks
	 * are different ones */
	uint8_t network;
	const struct bp_piece *more;
};

static inline uint16_t bp_be16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, 2);
	return __builtin_bswap16(v);
}

static inline uint32_t bp_be32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return __builtin_bswap32(v);
}

static inline void bp_put_be16(uint8_t *p, uint16_t v)
{
	v = __builtin_bswap16(v);
	memcpy(p, &v, 2);
}

static inline void bp_put_be32(uint8_t *p, uint32_t v)
{
	v = __builtin_bswap32(v);
	memcpy(p, &v, 4);
}

/*
 * Parses the headers of a frame of `frame_len` bytes of which `contiguous` are readable at `data`.
 * Fills all members except to_broker and the further pieces. Data after the IP datagram (Ethernet
 * padding) is not payload.
 */
enum bp_frame_kind bp_frame_parse(
	const uint8_t *data, uint32_t contiguous, uint32_t frame_len, struct bp_frame *f);
/* Its part up to the IP header: fills l2, l3, VLAN identifiers and tunnel. BP_FRAME_TCP: IP
 * follows. */
enum bp_frame_kind bp_frame_link(const uint8_t *data, uint32_t contiguous, struct bp_frame *f);

/* Fills the TCP part of a frame whose l3, l4 and IP length are known; used by the parser and by
 * the fast path. `l4_len`: bytes from l4 to the end of the IP datagram, at least 20. */
static inline enum bp_frame_kind bp_frame_tcp(struct bp_frame *f, uint32_t l4_len)
{
	const uint8_t *t = f->data + f->l4;
	uint32_t header = (uint32_t)(t[12] >> 4) * 4;

	if (header < 20 || header > l4_len || f->l4 + header > f->contiguous)
		return BP_FRAME_BAD;
	f->sport = bp_be16(t);
	f->dport = bp_be16(t + 2);
	f->seq = bp_be32(t + 4);
	f->ack = bp_be32(t + 8);
	f->tcp_flags = t[13];
	f->payload = (uint16_t)(f->l4 + header);
	f->payload_len = l4_len - header;
	return BP_FRAME_TCP;
}

/* Eight bytes in host byte order: the unit of a sum of 16-bit words. */
static inline uint64_t bp_sum_word(const uint8_t *p)
{
	uint64_t w;

	memcpy(&w, p, 8);
	return w;
}

/* The last 1..7 bytes, at their positions in a word whose other bytes are zero. */
static inline uint64_t bp_sum_tail(const uint8_t *p, size_t len)
{
	uint64_t w = 0;

	for (size_t i = 0; i < len; i++)
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
		w |= (uint64_t)p[i] << (56 - 8 * i);
#else
		w |= (uint64_t)p[i] << 8 * i;
#endif
	return w;
}

/*
 * Sum of 16-bit words by RFC 1071, over any length, in host byte order; fold with bp_sum_fold().
 * Adds 8 bytes at a time with an end-around carry.
 */
static inline uint64_t bp_sum(const uint8_t *p, size_t len, uint64_t sum)
{
	uint64_t other = 0, w, v; /* two sums, to shorten the dependency chain */
	size_t left = len;

	for (; left >= 16; left -= 16, p += 16) {
		w = bp_sum_word(p);
		v = bp_sum_word(p + 8);
		sum += w;
		sum += sum < w;
		other += v;
		other += other < v;
	}
	if (left >= 8) {
		w = bp_sum_word(p);
		sum += w;
		sum += sum < w;
		p += 8;
		left -= 8;
	}
	if (left != 0) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		/* one load that ends at the end of the range, instead of one per byte */
		w = len >= 8 ? bp_sum_word(p + left - 8) >> (64 - 8 * left) : bp_sum_tail(p, left);
#else
		w = bp_sum_tail(p, left);
#endif
		sum += w;
		sum += sum < w;
	}
	sum += other;
	return sum + (sum < other);
}

static inline uint64_t bp_sum_add(uint64_t a, uint64_t b)
{
	a += b;
	return a + (a < b);
}

/* The sum of data at offset `at` of the summed range, from their separate sum. */
static inline uint64_t bp_sum_moved(uint64_t sum, size_t at)
{
	const unsigned by = (at & 1) * 8;

	return sum << by | sum >> (-by & 63);
}

/*
 * Whether such a sum folds to 0xffff, the sum of data with a correct checksum: whether it is a
 * multiple of 65,535 and not 0. For an odd divisor this is one multiplication by its inverse
 * (Warren, Hacker's Delight, 10-17).
 */
static inline bool bp_sum_ok(uint64_t sum)
{
	return sum * 0xfffefffefffeffffu - 1 <
	       UINT64_MAX / 0xffff; /* of 0 it is 0, less 1 the most */
}

/* Adds the halves by adding the number to itself with its halves exchanged: the carry of the lower
 * half is the end-around carry of the upper one. */
static inline uint16_t bp_sum_fold(uint64_t sum)
{
	uint32_t half = (uint32_t)((sum + (sum << 32 | sum >> 32)) >> 32);

	return (uint16_t)((half + (half << 16 | half >> 16)) >> 16);
}

/* The same of a sum of two that are folded. */
static inline uint16_t bp_sum_fold_short(uint32_t sum)
{
	return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

/* Sum of the pseudo-header of the frame's TCP segment (RFC 9293 3.1, RFC 8200 8.1). */
static inline uint64_t bp_tcp_pseudo_sum(const struct bp_frame *f)
{
	uint32_t tcp_len = (uint32_t)(f->payload - f->l4) + f->payload_len;
	uint64_t sum = (uint64_t)__builtin_bswap32(tcp_len) + ((uint64_t)6 << 8);

	return f->ip6 ? bp_sum(f->data + f->l3 + 8, 32, sum) : bp_sum(f->data + f->l3 + 12, 8, sum);
}

/*
 * Whether the IPv4 header checksum and the TCP checksum are correct. A frame with further payload
 * pieces is summed over them.
 */
bool bp_frame_checksum_ok(const struct bp_frame *f);

#endif
