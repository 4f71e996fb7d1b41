/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "biplane/counters/mqtt.h"
#include "services/mqtt/evaluate.h"
#include "proto/payload/value_pick.h"
#include "services/mqtt/mqtt_worker.h"
#include "services/mqtt/sparkplug.h"
#include "services/mqtt/sparkplug_keys.h"
#include "services/mqtt/sparkplug_layouts.h"
#include "services/mqtt/sparkplug_notes.h"
#include "shm/rules/sparkplug_state.h"

/*
 * Sparkplug B: what births said is kept in the segment (shm/rules/sparkplug_state.h), and data
 * messages are read with it.
 *
 * An alias is valid from the birth of its node or device to the next one, and those of a device end
 * with the next NBIRTH of its node. A gap in the sequence numbers and a death do not end it: an
 * alias changes its metric only by a birth, and the gateway cannot request one. Both are counted.
 *
 * All changes are idempotent: a message that is inspected again after the process was killed, or
 * that is seen a second time on its way from the broker, changes nothing.
 */

#define BIRTH_MASK 0xffffu
#define BORN_MASK (UINT64_MAX >> BP_SPARKPLUG_BORN_SHIFT)

static const char bdseq_name[] = "bdSeq";

/* As bp_sparkplug_find(), by the index of the payload if there is one. */
static enum bp_sparkplug_found find(const struct bp_evaluated *j,
	const struct bp_sparkplug_message *m, const struct bp_sparkplug_wanted *wanted,
	struct bp_sparkplug_metric *metric)
{
	const struct bp_mqtt_publish *p = j->publish;

	return m->index != NULL ? bp_sparkplug_index_find(
					  p->payload, p->payload_len, m->index, wanted, metric)
				: bp_sparkplug_find(p->payload, p->payload_len, wanted, metric);
}

/* The metric bdSeq as in the session of a node: 0 if the payload has none. */
static uint64_t bdseq_of(const struct bp_evaluated *j, const struct bp_sparkplug_message *m)
{
	const struct bp_sparkplug_wanted wanted = {
		.name = bdseq_name, .name_len = sizeof(bdseq_name) - 1, .beginning = j->beginning};
	struct bp_sparkplug_metric metric;

	if (find(j, m, &wanted, &metric) != BP_SPARKPLUG_FOUND || metric.is_null ||
		(metric.field != BP_SPARKPLUG_VALUE_INT && metric.field != BP_SPARKPLUG_VALUE_LONG))
		return 0;
	return BP_SPARKPLUG_BDSEQ_KNOWN | (metric.bits & 0xff) << BP_SPARKPLUG_BDSEQ_SHIFT;
}

#define BDSEQ_BITS (BP_SPARKPLUG_BDSEQ_KNOWN | (uint64_t)0xff << BP_SPARKPLUG_BDSEQ_SHIFT)

/* A number for a node that is not known, most likely not that of entries from before. */
static uint16_t new_number(const struct bp_mqtt_worker *in)
{
	return (uint16_t)(in->mono_ns >> 20) | 1;
}

/* The birth of a device whose node was born before the gateway read its messages. */
static void node_met(struct bp_mqtt_worker *in, const struct bp_evaluated *j,
	const struct bp_sparkplug_head *head, struct bp_sparkplug_message *m)
{
	m->birth = new_number(in);
	m->tracked = true;
	bp_sparkplug_store(in, j, m->node_key,
		(head->has_seq ? BP_SPARKPLUG_SEQ_KNOWN : 0) | (head->seq & BP_SPARKPLUG_SEQ),
		(uint32_t)m->birth << BP_SPARKPLUG_BIRTH_SHIFT);
}

/* A birth of the node. One with the timestamp of the last is the same: it was seen before. */
static void node_born(struct bp_mqtt_worker *in, const struct bp_evaluated *j,
	const struct bp_sparkplug_head *head, const struct bp_sparkplug_view *v,
	struct bp_sparkplug_message *m)
{
	const uint64_t born = head->timestamp & BORN_MASK;
	const uint64_t session = born << BP_SPARKPLUG_BORN_SHIFT | bdseq_of(j, m) |
				 (head->has_seq ? BP_SPARKPLUG_SEQ_KNOWN : 0) |
				 (head->seq & BP_SPARKPLUG_SEQ);
	const bool seen = m->tracked && head->has_timestamp &&
			  v->value >> BP_SPARKPLUG_BORN_SHIFT == born &&
			  ((v->value ^ session) & BDSEQ_BITS) == 0;

