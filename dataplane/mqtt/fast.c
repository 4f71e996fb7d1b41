/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/mqtt/fast.h"

void bp_fast_raise(struct bp_inspector *in, const uint8_t *frame, struct bp_flow *f,
	const struct bp_fast_publish *p)
{
	const struct bp_rule *rule = bp_ruleset_rule(in->rules, f->memo_rule);
	struct bp_frame read = {.data = frame,
		.contiguous = p->end,
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
	/* the judgement did without it */
	(void)bp_value_at(in, rule->source, publish.payload, publish.payload_len, &judged.value);
	judged.seq = read.seq;
	in->frame = &read;
	bp_alarm_emit(in, rule, BP_VERDICT_RAISED, &judged);
	in->frame = NULL;
}
