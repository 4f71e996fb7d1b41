/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <stdio.h>

#include "biplane/counters/general.h"
#include "biplane/counters/mqtt.h"
#include "services/mqtt/connection_events.h"
#include "services/mqtt/evaluate.h"
#include "services/mqtt/fleet_adopt.h"
#include "services/mqtt/mqtt_worker.h"
#include "proto/net/copy.h"

/* The verdict of a rule: to the ring of alarms, or out as a mirrored frame. */

struct piece {
	const char *text;
	uint32_t len;
};

static bool is_placeholder(const char *at, const char *end, const char *name, uint32_t len)
{
	return (size_t)(end - at) >= len && memcmp(at, name, len) == 0;
}

/*
 * Expands the publish topic of the rule into out[0..BP_TOPIC_MAX). Returns its length, or more than
 * BP_TOPIC_MAX if it is longer. The template was checked when the configuration was read, so
 * everything except placeholders is text.
 */
static uint32_t expand(const struct bp_mqtt_worker *in, const struct bp_rule *rule,
	const struct bp_combined *combined, const struct piece *topic, const struct piece *client,
	char *out)
{
	const char *at = rule->to, *end = rule->to + rule->to_len;
	uint32_t n = 0;

	while (at < end) {
		struct piece p = {at, 1};
		uint32_t step = 1;

		if (*at != '{') {
			while (at + p.len < end && at[p.len] != '{')
				p.len++;
			step = p.len;
		} else if (is_placeholder(at, end, "{topic}", 7)) {
			p = *topic;
			step = 7;
		} else if (is_placeholder(at, end, "{rule}", 6)) {
			p.text = rule->name;
			p.len = rule->name_len;
			step = 6;
		} else if (is_placeholder(at, end, "{client}", 8)) {
			p = *client;
			step = 8;
		} else if (combined != NULL) {
			const char *close = memchr(at, '}', (size_t)(end - at));
			const uint32_t name = close != NULL ? (uint32_t)(close - at) - 1 : 0;

			if (bp_combined_level(in->rules, combined, at + 1, name, &p.text, &p.len))
				step = name + 2;
			/* the device chooses it: the topic must not be empty, or one of the broker
			 */
			if (p.len == 0 || (n == 0 && *p.text == '$'))
				p = (struct piece){"_", 1};
		}
		if (n + p.len > BP_TOPIC_MAX)
			return BP_TOPIC_MAX + 1;
		bp_copy(out + n, p.text, p.len);
		n += p.len;
		at += step;
	}
	return n;
}

/* "10.0.0.5:40312" or "[fd00::5]:40312", not terminated; returns its length, or 0 if it does not
 * fit. */
static uint32_t client_address(const struct bp_flow *f, char *out, uint32_t size)
{
	bool ip6 = f->flags & BP_FLOW_IP6;
	char address[INET6_ADDRSTRLEN], name[INET6_ADDRSTRLEN + 10];
	int n;

	if (inet_ntop(ip6 ? AF_INET6 : AF_INET, f->client_ip, address, sizeof(address)) == NULL)
		return 0;
	n = snprintf(name, sizeof(name), ip6 ? "[%s]:%u" : "%s:%u", address,
		(unsigned)(uint16_t)(f->k1 >> 16));
	if (n < 0 || (uint32_t)n > size)
		return 0;
	memcpy(out, name, (size_t)n);
	return (uint32_t)n;
}

static const void *client_id(const struct bp_mqtt_worker *in, const struct bp_evaluated *j)
{
	return j->client_id != NULL ? (const void *)j->client_id
				    : bp_reassembly_data(in->reassembly, j->flow->client_id);
}

/*
 * The client in a topic: its identifier, or its address if that is unknown. Characters that are
 * invalid in a topic name become '_'.
 */
static struct piece client_in_topic(
	struct bp_mqtt_worker *in, const struct bp_evaluated *j, char *buf, uint32_t size)
{
	const struct bp_flow *f = j->flow;
	struct piece p = {buf, 0};

	if (f->client_id_len == 0 || f->client_id_len > size) {
		p.len = client_address(f, buf, size);
		return p;
	}
	memcpy(buf, client_id(in, j), f->client_id_len);
	p.len = f->client_id_len;
	for (uint32_t i = 0; i < p.len; i++) {
		if (buf[i] == '+' || buf[i] == '#' || buf[i] == '/')
			buf[i] = '_';
	}
	return p;
}

