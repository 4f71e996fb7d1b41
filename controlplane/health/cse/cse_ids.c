/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/health/cse/cse_ids.h"

void bp_cse_ids_init(struct bp_cse_ids *ids, uint64_t lifetime_ns, uint64_t now_ns)
{
	ids->slot_ns = (lifetime_ns + BP_CSE_ID_BLOCKS - 2) / (BP_CSE_ID_BLOCKS - 1);
	ids->slot = now_ns / ids->slot_ns;
	ids->taken = BP_CSE_ID_BLOCK;
}

uint64_t bp_cse_ids_at(const struct bp_cse_ids *ids, uint64_t now_ns)
{
	if (now_ns / ids->slot_ns > ids->slot || ids->taken < BP_CSE_ID_BLOCK)
		return now_ns;
	return (ids->slot + 1) * ids->slot_ns;
}

uint16_t bp_cse_ids_take(struct bp_cse_ids *ids, uint64_t now_ns)
{
	const uint64_t slot = now_ns / ids->slot_ns;

	if (slot > ids->slot) {
		ids->slot = slot;
		ids->taken = 0;
	}
	return (uint16_t)(ids->slot % BP_CSE_ID_BLOCKS * BP_CSE_ID_BLOCK + ids->taken++);
}
