/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/aggregation/agg.h"

#include "shm/aggregation/agg_shape.h"
#include "shm/layout.h"

static const struct bp_table_shape shape[BP_AGG_TABLES] = {
	[BP_AT_RULES] = {"agg_plan", sizeof(struct bp_agg_shared_rules), BP_SEG_CONTROL},
	[BP_AT_STATS] = {"agg_stats", sizeof(struct bp_agg_stats), BP_SEG_DATA},
	[BP_AT_DISAGG_STATS] = {"disagg_stats", sizeof(struct bp_disagg_stats), BP_SEG_DATA},
	[BP_AT_STREAMS] = {"agg_streams", sizeof(struct bp_agg_stream_row), BP_SEG_DATA},
};

static bool sizes_agree(const uint64_t *capacity, uint64_t workers)
{
	const bool off = capacity[BP_AT_STATS] == 1;

	return capacity[BP_AT_RULES] == 1 &&
	       capacity[BP_AT_DISAGG_STATS] == capacity[BP_AT_STATS] &&
	       (off ? capacity[BP_AT_STREAMS] == 1
		    : capacity[BP_AT_STATS] == workers * BP_AGG_RULES_MAX &&
				       capacity[BP_AT_STREAMS] % workers == 0 &&
				       capacity[BP_AT_STREAMS] / workers <= UINT32_MAX);
}

static int map(struct bp_shm *m, void *const *address, const uint64_t *capacity, char *err,
	size_t err_size)
{
	struct bp_agg_tables *t = &m->agg;

	(void)err;
	(void)err_size;
	*t = (struct bp_agg_tables){0};
	if (capacity[BP_AT_STATS] == 1)
		return 0;
	t->plan = address[BP_AT_RULES];
	t->stats = address[BP_AT_STATS];
	t->disagg_stats = address[BP_AT_DISAGG_STATS];
	t->rows = address[BP_AT_STREAMS];
	t->streams = (uint32_t)(capacity[BP_AT_STREAMS] / m->workers);
	return 0;
}

const struct bp_service_tables bp_tables_aggregation = {
	.shape = shape,
	.n = BP_AGG_TABLES,
	.sizes_agree = sizes_agree,
	.map = map,
};

bool bp_agg_stream_read(const struct bp_agg_stream_row *row, struct bp_agg_stream_row *out)
{
	const uint64_t *from = (const uint64_t *)(const void *)row;
	uint64_t *to = (uint64_t *)(void *)out;
	const uint64_t life = atomic_load_explicit(&row->life, memory_order_acquire);

	if (life == 0)
		return false;
	for (size_t i = 0; i < sizeof(*out) / 8; i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&row->life, memory_order_relaxed) == life;
}
