/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/explain/explain.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/explain/filter_match.h"
#include "apps/biplane/show/mqtt/rules_copy.h"
#include "apps/biplane/show/show.h"
#include "apps/biplane/text.h"
#include "biplane/counters/mqtt.h"
#include "controlplane/alarms/alarm_log.h"
#include "controlplane/process/peer.h"

#define REASON_MAX 2048

int bp_explain_open(struct bp_explain *e, const struct bp_shm *shm, uint64_t unix_ns,
	uint64_t mono_ns, char *err, size_t err_size)
{
	*e = (struct bp_explain){.shm = shm, .unix_ns = unix_ns, .mono_ns = mono_ns};
	e->rules = bp_rules_copy(shm, err, err_size);
	if (e->rules == NULL)
		return -1;
	e->log = calloc(BP_ALARM_LOG_LEN, sizeof(*e->log));
	if (e->log == NULL) {
		snprintf(err, err_size, "not enough memory");
		bp_explain_close(e);
		return -1;
	}
	e->n_log = bp_alarm_log_read(shm->alarm_log, e->log, BP_ALARM_LOG_LEN);
	return 0;
}

void bp_explain_close(struct bp_explain *e)
{
	free(e->rules);
	free(e->log);
	memset(e, 0, sizeof(*e));
}

