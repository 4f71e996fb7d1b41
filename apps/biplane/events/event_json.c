/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/events/event_json.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <math.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "apps/biplane/events/community_id.h"
#include "apps/biplane/events/event_reader.h"
#include "apps/biplane/show/show.h"
#include "apps/biplane/text.h"
#include "apps/biplane/text_value.h"
#include "biplane/counters/mqtt.h"
#include "biplane/policy.h"
#include "shm/fault.h"
#include "shm/hash.h"

#define NS_PER_MS 1000000u
/* As Suricata: exact in a double, which readers in JavaScript use for numbers. */
#define FLOW_ID_MASK ((1ull << 51) - 1)

void bp_event_time(uint64_t unix_ns, char out[BP_EVENT_TIME])
{
	const time_t seconds = (time_t)(unix_ns / 1000000000u);
	struct tm tm;
	char day[24];

	gmtime_r(&seconds, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out, BP_EVENT_TIME, "%s.%06u+00:00", day,
		(unsigned)(unix_ns % 1000000000u / 1000u));
}

static void set(json_t *o, const char *key, json_t *value)
{
	json_object_set_new(o, key, value);
}

static void set_integer(json_t *o, const char *key, uint64_t value)
{
	set(o, key, json_integer(value <= INT64_MAX ? (json_int_t)value : INT64_MAX));
}

json_t *bp_event_json_head(const struct bp_event_json *x, unsigned type, uint64_t time_ns)
{
	char time[BP_EVENT_TIME];

	bp_event_time(time_ns, time);
	return json_pack("{ss ss ss}", "timestamp", time, "event_type", bp_event_type_name(type),
		"instance", x->instance);
}

/* ---- the 5-tuple ---- */

struct tuple {
	bool ip6, udp, has_dest;
	const uint8_t *src_ip, *dest_ip;
	uint16_t src_port, dest_port, vlan_outer, vlan_inner;
	uint64_t flow;
};

static void set_address(json_t *o, const char *key, bool ip6, const uint8_t *ip)
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(ip6 ? AF_INET6 : AF_INET, ip, text, sizeof(text));
	set(o, key, json_string(text));
}

static uint64_t flow_id(const struct tuple *t)
{
	static const uint64_t key[2] = {0x243f6a8885a308d3ull, 0x13198a2e03707344ull};
	struct {
		uint8_t src_ip[16], dest_ip[16];
		uint64_t flow, ports;
	} all = {.flow = t->flow,
		.ports = (uint64_t)t->src_port << 48 | (uint64_t)t->dest_port << 32 |
			 (uint64_t)t->vlan_outer << 16 | t->vlan_inner};

	memcpy(all.src_ip, t->src_ip, t->ip6 ? 16 : 4);
	memcpy(all.dest_ip, t->dest_ip, t->ip6 ? 16 : 4);
	return bp_hash_bytes(key, &all, sizeof(all)) & FLOW_ID_MASK;
}

static void set_tuple(json_t *o, const struct tuple *t)
{
	char community_id[BP_COMMUNITY_ID];

	if (t->has_dest)
		set_integer(o, "flow_id", flow_id(t));
	if (t->vlan_outer != 0) {
		json_t *vlan = json_pack("[i]", (int)t->vlan_outer);

		if (t->vlan_inner != 0)
			json_array_append_new(vlan, json_integer(t->vlan_inner));
		set(o, "vlan", vlan);
	}
	set_address(o, "src_ip", t->ip6, t->src_ip);
	set_integer(o, "src_port", t->src_port);
	if (t->has_dest) {
		set_address(o, "dest_ip", t->ip6, t->dest_ip);
		set_integer(o, "dest_port", t->dest_port);
	}
	set(o, "proto", json_string(t->udp ? "UDP" : "TCP"));
	if (!t->has_dest)
		return;
	bp_community_id(t->ip6, t->src_ip, t->src_port, t->dest_ip, t->dest_port,
		t->udp ? IPPROTO_UDP : IPPROTO_TCP, community_id);
	set(o, "community_id", json_string(community_id));
}

static struct tuple tuple_of(const struct bp_event *e)
{
	return (struct tuple){.ip6 = e->flags & BP_EVENT_F_IP6,
		.udp = e->flags & BP_EVENT_F_UDP,
		.has_dest = true,
		.src_ip = e->src_ip,
		.dest_ip = e->dest_ip,
		.src_port = e->src_port,
		.dest_port = e->dest_port,
		.vlan_outer = e->vlan_outer & 0xfff,
		.vlan_inner = e->vlan_inner & 0xfff,
		.flow = e->flow};
}

static void set_port(const struct bp_event_json *x, json_t *o, unsigned port)
{
	if (x->shm != NULL && port != 0 && port <= bp_show_ports_in_use(x->shm))
		set(o, "in_iface",
			bp_text_json(x->shm->ports[port - 1].name,
				sizeof(x->shm->ports[port - 1].name)));
}

