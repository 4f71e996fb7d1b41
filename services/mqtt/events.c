/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/mqtt.h"
#include "services/mqtt/connection_events.h"
#include "services/mqtt/mqtt_worker.h"
#include "services/mqtt/packets.h"
#include "services/mqtt/policy.h"
#include "shm/rules/policy.h"

/*
 * Events of connections: shm/events/event_ring.h. Only a connection that proved itself begins and
 * ends with an event, so a flood of SYNs or of forged segments writes none. A stop of inspection is
 * also reported of a connection whose handshake is complete, such as TLS on an MQTT port; their
 * number is limited, because anybody can open them. Those of proven connections have a higher limit
 * of their own, so that a client that connects again and again cannot fill the event log.
 */
#define POLICY_CLIENT_MAX 64u /* bytes of the client identifier in an event of the policy */
#define UNPROVEN_PER_INTERVAL 16u
#define PROVEN_PER_INTERVAL 1000u
#define POLICY_PER_INTERVAL 500u
#define POLICY_UNPROVEN_PER_INTERVAL 100u
#define INTERVAL_SHIFT 10 /* ticks of 2^20 ns: about a second */

/* Whether there may be another event of a kind now; *count: those of this interval. */
static bool within_limit(struct bp_mqtt_worker *in, uint32_t *count, uint32_t max)
{
	const uint32_t interval = in->now_ticks >> INTERVAL_SHIFT;

	if (interval != in->event_interval) {
		in->event_interval = interval;
		memset(in->events_of, 0, sizeof(in->events_of));
	}
	if (*count >= max) {
		bp_tally(in, BP_C_EVENTS_LIMITED);
		return false;
	}
	++*count;
	return true;
}

static bool connection_may(struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	return f->proof & BP_FLOW_PROVEN
		       ? within_limit(in, &in->events_of[BP_EVENTS_PROVEN], PROVEN_PER_INTERVAL)
		       : within_limit(
				 in, &in->events_of[BP_EVENTS_UNPROVEN], UNPROVEN_PER_INTERVAL);
}

/* A CONNECT is decided about before the broker has accepted it. */
static bool policy_may(struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	return f->proof & BP_FLOW_PROVEN
		       ? within_limit(in, &in->events_of[BP_EVENTS_POLICY], POLICY_PER_INTERVAL)
		       : within_limit(in, &in->events_of[BP_EVENTS_POLICY_UNPROVEN],
				 POLICY_UNPROVEN_PER_INTERVAL);
}

/* What fits of the names of a TLS connection, some of each. */
static void put_names(struct bp_event *e, const struct bp_tls_info *names)
{
	static const uint8_t most[] = {
		[BP_TLS_SERVER_NAME] = 80, [BP_TLS_ALPN] = 20, [BP_TLS_SUBJECT] = 64};
	uint8_t rest[20 + 64], len[BP_TLS_SUBJECT + 1];

	_Static_assert(80 + sizeof(rest) <= BP_EVENT_TEXT, "the names fit");
	for (unsigned i = 0; i <= BP_TLS_SUBJECT; i++)
		len[i] = names->text[i].len < most[i] ? names->text[i].len : most[i];
	memcpy(rest, names->text[BP_TLS_ALPN].bytes, len[BP_TLS_ALPN]);
	memcpy(rest + len[BP_TLS_ALPN], names->text[BP_TLS_SUBJECT].bytes, len[BP_TLS_SUBJECT]);
	bp_event_text(e, 0, names->text[BP_TLS_SERVER_NAME].bytes, len[BP_TLS_SERVER_NAME]);
	bp_event_text(e, 1, rest, (size_t)len[BP_TLS_ALPN] + len[BP_TLS_SUBJECT]);
	e->flags |= BP_EVENT_F_TLS;
	e->number[1] = len[BP_TLS_ALPN];
}

/* An event about the connection, without numbers and texts. */
static void begin(const struct bp_mqtt_worker *in, const struct bp_flow *f, enum bp_event_type type,
	unsigned action, unsigned reason, struct bp_event *e)
{
	memset(e, 0, offsetof(struct bp_event, text));
	e->time_ns = in->now_ns;
	e->type = (uint8_t)type;
	e->action = (uint8_t)action;
	e->reason = (uint16_t)reason;
	e->flags = f->flags & BP_FLOW_IP6 ? BP_EVENT_F_IP6 : 0;
	e->port = f->client_port;
	e->version = f->version;
	memcpy(e->src_ip, f->client_ip, sizeof(e->src_ip));
	memcpy(e->dest_ip, f->broker_ip, sizeof(e->dest_ip));
	e->src_port = (uint16_t)(f->k1 >> 16);
	e->dest_port = (uint16_t)f->k1;
	e->vlan_outer = f->k1 >> 32 & 0xfff;
	e->vlan_inner = f->k1 >> 44 & 0xfff;
	e->flow = bp_flow_event_id(f);
}