	if (!m->tracked)
		m->birth = new_number(in);
	else if (!seen)
		m->birth = m->birth == BIRTH_MASK ? 1 : (uint16_t)(m->birth + 1);
	m->tracked = true;
	if (!seen)
		m->devices = 0; /* those that live have births of their own */
	bp_sparkplug_store(in, j, m->node_key, session,
		(uint32_t)m->birth << BP_SPARKPLUG_BIRTH_SHIFT | m->devices);
}

/* False: the death is of an earlier session. */
static bool node_died(struct bp_mqtt_worker *in, const struct bp_evaluated *j,
	const struct bp_sparkplug_view *v, const struct bp_sparkplug_message *m)
{
	const uint64_t bdseq = bdseq_of(j, m);

	if ((v->value & bdseq & BP_SPARKPLUG_BDSEQ_KNOWN) &&
		((v->value ^ bdseq) & BDSEQ_BITS) != 0) {
		bp_tally(in, BP_C_SPARKPLUG_DEATH_STALE);
		return false;
	}
	(void)bp_sparkplug_state_change(v, v->value | BP_SPARKPLUG_DEAD, v->data);
	return true;
}

/* The sequence number of another message of the node, in the order in which the node sends. */
static void node_sent(struct bp_mqtt_worker *in, const struct bp_evaluated *j,
	const struct bp_sparkplug_head *head, const struct bp_sparkplug_view *v)
{
	const uint8_t last = (uint8_t)v->value, seq = (uint8_t)head->seq;

	if (v->value & BP_SPARKPLUG_DEAD)
		bp_tally(in, BP_C_SPARKPLUG_AFTER_DEATH);
	bp_sparkplug_state_use(v->entry, in->mono_ns);
	if (!head->has_seq || j->dir != BP_TO_BROKER || seq == last)
		return;
	if ((v->value & BP_SPARKPLUG_SEQ_KNOWN) && seq != (uint8_t)(last + 1))
		bp_tally(in, BP_C_SPARKPLUG_SEQ_GAP);
	(void)bp_sparkplug_state_change(v,
		(v->value & ~(uint64_t)BP_SPARKPLUG_SEQ) | BP_SPARKPLUG_SEQ_KNOWN | seq, v->data);
}

/* Reads a payload for its numbers and the metrics of all rules. False: it is malformed, counted. */
static bool read_payload(struct bp_mqtt_worker *in, const struct bp_evaluated *j,
	struct bp_sparkplug_message *m, struct bp_sparkplug_head *head)
{
	const struct bp_mqtt_publish *p = j->publish;

	bp_work_add(&in->work, BP_WORK_VALUE + 4 * (uint64_t)p->payload_len);
	m->index = NULL;
	if (j->beginning) {
		(void)bp_sparkplug_head(p->payload, p->payload_len, head);
		return true;
	}
	m->index = bp_sparkplug_layouts_find(in->sparkplug_layouts, p->payload, p->payload_len);
	if (m->index == NULL) {
		if (!bp_sparkplug_layouts_read(in->sparkplug_layouts, p->payload, p->payload_len,
			    in->sparkplug_index)) {
			bp_tally(in, BP_C_SPARKPLUG_MALFORMED);
			return false;
		}
		if (!in->sparkplug_index->whole)
			return bp_sparkplug_head(p->payload, p->payload_len, head);
		m->index = in->sparkplug_index;
	}
	bp_sparkplug_index_head(p->payload, p->payload_len, m->index, head);
	return true;
}

/* The topic, by its note if it has one. False: it is none of a birth, a death or data. */
static bool read_topic(struct bp_mqtt_worker *in, const struct bp_mqtt_publish *p,
	uint64_t topic_hash, struct bp_sparkplug_message *m)
{
	m->note = bp_sparkplug_note_find(in, topic_hash);
	if (m->note != NULL) {
		m->topic.type = BP_SPARKPLUG_NDATA;
		m->node_key = m->note->node_key;
		return true;
	}
	if (!bp_sparkplug_topic(p->topic, p->topic_len, &m->topic) ||
		m->topic.type == BP_SPARKPLUG_NCMD || m->topic.type == BP_SPARKPLUG_DCMD)
		return false;
	m->node_key = bp_sparkplug_node_key(in->topic_key, &m->topic);
	if (bp_sparkplug_is_data(m->topic.type))
		m->note = bp_sparkplug_note_add(in, topic_hash, m->node_key);
	return true;
}