/* ---- texts of a record ---- */

static void set_text(json_t *o, const char *key, const struct bp_event *e, unsigned which)
{
	size_t at = 0;

	for (unsigned i = 0; i < which; i++)
		at += e->text_len[i];
	if (e->text_len[which] != 0 && at + e->text_len[which] <= BP_EVENT_TEXT)
		set(o, key, bp_text_json(e->text + at, e->text_len[which]));
}

/* The name of an action or reason; NULL: it has none. */
#define NAME(names, i) ((i) < sizeof(names) / sizeof((names)[0]) ? (names)[i] : NULL)

/* ---- objects by type ---- */

static const char *unread_reason(unsigned reason)
{
	static const char *const name[] = {
		[BP_EVENT_UNREAD_RESYNC] = "resync",
		[BP_EVENT_UNREAD_OUT_OF_WINDOW] = "out_of_window",
	};
	const unsigned counter = BP_C_NOT_INSPECTED_NOT_MQTT + reason - BP_EVENT_UNREAD_COUNTER;

	if (reason < BP_EVENT_UNREAD_COUNTER)
		return NAME(name, reason);
	return counter <= BP_C_NOT_INSPECTED_LAST ? bp_counter_info[counter].name : NULL;
}

/* The names of a TLS connection: any bytes. */
static void set_tls(json_t *o, const struct bp_event *e)
{
	const size_t all = e->text_len[1], alpn = e->number[1] < all ? (size_t)e->number[1] : all;
	const size_t at = e->text_len[0];
	json_t *tls = json_object();

	set_text(tls, "server_name", e, 0);
	if (at + all <= BP_EVENT_TEXT && alpn != 0)
		set(tls, "alpn", bp_text_json(e->text + at, alpn));
	if (at + all <= BP_EVENT_TEXT && all != alpn)
		set(tls, "certificate", bp_text_json(e->text + at + alpn, all - alpn));
	set(o, "tls", tls);
}

static json_t *connection(const struct bp_event_json *x, const struct bp_event *e, json_t *event)
{
	static const char *const state[] = {
		[BP_EVENT_CONNECTION_START] = "start",
		[BP_EVENT_CONNECTION_NOT_INSPECTED] = "not_inspected",
		[BP_EVENT_CONNECTION_INSPECTED] = "inspected",
		[BP_EVENT_CONNECTION_END] = "end",
	};
	static const char *const end[] = {
		[BP_EVENT_END_CLOSED] = "closed",
		[BP_EVENT_END_RESET] = "reset",
		[BP_EVENT_END_EXPIRED] = "expired",
		[BP_EVENT_END_EVICTED] = "evicted",
		[BP_EVENT_END_SUPERSEDED] = "superseded",
		[BP_EVENT_END_REFUSED] = "refused",
	};
	static const char *const version[] = {[3] = "3.1", [4] = "3.1.1", [5] = "5.0"};
	const struct tuple t = tuple_of(e);
	const char *name = NAME(state, e->action), *reason = NULL;
	json_t *o;

	if (e->action == BP_EVENT_CONNECTION_END)
		reason = NAME(end, e->reason);
	else if (e->action == BP_EVENT_CONNECTION_NOT_INSPECTED)
		reason = unread_reason(e->reason);
	if (name == NULL ||
		(reason == NULL && (e->action == BP_EVENT_CONNECTION_END ||
					   e->action == BP_EVENT_CONNECTION_NOT_INSPECTED)))
		return NULL;
	set_port(x, event, e->port);
	set_tuple(event, &t);
	o = json_pack("{ss}", "state", name);
	if (reason != NULL)
		set(o, "reason", json_string(reason));
	if (e->flags & BP_EVENT_F_TLS)
		set_tls(o, e);
	else
		set_text(o, "client_id", e, 0);
	if (NAME(version, e->version) != NULL)
		set(o, "mqtt_version", json_string(version[e->version]));
	if (e->action == BP_EVENT_CONNECTION_END)
		set_integer(o, "publications", e->number[0]);
	return o;
}

/* The name of the rule, if there is one, and the topic are one text. */
static void set_rule_and_topic(json_t *o, const struct bp_event *e)
{
	const size_t at = e->text_len[0], all = e->text_len[1];
	const size_t name = e->number[0] < all ? (size_t)e->number[0] : all;

	if (at + all > BP_EVENT_TEXT)
		return;
	if (name != 0)
		set(o, "rule", bp_text_json(e->text + at, name));
	if (all != name)
		set(o, "topic", bp_text_json(e->text + at + name, all - name));
}

