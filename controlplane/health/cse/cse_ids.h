/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_CSE_CSE_IDS_H
#define BP_CONTROLPLANE_HEALTH_CSE_CSE_IDS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Message ids of one CoAP endpoint, by the clock alone: time goes in slots, 255 of them a lifetime,
 * and in slot t only the ids of block t modulo 256 are used. So an id is used again 255 slots after
 * the end of its slot or later, which is a lifetime (RFC 7252 4.8.2, EXCHANGE_LIFETIME), whatever
 * the process did in between, and nothing has to be kept for the next one: it begins with the slot
 * behind the one that it is started in, since it does not know what was used in that.
 *
 * Times are of CLOCK_MONOTONIC, which all processes of a machine share until it is started anew.
 */
#define BP_CSE_ID_BLOCK 256u
#define BP_CSE_ID_BLOCKS (65536u / BP_CSE_ID_BLOCK)

struct bp_cse_ids {
	uint64_t slot_ns;
	uint64_t slot;  /* in which ids were taken last, or before the first that may be used */
	unsigned taken; /* in it; BP_CSE_ID_BLOCK: all */
};

/* The ids of an endpoint that others may have used until now. */
void bp_cse_ids_init(struct bp_cse_ids *ids, uint64_t lifetime_ns, uint64_t now_ns);
/* When there is an id: now_ns, or the time to wait for. */
uint64_t bp_cse_ids_at(const struct bp_cse_ids *ids, uint64_t now_ns);
/* The next id; bp_cse_ids_at() must have said that there is one. */
uint16_t bp_cse_ids_take(struct bp_cse_ids *ids, uint64_t now_ns);

#endif
