/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/service_counters.h"
#include "shm/layout.h"

const struct bp_counter_info bp_counter_info[BP_C_COUNT] = {
#define X(id, group, name, help) [BP_C_##id] = {name, BP_CG_##group, help},
	BP_ALL_COUNTERS (X)
#undef X
};

const struct bp_counter_group_info bp_counter_group_info[BP_CG_COUNT] = {
#define X(id, name, text) [BP_CG_##id] = {name, text},
	BP_ALL_COUNTER_GROUPS (X)
#undef X
};

uint64_t bp_shm_counter(const struct bp_shm *m, bp_counter_t c)
{
	const uint32_t rows = m->counter_rows;
	uint64_t sum = 0;

	for (uint32_t row = 0; row < rows; row++)
		sum += __atomic_load_n(&m->counters[row].v[c], __ATOMIC_RELAXED);
	if (c == BP_C_SEGMENT_QUARANTINED)
		sum += atomic_load_explicit(
			&m->control->cp_segment_quarantined, memory_order_relaxed);
	return sum;
}
