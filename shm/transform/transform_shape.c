/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/transform/transform_shape.h"

const struct bp_table_shape bp_transform_shape[BP_TRANSFORM_TABLES] = {
	[BP_XT_HEAD] = {"transform_head", sizeof(struct bp_transform_head), BP_SEG_CONTROL},
	[BP_XT_READERS] = {"transform_readers", sizeof(struct bp_transform_readers), BP_SEG_DATA},
	[BP_XT_BANKS] = {"transform_banks", 1, BP_SEG_CONTROL},
	[BP_XT_RULES] = {"transform_rules", sizeof(struct bp_transform_rule_stats), BP_SEG_DATA},
	[BP_XT_STATS] = {"transform_stats", sizeof(struct bp_transform_source_stats), BP_SEG_DATA},
};

void bp_transform_capacities(const struct bp_config *c, uint64_t capacity[BP_TRANSFORM_TABLES])
{
	const bool on = bp_config_transforms(c);
	const uint64_t workers = c->n_workers != 0 ? c->n_workers : 1;
	const uint32_t matrices = c->transformation.matrices;

	capacity[BP_XT_HEAD] = 1;
	capacity[BP_XT_READERS] = 1;
	capacity[BP_XT_BANKS] = on ? 2 * bp_transform_places(matrices).size : 1;
	capacity[BP_XT_RULES] = on ? workers * BP_TRANSFORM_RULES_MAX : 1;
	capacity[BP_XT_STATS] = on ? workers * matrices : 1;
}

bool bp_transform_sizes_agree(const uint64_t capacity[BP_TRANSFORM_TABLES], uint64_t workers)
{
	const uint64_t matrices = capacity[BP_XT_STATS] / workers;

	if (capacity[BP_XT_HEAD] != 1 || capacity[BP_XT_READERS] != 1)
		return false;
	if (capacity[BP_XT_RULES] == 1)
		return capacity[BP_XT_BANKS] == 1 && capacity[BP_XT_STATS] == 1;
	return capacity[BP_XT_RULES] == workers * BP_TRANSFORM_RULES_MAX &&
	       capacity[BP_XT_STATS] == workers * matrices && matrices > 0 &&
	       matrices <= BP_TRANSFORM_MATRICES_MAX &&
	       capacity[BP_XT_BANKS] == 2 * bp_transform_places((uint32_t)matrices).size;
}

void bp_transform_map(struct bp_transform_tables *t, void *const address[BP_TRANSFORM_TABLES],
	const uint64_t capacity[BP_TRANSFORM_TABLES], uint32_t workers)
{
	*t = (struct bp_transform_tables){0};
	if (capacity[BP_XT_RULES] == 1)
		return;
	t->head = address[BP_XT_HEAD];
	t->readers = address[BP_XT_READERS];
	t->banks = address[BP_XT_BANKS];
	t->bank_size = capacity[BP_XT_BANKS] / 2;
	t->rule_stats = address[BP_XT_RULES];
	t->source_stats = address[BP_XT_STATS];
	t->matrices = (uint32_t)(capacity[BP_XT_STATS] / workers);
}

void bp_transform_init(const struct bp_transform_tables *t)
{
	for (unsigned w = 0; t->head != NULL && w < BP_MAX_WORKERS; w++)
		atomic_store(&t->readers->seen[w], UINT64_MAX);
}
