/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_HEALTH_ANSWER_H
#define BP_SERVICES_HEALTH_ANSWER_H

#include <stddef.h>
#include <stdint.h>

#include "proto/onem2m.h"

/* The longest answer, in octets. */
#define BP_PHD_ANSWER_MAX 32u

/*
 * The answer to a confirmed report, by what the CSE made of it: an APDU. The same for workers, the
 * slow path and TCP. `type`: of the event report, 3357..3360; `invoke_id` its own.
 *
 *   stored              rors, for the event report
 *   denied              roer 2 (access-denied)
 *   no target, busy     rorj 103 (resource-limitation): the device tries again
 *   refused             rorj 303 (unexpected-error)
 *
 * Returns its length, at most BP_PHD_ANSWER_MAX.
 */
size_t bp_phd_answer_write(uint8_t out[BP_PHD_ANSWER_MAX], enum bp_m2m_outcome outcome,
	uint16_t invoke_id, uint16_t type);

#endif
