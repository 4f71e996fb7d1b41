/* SPDX-License-Identifier: BSD-3-Clause */
#include "phd/token.h"

#include "shm/hash.h"

#define AT_SLOT 41
#define AT_INVOKE 25
#define AT_TYPE 23
#define AT_PART 18
#define AT_ONLY 17
#define AT_CONFIRMED 16

static uint16_t check_of(uint64_t word, uint16_t life, const uint64_t key[2])
{
	const uint64_t what[2] = {htole64(word >> 16), htole64(life)};

	return (uint16_t)(bp_hash_bytes(key, what, sizeof(what)) >> 32);
}

uint64_t bp_phd_token_make(const struct bp_phd_token *t, uint16_t life, const uint64_t key[2])
{
	const uint64_t word = (uint64_t)(t->slot & (BP_PHD_TOKEN_SLOTS - 1)) << AT_SLOT |
			      (uint64_t)t->invoke_id << AT_INVOKE |
			      (uint64_t)(t->type & 3) << AT_TYPE |
			      (uint64_t)(t->part & (BP_PHD_TOKEN_PARTS - 1)) << AT_PART |
			      (uint64_t)t->only << AT_ONLY | (uint64_t)t->confirmed << AT_CONFIRMED;

	return word | check_of(word, life, key);
}

bool bp_phd_token_open(uint64_t word, struct bp_phd_token *t)
{
	t->slot = (uint32_t)(word >> AT_SLOT);
	t->invoke_id = (uint16_t)(word >> AT_INVOKE);
	t->type = word >> AT_TYPE & 3;
	t->part = word >> AT_PART & (BP_PHD_TOKEN_PARTS - 1);
	t->only = (word >> AT_ONLY & 1) != 0;
	t->confirmed = (word >> AT_CONFIRMED & 1) != 0;
	return !t->only || t->part == 0;
}

bool bp_phd_token_true(uint64_t word, uint16_t life, const uint64_t key[2])
{
	return (uint16_t)word == check_of(word, life, key);
}
