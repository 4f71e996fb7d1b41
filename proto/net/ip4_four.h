/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_NET_IP4_FOUR_H
#define BP_PROTO_NET_IP4_FOUR_H

#include "proto/net/ip.h"
#include "proto/net/vec16.h"

/*
 * Validation of four frames in parallel for IPv4 forwarding: the same word of each header is in one
 * vector, so that each check is one instruction for all of them, and the result is a bit of a mask
 * instead of a chain of comparisons.
 */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "written for little-endian machines");

typedef int32_t bp_v4s __attribute__((vector_size(16)));
typedef int16_t bp_v8s __attribute__((vector_size(16)));

/* Bytes of each frame that are read, independent of its length. */
#define BP_IP4_FOUR_READS (BP_ETHER_HDR + BP_IP4_HDR)

/*
 * Expected first 16 bytes of a frame, as bp_ip4_four() compares them: this destination MAC (its
 * first byte is the lowest of the number), EtherType IPv4 and a header without options; the other
 * bytes are ignored.
 */
static inline bp_v16 bp_ip4_expect(uint64_t mac)
{
	bp_v16 v = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x08, 0x00, 0x45, 0};

	for (unsigned i = 0; i < 6; i++)
		v[i] = (uint8_t)(mac >> 8 * i);
	return v;
}

/* A value that no frame matches: one of the ignored bytes differs. */
static inline bp_v16 bp_ip4_expect_none(void)
{
	return (bp_v16){0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0};
}

static inline bp_v4 bp_v4_low(bp_v4 a, bp_v4 b)
{
	return __builtin_shufflevector(a, b, 0, 4, 1, 5);
}

static inline bp_v4 bp_v4_high(bp_v4 a, bp_v4 b)
{
	return __builtin_shufflevector(a, b, 2, 6, 3, 7);
}

/* Two numbers of each. */
static inline bp_v4 bp_v4_firsts(bp_v4 a, bp_v4 b)
{
	return __builtin_shufflevector(a, b, 0, 1, 4, 5);
}

static inline bp_v4 bp_v4_lasts(bp_v4 a, bp_v4 b)
{
	return __builtin_shufflevector(a, b, 2, 3, 6, 7);
}

#define BP_IP4_LINK_LOCAL_LE 0xfea9 /* 169.254 as it lies in memory */