void bp_event_policy(struct bp_mqtt_worker *in, const struct bp_flow *f,
	const struct bp_policy_packet_view *v, const struct bp_policy_decision *d,
	enum bp_event_policy_cause cause)
{
	const struct bp_policy_rule *r =
		d->rule < in->rules->n_policy ? bp_policy_rule(in->rules, d->rule) : NULL;
	char name_and_topic[BP_EVENT_TEXT];
	uint32_t name = 0, topic;
	struct bp_event e;

	/* the report of a replay has all of them */
	if (in->events.size == 0 || (!in->record_mirrored && !policy_may(in, f)))
		return;
	begin(in, f, BP_EVENT_POLICY, v->packet, d->action, &e);
	if (r != NULL) {
		name = r->name_len;
		memcpy(name_and_topic, r->name, name);
	}
	topic = v->topic_len < sizeof(name_and_topic) - name
			? v->topic_len
			: (uint32_t)sizeof(name_and_topic) - name;
	if (topic != 0)
		memcpy(name_and_topic + name, v->topic, topic);
	e.cause = (uint8_t)cause;
	e.number[0] = name;
	e.number[1] = v->size;
	/* half of the space at most, so that there is some of the topic */
	bp_event_text(&e, 0, v->client,
		v->client_len < POLICY_CLIENT_MAX ? v->client_len : POLICY_CLIENT_MAX);
	bp_event_text(&e, 1, name_and_topic, name + topic);
	bp_event_write(&in->events, &e);
}

static void write_event(struct bp_mqtt_worker *in, const struct bp_flow *f,
	enum bp_event_connection action, unsigned reason)
{
	struct bp_tls_info names;
	struct bp_event e;

	if (in->events.size == 0 || !connection_may(in, f))
		return;
	begin(in, f, BP_EVENT_CONNECTION, action, reason, &e);
	e.number[0] = f->publishes;
	if (bp_tls_names(in, f, &names))
		put_names(&e, &names);
	else if (f->client_id_len != 0)
		bp_event_text(
			&e, 0, bp_reassembly_data(in->reassembly, f->client_id), f->client_id_len);
	bp_event_write(&in->events, &e);
}

void bp_event_start(struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	write_event(in, f, BP_EVENT_CONNECTION_START, 0);
}

void bp_event_end(struct bp_mqtt_worker *in, const struct bp_flow *f, enum bp_event_end reason)
{
	if ((f->proof & BP_FLOW_PROVEN) && !(f->flags & BP_FLOW_CLOSED))
		write_event(in, f, BP_EVENT_CONNECTION_END, reason);
}

void bp_event_flow_removed(void *arg, const struct bp_flow *f, unsigned reason)
{
	bp_event_end(arg, f, reason);
}

void bp_event_inspection_stopped(
	struct bp_mqtt_worker *in, const struct bp_flow *f, bp_counter_t reason)
{
	if ((f->proof & BP_FLOW_PROVEN) || (f->proof & BP_FLOW_HANDSHAKE))
		write_event(in, f, BP_EVENT_CONNECTION_NOT_INSPECTED,
			BP_EVENT_UNREAD_COUNTER + (reason - BP_C_NOT_INSPECTED_NOT_MQTT));
}

void bp_event_unread_changed(struct bp_mqtt_worker *in, const struct bp_flow *f, uint8_t before)
{
	/* the end has an event of its own, and so has the stop of inspection */
	if (!(before & BP_FLOW_PROVEN) || (f->flags & BP_FLOW_CLOSED) ||
		f->stream[BP_TO_BROKER] == BP_STREAM_NOT_INSPECTED)
		return;
	if (!(f->proof & BP_FLOW_UNREAD))
		write_event(in, f, BP_EVENT_CONNECTION_INSPECTED, 0);
	else
		write_event(in, f, BP_EVENT_CONNECTION_NOT_INSPECTED,
			f->marks & BP_MARK_INVALID ? BP_EVENT_UNREAD_OUT_OF_WINDOW
						   : BP_EVENT_UNREAD_RESYNC);
}
