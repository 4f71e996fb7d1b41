/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_HASH_H
#define BP_SHM_HASH_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The hashes of tables in the segment. The same result on every machine and in every process. */

static inline uint64_t bp_load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

/* p[0..n), n < 8, as a little-endian number; reads nothing outside. */
static inline uint64_t bp_load_part(const uint8_t *p, size_t n)
{
	uint32_t lo, hi;

	if (n >= 4) {
		memcpy(&lo, p, sizeof(lo));
		memcpy(&hi, p + n - 4, sizeof(hi));
		return le32toh(lo) | (uint64_t)le32toh(hi) << (8 * (n - 4));
	}
	if (n == 0)
		return 0;
	return p[0] | (uint64_t)p[n / 2] << (8 * (n / 2)) | (uint64_t)p[n - 1] << (8 * (n - 1));
}

/* Both halves of a 64 by 64 bit product, folded (the step of wyhash). */
static inline uint64_t bp_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 m = (unsigned __int128)a * b;

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

/* A bijection in which every output bit depends on every input bit (finaliser of MurmurHash3). */
static inline uint64_t bp_mix64(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdull;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ull;
	x ^= x >> 33;
	return x;
}

/* Keyed hash of p[0..len): without the key, inputs that collide cannot be chosen. */
static inline uint64_t bp_hash_bytes(const uint64_t key[2], const void *p, size_t len)
{
	const uint8_t *b = p;
	uint64_t h = key[0] ^ bp_mix64(len + 1);
	size_t n = len;
	uint64_t w0 = 0, w1 = 0;

	for (; n > 16; n -= 16, b += 16)
		h = bp_fold(bp_load64(b) ^ h, bp_load64(b + 8) ^ key[1]);
	if (n >= 8) {
		w0 = bp_load64(b);
		w1 = n == 16 ? bp_load64(b + 8) : bp_load_part(b + 8, n - 8);
	} else {
		w0 = bp_load_part(b, n);
	}
	h = bp_fold(w0 ^ h, w1 ^ key[1]);
	return bp_fold(h ^ 0xa0761d6478bd642full, key[0] ^ 0xe7037ed1a0b428dbull);
}

/* Adds the i-th name of a list to `h`: two lists that differ give different hashes. */
static inline uint64_t bp_hash_name(uint64_t h, unsigned i, const char *name)
{
	const uint64_t key[2] = {h, i};

	return bp_hash_bytes(key, name, strlen(name));
}

#endif
