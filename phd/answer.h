/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PHD_ANSWER_H
#define BP_PHD_ANSWER_H

#include <stddef.h>
#include <stdint.h>

#include "proto/onem2m.h"

/* What a device is told of its report: the response to a confirmed event report, as an APDU. */

#define BP_PHD_ANSWER_MAX 24u /* octets */

/*
 * `outcome` is the worst of its parts: stored is rors, denied roer access-denied; no target and
 * busy are rorj resource-limitation, so that the device tries again; refused is rorj
 * unexpected-error (ISO/IEEE 11073-20601, annex A). `type`: the event report's, 3357..3360. Returns
 * the length.
 */
size_t bp_phd_answer_write(uint8_t out[BP_PHD_ANSWER_MAX], enum bp_m2m_outcome outcome,
	uint16_t invoke_id, uint16_t type);

#endif
