/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_LCL_CHECK_LCL_H
#define BP_CONFIG_LCL_CHECK_LCL_H

#include "config/check_place.h"
#include "config/lcl/schema.h"

/* For the files check_lcl*.c only. */

/* Bytes of a frame in addition to the IP packet of a port's MTU: addresses, EtherType, and two VLAN
 * tags. */
#define BP_LCL_FRAME_OVERHEAD (14u + 8u)
#define BP_LCL_MTU_DEFAULT 1500u /* default when the driver sets the port's MTU */

/* An entry of lcl.flows that was read without an error. */
struct bp_lcl_entry {
	struct bp_lcl_flow *flow;
	const struct bp_yaml *node; /* its YAML mapping */
	uint32_t i;
};

/* Checks contradictions within the match of an entry and with earlier entries; `all` has `n`
 * entries. */
void bp_check_lcl_matches(struct bp_reader *r, const struct bp_lcl_entry *all, uint32_t n);
/* Checks the latency bounds of the ports; `all` is all of lcl.flows, without errors. */
void bp_check_lcl_admission(struct bp_reader *r, const struct bp_lcl_entry *all);

#endif