static json_t *policy(const struct bp_event_json *x, const struct bp_event *e, json_t *event)
{
	static const char *const packet[] = {
		[BP_POLICY_ANY] = "",
		[BP_POLICY_CONNECT] = "connect",
		[BP_POLICY_WILL] = "will",
		[BP_POLICY_PUBLISH] = "publish",
		[BP_POLICY_SUBSCRIBE] = "subscribe",
	};
	static const char *const action[] = {
		[BP_POLICY_OBSERVE] = "observe",
		[BP_POLICY_CLOSE] = "close",
		[BP_POLICY_BLANK] = "blank",
		[BP_POLICY_UNDECIDED] = "pass",
	};
	static const char *const cause[] = {
		[BP_EVENT_POLICY_PACKET] = "packet",
		[BP_EVENT_POLICY_RELOAD] = "reload",
		[BP_EVENT_POLICY_UNDECIDED] = "undecided",
		[BP_EVENT_POLICY_NOT_EVALUATED] = "not_evaluated",
		[BP_EVENT_POLICY_NOT_INSPECTED] = "not_inspected",
	};
	const struct tuple t = tuple_of(e);
	const char *name = NAME(packet, e->action), *taken = NAME(action, e->reason);
	const char *why = NAME(cause, e->cause);
	json_t *o;

	if (name == NULL || taken == NULL || why == NULL)
		return NULL;
	set_port(x, event, e->port);
	set_tuple(event, &t);
	o = json_pack("{ss}", "action", taken);
	if (name[0] != '\0')
		set(o, "packet", json_string(name));
	if (e->cause != BP_EVENT_POLICY_PACKET)
		set(o, "reason", json_string(why));
	set_rule_and_topic(o, e);
	set_text(o, "client_id", e, 0);
	if (e->action == BP_POLICY_PUBLISH || e->action == BP_POLICY_WILL)
		set_integer(o, "payload_bytes", e->number[1]);
	return o;
}

static json_t *session(const struct bp_event_json *x, const struct bp_event *e, json_t *event)
{
	static const char *const state[] = {
		[BP_EVENT_SESSION_ASSOCIATED] = "associated",
		[BP_EVENT_SESSION_RELEASED] = "released",
		[BP_EVENT_SESSION_ABORTED] = "aborted",
	};
	static const char *const why[] = {
		[BP_EVENT_SESSION_DEVICE] = "device",
		[BP_EVENT_SESSION_GATEWAY] = "gateway",
		[BP_EVENT_SESSION_PROTOCOL_ERROR] = "protocol_error",
		[BP_EVENT_SESSION_TIMEOUT] = "timeout",
		[BP_EVENT_SESSION_SUPERSEDED] = "superseded",
		[BP_EVENT_SESSION_IDLE] = "idle",
		[BP_EVENT_SESSION_DISCONNECTED] = "disconnected",
	};
	const bool ended = e->action != BP_EVENT_SESSION_ASSOCIATED;
	const struct tuple t = tuple_of(e);
	const char *name = NAME(state, e->action), *reason = NAME(why, e->reason);
	json_t *o;

	if (name == NULL || (ended && reason == NULL))
		return NULL;
	set_port(x, event, e->port);
	set_tuple(event, &t);
	o = json_pack("{ss}", "state", name);
	if (ended)
		set(o, "reason", json_string(reason));
	set_text(o, "system_id", e, 0);
	set_text(o, "specialization", e, 1);
	if (ended)
		set_integer(o, "reports", e->number[0]);
	return o;
}

static json_t *fault(const struct bp_event *e)
{
	static const char *const state[] = {
		[BP_EVENT_FAULT_RAISED] = "raised",
		[BP_EVENT_FAULT_CLEARED] = "cleared",
	};
	const char *name = NAME(state, e->action);
	const uint64_t kind = e->number[1], began = e->number[0];
	char time[BP_EVENT_TIME];
	json_t *o;

	if (name == NULL || kind >= BP_FAULT_KINDS)
		return NULL;
	bp_event_time(began, time);
	o = json_pack("{ss ss ss}", "state", name, "name", bp_fault_info[kind].name, "plane",
		kind < BP_FAULT_CONTROLPLANE_FIRST ? "dataplane" : "controlplane");
	set_text(o, "object", e, 0);
	set(o, "since", json_string(time));
	if (e->action == BP_EVENT_FAULT_CLEARED)
		set_integer(o, "duration_ms",
			e->time_ns > began ? (e->time_ns - began) / NS_PER_MS : 0);
	set(o, "description", json_string(bp_fault_info[kind].help));
	return o;
}

