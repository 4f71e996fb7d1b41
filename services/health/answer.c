/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/health/answer.h"

#include "proto/phd_apdu.h"

_Static_assert(BP_PHD_RORS_EVENT_LEN <= BP_PHD_ANSWER_MAX, "there is room for every answer");

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
