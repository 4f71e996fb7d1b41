/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PHD_CSE_IDS_H
#define BP_PHD_CSE_IDS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Message ids of one CoAP endpoint. They go up by one from where they began. They rest in blocks,
 * counted from there: a block is begun again only when the last use of its last id is longer ago
 * than the lifetime, and then all of it can be used at once.
 */
#define BP_CSE_ID_BLOCK 256u
#define BP_CSE_ID_BLOCKS (65536u / BP_CSE_ID_BLOCK)

struct bp_cse_ids {
	uint64_t lifetime_ns;
	uint64_t free_at_ns[BP_CSE_ID_BLOCKS]; /* when the block may be begun; 0: never used */
	uint16_t first;
	uint16_t taken; /* from there; 65536 of them are 0 again */
};

void bp_cse_ids_init(struct bp_cse_ids *ids, uint16_t first, uint64_t lifetime_ns);
/* When there is an id: now_ns or before it, or the time to wait for. */
uint64_t bp_cse_ids_at(const struct bp_cse_ids *ids, uint64_t now_ns);
/* The next id; bp_cse_ids_at() must have said that there is one. */
uint16_t bp_cse_ids_take(struct bp_cse_ids *ids, uint64_t now_ns);

#endif