static json_t *config(const struct bp_event *e)
{
	static const char *const state[] = {
		[BP_EVENT_CONFIG_LOADED] = "loaded",
		[BP_EVENT_CONFIG_RELOADED] = "reloaded",
		[BP_EVENT_CONFIG_REFUSED] = "refused",
		[BP_EVENT_CONFIG_ROLLOUT_APPLIED] = "rollout_applied",
		[BP_EVENT_CONFIG_ROLLOUT_REFUSED] = "rollout_refused",
		[BP_EVENT_CONFIG_ROLLOUT_ROLLED_BACK] = "rollout_rolled_back",
	};
	const char *name = NAME(state, e->action);
	json_t *o;

	if (name == NULL)
		return NULL;
	o = json_pack("{ss}", "state", name);
	if (e->action < BP_EVENT_CONFIG_ROLLOUT_APPLIED) {
		set_integer(o, "generation", e->number[0]);
	} else {
		set_integer(o, "serial", e->number[0]);
		set_integer(o, "version", e->number[1]);
	}
	set_text(o, "error", e, 0);
	return o;
}

static json_t *plane(const struct bp_event *e)
{
	static const char *const names[] = {
		[BP_EVENT_DATAPLANE] = "dataplane", [BP_EVENT_CONTROLPLANE] = "controlplane"};
	static const char *const state[] = {
		[BP_EVENT_PLANE_STARTED] = "started",
		[BP_EVENT_PLANE_STOPPED] = "stopped",
		[BP_EVENT_PLANE_RESTARTED] = "restarted",
	};
	const char *name = NAME(state, e->action);
	json_t *o;

	if (name == NULL || e->number[0] >= BP_EVENT_PLANES)
		return NULL;
	o = json_pack("{ss ss}", "state", name, "name", names[e->number[0]]);
	if (e->action == BP_EVENT_PLANE_RESTARTED)
		set(o, "hung", json_boolean(e->flags & BP_EVENT_F_HUNG));
	else
		set_integer(o, "pid", e->number[1]);
	if (e->action == BP_EVENT_PLANE_STARTED)
		set(o, "after_crash", json_boolean(e->flags & BP_EVENT_F_CRASHED));
	return o;
}

static json_t *object(const struct bp_event_json *x, const struct bp_event *e, json_t *event)
{
	switch (e->type) {
	case BP_EVENT_CONNECTION:
		return connection(x, e, event);
	case BP_EVENT_SESSION:
		return session(x, e, event);
	case BP_EVENT_FAULT:
		return fault(e);
	case BP_EVENT_CONFIG:
		return config(e);
	case BP_EVENT_PLANE:
		return plane(e);
	case BP_EVENT_POLICY:
		return policy(x, e, event);
	default:
		return NULL;
	}
}

json_t *bp_event_json(const struct bp_event_json *x, const struct bp_event *e)
{
	json_t *event, *o;

	if (bp_event_type_name(e->type) == NULL)
		return NULL;
	event = bp_event_json_head(x, e->type, e->time_ns);
	o = object(x, e, event);
	if (o == NULL) {
		json_decref(event);
		return NULL;
	}
	set(event, bp_event_type_name(e->type), o);
	return event;
}

json_t *bp_event_json_alarm(const struct bp_event_json *x, const struct bp_alarm_log *a)
{
	const struct tuple t = {.ip6 = a->flags & BP_ALARM_F_IP6,
		.has_dest = a->flow.broker_port != 0,
		.src_ip = a->client_ip,
		.src_port = a->client_port,
		.dest_ip = a->flow.broker_ip,
		.dest_port = a->flow.broker_port,
		.vlan_outer = a->flow.vlan_outer & 0xfff,
		.vlan_inner = a->flow.vlan_inner & 0xfff,
		.flow = a->flow.flow};
	json_t *event, *o;

	if (!isfinite(a->value) || (a->state != BP_ALARM_RAISED && a->state != BP_ALARM_CLEARED))
		return NULL;
	event = bp_event_json_head(x, BP_EVENT_ALARM, a->time_ns);
	set_port(x, event, a->flow.port);
	set_tuple(event, &t);
	o = json_pack("{ss so so}", "state", a->state == BP_ALARM_CLEARED ? "cleared" : "raised",
		"rule", bp_text_json(a->rule, sizeof(a->rule)), "value", bp_text_alarm_json(a));
	set_integer(o, "id", a->id);
	if (bp_severity_name(a->severity) != NULL)
		set(o, "severity", json_string(bp_severity_name(a->severity)));
	if (a->client_id[0] != '\0')
		set(o, "client_id", bp_text_json(a->client_id, sizeof(a->client_id)));
	set(o, "topic", bp_text_json(a->topic, sizeof(a->topic)));
	set(o, "publish_topic", bp_text_json(a->to, sizeof(a->to)));
	set(o, "action", json_string(a->flags & BP_ALARM_F_MIRROR ? "mirror" : "publish"));
	set(event, "alarm", o);
	return event;
}
