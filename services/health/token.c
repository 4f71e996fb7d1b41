/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/health/token.h"

bool bp_phd_token_open(uint64_t word, struct bp_phd_token *t)
{
	t->slot = (uint32_t)(word >> BP_PHD_TOKEN_AT_SLOT);
	t->invoke_id = (uint16_t)(word >> BP_PHD_TOKEN_AT_INVOKE);
	t->type = word >> BP_PHD_TOKEN_AT_TYPE & 3;
	t->part = word >> BP_PHD_TOKEN_AT_PART & (BP_PHD_TOKEN_PARTS - 1);
	t->only = (word >> BP_PHD_TOKEN_AT_ONLY & 1) != 0;
	t->confirmed = (word >> BP_PHD_TOKEN_AT_CONFIRMED & 1) != 0;
	return !t->only || t->part == 0;
}

bool bp_phd_token_true(uint64_t word, uint16_t life, const uint64_t key[2])
{
	return (uint16_t)word == bp_phd_token_check(word, life, key);
}
