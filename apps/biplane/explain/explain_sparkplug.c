/* SPDX-License-Identifier: BSD-3-Clause */
/* What the births of Sparkplug B have said about the metric of a rule. */
#include <inttypes.h>
#include <string.h>

#include "apps/biplane/explain/explain.h"
#include "services/mqtt/sparkplug_keys.h"
#include "shm/rules/sparkplug_state.h"

static bool find(const struct bp_explain *e, uint64_t key, struct bp_sparkplug_view *v)
{
	return bp_sparkplug_state_find(e->shm->sparkplug, e->shm->sparkplug_len, key, v);
}

static void check_node(const struct bp_sparkplug_view *node, json_t *checks)
{
	char seq[32] = "unknown", bdseq[32] = "unknown";

	if (node->value & BP_SPARKPLUG_SEQ_KNOWN)
		snprintf(seq, sizeof(seq), "%u", (unsigned)(node->value & BP_SPARKPLUG_SEQ));
	if (node->value & BP_SPARKPLUG_BDSEQ_KNOWN)
		snprintf(bdseq, sizeof(bdseq), "%u",
			(unsigned)(node->value >> BP_SPARKPLUG_BDSEQ_SHIFT & 0xff));
	bp_explain_add(checks, "node", BP_EXPLAIN_INFO, "%s; last sequence number %s, bdSeq %s",
		node->value & BP_SPARKPLUG_DEAD ? "dead: its NDEATH was the last" : "born", seq,
		bdseq);
}

static void check_metric(const struct bp_sparkplug_view *metric, json_t *checks)
{
	if (metric->data & BP_SPARKPLUG_HAS_ALIAS)
		bp_explain_add(checks, "alias", BP_EXPLAIN_OK,
			"%" PRIu64 " since the last birth, with datatype %u", metric->value,
			metric->data & BP_SPARKPLUG_DATATYPE);
	else if (metric->data & BP_SPARKPLUG_DATATYPE)
		bp_explain_add(checks, "alias", BP_EXPLAIN_OK,
			"none in the last birth: values are read by name");
	else
		bp_explain_add(checks, "alias", BP_EXPLAIN_INFO,
			"the last birth has no such metric: values are read by name");
}

void bp_explain_sparkplug(const struct bp_explain *e, const struct bp_rule *r, const char *topic,
	uint64_t topic_hash, json_t *checks)
{
	const struct bp_value_source *source = bp_ruleset_source(e->rules, r->source);
	struct bp_sparkplug_view node, metric;
	struct bp_sparkplug_topic t;
	char data[BP_RULE_FILTER_MAX + 1];
	bool born;

	if (source->kind != BP_VALUE_SPARKPLUG || topic == NULL || strlen(topic) >= sizeof(data) ||
		!bp_sparkplug_topic((const uint8_t *)topic, (uint32_t)strlen(topic), &t))
		return;
	if (!bp_sparkplug_is_data(t.type)) {
		data[bp_sparkplug_data_topic(&t, data)] = '\0';
		bp_explain_add(checks, "topic", BP_EXPLAIN_INFO,
			"the state of the rule is that of the topic %s", data);
		return;
	}
	born = find(e, bp_sparkplug_node_key(e->shm->global->hash_key, &t), &node);
	if (born)
		check_node(&node, checks);
	if (source->sparkplug.what != BP_SPARKPLUG_METRIC)
		return;
	if (find(e, bp_sparkplug_metric_key(topic_hash, source), &metric) &&
		(!born || metric.data >> BP_SPARKPLUG_BIRTH_SHIFT ==
				  node.data >> BP_SPARKPLUG_BIRTH_SHIFT))
		check_metric(&metric, checks);
	else
		bp_explain_add(checks, "alias", BP_EXPLAIN_INFO,
			"unknown: no birth of the device was read; metrics without a name are not "
			"evaluated until it sends one (NCMD Node Control/Rebirth)");
}