static void put_times(const struct bp_mqtt_worker *in, char *at)
{
	struct bp_alarm_times t = {.received_ns = in->mono_ns, .evaluated_ns = in->mono_ns};

	if (in->clock != NULL)
		t.evaluated_ns = in->clock(in->clock_arg);
	/* the clock of the walk never decreases, this one may over a synchronisation */
	if (t.evaluated_ns < t.received_ns)
		t.evaluated_ns = t.received_ns;
	memcpy(at, &t, sizeof(t));
}

static void put_flow(const struct bp_flow *f, char *at)
{
	struct bp_alarm_flow x = {.flow = bp_flow_event_id(f),
		.broker_port = (uint16_t)f->k1,
		.vlan_outer = f->k1 >> 32 & 0xfff,
		.vlan_inner = f->k1 >> 44 & 0xfff,
		.port = f->client_port};

	memcpy(x.broker_ip, f->broker_ip, sizeof(x.broker_ip));
	memcpy(at, &x, sizeof(x));
}

static uint8_t value_text_of(const struct bp_evaluated *j)
{
	if (j->type == BP_VALUE_STRING)
		return bp_alarm_value_text(
			j->text.truncated ? BP_ALARM_STRING_TRUNCATED : BP_ALARM_STRING,
			j->text.len);
	return bp_alarm_value_text(
		j->type == BP_VALUE_BOOLEAN ? BP_ALARM_BOOLEAN : BP_ALARM_NUMBER, 0);
}

static void to_ring(struct bp_mqtt_worker *in, const struct bp_rule *rule, enum bp_verdict verdict,
	const struct bp_evaluated *j, const struct piece *topic, const struct piece *to)
{
	const struct bp_flow *f = j->flow;
	const struct bp_mqtt_publish *p = j->publish;
	/* the fields are copied to an envelope: the payload is not needed */
	bool envelope = rule->payload == BP_PAYLOAD_ENVELOPE || j->beginning;
	uint32_t payload_len = !envelope             ? p->payload_len
			       : j->combined != NULL ? bp_combined_size(in->rules, j->combined)
						     : 0;
	const uint8_t value_text = value_text_of(j);
	const uint64_t times_at = bp_alarm_times_at((uint64_t)BP_ALARM_HEAD + rule->name_len +
						    f->client_id_len + topic->len + to->len +
						    payload_len + bp_alarm_value_len(value_text));
	const uint64_t flow_at = times_at + sizeof(struct bp_alarm_times);
	const uint64_t size = flow_at + sizeof(struct bp_alarm_flow);
	struct bp_alarm *a;
	uint64_t mark;
	char *at;

	if (size > bp_ring_record_max(in->ring)) {
		bp_tally(in, BP_C_ALARM_TOO_LARGE);
		return;
	}
	/* visible once the segment was read: bp_alarms_commit() */
	a = bp_ring_reserve_behind(in->ring,
		in->alarms_end != 0 ? in->alarms_end : bp_ring_head(in->ring), (uint32_t)size,
		&mark);
	if (a == NULL) {
		bp_tally(in, BP_C_ALARM_QUEUE_FULL);
		in->counters->v[BP_C_SEGMENT_INVALID] += bp_ring_corrupt_tails(in->ring);
		return;
	}
	memset(a, 0, sizeof(*a));
	/* allocated only with a free record: a lost alarm leaves no gap in the ids */
	a->id = atomic_fetch_add_explicit(in->next_alarm_id, 1, memory_order_relaxed);
	a->time_ns = in->now_ns;
	a->value = j->value;
	a->state = verdict == BP_VERDICT_RAISED ? BP_ALARM_RAISED : BP_ALARM_CLEARED;
	a->flags = (uint8_t)((envelope ? BP_ALARM_F_ENVELOPE : 0) |
			     (p->retain ? BP_ALARM_F_RETAIN : 0) |
			     (rule->action == BP_ACTION_MIRROR ? BP_ALARM_F_MIRROR : 0) |
			     (rule->destination != BP_DESTINATION_MQTT ? BP_ALARM_F_KAFKA : 0) |
			     (rule->destination == BP_DESTINATION_KAFKA ? BP_ALARM_F_NOT_MQTT : 0) |
			     (f->flags & BP_FLOW_IP6 ? BP_ALARM_F_IP6 : 0));
	a->qos = p->qos;
	a->severity = rule->severity;
	a->client_port = (uint16_t)(f->k1 >> 16);
	memcpy(a->client_ip, f->client_ip, 16);
	a->rule_len = rule->name_len;
	a->client_id_len = f->client_id_len;
	a->topic_len = (uint16_t)topic->len;
	a->to_len = (uint16_t)to->len;
	a->payload_len = payload_len;
	a->value_text = value_text;
	bp_alarm_set_transition(a, j->transition);
	if (j->repeat)
		a->flags |= BP_ALARM_F_REPEAT;
	at = a->text;
	memcpy(at, rule->name, rule->name_len);
	at += rule->name_len;
	if (f->client_id_len != 0)
		memcpy(at, client_id(in, j), f->client_id_len);
	at += f->client_id_len;
	memcpy(at, topic->text, topic->len);
	at += topic->len;
	memcpy(at, to->text, to->len);
	at += to->len;
	if (!envelope)
		memcpy(at, p->payload, payload_len);
	else if (j->combined != NULL)
		bp_combined_write(in, j->combined, at);
	memcpy(at + payload_len, j->text.text, bp_alarm_value_len(value_text));
	put_times(in, (char *)a + times_at);
	put_flow(f, (char *)a + flow_at);
	in->alarms_end = mark;
	bp_tally(in, BP_C_ALARM_QUEUED);
}

