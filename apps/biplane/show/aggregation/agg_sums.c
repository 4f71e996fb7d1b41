/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/aggregation/agg_sums.h"

#include <string.h>

#define TRIES 1000u /* to read rules that are being written: a copy of some KiB */

static uint64_t load(const _Atomic uint64_t *word)
{
	return atomic_load_explicit((_Atomic uint64_t *)word, memory_order_relaxed);
}

void bp_agg_sum_add(const struct bp_shm *m, uint32_t worker, uint32_t rule, struct bp_agg_sum *sum)
{
	const struct bp_agg_stats *s = &m->agg.stats[worker * BP_AGG_RULES_MAX + rule];

	sum->messages += load(&s->messages);
	sum->message_bytes += load(&s->message_bytes);
	sum->aggregates += load(&s->aggregates);
	sum->aggregate_bytes += load(&s->aggregate_bytes);
	for (unsigned i = 0; i < BP_AGG_FLUSH_COUNT; i++)
		sum->flushed[i] += load(&s->flushed[i]);
	sum->delay_ns += load(&s->delay_ns);
	for (unsigned i = 0; i < BP_AGG_DELAYS; i++)
		sum->delay[i] += load(&s->delay[i]);
	sum->passed += load(&s->passed);
	sum->begun += load(&s->begun);
	sum->evicted += load(&s->evicted);
	sum->streams += load(&s->streams);
	sum->waiting += load(&s->waiting);
}

void bp_disagg_sum_add(
	const struct bp_shm *m, uint32_t worker, uint32_t rule, struct bp_disagg_sum *sum)
{
	const struct bp_disagg_stats *s = &m->agg.disagg_stats[worker * BP_AGG_RULES_MAX + rule];

	sum->aggregates += load(&s->aggregates);
	sum->aggregate_bytes += load(&s->aggregate_bytes);
	sum->messages += load(&s->messages);
	sum->message_bytes += load(&s->message_bytes);
	sum->plain += load(&s->plain);
	sum->refused += load(&s->refused);
	sum->missing += load(&s->missing);
	sum->late += load(&s->late);
	sum->duplicate += load(&s->duplicate);
	sum->stale += load(&s->stale);
	sum->lives += load(&s->lives);
	sum->forgotten += load(&s->forgotten);
	sum->paced += load(&s->paced);
	sum->pace_ns += load(&s->pace_ns);
	for (unsigned i = 0; i < BP_AGG_DELAYS; i++)
		sum->pace[i] += load(&s->pace[i]);
	sum->early += load(&s->early);
	sum->waiting += load(&s->waiting);
}

struct bp_agg_sum bp_agg_sum_of(const struct bp_shm *m, uint32_t rule)
{
	struct bp_agg_sum sum = {0};

	for (uint32_t w = 0; w < m->workers; w++)
		bp_agg_sum_add(m, w, rule, &sum);
	return sum;
}

struct bp_disagg_sum bp_disagg_sum_of(const struct bp_shm *m, uint32_t rule)
{
	struct bp_disagg_sum sum = {0};

	for (uint32_t w = 0; w < m->workers; w++)
		bp_disagg_sum_add(m, w, rule, &sum);
	return sum;
}

static uint32_t at_most(uint32_t n, uint32_t most)
{
	return n < most ? n : most;
}

/* Entries of which anything was counted, and those in front of them. */
static void count_entries(const struct bp_shm *m, struct bp_agg_rules *rules)
{
	for (uint32_t i = 0; i < BP_AGG_RULES_MAX; i++) {
		const struct bp_agg_sum a = bp_agg_sum_of(m, i);
		const struct bp_disagg_sum d = bp_disagg_sum_of(m, i);

		if (a.messages + a.passed != 0)
			rules->n_aggregate = i + 1;
		if (d.aggregates + d.plain + d.refused != 0)
			rules->n_disaggregate = i + 1;
	}
}

uint64_t bp_agg_rules_read(const struct bp_shm *m, struct bp_agg_rules *rules)
{
	uint64_t generation = 0;
	bool known = false;

	for (unsigned i = 0; i < TRIES && !known; i++)
		known = bp_seqlock_read(&m->agg.plan->lock, &generation, rules, sizeof(*rules));
	if (!known) {
		memset(rules, 0, sizeof(*rules));
		count_entries(m, rules);
		return 0;
	}
	rules->n_aggregate = at_most(rules->n_aggregate, BP_AGG_RULES_MAX);
	rules->n_disaggregate = at_most(rules->n_disaggregate, BP_AGG_RULES_MAX);
	for (uint32_t i = 0; i < rules->n_aggregate; i++)
		rules->aggregate[i].n_senders =
			at_most(rules->aggregate[i].n_senders, BP_AGG_SENDERS_MAX);
	for (uint32_t i = 0; i < rules->n_disaggregate; i++)
		rules->disaggregate[i].n_senders =
			at_most(rules->disaggregate[i].n_senders, BP_AGG_SENDERS_MAX);
	return generation;
}
