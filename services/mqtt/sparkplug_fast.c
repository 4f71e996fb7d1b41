/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/sparkplug_fast.h"

#include "proto/sparkplug/protobuf.h"
#include "services/mqtt/sparkplug_keys.h"
#include "services/mqtt/sparkplug_layouts.h"
#include "services/mqtt/sparkplug_notes.h"

/*
 * Data of Sparkplug B on the burst path: the next message of a live node, on a topic that has a
 * note, whose metric was in the last birth, with a payload of a known shape. sparkplug.c has the
 * same steps for all messages, and counts what is odd.
 */

/* Takes the sequence number of the message. False: it is not the next one. */
static bool take_seq(const struct bp_sparkplug_view *node, const uint8_t *payload, uint32_t len,
	const struct bp_sparkplug_index *index)
{
	const uint8_t *at = payload + index->seq_at;
	const uint8_t last = (uint8_t)node->value;
	uint64_t seq;

	if (index->seq_at == 0)
		return true;
	if (!bp_pb_varint(&at, payload + len, &seq))
		return false; /* cannot happen: the payload is valid */
	if ((uint8_t)seq == last)
		return true;
	if (!(node->value & BP_SPARKPLUG_SEQ_KNOWN) || (uint8_t)seq != (uint8_t)(last + 1))
		return false;
	return bp_sparkplug_state_change(
		node, (node->value & ~(uint64_t)BP_SPARKPLUG_SEQ) | (uint8_t)seq, node->data);
}

/* The entries of the node and of the metric. False: they must be searched, or say that the message
 * is not an ordinary one. */
static bool read_entries(const struct bp_mqtt_worker *in, const struct bp_value_source *source,
	uint64_t topic, struct bp_sparkplug_view *node, struct bp_sparkplug_view *metric)
{
	const struct bp_sparkplug_note *note = bp_sparkplug_note_find(in, topic);

	return note != NULL &&
	       bp_sparkplug_state_at(
		       in->sparkplug, in->sparkplug_len, note->node, note->node_key, node) &&
	       !(node->value & BP_SPARKPLUG_DEAD) &&
	       bp_sparkplug_state_at(in->sparkplug, in->sparkplug_len, note->metric,
		       bp_sparkplug_metric_key(topic, source), metric) &&
	       (node->data ^ metric->data) >> BP_SPARKPLUG_BIRTH_SHIFT == 0;
}

enum bp_sparkplug_fast bp_sparkplug_read_fast(struct bp_mqtt_worker *in, const struct bp_rule *rule,
	uint64_t topic, const uint8_t *payload, uint32_t len, double *value)
{
	const struct bp_value_source *source = bp_ruleset_source(in->rules, rule->source);
	struct bp_sparkplug_view node, entry;
	const struct bp_sparkplug_index *index;
	struct bp_sparkplug_wanted wanted;
	struct bp_sparkplug_metric metric;
	enum bp_sparkplug_found found;

	if (!read_entries(in, source, topic, &node, &entry))
		return BP_SPARKPLUG_FAST_NO;
	index = bp_sparkplug_layouts_find(in->sparkplug_layouts, payload, len);
	if (index == NULL)
		return BP_SPARKPLUG_FAST_NO;
	wanted = bp_sparkplug_wanted_of(source);
	wanted.has_alias = entry.data & BP_SPARKPLUG_HAS_ALIAS;
	wanted.alias = entry.value;
	found = bp_sparkplug_index_find(payload, len, index, &wanted, &metric);
	if (found == BP_SPARKPLUG_HISTORICAL ||
		(found == BP_SPARKPLUG_FOUND &&
			!bp_sparkplug_number(&metric, entry.data & BP_SPARKPLUG_DATATYPE, value)) ||
		!take_seq(&node, payload, len, index))
		return BP_SPARKPLUG_FAST_NO;
	bp_sparkplug_state_use(node.entry, in->mono_ns);
	bp_sparkplug_state_use(entry.entry, in->mono_ns);
	return found == BP_SPARKPLUG_FOUND ? BP_SPARKPLUG_FAST_VALUE : BP_SPARKPLUG_FAST_UNCHANGED;
}

void bp_sparkplug_prefetch(const struct bp_mqtt_worker *in, const struct bp_mqtt_burst *b)
{
	for (uint32_t i = 0; i < b->n; i++)
		__builtin_prefetch(bp_sparkplug_note_set(in, b->p[i].topic_hash));
	for (uint32_t i = 0; i < b->n; i++) {
		const struct bp_sparkplug_note *note =
			b->p[i].body == 0 ? NULL : bp_sparkplug_note_find(in, b->p[i].topic_hash);

		if (note == NULL)
			continue;
		__builtin_prefetch(&in->sparkplug[note->node], 1);
		__builtin_prefetch(&in->sparkplug[note->metric]);
	}
}
