/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/aggregation/agg.h"

#include "shm/aggregation/agg_shape.h"
#include "shm/plan.h"

const struct bp_table_shape bp_agg_shape[BP_AGG_TABLES] = {
	[BP_AT_PLAN] = {"agg_plan", sizeof(struct bp_agg_plan), BP_SEG_CONTROL},
	[BP_AT_STATS] = {"agg_stats", sizeof(struct bp_agg_stats), BP_SEG_DATA},
	[BP_AT_DISAGG_STATS] = {"disagg_stats", sizeof(struct bp_disagg_stats), BP_SEG_DATA},
	[BP_AT_STREAMS] = {"agg_streams", sizeof(struct bp_agg_stream_row), BP_SEG_DATA},
};

void bp_agg_capacities(const struct bp_config *c, uint64_t capacity[BP_AGG_TABLES])
{
	const bool on = bp_config_aggregates(c);
	const uint64_t workers = c->n_workers != 0 ? c->n_workers : 1;

	capacity[BP_AT_PLAN] = 1;
	capacity[BP_AT_STATS] = on ? workers * BP_AGG_RULES_MAX : 1;
	capacity[BP_AT_DISAGG_STATS] = capacity[BP_AT_STATS];
	capacity[BP_AT_STREAMS] = on ? workers * c->aggregation.streams : 1;
}

bool bp_agg_sizes_agree(const uint64_t capacity[BP_AGG_TABLES], uint64_t workers)
{
	const bool off = capacity[BP_AT_STATS] == 1;

	return capacity[BP_AT_PLAN] == 1 && capacity[BP_AT_DISAGG_STATS] == capacity[BP_AT_STATS] &&
	       (off ? capacity[BP_AT_STREAMS] == 1
		    : capacity[BP_AT_STATS] == workers * BP_AGG_RULES_MAX &&
				       capacity[BP_AT_STREAMS] % workers == 0 &&
				       capacity[BP_AT_STREAMS] / workers <= UINT32_MAX);
}

void bp_agg_map(struct bp_agg_tables *t, void *const address[BP_AGG_TABLES],
	const uint64_t capacity[BP_AGG_TABLES], uint32_t workers)
{
	*t = (struct bp_agg_tables){0};
	if (capacity[BP_AT_STATS] == 1)
		return;
	t->plan = address[BP_AT_PLAN];
	t->stats = address[BP_AT_STATS];
	t->disagg_stats = address[BP_AT_DISAGG_STATS];
	t->rows = address[BP_AT_STREAMS];
	t->streams = (uint32_t)(capacity[BP_AT_STREAMS] / workers);
}

/* by words, since a worker may read them meanwhile */
_Static_assert(sizeof(struct bp_agg_rules) % 8 == 0, "rules are copied by words");

void bp_agg_plan_write(struct bp_agg_plan *p, const struct bp_agg_rules *rules)
{
	bp_plan_write(&p->generation, &p->rules, rules, sizeof(*rules));
}

bool bp_agg_plan_says(const struct bp_agg_plan *p, const struct bp_agg_rules *rules)
{
	return bp_plan_says(&p->generation, &p->rules, rules, sizeof(*rules));
}

bool bp_agg_plan_take(const struct bp_agg_plan *p, uint64_t *seen, struct bp_agg_rules *out)
{
	return bp_plan_take(&p->generation, &p->rules, seen, out, sizeof(*out));
}

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
