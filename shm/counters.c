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

/* SLOT_x: the number of counters of group DROP before x. */
enum {
	NEXT_OF_NONE = -1,
#define X(id, group, name, help)                                                                   \
	SLOT_##id, NEXT_##id = (int)SLOT_##id - ((int)BP_CG_##group != (int)BP_CG_DROP),
	BP_ALL_COUNTERS (X)
#undef X
		DROP_REASONS,
};
_Static_assert((int)DROP_REASONS <= BP_DROP_REASONS, "raise BP_DROP_REASONS");

const uint8_t bp_drop_slot[BP_C_COUNT] = {
#define X(id, group, name, help) [BP_C_##id] = (uint8_t)SLOT_##id,
	BP_ALL_COUNTERS (X)
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

uint64_t bp_shm_port_drops(const struct bp_shm *m, unsigned port, bp_counter_t c)
{
	uint64_t sum = 0;

	for (uint32_t w = 0; w < m->workers; w++)
		sum += __atomic_load_n(
			&m->port_drops[(size_t)w * BP_MAX_PORTS + port].n[bp_drop_slot[c]],
			__ATOMIC_RELAXED);
	return sum;
}
