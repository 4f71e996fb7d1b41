/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/phd/cse_ids.h"

#include <string.h>

void bp_cse_ids_init(struct bp_cse_ids *ids, uint16_t first, uint64_t lifetime_ns)
{
	memset(ids, 0, sizeof(*ids));
	ids->lifetime_ns = lifetime_ns;
	ids->first = first;
}

/* Within a block there is always one: its last use was before the block's end. */
uint64_t bp_cse_ids_at(const struct bp_cse_ids *ids, uint64_t now_ns)
{
	return ids->taken % BP_CSE_ID_BLOCK == 0 ? ids->free_at_ns[ids->taken / BP_CSE_ID_BLOCK]
						 : now_ns;
}

uint16_t bp_cse_ids_take(struct bp_cse_ids *ids, uint64_t now_ns)
{
	const uint16_t n = ids->taken++;

	if (n % BP_CSE_ID_BLOCK == BP_CSE_ID_BLOCK - 1)
		ids->free_at_ns[n / BP_CSE_ID_BLOCK] = now_ns + ids->lifetime_ns;
	return (uint16_t)(ids->first + n);
}
