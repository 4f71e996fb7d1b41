/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a connection is inspected, and what its last topic matches. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/explain/explain.h"
#include "apps/biplane/show/mqtt/rules_copy.h"
#include "apps/biplane/show/show.h"
#include "apps/biplane/text.h"
#include "biplane/counters/mqtt.h"
#include "proto/tls/tls.h"

#define PORT_TEXT 8 /* "[]:65535", and more */

static bool endpoint(const char *text, size_t len, struct bp_endpoint *out)
{
	char address[INET6_ADDRSTRLEN + PORT_TEXT], *colon, *end, *host = address;
	unsigned long port;

	if (len >= sizeof(address))
		return false;
	memcpy(address, text, len);
	address[len] = '\0';
	colon = strrchr(address, ':');
	if (colon == NULL || colon[1] < '0' || colon[1] > '9')
		return false;
	port = strtoul(colon + 1, &end, 10);
	if (*end != '\0' || port == 0 || port > UINT16_MAX)
		return false;
	*colon = '\0';
	memset(out, 0, sizeof(*out));
	out->tcp_port = (uint16_t)port;
	out->address.family = 4;
	if (address[0] == '[') {
		if (colon == address || colon[-1] != ']')
			return false;
		colon[-1] = '\0';
		host++;
		out->address.family = 6;
	}
	return inet_pton(out->address.family == 6 ? AF_INET6 : AF_INET, host, out->address.bytes) ==
	       1;
}

unsigned bp_explain_endpoints(const char *text, struct bp_endpoint out[2])
{
	const char *dash = strchr(text, '-');

	if (!endpoint(text, dash != NULL ? (size_t)(dash - text) : strlen(text), &out[0]))
		return 0;
	if (dash == NULL)
		return 1;
	return endpoint(dash + 1, strlen(dash + 1), &out[1]) &&
			       out[1].address.family == out[0].address.family
		       ? 2
		       : 0;
}

/* The help of a counter by its name; the name if there is none. */
static const char *help_of(const char *counter)
{
	for (unsigned c = 0; c < BP_C_COUNT; c++)
		if (bp_counter_info[c].name != NULL &&
			strcmp(bp_counter_info[c].name, counter) == 0)
			return bp_counter_info[c].help;
	return counter;
}

static void check_path(const struct bp_explain *e, const struct bp_flow_view *v, json_t *checks)
{
	const struct bp_port_info *p;
	json_t *port, *bridge;

	if (v->input_port == 0 || v->input_port > bp_show_ports_in_use(e->shm)) {
		bp_explain_add(checks, "path", BP_EXPLAIN_INFO, "the input port is not known");
		return;
	}
	p = &e->shm->ports[v->input_port - 1];
	port = bp_text_json(p->name, sizeof(p->name));
	bridge = bp_text_json(p->bridge, sizeof(p->bridge));
	bp_explain_add(checks, "path", p->link_up ? BP_EXPLAIN_OK : BP_EXPLAIN_INFO,
		"segments of the client arrive at port %s%s, which %s%s; worker %u inspects them",
		json_string_value(port), p->link_up ? "" : " (link down)",
		p->bridge[0] != '\0' ? "is bridged by " : "routes",
		p->bridge[0] != '\0' ? json_string_value(bridge) : "", v->worker);
	json_decref(port);
	json_decref(bridge);
}

