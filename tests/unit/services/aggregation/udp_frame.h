/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SERVICES_AGGREGATION_UDP_FRAME_H
#define BP_TESTS_UNIT_SERVICES_AGGREGATION_UDP_FRAME_H

#include "tests/unit/proto/exact.h"

#include <stdio.h>

/*
 * UDP datagrams in Ethernet frames, written and evaluated byte by byte and with none of what is
 * tested: by RFC 768, 791, 1071 and 8200.
 */
#define FRAME_MOST 9100u

struct udp {
	uint8_t macs[12]; /* destination, source */
	uint8_t tags[8];
	uint8_t n_tags; /* bytes of them: 0, 4, 8 */
	uint8_t family, tos, hops;
	uint8_t src[16], dst[16];
	uint16_t sport, dport;
	uint16_t id;
	bool dont_fragment, no_checksum;
	uint16_t len;
	uint8_t payload[FRAME_MOST];
};

static inline void put(uint8_t *p, unsigned bytes, uint64_t value)
{
	for (unsigned i = 0; i < bytes; i++)
		p[i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
}

static inline uint32_t get(const uint8_t *p, unsigned bytes)
{
	uint32_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v = v << 8 | p[i];
	return v;
}

/* RFC 1071, a word at a time. */
static inline uint32_t plain_sum(const uint8_t *p, size_t len, uint32_t sum)
{
	for (size_t i = 0; i < len; i++) {
		sum += (uint32_t)p[i] << (i & 1 ? 0 : 8);
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return sum;
}

/* The sum of all that a UDP checksum covers: 0xffff where one is there and right. */
static inline uint32_t plain_udp_sum(const uint8_t *ip, unsigned l4_len)
{
	const bool six = ip[0] >> 4 == 6;
	const uint8_t *udp = ip + (six ? 40 : 4 * (ip[0] & 15));
	uint32_t sum = plain_sum(ip + (six ? 8 : 12), six ? 32 : 8, 17 + l4_len);

	return plain_sum(udp, l4_len, sum);
}

/* Returns the length of the frame, which has room for FRAME_MOST. */
static inline unsigned udp_write(const struct udp *u, uint8_t *to)
{
	const unsigned l4_len = 8 + u->len;
	uint8_t *ip = to + 12 + u->n_tags + 2, *udp = ip + (u->family == 4 ? 20 : 40);
	uint32_t check;

	assert_true(udp + 8 + u->len <= to + FRAME_MOST);
	memcpy(to, u->macs, 12);
	memcpy(to + 12, u->tags, u->n_tags);
	put(ip - 2, 2, u->family == 4 ? 0x0800 : 0x86dd);
	if (u->family == 4) {
		put(ip, 1, 0x45);
		put(ip + 1, 1, u->tos);
		put(ip + 2, 2, 20 + l4_len);
		put(ip + 4, 2, u->id);
		put(ip + 6, 2, u->dont_fragment ? 0x4000 : 0);
		put(ip + 8, 1, u->hops);
		put(ip + 9, 1, 17);
		put(ip + 10, 2, 0);
		memcpy(ip + 12, u->src, 4);
		memcpy(ip + 16, u->dst, 4);
		put(ip + 10, 2, ~plain_sum(ip, 20, 0) & 0xffff);
	} else {
		put(ip, 4, 0x60000000u | (uint32_t)u->tos << 20);
		put(ip + 4, 2, l4_len);
		put(ip + 6, 1, 17);
		put(ip + 7, 1, u->hops);
		memcpy(ip + 8, u->src, 16);
		memcpy(ip + 24, u->dst, 16);
	}
	put(udp, 2, u->sport);
	put(udp + 2, 2, u->dport);
	put(udp + 4, 2, l4_len);
	put(udp + 6, 2, 0);
	memcpy(udp + 8, u->payload, u->len);
	if (!u->no_checksum) {
		check = ~plain_udp_sum(ip, l4_len) & 0xffff;
		put(udp + 6, 2, check != 0 ? check : 0xffff);
	}
	return (unsigned)(udp + l4_len - to);
}

/* Makes a datagram of IPv4 another than those of its stream, its sender or its form; `any`: a
 * random number, which says where. From 8 on: it is as it was. */
static inline void udp_differ(struct udp *u, unsigned what, unsigned any)
{
	const uint8_t bit = (uint8_t)(1 << any % 8);

	switch (what) {
	case 0:
		u->macs[any % 6] ^= 2;
		break;
	case 1:
		u->tos ^= 4;
		break;
	case 2:
		u->dont_fragment = !u->dont_fragment;
		break;
	case 3:
		u->src[any / 8 % 4] ^= bit;
		break;
	case 4:
		u->dst[any / 8 % 4] ^= bit;
		break;
	case 5:
		u->dport ^= (uint16_t)(1 << any % 16);
		break;
	case 6:
		u->sport = 0;
		break;
	case 7:
		u->no_checksum = true;
		break;
	default:
		break;
	}
}

/* Reads a frame that is to be perfect: fails the test where it is not. */
static inline void udp_read(const uint8_t *frame, unsigned len, struct udp *u)
{
	const uint8_t *ip = frame + 14, *udp;
	unsigned l4_len;

	memset(u, 0, offsetof(struct udp, payload));
	assert_true(len >= 14);
	memcpy(u->macs, frame, 12);
	while (get(ip - 2, 2) == 0x8100 || get(ip - 2, 2) == 0x88a8) {
		assert_true(u->n_tags < 8);
		memcpy(u->tags + u->n_tags, ip - 2, 4);
		u->n_tags += 4;
		ip += 4;
	}
	if (get(ip - 2, 2) == 0x0800) {
		u->family = 4;
		udp = ip + 20;
		assert_true(udp + 8 <= frame + len);
		assert_int_equal(ip[0], 0x45);
		u->tos = ip[1];
		l4_len = get(ip + 2, 2) - 20;
		u->id = (uint16_t)get(ip + 4, 2);
		assert_int_equal(get(ip + 6, 2) & ~0x4000u, 0);
		u->dont_fragment = (ip[6] & 0x40) != 0;
		u->hops = ip[8];
		assert_int_equal(ip[9], 17);
		assert_int_equal(plain_sum(ip, 20, 0), 0xffff);
		memcpy(u->src, ip + 12, 4);
		memcpy(u->dst, ip + 16, 4);
	} else {
		assert_int_equal(get(ip - 2, 2), 0x86dd);
		u->family = 6;
		udp = ip + 40;
		assert_true(udp + 8 <= frame + len);
		assert_int_equal(get(ip, 4) & 0xf00fffff, 0x60000000);
		u->tos = (uint8_t)(get(ip, 2) >> 4);
		l4_len = get(ip + 4, 2);
		assert_int_equal(ip[6], 17);
		u->hops = ip[7];
		memcpy(u->src, ip + 8, 16);
		memcpy(u->dst, ip + 24, 16);
	}
	u->sport = (uint16_t)get(udp, 2);
	u->dport = (uint16_t)get(udp + 2, 2);
	assert_int_equal(get(udp + 4, 2), l4_len);
	assert_ptr_equal(udp + l4_len, frame + len);
	assert_int_not_equal(get(udp + 6, 2), 0);
	assert_int_equal(plain_udp_sum(ip, l4_len), 0xffff);
	u->len = (uint16_t)(l4_len - 8);
	memcpy(u->payload, udp + 8, u->len);
}

/* From a text as in 10.0.0.1 or fd00:0:0:0:0:0:0:1, without abbreviations. */
static inline void address_of(const char *text, uint8_t out[16])
{
	unsigned v[8];

	memset(out, 0, 16);
	if (sscanf(text, "%u.%u.%u.%u", &v[0], &v[1], &v[2], &v[3]) == 4) {
		for (unsigned i = 0; i < 4; i++)
			out[i] = (uint8_t)v[i];
		return;
	}
	assert_int_equal(sscanf(text, "%x:%x:%x:%x:%x:%x:%x:%x", &v[0], &v[1], &v[2], &v[3], &v[4],
				 &v[5], &v[6], &v[7]),
		8);
	for (unsigned i = 0; i < 8; i++)
		put(out + 2 * i, 2, v[i]);
}

#endif