static void to_mirror(struct bp_mqtt_worker *in, const struct bp_rule *rule,
	const struct bp_evaluated *j, const struct piece *to)
{
	struct bp_mirror_request r = {
		.rule = rule,
		.frame = in->frame,
		.publish = j->publish,
		.to = to->text,
		.to_len = (uint16_t)to->len,
		.version = j->flow->version,
		.seq = j->seq,
	};

	if (j->beginning)
		bp_tally(in, BP_C_MIRROR_TOO_LARGE);
	else if (j->flow->proof & BP_FLOW_WEBSOCKET)
		bp_tally(in, BP_C_MIRROR_WEBSOCKET);
	else if (in->frame == NULL)
		bp_tally(in, BP_C_MIRROR_NO_FRAME);
	else if (in->mirror == NULL)
		bp_tally(in, BP_C_MIRROR_NO_TARGET);
	else
		(void)in->mirror(in->mirror_arg, &r); /* has its own counters */
}

_Static_assert(BP_C_ALARM_RAISED_CRITICAL - BP_C_ALARM_RAISED_NONE ==
		       BP_SEVERITY_CRITICAL - BP_SEVERITY_NONE,
	"a counter for each severity, in their order");

void bp_alarm_emit(struct bp_mqtt_worker *in, const struct bp_rule *rule, enum bp_verdict verdict,
	const struct bp_evaluated *j)
{
	struct bp_rule_stats *stats = &in->rule_stats[rule->slot];
	_Atomic uint64_t *count = verdict == BP_VERDICT_RAISED ? &stats->raised : &stats->cleared;
	struct piece topic = {(const char *)j->publish->topic, j->publish->topic_len};
	struct piece client = {"", 0}, to = {in->to, 0};
	char name[1024];

	bp_tally(in, verdict == BP_VERDICT_RAISED ? BP_C_ALARM_RAISED : BP_C_ALARM_CLEARED);
	if (verdict == BP_VERDICT_RAISED)
		bp_tally(in, BP_C_ALARM_RAISED_NONE + rule->severity);
	atomic_store_explicit(
		count, atomic_load_explicit(count, memory_order_relaxed) + 1, memory_order_relaxed);
	if (j->combined != NULL)
		topic = (struct piece){j->combined->topic, j->combined->topic_len};
	if (in->fleet != NULL && verdict == BP_VERDICT_CLEARED)
		bp_fleet_state_cleared(
			in, rule, (const uint8_t *)topic.text, topic.len, j->transition);
	if (rule->to_client)
		client = client_in_topic(in, j, name, sizeof(name));
	to.len = expand(in, rule, j->combined, &topic, &client, in->to);
	bp_work_add(
		&in->work, BP_WORK_ALARM + (topic.len + 2 * to.len + j->publish->payload_len) / 8);
	if (to.len > BP_TOPIC_MAX) {
		bp_tally(in, BP_C_ALARM_TOO_LARGE);
		return;
	}
	if (rule->action == BP_ACTION_MIRROR)
		to_mirror(in, rule, j, &to);
	if (rule->action == BP_ACTION_PUBLISH || in->record_mirrored)
		to_ring(in, rule, verdict, j, &topic, &to);
}
