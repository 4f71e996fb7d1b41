/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/fast.h"

/* Where the number stands, when that is known without parsing; else NULL. */
static const uint8_t *number(
	struct bp_mqtt_worker *in, const struct bp_rule *rule, const uint8_t *payload, uint32_t *n)
{
	const struct bp_json_layout *layout;

	if (rule->fast != BP_RULE_FAST_JSON)
		return NULL;
	layout = bp_layouts_find(in->layouts, in->gen, rule->source, payload, *n);
	if (layout == NULL)
		return NULL;
	*n = layout->n;
	return payload + layout->at;
}

enum bp_fast_verdict bp_fast_value_other(
	struct bp_mqtt_worker *in, const struct bp_rule *rule, const uint8_t *payload, uint32_t len)
{
	uint32_t digits, n = len;
	const uint8_t *at;
	unsigned point;
	double value;

	if (rule->fast == BP_RULE_FAST_NO)
		return BP_FAST_GENERAL;
	at = number(in, rule, payload, &n);
	if (at != NULL && bp_number_digits_before(at + n, n, &digits, &point))
		return BP_FAST_QUIET + bp_short_ranges_hold(&rule->short_raise, digits, point);
	if (!bp_value_at(in, rule->source, payload, len, &value))
		return BP_FAST_GENERAL;
	return BP_FAST_QUIET + bp_condition_holds(&rule->raise, value);
}

void bp_fast_raise(struct bp_mqtt_worker *in, const uint8_t *frame, struct bp_flow *f,
	const struct bp_fast_publish *p)
{
	const struct bp_rule *rule = bp_ruleset_rule(in->rules, f->memo_rule);
	struct bp_frame read = {.data = frame,
		.contiguous = p->end,
		.l2 = BP_FAST_L3,
		.l3 = BP_FAST_L3,
		.l4 = BP_FAST_L4,
		.to_broker = true};
	struct bp_mqtt_publish publish = {0};
	struct bp_judged judged = {.flow = f, .dir = BP_TO_BROKER, .publish = &publish};
	const uint8_t *head, *topic;

	(void)bp_frame_tcp(&read, p->end - BP_FAST_L4); /* its lengths were checked */
	head = frame + read.payload;
	topic = head + (head[1] < 0x80 ? 2 : 3);
	publish.topic = topic + 2;
	publish.topic_len = bp_be16(topic);
	publish.qos = head[0] >> 1 & 3;
	publish.retain = head[0] & 1;
	publish.payload = frame + p->body;
	if (publish.qos != 0)
		publish.packet_id = bp_be16(publish.payload - 2);
	if (f->version == BP_MQTT_V5)
		publish.properties = ++publish.payload; /* none */
	publish.payload_len = (uint32_t)(frame + p->end - publish.payload);
	/* the judgement did without it, and so does a clone */
	if (rule->action != BP_ACTION_CLONE || in->record_clones)
		(void)bp_value_at(
			in, rule->source, publish.payload, publish.payload_len, &judged.value);
	judged.seq = read.seq;
	in->frame = &read;
	bp_alarm_emit(in, rule, BP_VERDICT_RAISED, &judged);
	in->frame = NULL;
}
