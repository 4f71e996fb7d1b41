/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/transform/transform_shape.h"

#include "shm/layout.h"
#include "shm/transform/transform_writer.h"

static const struct bp_table_shape shape[BP_TRANSFORM_TABLES] = {
	[BP_XT_HEAD] = {"transform_head", sizeof(struct bp_transform_head), BP_SEG_CONTROL},
	[BP_XT_READERS] = {"transform_readers", sizeof(struct bp_transform_readers), BP_SEG_DATA},
	[BP_XT_BANKS] = {"transform_banks", 1, BP_SEG_CONTROL},
	[BP_XT_RULES] = {"transform_rules", sizeof(struct bp_transform_rule_stats), BP_SEG_DATA},
	[BP_XT_STATS] = {"transform_stats", sizeof(struct bp_transform_source_stats), BP_SEG_DATA},
};

static bool sizes_agree(const uint64_t *capacity, uint64_t workers)
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

static int map(struct bp_shm *m, void *const *address, const uint64_t *capacity, char *err,
	size_t err_size)
{
	struct bp_transform_tables *t = &m->transform;

	(void)err;
	(void)err_size;
	*t = (struct bp_transform_tables){0};
	if (capacity[BP_XT_RULES] == 1)
		return 0;
	t->head = address[BP_XT_HEAD];
	t->generation = (struct bp_generation){.active = &t->head->active,
		.seen = ((struct bp_transform_readers *)address[BP_XT_READERS])->seen,
		.readers = m->workers,
		.banks = address[BP_XT_BANKS],
		.bank_size = capacity[BP_XT_BANKS] / 2};
	t->rule_stats = address[BP_XT_RULES];
	t->source_stats = address[BP_XT_STATS];
	t->matrices = (uint32_t)(capacity[BP_XT_STATS] / m->workers);
	return 0;
}

static void init(struct bp_shm *m, unsigned part)
{
	if (part == BP_SEG_DATA && m->transform.head != NULL)
		bp_generation_reset(&m->transform.generation);
}

static bool bank_sound(const struct bp_transform_tables *t, uint64_t active)
{
	const struct bp_transform_bank *bank = bp_transform_bank_at(t, active);

	return bank->generation == active >> 1 && bp_transform_valid(bank, t->matrices);
}

static bool sound(const struct bp_transform_tables *t)
{
	uint64_t active;
	bool valid;

	do {
		active = t->head == NULL ? 0 : atomic_load(&t->head->active);
		valid = active == 0 || bank_sound(t, active);
	} while (!valid && active != atomic_load(&t->head->active));
	return valid;
}

static const char *unsound(const struct bp_shm *m, unsigned part)
{
	return part != BP_SEG_CONTROL || sound(&m->transform)
		       ? NULL
		       : "its coordinate transformation is damaged";
}

const struct bp_service_tables bp_tables_transform = {
	.shape = shape,
	.n = BP_TRANSFORM_TABLES,
	.sizes_agree = sizes_agree,
	.map = map,
	.init = init,
	.unsound = unsound,
};