static void check_inspected(const struct bp_flow_view *v, json_t *checks)
{
	const char *s = v->to_broker;

	if (v->not_inspected_reason[0] != '\0')
		bp_explain_add(checks, "inspected", BP_EXPLAIN_NO, "no, %s: %s",
			v->not_inspected_reason, help_of(v->not_inspected_reason));
	else if (strcmp(s, "resync") == 0)
		bp_explain_add(checks, "inspected", BP_EXPLAIN_NO,
			"the position in the stream is not known: it is searched for");
	else if (strcmp(s, "ended") == 0)
		bp_explain_add(
			checks, "inspected", BP_EXPLAIN_NO, "the client sent DISCONNECT or FIN");
	else if (strcmp(s, "no_data") == 0)
		bp_explain_add(
			checks, "inspected", BP_EXPLAIN_INFO, "the client has not sent data yet");
	else
		bp_explain_add(checks, "inspected", BP_EXPLAIN_OK,
			"the position in the stream is known%s; %" PRIu32 " PUBLISH so far",
			strcmp(s, "partial_packet") == 0 ? " (within a packet)" : "", v->publishes);
	if (v->unread && v->not_inspected_reason[0] == '\0' && strcmp(s, "resync") != 0)
		bp_explain_add(checks, "evaluated", BP_EXPLAIN_NO,
			"PUBLISH are not evaluated for %" PRIu64 " ms: %s", v->unread_ms,
			v->unread_reason);
}

/* The names that the ends of a TLS connection said; any bytes. */
static void check_tls(const struct bp_explain *e, const struct bp_flow_view *v, json_t *checks)
{
	static const char *const what[BP_TLS_TEXTS] = {[BP_TLS_SERVER_NAME] = "server name",
		[BP_TLS_ALPN] = "ALPN",
		[BP_TLS_SUBJECT] = "certificate",
		[BP_TLS_NAMES] = "names in it"};
	struct bp_tls_info names;

	if (!bp_flow_tls(v, e->shm->reassembly, e->shm->reassembly_len, e->shm->workers, &names))
		return;
	for (unsigned i = 0; i < BP_TLS_TEXTS; i++) {
		json_t *text = bp_text_json((const char *)names.text[i].bytes, names.text[i].len);

		if (names.text[i].len != 0)
			bp_explain_add(checks, "tls", BP_EXPLAIN_INFO, "%s: %s", what[i],
				json_string_value(text));
		json_decref(text);
	}
}

static void check_state(const struct bp_flow_view *v, json_t *checks)
{
	bp_explain_add(checks, "connection",
		strcmp(v->connection, "closed") == 0 ? BP_EXPLAIN_NO : BP_EXPLAIN_OK,
		"%s, last segment %" PRIu64 " ms ago", v->connection, v->idle_ms);
	if (!v->established)
		bp_explain_add(checks, "established", BP_EXPLAIN_NO,
			"neither the handshake and CONNACK nor another exact answer of the broker "
			"was seen: PUBLISH wait for it");
	else
		bp_explain_add(checks, "established", BP_EXPLAIN_OK,
			v->adopted ? "adopted from another gateway of the fleet"
				   : "the broker accepted the connection");
	if (v->awaits_ack)
		bp_explain_add(checks, "acknowledged", BP_EXPLAIN_INFO,
			"the broker refused a PUBLISH: those with QoS 1 and 2 are evaluated when "
			"it "
			"acknowledges them");
}

/* The topic that has a hash: of the alarm log, and of the filters without wildcards. */
static bool find_topic(const struct bp_explain *e, uint64_t hash, char *out, size_t size)
{
	for (unsigned i = e->n_log; i-- > 0;) {
		snprintf(out, size, "%.*s", (int)sizeof(e->log[i].topic) - 1, e->log[i].topic);
		if (bp_explain_topic_hash(e, out) == hash)
			return true;
	}
	for (uint32_t i = 0; i < e->rules->n_rules; i++) {
		const struct bp_rule *r = bp_ruleset_rule(e->rules, i);
		const size_t len = r->filter_len < size ? r->filter_len : size - 1;

		memcpy(out, bp_rules_filter(e->rules, r), len);
		out[len] = '\0';
		if (strpbrk(out, "+#") == NULL && bp_explain_topic_hash(e, out) == hash)
			return true;
	}
	return false;
}

/* The rules that match a topic. */
static void list_matching(const struct bp_explain *e, const char *topic, json_t *rules,
	enum bp_explain_verdict *verdict)
{
	char suggestion[2048] = "";
	unsigned n;
	json_t *all = bp_explain_rules(e, topic, &n, verdict, suggestion), *r;
	size_t i;

