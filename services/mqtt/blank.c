/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/mqtt.h"
#include "services/mqtt/enforcement.h"
#include "services/mqtt/judged.h"
#include "shm/rules/policy.h"

/*
 * Action blank of the policy: before its first byte is forwarded, the topic of a refused PUBLISH is
 * overwritten with the quarantine topic, and a refused topic filter with one that no publication
 * has, both of the same length. They begin with $, which no filter that begins with a wildcard
 * matches (MQTT 5.0, 4.7.2). The packet is otherwise unchanged, so the broker acknowledges it.
 * enforce.c keeps the bytes for retransmissions. In a WebSocket, what is written has the mask of
 * its frame.
 */

/* Where a text of the packet that is being read is in the payload of the segment. NULL: not there:
 * some of it was forwarded before, or it is that of an alias; or some of it is in another frame of
 * a WebSocket than the end of what was read. */
static uint8_t *in_payload(
	const struct bp_mqtt_worker *in, const struct bp_flow *f, const uint8_t *text, uint32_t n)
{
	const struct bp_enforced *e = in->enforced;
	const uintptr_t in_packet = (uintptr_t)text - (uintptr_t)e->packet;
	uint32_t seq, at;

	if (in_packet > e->packet_have || n > e->packet_have - in_packet)
		return NULL;
	seq = e->packet_seq + (uint32_t)in_packet;
	at = seq - in->frame->seq;
	if ((f->proof & BP_FLOW_WEBSOCKET) && (int32_t)(seq - e->unmasked_seq) < 0)
		return NULL;
	if ((int32_t)(seq - bp_judged_end(in, f)) < 0 || at > in->frame->payload_len ||
		n > in->frame->payload_len - at)
		return NULL;
	return e->payload + at;
}

/* The packet with this topic is not retained at the broker. */
static uint8_t *fixed_header(const struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	return in_payload(in, f, in->enforced->packet, 1);
}

static bool can_blank(const struct bp_mqtt_worker *in, const struct bp_flow *f,
	const struct bp_policy_packet_view *v)
{
	const struct bp_enforced *e = in->enforced;
	const bool publish = v->packet == BP_POLICY_PUBLISH;

	if (e == NULL || e->payload == NULL || in->frame == NULL || !e->reserved ||
		!bp_blank_has_topic(in->rules))
		return false;
	if (publish && v->retain && fixed_header(in, f) == NULL)
		return false;
	if (publish && e->filed)
		return true;
	return v->topic_len >= (publish ? BP_BLANK_TOPIC_MIN : 1) &&
	       in_payload(in, f, v->topic, v->topic_len) != NULL;
}

static uint8_t fall_back(struct bp_mqtt_worker *in)
{
	bp_tally(in, BP_C_POLICY_BLANK_FALLBACK);
	if (in->rules->policy_fallback != BP_POLICY_FALLBACK_PASS)
		return BP_POLICY_CLOSE;
	if (in->enforced != NULL)
		in->enforced->passed = true;
	return BP_POLICY_OBSERVE;
}

uint8_t bp_blank_action(struct bp_mqtt_worker *in, const struct bp_flow *f,
	const struct bp_policy_packet_view *v, uint8_t action)
{
	if (action != BP_POLICY_BLANK)
		return action;
	if (v->packet != BP_POLICY_PUBLISH && v->packet != BP_POLICY_SUBSCRIBE)
		return BP_POLICY_CLOSE;
	if (can_blank(in, f, v))
		return BP_POLICY_BLANK;
	return fall_back(in);
}

/* The first bytes of the quarantine topic, or it and another level. A filter differs from it in its
 * second byte. */
static void put_topic(const struct bp_ruleset *rs, bool publish, uint8_t *out, uint32_t n)
{
	const uint32_t len = publish ? rs->policy_quarantine_len : 1;

	memset(out, '-', n);
	memcpy(out, rs->policy_quarantine, len < n ? len : n);
	if (publish && len < n)
		out[len] = '/';
}

void bp_blank_publish(const struct bp_ruleset *rs, uint8_t *header, uint8_t *topic, uint32_t len)
{
	*header &= 0xfe; /* without the retain flag */
	put_topic(rs, true, topic, len);
}

/* What masks a byte of the payload. */
static uint8_t mask_of(const struct bp_mqtt_worker *in, const struct bp_flow *f, const uint8_t *p)
{
	const struct bp_enforced *e = in->enforced;
	const uint32_t seq = in->frame->seq + (uint32_t)(p - e->payload);

	return f->proof & BP_FLOW_WEBSOCKET ? e->mask[(seq - e->unmasked_seq) % sizeof(e->mask)]
					    : 0;
}

void bp_blank_topic(
	struct bp_mqtt_worker *in, const struct bp_flow *f, const struct bp_policy_packet_view *v)
{
	struct bp_enforced *e = in->enforced;
	const bool publish = v->packet == BP_POLICY_PUBLISH;
	uint8_t *header = publish ? fixed_header(in, f) : NULL, *topic;

	e->changed = true;
	if (header != NULL) /* without the retain flag */
		*header = (uint8_t)((*header & 0xfe) | (mask_of(in, f, header) & 1));
	if (publish && e->filed)
		return;
	topic = in_payload(in, f, v->topic, v->topic_len);
	put_topic(in->rules, publish, topic, v->topic_len);
	if (f->proof & BP_FLOW_WEBSOCKET)
		for (uint32_t i = 0; i < v->topic_len; i++)
			topic[i] ^= mask_of(in, f, topic + i);
}

bool bp_blank_filed(struct bp_mqtt_worker *in, struct bp_flow *f, bool retain)
{
	struct bp_enforced *e = in->enforced;
	uint8_t *header;

	if (e == NULL || !retain)
		return e == NULL || !e->passed;
	if (e->passed)
		return false;
	header =
		e->payload != NULL && in->frame != NULL && e->reserved ? fixed_header(in, f) : NULL;
	if (header != NULL) {
		*header = (uint8_t)((*header & 0xfe) | (mask_of(in, f, header) & 1));
		e->changed = true;
		return true;
	}
	if (fall_back(in) == BP_POLICY_CLOSE)
		bp_enforce_refuse(in, f);
	return false;
}