void bp_explain_add(
	json_t *checks, const char *check, enum bp_explain_status status, const char *format, ...)
{
	static const char *const name[] = {
		[BP_EXPLAIN_OK] = "ok", [BP_EXPLAIN_NO] = "no", [BP_EXPLAIN_INFO] = "info"};
	char reason[REASON_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	json_array_append_new(
		checks, json_pack("{ss ss so}", "check", check, "status", name[status], "reason",
				bp_text_json(reason, sizeof(reason))));
}

bool bp_explain_fails(const json_t *checks)
{
	size_t i;
	json_t *c;

	json_array_foreach(checks, i, c)
	{
		if (strcmp(json_string_value(json_object_get(c, "status")), "no") == 0)
			return true;
	}
	return false;
}

static uint64_t load(const _Atomic uint64_t *v)
{
	return atomic_load_explicit(v, memory_order_relaxed);
}

static void check_rules(const struct bp_explain *e, json_t *checks)
{
	char loaded[BP_TEXT_TIME];

	bp_text_time(e->rules->loaded_ns, loaded);
	if (e->shm->flows_len == 0 || e->rules->n_rules == 0)
		bp_explain_add(checks, "rules", BP_EXPLAIN_NO,
			"no rule is active: mqtt.rules of the configuration is empty");
	else
		bp_explain_add(checks, "rules", BP_EXPLAIN_OK,
			"%u rule%s, generation %" PRIu64 ", loaded %.19sZ", e->rules->n_rules,
			e->rules->n_rules == 1 ? " is active" : "s are active",
			e->rules->generation, loaded);
}

static void check_destination(
	const struct bp_publisher_counters *c, const char *check, const char *name, json_t *checks)
{
	const uint64_t rows = load(&c->spool_rows);

	if (atomic_load(&c->connected) == 0)
		bp_explain_add(checks, check, BP_EXPLAIN_INFO,
			"not connected to %s: alarms wait in the spool (%" PRIu64 " now)", name,
			rows);
	else
		bp_explain_add(checks, check, BP_EXPLAIN_OK,
			"connected to %s, %" PRIu64 " in flight, %" PRIu64 " in the spool", name,
			load(&c->inflight), rows);
}

/* Raised alarms wait for the publisher; none is lost while there is space. */
static void check_publisher(const struct bp_explain *e, json_t *checks)
{
	const struct bp_shm_control *c = e->shm->control;
	const uint64_t lost = bp_shm_counter(e->shm, BP_C_ALARM_QUEUE_FULL);
	const bool alive = bp_show_alive(load(&c->cp_pid));
	const bool has_kafka = load(&c->publisher[BP_TO_KAFKA].max_inflight) != 0;

	if (!alive)
		bp_explain_add(checks, "publisher", BP_EXPLAIN_INFO,
			"the control plane does not run: alarms wait in the alarm queue");
	if (alive && (!has_kafka || load(&c->publisher[BP_TO_MQTT].max_inflight) != 0))
		check_destination(&c->publisher[BP_TO_MQTT], "publisher", "the broker", checks);
	if (alive && has_kafka)
		check_destination(&c->publisher[BP_TO_KAFKA], "kafka", "Kafka", checks);
	if (lost != 0)
		bp_explain_add(checks, "alarm queue", BP_EXPLAIN_INFO,
			"%" PRIu64 " alarms were lost because the alarm queue was full "
			"(mqtt.alarm_queue_size)",
			lost);
}

static void check_budget(const struct bp_explain *e, json_t *checks)
{
	const uint64_t connection = bp_shm_counter(e->shm, BP_C_NOT_INSPECTED_CONNECTION_BUDGET);
	const uint64_t worker = bp_shm_counter(e->shm, BP_C_NOT_INSPECTED_WORKER_BUDGET);

	if (connection + worker != 0)
		bp_explain_add(checks, "CPU limits", BP_EXPLAIN_INFO,
			"%" PRIu64 " PUBLISH were not evaluated completely: %" PRIu64
			" over mqtt.connection_cpu_percent, %" PRIu64
			" over mqtt.worker_cpu_percent",
			connection + worker, connection, worker);
}

void bp_explain_gateway(const struct bp_explain *e, json_t *checks)
{
	if (bp_dataplane_alive(e->shm->global))
		bp_explain_add(checks, "data plane", BP_EXPLAIN_OK, "it runs");
	else
		bp_explain_add(checks, "data plane", BP_EXPLAIN_NO,
			"it does not run: nothing is forwarded or inspected");
	check_rules(e, checks);
	check_publisher(e, checks);
	check_budget(e, checks);
}

static const char *verdict_name(enum bp_explain_verdict v)
{
	static const char *const name[] = {[BP_EXPLAIN_VERDICT_NO] = "no",
		[BP_EXPLAIN_VERDICT_RAISED] = "raised",
		[BP_EXPLAIN_VERDICT_POSSIBLE] = "possible"};

	return name[v];
}

/* Takes the references. */
static json_t *explanation(const char *kind, const char *subject, enum bp_explain_verdict verdict,
	const char *summary, json_t *checks, json_t *rules, json_t *connections)
{
	return json_pack("{ss so ss ss so so so}", "kind", kind, "subject",
		bp_text_json(subject, strlen(subject)), "verdict", verdict_name(verdict), "summary",
		summary, "checks", checks, "rules", rules, "connections", connections);
}

/* ---- a topic ---- */

struct topic_flows {
	const struct bp_explain *e;
	const char *topic;
	uint64_t hash;
	json_t *list;
	uint64_t n, inspected;
};

static int visit_topic(const struct bp_flow_view *v, void *arg)
{
	struct topic_flows *t = arg;
	enum bp_explain_verdict ignored;

	if (v->topic_hash != t->hash || !bp_explain_has_topic(v))
		return 0;
	t->n++;
	t->inspected += !v->unread;
	if (t->e->limit == 0 || t->n <= t->e->limit)
		json_array_append_new(t->list, bp_explain_flow(t->e, v, t->topic, &ignored));
	return 0;
}

static const struct bp_alarm_log *last_alarm_of_topic(const struct bp_explain *e, const char *topic)
{
	for (unsigned i = e->n_log; i-- > 0;)
		if (strncmp(e->log[i].topic, topic, sizeof(e->log[i].topic) - 1) == 0)
			return &e->log[i];
	return NULL;
}

static void check_seen(
	const struct bp_explain *e, const char *topic, const struct topic_flows *t, json_t *checks)
{
	const struct bp_alarm_log *a = last_alarm_of_topic(e, topic);
	char time[BP_TEXT_TIME];

	if (t->n != 0)
		bp_explain_add(checks, "published",
			t->inspected != 0 ? BP_EXPLAIN_OK : BP_EXPLAIN_NO,
			"it is the last topic of %" PRIu64 " connection%s, %" PRIu64
			" of them inspected",
			t->n, t->n == 1 ? "" : "s", t->inspected);
	else
		bp_explain_add(checks, "published", BP_EXPLAIN_INFO,
			"it is the last topic of no connection: it was not published since the "
			"last reload, or its client published another topic after it; the rules "
			"below are evaluated for it nevertheless");
	if (a == NULL)
		return;
	bp_text_time(a->time_ns, time);
	bp_explain_add(checks, "last alarm", BP_EXPLAIN_INFO, "%s %.19sZ by rule %.*s, value %g",
		a->state == BP_ALARM_CLEARED ? "cleared" : "raised", time, (int)sizeof(a->rule),
		a->rule, a->value);
}

json_t *bp_explain_topic(const struct bp_explain *e, const char *topic)
{
	struct topic_flows t = {.e = e,
		.topic = topic,
		.hash = bp_explain_topic_hash(e, topic),
		.list = json_array()};
	json_t *checks = json_array(), *rules;
	char suggestion[BP_FILTER_SUGGESTION] = "", summary[BP_FILTER_SUGGESTION + 256];
	enum bp_explain_verdict verdict;
	unsigned n;

	bp_explain_gateway(e, checks);
	rules = bp_explain_rules(e, topic, &n, &verdict, suggestion);
	if (n == 0)
		bp_explain_add(checks, "match", BP_EXPLAIN_NO, "no rule matches the topic%s%s%s",
			suggestion[0] != '\0' ? "; did you mean '" : "", suggestion,
			suggestion[0] != '\0' ? "'?" : "");
	else
		bp_explain_add(checks, "match", BP_EXPLAIN_OK, "%u rule%s the topic", n,
			n == 1 ? " matches" : "s match");
	if (e->shm->flows_len != 0)
		bp_flow_visit(e->shm->flows, e->shm->flows_len, e->shm->workers, e->mono_ns,
			visit_topic, &t);
	check_seen(e, topic, &t, checks);
	bp_explain_policy_of_topic(e, topic, checks);
	if (bp_explain_fails(checks))
		verdict = BP_EXPLAIN_VERDICT_NO;
	snprintf(summary, sizeof(summary), "%s",
		verdict == BP_EXPLAIN_VERDICT_POSSIBLE
			? "an alarm is raised when a value satisfies the conditions of a rule"
		: verdict == BP_EXPLAIN_VERDICT_RAISED
			? "an alarm is raised already; the next one follows after it is cleared"
		: n == 0 ? "no alarm: no rule matches the topic"
			 : "no alarm: see the checks marked no");
	return explanation("topic", topic, verdict, summary, checks, rules, t.list);
}

/* ---- connections ---- */

static bool is_end(const struct bp_endpoint *end, const uint8_t *ip, bool ip6, uint16_t tcp_port)
{
	return end->tcp_port == tcp_port && end->address.family == (ip6 ? 6 : 4) &&
	       memcmp(end->address.bytes, ip, ip6 ? 16 : 4) == 0;
}

struct flow_search {
	const struct bp_explain *e;
	/* by its ends, in any order */
	const struct bp_endpoint *end;
	unsigned n_ends;
	/* or by its client */
	const char *client_id;
	char nearest[256]; /* the most similar other client identifier */
	unsigned distance;
	json_t *list;
	uint64_t n;
	enum bp_explain_verdict best;
	bool prevented; /* a connection, or each rule of its last topic, has a check with status no
			 */
};

static bool has_ends(const struct flow_search *s, const struct bp_flow_view *v)
{
	bool found = true;

	for (unsigned i = 0; i < s->n_ends; i++)
		found = found && (is_end(&s->end[i], v->client_ip, v->ip6, v->client_port) ||
					 is_end(&s->end[i], v->broker_ip, v->ip6, v->broker_port));
	return found;
}

#define NEAR 3u /* a larger distance is another client */

static bool has_client_id(struct flow_search *s, const struct bp_flow_view *v)
{
	char id[256];
	unsigned d;

	if (v->client_id_len == 0)
		return false;
	bp_flow_client_id(v, s->e->shm->reassembly, s->e->shm->reassembly_len, s->e->shm->workers,
		id, sizeof(id));
	d = bp_edit_distance(id, strlen(id), s->client_id, strlen(s->client_id), NEAR);
	if (d != 0 && d < s->distance) {
		s->distance = d;
		snprintf(s->nearest, sizeof(s->nearest), "%s", id);
	}
	return d == 0;
}

static int visit_search(const struct bp_flow_view *v, void *arg)
{
	struct flow_search *s = arg;
	enum bp_explain_verdict verdict;
	json_t *flow;
	bool fails;

	if (s->client_id != NULL ? !has_client_id(s, v) : !has_ends(s, v))
		return 0;
	s->n++;
	flow = bp_explain_flow(s->e, v, NULL, &verdict);
	fails = bp_explain_fails(json_object_get(flow, "checks"));
	if (!fails && verdict > s->best)
		s->best = verdict;
	if (fails || (verdict == BP_EXPLAIN_VERDICT_NO &&
			     json_array_size(json_object_get(flow, "rules")) != 0))
		s->prevented = true;
	if (s->e->limit == 0 || s->n <= s->e->limit)
		json_array_append(s->list, flow);
	json_decref(flow);
	return 0;
}

/* Segments that were forwarded without a connection entry, by reason. */
static void check_untracked(const struct bp_explain *e, json_t *checks)
{
	static const bp_counter_t reason[] = {BP_C_CONN_TABLE_FULL, BP_C_CONN_EVICTED_UNESTABLISHED,
		BP_C_SEG_NOT_FORWARDED, BP_C_SEG_OTHER_BROKER, BP_C_SEG_SAME_PORT, BP_C_SEG_LOW_TTL,
		BP_C_SEG_BAD_CHECKSUM, BP_C_SEG_FRAGMENT, BP_C_NOT_INSPECTED_VLAN,
		BP_C_NOT_INSPECTED_PPPOE, BP_C_NOT_INSPECTED_MPLS, BP_C_NOT_INSPECTED_TUNNEL};

	for (unsigned i = 0; i < sizeof(reason) / sizeof(reason[0]); i++) {
		const uint64_t n = bp_shm_counter(e->shm, reason[i]);

		if (n != 0)
			bp_explain_add(checks, "not tracked", BP_EXPLAIN_INFO,
				"possible reason: %s, %" PRIu64 " so far (%s)",
				bp_counter_info[reason[i]].help, n,
				bp_counter_info[reason[i]].name);
	}
}

static json_t *search(struct flow_search *s, const char *kind, const char *subject)
{
	const struct bp_explain *e = s->e;
	json_t *checks = json_array();
	bool gateway_fails;
	const char *summary;

	bp_explain_gateway(e, checks);
	gateway_fails = bp_explain_fails(checks);
	s->list = json_array();
	if (e->shm->flows_len != 0 && bp_flow_visit(e->shm->flows, e->shm->flows_len,
					      e->shm->workers, e->mono_ns, visit_search, s) != 0)
		bp_explain_add(checks, "tracked", BP_EXPLAIN_NO,
			"the connection table in the segment is damaged");
	if (s->n != 0) {
		bp_explain_add(checks, "tracked", BP_EXPLAIN_OK, "%" PRIu64 " connection%s", s->n,
			s->n == 1 ? " is in the table" : "s are in the table");
	} else {
		bp_explain_add(checks, "tracked", BP_EXPLAIN_NO,
			"no such connection is in the table: no segment of it passed between two "
			"ports of this gateway, or its TCP port is not one of mqtt.tcp_ports%s%s%s",
			s->nearest[0] != '\0' ? "; did you mean client '" : "", s->nearest,
			s->nearest[0] != '\0' ? "'?" : "");
		check_untracked(e, checks);
	}
	if (gateway_fails || s->n == 0)
		s->best = BP_EXPLAIN_VERDICT_NO;
	summary = s->best == BP_EXPLAIN_VERDICT_POSSIBLE
			  ? "an alarm is raised when a value satisfies the conditions of a rule"
		  : s->best == BP_EXPLAIN_VERDICT_RAISED
			  ? "an alarm is raised already; the next one follows after it is cleared"
		  : s->n == 0 ? "no alarm: the connection is not tracked"
		  : s->prevented || gateway_fails
			  ? "no alarm: see the checks marked no"
			  : "no alarm yet: no PUBLISH was compared with the active rules";
	return explanation(kind, subject, s->best, summary, checks, json_array(), s->list);
}

json_t *bp_explain_connection(
	const struct bp_explain *e, const char *subject, const struct bp_endpoint *end, unsigned n)
{
	struct flow_search s = {.e = e, .end = end, .n_ends = n, .distance = NEAR};

	return search(&s, "connection", subject);
}

json_t *bp_explain_client(const struct bp_explain *e, const char *client_id)
{
	struct flow_search s = {.e = e, .client_id = client_id, .distance = NEAR};

	return search(&s, "client", client_id);
}