/* Network to host byte order. */
static inline bp_v4 bp_v4_swap(bp_v4 v)
{
	bp_v16 b = (bp_v16)v;

	return (bp_v4)__builtin_shufflevector(
		b, b, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
}

/* Bit i is the top bit of number i. */
static inline uint32_t bp_v4_mask(bp_v4 v)
{
#if defined(__SSE2__)
	return (uint32_t)_mm_movemask_ps((__m128)v);
#elif defined(__aarch64__)
	const int32x4_t at = {0, 1, 2, 3};

	return vaddvq_u32(vshlq_u32(vshrq_n_u32((uint32x4_t)v, 31), at));
#else
	return v[0] >> 31 | v[1] >> 31 << 1 | v[2] >> 31 << 2 | v[3] >> 31 << 3;
#endif
}

/* For each frame, all ones if the first 16 bytes are as expected. */
static inline bp_v4 bp_ip4_four_heads(const uint8_t *const frame[4], const bp_v16 *const expect[4])
{
	const bp_v16 asked = {255, 255, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 255, 255, 255, 0};
	bp_v4 x[4], a, b;

	for (unsigned i = 0; i < 4; i++)
		x[i] = (bp_v4)((bp_v16_load(frame[i]) & asked) ^ *expect[i]);
	/* reduces the differences in the 16 bytes of a frame to one number */
	a = bp_v4_low(x[0], x[1]) | bp_v4_high(x[0], x[1]);
	b = bp_v4_low(x[2], x[3]) | bp_v4_high(x[2], x[3]);
	a = bp_v4_firsts(a, b) | bp_v4_lasts(a, b);
	return (bp_v4)(a == (bp_v4){0});
}

/* The two halves of each number added up, less 0x10000. */
static inline bp_v4 bp_v4_halves(bp_v4 v)
{
#if defined(__SSE2__)
	/* one instruction for signed numbers: values are moved to that range and back */
	return (bp_v4)_mm_madd_epi16((__m128i)(v ^ 0x80008000), _mm_set1_epi16(1));
#else
	return (v & 0xffff) + (v >> 16) - 0x10000;
#endif
}

/* The folded sum of a header's 16-bit words: 0xffff if the checksum is correct (RFC 1071). */
static inline bp_v4 bp_ip4_four_sums(bp_v4 a, bp_v4 b, bp_v4 c, bp_v4 d, bp_v4 e)
{
	bp_v4 sum = bp_v4_halves(a) + bp_v4_halves(b) + bp_v4_halves(c) + bp_v4_halves(d) +
		    bp_v4_halves(e) + 5 * 0x10000;

	/* Ten words: a sum of k times 0xffff has k - 1 in the upper and 0x10000 - k in the lower
	 * half. */
	return (sum & 0xffff) + (sum >> 16);
}

/* All ones if both addresses may be forwarded: their first byte is 1..223 except 127, and neither
 * is link-local (169.254/16). */
static inline bp_v4 bp_ip4_four_unicast(bp_v4 src, bp_v4 dst)
{
	const bp_v8s first = (bp_v8s)((src & 0xff) | (dst & 0xff) << 16);
	const bp_v8s two = (bp_v8s)((src & 0xffff) | dst << 16);

	return (bp_v4)((bp_v4s)((first > 0) & (first < 224) & (first != 127) &
				(two != (int16_t)BP_IP4_LINK_LOCAL_LE)) == -1);
}

/* Decrements the TTL and updates the checksum (RFC 1624). */
static inline bp_v4 bp_ip4_four_hop(bp_v4 ttl)
{
	/* the checksum is the upper half: one more there, and one for the carry around the end */
	return ttl + 0xffff + ((bp_v4)((bp_v4s)(ttl >> 16) > 0xfffd) & 0x10000);
}

/*
 * Selects the frames among four that a router forwards on the fast path: bit i is set if frame i is
 * for the MAC of expect[i], IPv4 without options, complete, with a correct checksum, a TTL above 1
 * and unicast addresses, and with no data after the packet except the padding of a short frame.
 *
 * `len`: bytes of each frame; `first`: the number of them at frame[i]; `shortest`: a frame may be
 * padded up to this length. Of each frame the first BP_IP4_FOUR_READS bytes must be readable even
 * if it is shorter. Output, four of each, valid for frames whose bit is set: `src`, the source as
 * in memory; `dst`, the destination in host byte order; `total`, the Total Length; `hop`, the bytes
 * TTL, Protocol and Header Checksum as in memory after one hop (RFC 1624).
 */
static inline uint32_t bp_ip4_four(const uint8_t *const frame[4], const bp_v16 *const expect[4],
	bp_v4 len, bp_v4 first, uint32_t shortest, uint32_t *src, uint32_t *dst, uint32_t *total,
	uint32_t *hop)
{
	bp_v4 h[4], addresses[4], low[2], high[2], both[2], to, version, id, ttl, from, bytes;
	bp_v4s behind;
	bp_v4 ok = bp_ip4_four_heads(frame, expect);

	for (unsigned i = 0; i < 4; i++) {
		h[i] = (bp_v4)bp_v16_load(frame[i] + BP_ETHER_HDR);
		addresses[i] = (bp_v4)bp_v16_load_half(frame[i] + BP_ETHER_HDR + BP_IP4_SRC);
	}
	for (unsigned i = 0; i < 2; i++) {
		low[i] = bp_v4_low(h[2 * i], h[2 * i + 1]);
		high[i] = bp_v4_high(h[2 * i], h[2 * i + 1]);
		both[i] = bp_v4_low(addresses[2 * i], addresses[2 * i + 1]);
	}
	version = bp_v4_firsts(low[0], low[1]);
	id = bp_v4_lasts(low[0], low[1]);
	ttl = bp_v4_firsts(high[0], high[1]);
	from = bp_v4_firsts(both[0], both[1]);
	to = bp_v4_lasts(both[0], both[1]);

	bytes = bp_v4_swap(version) & 0xffff;
	behind = (bp_v4s)(len - bytes - BP_ETHER_HDR);
	ok &= (bp_v4)(bp_ip4_four_sums(version, id, ttl, from, to) == 0xffff);
	ok &= (bp_v4)((bp_v4s)(ttl & 0xff) > 1);
	ok &= bp_ip4_four_unicast(from, to);
	ok &= (bp_v4)((bp_v4s)first > (int32_t)BP_IP4_FOUR_READS - 1);
	ok &= (bp_v4)((bp_v4s)bytes > (int32_t)BP_IP4_HDR - 1);
	ok &= (bp_v4)(behind > -1);
	ok &= (bp_v4)((behind == 0) | ((bp_v4s)len < (int32_t)shortest + 1));

	to = bp_v4_swap(to);
	ttl = bp_ip4_four_hop(ttl);
	memcpy(src, &from, sizeof(from));
	memcpy(dst, &to, sizeof(to));
	memcpy(total, &bytes, sizeof(bytes));
	memcpy(hop, &ttl, sizeof(ttl));
	return bp_v4_mask(ok);
}

#endif
