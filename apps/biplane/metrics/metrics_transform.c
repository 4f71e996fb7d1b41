/* SPDX-License-Identifier: BSD-3-Clause */
/* Coordinate transformation, by entry. */
#include "apps/biplane/metrics/metric.h"
#include "shm/transform/transform.h"

/* Entries of the active bank, bounded; 0: none. */
static uint32_t entries(const struct bp_metrics *m)
{
	const struct bp_transform_tables *t = &m->shm->transform;
	const struct bp_transform_bank *bank;
	uint32_t n;

	if (t->head == NULL || bp_generation_active(&t->generation) == 0)
		return 0;
	bank = bp_transform_bank_at(t, bp_generation_active(&t->generation));
	n = __atomic_load_n(&bank->n_rules, __ATOMIC_RELAXED);
	return n < BP_TRANSFORM_RULES_MAX ? n : BP_TRANSFORM_RULES_MAX;
}

static void read_entry(struct bp_metrics *m, const struct bp_metric *row)
{
	const uint32_t n = entries(m);
	char entry[BP_METRIC_INDEX];

	for (uint32_t i = 0; i < n; i++)
		bp_metric_count(m, BP_LABELS({"entry", bp_metric_index(i, entry)}),
			bp_metric_sum(m, m->shm->transform.rule_stats,
				sizeof(struct bp_transform_rule_stats), BP_TRANSFORM_RULES_MAX, i,
				row->at));
}

static void read_head(struct bp_metrics *m, const struct bp_metric *row)
{
	if (m->shm->transform.head)
		bp_metric_count(m, BP_NO_LABELS, bp_metric_load(m->shm->transform.head, row->at));
}

#define ENTRY(name_, member, help_)                                                                \
	{                                                                                          \
		.name = "transform_entry_" name_, .type = BP_METRIC_COUNTER, .labels = "entry",    \
		.help = help_, .read = read_entry,                                                 \
		.at = offsetof(struct bp_transform_rule_stats, member)                             \
	}
static const struct bp_metric transform[] = {
	ENTRY("readings", readings, "Readings transformed"),
	ENTRY("sent", sent, "Datagrams to receivers"),
	ENTRY("no_matrix", bare, "Datagrams with the untransformed point: no matrix"),
	ENTRY("saturated", saturated, "Datagrams with a saturated coordinate"),
	ENTRY("dropped", refused, "Readings dropped: numbers, checksum or length"),
	ENTRY("overflow", overflow, "Datagrams dropped: result out of range"),
	ENTRY("unknown_source", unknown, "Readings dropped: unknown source"),
	ENTRY("no_mbuf", no_mbuf, "Datagrams not sent: no mbuf"),
	{.name = "transform_matrices_set",
		.type = BP_METRIC_COUNTER,
		.labels = "",
		.help = "Matrices set by a command or the loader",
		.read = read_head,
		.at = offsetof(struct bp_transform_head, set)},
	{.name = "transform_matrices_refused",
		.type = BP_METRIC_COUNTER,
		.labels = "",
		.help = "Matrices of a command or the loader that were refused",
		.read = read_head,
		.at = offsetof(struct bp_transform_head, refused)},
	{.name = NULL},
};

const struct bp_metric_table bp_metrics_transform[] = {
	{"Coordinate transformation", transform},
	{NULL, NULL},
};