	json_array_foreach(all, i, r)
	{
		if (json_is_true(json_object_get(r, "matches")))
			json_array_append(rules, r);
	}
	json_decref(all);
}

/* Of a topic whose rules are not stored, because the policy decides about each PUBLISH on it. */
static enum bp_explain_verdict check_each(
	const struct bp_explain *e, const char *topic, json_t *checks, json_t *rules)
{
	enum bp_explain_verdict verdict = BP_EXPLAIN_VERDICT_NO;

	if (topic == NULL) {
		bp_explain_add(checks, "last topic", BP_EXPLAIN_INFO,
			"its name is not stored: use 'biplane explain topic'");
		return verdict;
	}
	list_matching(e, topic, rules, &verdict);
	bp_explain_add(checks, "last topic",
		json_array_size(rules) != 0 ? BP_EXPLAIN_OK : BP_EXPLAIN_NO, "%s%s", topic,
		json_array_size(rules) != 0 ? "" : ": no rule matches it");
	return verdict;
}

/* topic: NULL if it is not known. */
static enum bp_explain_verdict check_topic(const struct bp_explain *e, const struct bp_flow_view *v,
	const char *topic, json_t *checks, json_t *rules)
{
	enum bp_explain_verdict verdict = BP_EXPLAIN_VERDICT_NO;
	const bool known = topic != NULL;

	if (!bp_explain_has_topic(v)) {
		bp_explain_add(
			checks, "last topic", BP_EXPLAIN_INFO, "no PUBLISH was inspected yet");
		return verdict;
	}
	if (v->topic_generation == 0)
		return check_each(e, topic, checks, rules);
	if (v->topic_generation != bp_flow_generation(e->rules->generation)) {
		bp_explain_add(checks, "last topic", BP_EXPLAIN_INFO,
			"%s%s was compared with older rules: the next PUBLISH is compared with "
			"those that are active",
			known ? "" : "(name not stored) ", known ? topic : "it");
		return verdict;
	}
	if (v->topic_rule == UINT32_MAX) {
		bp_explain_add(checks, "last topic", BP_EXPLAIN_NO,
			"no rule matches it; its name is not stored: use 'biplane explain topic'");
		return verdict;
	}
	bp_explain_add(checks, "last topic", BP_EXPLAIN_OK, "%s",
		known ? topic : "its name is not stored");
	if (v->topic_rule < e->rules->n_rules) {
		json_array_append_new(
			rules, bp_explain_rule(e, v->topic_rule, topic, v->topic_hash, &verdict));
	} else if (known) {
		list_matching(e, topic, rules, &verdict);
	} else {
		bp_explain_add(checks, "match", BP_EXPLAIN_OK, "several rules match the topic");
		verdict = BP_EXPLAIN_VERDICT_POSSIBLE;
	}
	return verdict;
}

json_t *bp_explain_flow(const struct bp_explain *e, const struct bp_flow_view *v, const char *topic,
	enum bp_explain_verdict *best)
{
	char found[BP_RULE_FILTER_MAX + 1];
	char client[BP_TEXT_ADDRESS], broker[BP_TEXT_ADDRESS], id[256];
	json_t *checks = json_array(), *rules = json_array();

	bp_text_address(v->client_ip, v->ip6, v->client_port, client);
	bp_text_address(v->broker_ip, v->ip6, v->broker_port, broker);
	bp_flow_client_id(
		v, e->shm->reassembly, e->shm->reassembly_len, e->shm->workers, id, sizeof(id));
	check_path(e, v, checks);
	check_state(v, checks);
	check_inspected(v, checks);
	check_tls(e, v, checks);
	if (topic == NULL && bp_explain_has_topic(v) &&
		find_topic(e, v->topic_hash, found, sizeof(found)))
		topic = found;
	*best = check_topic(e, v, topic, checks, rules);
	bp_explain_policy(e, v, topic, checks);
	return json_pack("{ss ss so so so}", "client", client, "broker", broker, "client_id",
		id[0] != '\0' ? bp_text_json(id, sizeof(id)) : json_null(), "checks", checks,
		"rules", rules);
}
