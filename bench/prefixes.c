/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/prefixes.h"

#include <stdbool.h>
#include <stdlib.h>

#include "shm/hash.h"

/* Share of a length among all prefixes, in thousandths. */
struct share {
	uint8_t length;
	uint16_t thousandths;
};

static const struct share shares4[] = {{24, 600}, {23, 100}, {22, 110}, {21, 48}, {20, 44},
	{19, 26}, {18, 14}, {17, 9}, {16, 14}, {15, 2}, {14, 2}, {13, 1}, {12, 1}, {25, 9}, {26, 5},
	{27, 4}, {28, 4}, {29, 3}, {30, 2}, {32, 2}};
static const struct share shares6[] = {{48, 470}, {32, 120}, {44, 105}, {40, 95}, {36, 45},
	{47, 35}, {46, 40}, {29, 25}, {33, 12}, {38, 12}, {42, 12}, {45, 14}, {56, 5}, {64, 5},
	{28, 5}};
static const uint16_t blocks6[] = {0x2001, 0x2400, 0x2402, 0x2404, 0x2406, 0x240e, 0x2600, 0x2602,
	0x2604, 0x2605, 0x2606, 0x2607, 0x260c, 0x2620, 0x2800, 0x2801, 0x2803, 0x2804, 0x2806,
	0x2a00, 0x2a01, 0x2a02, 0x2a03, 0x2a04, 0x2a05, 0x2a06, 0x2a07, 0x2a0a, 0x2a0b, 0x2a0c,
	0x2a0d, 0x2a0e, 0x2a0f, 0x2a10, 0x2a12, 0x2a13, 0x2c0f};

/* splitmix64 */
static uint64_t next(uint64_t *state)
{
	return bp_mix64(*state += 0x9e3779b97f4a7c15ull);
}

static uint8_t choose_length(const struct share *shares, uint32_t n, uint64_t random)
{
	uint32_t at = (uint32_t)(random % 1000);

	for (uint32_t i = 0; i < n; i++) {
		if (at < shares[i].thousandths)
			return shares[i].length;
		at -= shares[i].thousandths;
	}
	return shares[0].length;
}

static void random_address(struct bp_address *a, uint8_t family, uint64_t *state)
{
	uint64_t high = next(state), low = next(state);

	*a = (struct bp_address){.family = family};
	memcpy(a->bytes, &high, 8);
	if (family == 4) {
		memset(a->bytes + 4, 0, 4);
		a->bytes[0] = (uint8_t)(1 + a->bytes[0] % 223);
		if (a->bytes[0] == 127)
			a->bytes[0] = 126;
		return;
	}
	memcpy(a->bytes + 8, &low, 8);
	high = blocks6[high % (sizeof(blocks6) / sizeof(blocks6[0]))];
	a->bytes[0] = (uint8_t)(high >> 8);
	a->bytes[1] = (uint8_t)high;
}

/* A set of prefixes by their hash and content; `room` is a power of two. */
struct set {
	const struct bp_prefix *all;
	uint32_t *slot; /* 1 + index into all; 0: free */
	uint64_t room;
};

static bool add(struct set *s, uint32_t index)
{
	static const uint64_t key[2] = {1, 2};
	const struct bp_prefix *p = &s->all[index];
	uint64_t i = bp_hash_bytes(key, p, sizeof(*p));

	for (;; i++) {
		uint32_t *slot = &s->slot[i & (s->room - 1)];

		if (*slot == 0) {
			*slot = index + 1;
			return true;
		}
		if (memcmp(&s->all[*slot - 1], p, sizeof(*p)) == 0)
			return false;
	}
}

static void make(uint8_t family, const struct share *shares, uint32_t n_shares, uint32_t n,
	struct bp_prefix *out)
{
	struct set set = {.all = out, .room = 64};
	uint64_t state = family;

	while (set.room < 2 * (uint64_t)n)
		set.room *= 2;
	set.slot = calloc(set.room, sizeof(*set.slot));
	if (!set.slot)
		abort();
	for (uint32_t i = 0; i < n;) {
		struct bp_address a;

		random_address(&a, family, &state);
		out[i] = bp_prefix_of(a, choose_length(shares, n_shares, next(&state)));
		i += add(&set, i);
	}
	free(set.slot);
}

void bench_prefixes4(uint32_t n, struct bp_prefix *out)
{
	make(4, shares4, sizeof(shares4) / sizeof(shares4[0]), n, out);
}

void bench_prefixes6(uint32_t n, struct bp_prefix *out)
{
	make(6, shares6, sizeof(shares6) / sizeof(shares6[0]), n, out);
}

void bench_addresses(const struct bp_prefix *prefix, uint32_t n, struct bp_address *out)
{
	uint64_t state = 77;

	for (uint32_t i = 0; i < n; i++) {
		struct bp_address a;
		uint32_t k = (uint32_t)(next(&state) % (i + 1)); /* shuffles as it goes (Knuth) */

		random_address(&a, prefix[i].family, &state);
		for (unsigned bit = 0; bit < prefix[i].length; bit++) {
			uint8_t mask = (uint8_t)(0x80u >> bit % 8);

			a.bytes[bit / 8] = (uint8_t)((a.bytes[bit / 8] & ~mask) |
						     (prefix[i].bytes[bit / 8] & mask));
		}
		out[i] = out[k];
		out[k] = a;
	}
}
