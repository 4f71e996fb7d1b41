/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/websocket/sha1.h"

#include <string.h>

#define BLOCK 64u

static uint32_t rotate(uint32_t v, unsigned bits)
{
	return v << bits | v >> (32 - bits);
}

static void put_be32(uint8_t *p, uint32_t v)
{
	for (unsigned i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (24 - 8 * i));
}

/* FIPS 180-4, 6.1.2 */
static void add_block(uint32_t h[5], const uint8_t *p)
{
	uint32_t w[80], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];

	for (unsigned i = 0; i < 16; i++)
		w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 |
		       (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
	for (unsigned i = 16; i < 80; i++)
		w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
	for (unsigned i = 0; i < 80; i++) {
		uint32_t f, k, next;

		if (i < 20) {
			f = (b & c) | (~b & d);
			k = 0x5a827999;
		} else if (i < 40) {
			f = b ^ c ^ d;
			k = 0x6ed9eba1;
		} else if (i < 60) {
			f = (b & c) | (b & d) | (c & d);
			k = 0x8f1bbcdc;
		} else {
			f = b ^ c ^ d;
			k = 0xca62c1d6;
		}
		next = rotate(a, 5) + f + e + k + w[i];
		e = d;
		d = c;
		c = rotate(b, 30);
		b = a;
		a = next;
	}
	h[0] += a;
	h[1] += b;
	h[2] += c;
	h[3] += d;
	h[4] += e;
}

void bp_sha1(const uint8_t *p, size_t n, uint8_t out[BP_SHA1_SIZE])
{
	uint32_t h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
	uint8_t last[2 * BLOCK] = {0};
	const uint64_t bits = (uint64_t)n * 8;
	size_t rest;

	for (; n >= BLOCK; n -= BLOCK, p += BLOCK)
		add_block(h, p);
	memcpy(last, p, n);
	last[n] = 0x80;
	rest = n < BLOCK - 8 ? BLOCK : 2 * BLOCK;
	put_be32(last + rest - 8, (uint32_t)(bits >> 32));
	put_be32(last + rest - 4, (uint32_t)bits);
	for (size_t at = 0; at < rest; at += BLOCK)
		add_block(h, last + at);
	for (unsigned i = 0; i < 5; i++)
		put_be32(out + 4 * i, h[i]);
}
