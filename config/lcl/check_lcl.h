/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_LCL_CHECK_LCL_H
#define BP_CONFIG_LCL_CHECK_LCL_H

#include "config/check_place.h"
#include "config/lcl/schema.h"

/* For the files check_lcl*.c alone. */

/* Octets of a frame beside the IP packet that a port's MTU allows: addresses, EtherType, and room
 * for two VLAN tags. */
#define BP_LCL_FRAME_OVERHEAD (14u + 8u)
#define BP_LCL_MTU_DEFAULT 1500u /* taken where a port's MTU is left to the driver */

/* An entry of lcl.flows that was read without an error. */
struct bp_lcl_entry {
	struct bp_lcl_flow *flow;
	const struct bp_yaml *node; /* its mapping */
	uint32_t i;
};

/* What an entry's match says contradicts itself, or entries before it; `all` of `n`. */
void bp_check_lcl_matches(struct bp_reader *r, const struct bp_lcl_entry *all, uint32_t n);
/* What the ports can't keep; all[] is all of lcl.flows, and none has an error. */
void bp_check_lcl_admission(struct bp_reader *r, const struct bp_lcl_entry *all);

#endif