bool bp_sparkplug_begin(struct bp_mqtt_worker *in, const struct bp_evaluated *j,
	uint64_t topic_hash, struct bp_sparkplug_message *m)
{
	struct bp_sparkplug_head head;
	struct bp_sparkplug_view v;
	uint64_t at = UINT64_MAX;

	if (!read_topic(in, j->publish, topic_hash, m))
		return false;
	if (!read_payload(in, j, m, &head))
		return false;
	if (bp_sparkplug_is_birth(m->topic.type))
		bp_tally(in, BP_C_SPARKPLUG_BIRTH);
	else if (bp_sparkplug_is_death(m->topic.type))
		bp_tally(in, BP_C_SPARKPLUG_DEATH);
	m->tracked = bp_sparkplug_note_entry(
		in, m->note != NULL ? &m->note->node : &at, m->node_key, &v);
	m->birth = m->tracked ? (uint16_t)(v.data >> BP_SPARKPLUG_BIRTH_SHIFT) : 0;
	m->devices = m->tracked ? (uint16_t)(v.data & BP_SPARKPLUG_DEVICES) : 0;
	if (m->topic.type == BP_SPARKPLUG_NBIRTH)
		node_born(in, j, &head, &v, m);
	else if (!m->tracked && m->topic.type == BP_SPARKPLUG_DBIRTH)
		node_met(in, j, &head, m);
	else if (!m->tracked)
		return true;
	else if (m->topic.type == BP_SPARKPLUG_NDEATH)
		return node_died(in, j, &v, m);
	else
		node_sent(in, j, &head, &v);
	return true;
}

/* Valid UTF-8 is a string, as in other payloads. */
static bool string_value(struct bp_mqtt_worker *in, const struct bp_value_source *source,
	const struct bp_sparkplug_metric *metric, struct bp_evaluated *j)
{
	j->text.len = 0;
	j->text.truncated = j->text.replaced = false;
	if (!bp_sparkplug_is_text(metric) ||
		!bp_value_text_add_checked(&j->text, metric->bytes, metric->bytes_len))
		return false;
	j->value = bp_value_string_index(bp_ruleset_strings(in->rules, source), &j->text);
	return true;
}

static bool typed_value(struct bp_mqtt_worker *in, const struct bp_value_source *source,
	const struct bp_sparkplug_metric *metric, uint32_t datatype, struct bp_evaluated *j)
{
	j->type = source->type;
	switch ((enum bp_value_type)source->type) {
	case BP_VALUE_NUMBER:
		return bp_sparkplug_number(metric, datatype, &j->value);
	case BP_VALUE_STRING:
		return string_value(in, source, metric, j);
	case BP_VALUE_BOOLEAN:
		return bp_sparkplug_boolean(metric, datatype, &j->value);
	}
	return false;
}

static bool member_value(struct bp_mqtt_worker *in, const struct bp_value_source *source,
	const struct bp_sparkplug_metric *metric, uint32_t datatype, struct bp_evaluated *j)
{
	struct bp_sparkplug_member member;
	struct bp_sparkplug_metric of_member;

	/* a DataSet is read for each rule, field by field */
	bp_work_add(&in->work, 6 * (uint64_t)metric->bytes_len);
	return bp_sparkplug_member_parse(source->names.member, &member) &&
	       bp_sparkplug_member_find(metric, datatype, &member, &of_member) &&
	       typed_value(in, source, &of_member, BP_SPARKPLUG_UNKNOWN, j);
}

/* The value of a metric that was found, or why there is none. */
static enum bp_sparkplug_result value_of(struct bp_mqtt_worker *in,
	const struct bp_value_source *source, const struct bp_sparkplug_metric *metric,
	uint32_t datatype, struct bp_evaluated *j)
{
	if (source->names.member[0] != '\0' ? member_value(in, source, metric, datatype, j)
					    : typed_value(in, source, metric, datatype, j))
		return BP_SPARKPLUG_VALUE;
	bp_tally(in, BP_C_SPARKPLUG_NULL);
	return BP_SPARKPLUG_NO_VALUE;
}

static enum bp_sparkplug_result not_found(
	struct bp_mqtt_worker *in, const struct bp_evaluated *j, enum bp_sparkplug_found found)
{
	switch (found) {
	case BP_SPARKPLUG_MALFORMED:
		if (!j->beginning)
			bp_tally(in, BP_C_SPARKPLUG_MALFORMED);
		return BP_SPARKPLUG_NO_VALUE;
	case BP_SPARKPLUG_ABSENT_UNNAMED:
		bp_tally(in, BP_C_SPARKPLUG_ALIAS_UNKNOWN);
		return BP_SPARKPLUG_NO_VALUE;
	case BP_SPARKPLUG_HISTORICAL:
		bp_tally(in, BP_C_SPARKPLUG_HISTORICAL);
		break;
	default:
		break;
	}
	return BP_SPARKPLUG_UNCHANGED;
}

