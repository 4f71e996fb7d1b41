/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/health/token.h"

#include "proto/health/phd_apdu.h"

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

_Static_assert(BP_PHD_RORS_EVENT_LEN <= BP_PHD_ANSWER_MAX, "every response fits");

size_t bp_phd_answer_write(uint8_t out[BP_PHD_ANSWER_MAX], enum bp_m2m_outcome outcome,
	uint16_t invoke_id, uint16_t type)
{
	switch (outcome) {
	case BP_M2M_STORED:
		bp_phd_write_rors_event(out, invoke_id, 0, type);
		return BP_PHD_RORS_EVENT_LEN;
	case BP_M2M_DENIED:
		return bp_phd_write_roer(out, BP_PHD_ANSWER_MAX, invoke_id, BP_PHD_ACCESS_DENIED);
	case BP_M2M_NO_TARGET:
	case BP_M2M_BUSY:
		return bp_phd_write_rorj(
			out, BP_PHD_ANSWER_MAX, invoke_id, BP_PHD_RESOURCE_LIMITATION);
	case BP_M2M_REFUSED:
	default:
		return bp_phd_write_rorj(
			out, BP_PHD_ANSWER_MAX, invoke_id, BP_PHD_UNEXPECTED_ERROR);
	}
}
