/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_LCL_MATCH_PARTS_H
#define BP_SERVICES_LCL_MATCH_PARTS_H

#include <stdbool.h>

#include "services/lcl/match.h"

/* What of a frame entries ask for; for lcl/match*.c only. */
struct bp_lcl_key {
	uint64_t source[2], destination[2]; /* as in the frame; IPv4: the first 4 octets, then 0 */
	uint16_t vlan; /* the outer tag's, BP_LCL_UNTAGGED; BP_LCL_ANY: beyond what can be read */
	uint16_t ethertype; /* behind the tags; 0: beyond what can be read */
	uint16_t port;      /* destination port, where l4 is not 0 */
	uint8_t pcp;        /* BP_LCL_ANY_PCP where there is no tag */
	uint8_t dscp;       /* BP_LCL_ANY_DSCP where it is not IP */
	uint8_t family;     /* 4 or 6; 0: not IP */
	uint8_t l4;         /* BP_PROTO_UDP, BP_PROTO_TCP; 0: no ports */
};

/* False: not even an Ethernet header. */
bool bp_lcl_key_of(const uint8_t *frame, size_t len, struct bp_lcl_key *key);

#endif
