/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_MATCH_H
#define BIPLANE_MATCH_H

#include <stdint.h>

#include "biplane/fib.h"

/* Selects frames for an entry. A field that is not given matches all frames. */
struct bp_match {
	struct bp_prefix source, destination; /* family 0: any */
	uint16_t udp_first, udp_last;         /* destination ports, host byte order; both 0: any */
	uint16_t tcp_first, tcp_last;
	uint16_t ethertype; /* behind VLAN tags, host byte order; 0: any */
	uint16_t vlan;      /* the outer tag's; BP_MATCH_ANY: any, BP_MATCH_UNTAGGED: none */
	uint8_t pcp;        /* the outer tag's; BP_MATCH_ANY_PCP: any */
	uint8_t dscp;       /* BP_MATCH_ANY_DSCP: any */
	uint8_t port;       /* index of the input port */
};
#define BP_MATCH_ANY 0xffff
#define BP_MATCH_UNTAGGED 0xfffe
#define BP_MATCH_ANY_PCP 0xff
#define BP_MATCH_ANY_DSCP 0xff

#endif