static enum bp_sparkplug_result birth_value(struct bp_mqtt_worker *in,
	const struct bp_sparkplug_message *m, const struct bp_value_source *source,
	struct bp_evaluated *j, uint64_t key)
{
	struct bp_sparkplug_wanted wanted = bp_sparkplug_wanted_of(source);
	struct bp_sparkplug_metric metric;
	enum bp_sparkplug_found found;
	uint32_t datatype;

	wanted.beginning = j->beginning;
	wanted.historical = true; /* its alias is valid all the same */
	found = find(j, m, &wanted, &metric);
	if (found == BP_SPARKPLUG_MALFORMED)
		return not_found(in, j, found);
	if (found != BP_SPARKPLUG_FOUND) {
		/* metrics that have only an alias are others */
		bp_sparkplug_store(in, j, key, 0,
			(uint32_t)m->birth << BP_SPARKPLUG_BIRTH_SHIFT | BP_SPARKPLUG_NOT_IN_BIRTH);
		return BP_SPARKPLUG_UNCHANGED;
	}
	datatype = metric.datatype <= BP_SPARKPLUG_DATATYPE ? metric.datatype : 0;
	bp_sparkplug_store(in, j, key, metric.has_alias ? metric.alias : 0,
		(uint32_t)m->birth << BP_SPARKPLUG_BIRTH_SHIFT |
			(metric.has_alias ? BP_SPARKPLUG_HAS_ALIAS : 0) | datatype);
	if (metric.is_historical && !source->sparkplug.historical)
		return not_found(in, j, BP_SPARKPLUG_HISTORICAL);
	return value_of(in, source, &metric, 0, j);
}

static enum bp_sparkplug_result data_value(struct bp_mqtt_worker *in,
	const struct bp_sparkplug_message *m, const struct bp_value_source *source,
	struct bp_evaluated *j, uint64_t key)
{
	struct bp_sparkplug_wanted wanted = bp_sparkplug_wanted_of(source);
	struct bp_sparkplug_metric metric;
	enum bp_sparkplug_found found;
	struct bp_sparkplug_view v;
	uint32_t datatype = 0;
	bool born = false; /* the birth of the device is known */

	wanted.beginning = j->beginning;
	if (bp_sparkplug_note_entry(in, &m->note->metric, key, &v) &&
		(!m->tracked || v.data >> BP_SPARKPLUG_BIRTH_SHIFT == m->birth)) {
		born = true;
		wanted.has_alias = v.data & BP_SPARKPLUG_HAS_ALIAS;
		wanted.alias = v.value;
		datatype = v.data & BP_SPARKPLUG_DATATYPE;
		bp_sparkplug_state_use(v.entry, in->mono_ns);
	}
	found = find(j, m, &wanted, &metric);
	if (found == BP_SPARKPLUG_FOUND)
		return value_of(in, source, &metric, datatype, j);
	if (found == BP_SPARKPLUG_ABSENT_UNNAMED && born)
		found = BP_SPARKPLUG_ABSENT; /* the birth gave this metric no alias */
	return not_found(in, j, found);
}

enum bp_sparkplug_result bp_sparkplug_value(struct bp_mqtt_worker *in,
	const struct bp_sparkplug_message *m, const struct bp_value_source *source,
	struct bp_evaluated *j, uint64_t data_hash)
{
	const bool dead = bp_sparkplug_is_death(m->topic.type);
	const uint64_t key = bp_sparkplug_metric_key(data_hash, source);

	/* without an index a metric may have two bytes */
	bp_work_add(&in->work,
		BP_WORK_VALUE + (m->index != NULL ? BP_WORK_METRIC * (uint64_t)m->index->n
						  : 6 * (uint64_t)j->publish->payload_len));
	if (m->topic.type == BP_SPARKPLUG_DBIRTH &&
		(source->sparkplug.what == BP_SPARKPLUG_ONLINE || source->sparkplug.has_death))
		bp_sparkplug_list_device(in, j, m, data_hash);
	if (source->sparkplug.what == BP_SPARKPLUG_ONLINE) {
		j->value = dead ? 0 : 1;
		return BP_SPARKPLUG_VALUE;
	}
	if (dead) {
		j->value = source->sparkplug.death;
		return source->sparkplug.has_death ? BP_SPARKPLUG_VALUE : BP_SPARKPLUG_UNCHANGED;
	}
	if (bp_sparkplug_is_birth(m->topic.type))
		return birth_value(in, m, source, j, key);
	return data_value(in, m, source, j, key);
}
