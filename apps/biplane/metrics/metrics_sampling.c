/* SPDX-License-Identifier: BSD-3-Clause */
/* Sampling, by entry. */
#include "apps/biplane/metrics/metric.h"
#include "shm/sampling/sampling.h"

/* While the entries are being changed there are none. */
static void read_entry(struct bp_metrics *m, const struct bp_metric *row)
{
	const struct bp_sampling_tables *t = bp_sampling_tables(m->shm);
	struct bp_sampling_rules rules = {0};
	char name[BP_METRIC_TEXT(sizeof(rules.rule[0].name))];
	uint64_t seen = 0;

	if (!t || !bp_seqlock_read(&t->plan->lock, &seen, &rules, sizeof(rules)))
		return;
	for (uint32_t i = 0; i < rules.n && i < BP_SAMPLING_MAX; i++) {
		bp_metric_text(name, sizeof(name), rules.rule[i].name, sizeof(rules.rule[i].name));
		bp_metric_count(m, BP_LABELS({"entry", name}),
			bp_metric_sum(m, t->stats, sizeof(struct bp_sampling_stats),
				BP_SAMPLING_MAX, i, row->at));
	}
}

#define ENTRY(name_, member, help_)                                                                \
	{                                                                                          \
		.name = "sampling_entry_" name_, .type = BP_METRIC_COUNTER, .labels = "entry",     \
		.help = help_, .read = read_entry,                                                 \
		.at = offsetof(struct bp_sampling_stats, member)                                   \
	}
static const struct bp_metric sampling[] = {
	ENTRY("matched", matched, "Frames that match the entry, since its last change"),
	ENTRY("mirrored", mirrored, "Frames mirrored, since the last change of the entries"),
	ENTRY("not_mirrored", not_mirrored, "Sampled frames that could not be mirrored"),
	{.name = NULL},
};

const struct bp_metric_table bp_metrics_sampling[] = {
	{"Sampling", sampling},
	{NULL, NULL},
};
