/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/routes/route_mix.h"

#include <stdlib.h>
#include <string.h>

#include "shm/hash.h"

#define BLOCKS6 16384u

struct share {
	uint8_t percent, length;
};

static const struct share mix4[] = {{59, 24}, {11, 22}, {10, 23}, {5, 20}, {4, 21}, {3, 19},
	{3, 16}, {2, 18}, {1, 17}, {1, 14}, {1, 32}};
static const struct share mix6[] = {{47, 48}, {12, 32}, {10, 44}, {8, 40}, {6, 36}, {4, 29},
	{3, 46}, {3, 64}, {3, 47}, {2, 42}, {1, 20}, {1, 128}};

/* xorshift64* */
static uint64_t next(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * 0x2545f4914f6cdd1dull;
}

static uint32_t below(uint64_t *seed, uint32_t n)
{
	return (uint32_t)((next(seed) >> 32) * n >> 32);
}

struct bp_prefix bp_route_mix(uint64_t *seed, uint8_t family)
{
	const struct share *s = family == 4 ? mix4 : mix6;
	uint64_t high = next(seed), low = next(seed);
	struct bp_address a = {.family = family};
	uint32_t left = below(seed, 100), block;

	for (; left >= s->percent; s++)
		left -= s->percent;
	for (unsigned i = 0; i < bp_address_bits(family) / 8; i++)
		a.bytes[i] = (uint8_t)((i < 8 ? high : low) >> (8 * (i % 8)));
	if (family == 4) {
		a.bytes[0] = (uint8_t)(1 + below(seed, 223));
		if (a.bytes[0] == 127 || a.bytes[0] == 169) /* loopback, and link-local */
			a.bytes[0]--;
		return bp_prefix_of(a, s->length);
	}
	/* A few blocks have many routes, most have few. */
	block = below(seed, 1 + below(seed, BLOCKS6));
	block = (uint32_t)bp_mix64(block + 1);
	a.bytes[0] = (uint8_t)(0x20 + (block & 15));
	a.bytes[1] = (uint8_t)(block >> 4 & 15);
	a.bytes[2] = (uint8_t)(block >> 8);
	a.bytes[3] = (uint8_t)(s->length <= 32 ? a.bytes[3] : block >> 16);
	return bp_prefix_of(a, s->length);
}

struct bp_address bp_route_mix_inside(uint64_t *seed, const struct bp_prefix *p)
{
	struct bp_address a = {.family = p->family};
	uint64_t high = next(seed), low = next(seed);

	for (unsigned i = 0; i < bp_address_bits(p->family) / 8; i++) {
		unsigned net = p->length > 8 * i ? p->length - 8 * i : 0;
		uint8_t host = net >= 8 ? 0 : (uint8_t)(0xffu >> net);

		a.bytes[i] = (uint8_t)(p->bytes[i] |
				       ((uint8_t)((i < 8 ? high : low) >> (8 * (i % 8))) & host));
	}
	return a;
}

/* Whether it is not in `slot` yet, a hash table of 1 + index (0: free) with `room` entries, a power
 * of two, at least twice the number of prefixes. */
static bool is_new(uint32_t *slot, uint64_t room, const struct bp_prefix *all, uint32_t i)
{
	static const uint64_t key[2] = {1, 2};
	uint64_t at = bp_hash_bytes(key, &all[i], sizeof(all[i]));

	for (;; at++) {
		uint32_t *s = &slot[at & (room - 1)];

		if (*s == 0) {
			*s = i + 1;
			return true;
		}
		if (memcmp(&all[*s - 1], &all[i], sizeof(all[i])) == 0)
			return false;
	}
}

void bp_route_mix_distinct(uint64_t *seed, uint8_t family, uint32_t n, struct bp_prefix *out)
{
	uint64_t room = 64;
	uint32_t *slot;

	while (room < 2 * (uint64_t)n)
		room *= 2;
	slot = calloc(room, sizeof(*slot));
	if (slot == NULL)
		abort();
	for (uint32_t i = 0; i < n;) {
		out[i] = bp_route_mix(seed, family);
		i += is_new(slot, room, out, i);
	}
	free(slot);
}
