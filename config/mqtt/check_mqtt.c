/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config/check_place.h"
#include "config/mqtt/schema.h"
#include "proto/payload/value.h"
#include "shm/rules/combination.h"

/* Section mqtt: checks across several settings. */

static void check_password(
	struct bp_reader *r, const struct bp_yaml *n, const struct bp_config_publisher *p)
{
	const struct bp_yaml *password = bp_good(n, "password_file");

	if (password == NULL)
		return;
	if (bp_yaml_find(n, "username") == NULL)
		bp_error(r->messages, password->key->line, password->key->column,
			"%s.password_file: there is no username; expected username with "
			"password_file",
			r->path);
	else if (bp_good(n, "broker") != NULL && !p->broker.tls)
		bp_warning(r->messages, password->key->line, password->key->column,
			"%s.password_file: the password is sent without TLS, readable on the "
			"network; expected a broker with mqtts://",
			r->path);
	bp_check_secret_file(r, password, "password_file", p->password_file);
}

static void check_key_pair(struct bp_reader *r, const struct bp_yaml *n, const char *key_file)
{
	const struct bp_yaml *cert = bp_yaml_find(n, "tls.cert"), *key = bp_yaml_find(n, "tls.key");

	if ((cert == NULL) != (key == NULL)) {
		const struct bp_yaml *one = cert != NULL ? cert : key;

		bp_error(r->messages, one->key->line, one->key->column,
			"%s.tls.%s: there is no %s; expected both cert and key, or neither",
			r->path, one->key->text, cert != NULL ? "key" : "cert");
	}
	bp_check_secret_file(r, bp_good(n, "tls.key"), "tls.key", key_file);
}

static void check_tls(
	struct bp_reader *r, const struct bp_yaml *n, const struct bp_config_publisher *p)
{
	const struct bp_yaml *tls = bp_yaml_find(n, "tls");

	if (tls != NULL && bp_good(n, "broker") != NULL && !p->broker.tls)
		bp_error(r->messages, tls->key->line, tls->key->column,
			"%s.tls: the broker's URL begins with mqtt://, which is without TLS; "
			"expected mqtts://, or no tls",
			r->path);
	check_key_pair(r, n, p->key_file);
}

void bp_check_publisher(struct bp_reader *r, const struct bp_yaml *n, void *base)
{
	struct bp_config_publisher *p = &((struct bp_config_mqtt *)base)->publisher;

	if (p->client_id[0] == '\0')
		snprintf(p->client_id, sizeof(p->client_id), "biplane-%s", r->config->name);
	check_password(r, n, p);
	check_tls(r, n, p);
}

/* PLAIN sends the password itself; the SCRAM mechanisms only prove it. */
static void check_sasl(
	struct bp_reader *r, const struct bp_yaml *n, const struct bp_config_kafka *k)
{
	const struct bp_yaml *username = bp_yaml_find(n, "username"),
			     *password = bp_good(n, "password_file"),
			     *mechanism = bp_good(n, "sasl_mechanism");

	if ((username == NULL) != (bp_yaml_find(n, "password_file") == NULL)) {
		const struct bp_yaml *one =
			username != NULL ? username : bp_yaml_find(n, "password_file");

		bp_error(r->messages, one->key->line, one->key->column,
			"%s.%s: there is no %s; expected both username and password_file, or "
			"neither",
			r->path, one->key->text, username != NULL ? "password_file" : "username");
	}
	if (mechanism != NULL && username == NULL)
		bp_error(r->messages, mechanism->key->line, mechanism->key->column,
			"%s.sasl_mechanism: there is no username; expected username and "
			"password_file, or no sasl_mechanism",
			r->path);
	if (username != NULL && k->sasl == BP_SASL_PLAIN && bp_good(n, "brokers") != NULL &&
		!k->brokers.tls)
		bp_warning(r->messages, username->key->line, username->key->column,
			"%s.sasl_mechanism: plain sends the password without TLS, readable on the "
			"network; expected brokers with kafkas://, or scram-sha-512",
			r->path);
	bp_check_secret_file(r, password, "password_file", k->password_file);
}

void bp_check_kafka(struct bp_reader *r, const struct bp_yaml *n, void *base)
{
	struct bp_config_kafka *k = &((struct bp_config_mqtt *)base)->kafka;
	const struct bp_yaml *tls = bp_yaml_find(n, "tls");

	if (k->client_id[0] == '\0')
		snprintf(k->client_id, sizeof(k->client_id), "biplane-%s", r->config->name);
	check_sasl(r, n, k);
	if (tls != NULL && bp_good(n, "brokers") != NULL && !k->brokers.tls)
		bp_error(r->messages, tls->key->line, tls->key->column,
			"%s.tls: the brokers' URL begins with kafka://, which is without TLS; "
			"expected kafkas://, or no tls",
			r->path);
	check_key_pair(r, n, k->key_file);
}

void bp_check_mirror(struct bp_reader *r, const struct bp_yaml *n, void *base)
{
	(void)base;
	if (bp_yaml_find(n, "ipv4_address") == NULL && bp_yaml_find(n, "ipv6_address") == NULL)
		bp_error(r->messages, n->line, n->column,
			"%s has no destination address; expected ipv4_address, ipv6_address or "
			"both",
			r->path);
}

static bool both_hold(const struct bp_rule_spec *rule, double v)
{
	return isfinite(v) && bp_condition_holds(&rule->raise, v) &&
	       bp_condition_holds(&rule->clear, v);
}

/* Returns the second number of a condition, or its only one. */
static double end_of(const struct bp_condition *c)
{
	return c->op == BP_COND_INSIDE || c->op == BP_COND_OUTSIDE ? c->b : c->a;
}

/*
 * Finds a value that satisfies raise and clear together. The values of a condition are intervals
 * between its numbers, so two overlapping conditions overlap at one of their numbers or immediately
 * next to it. Round values are tried first, for the message.
 */
static bool find_overlap(const struct bp_rule_spec *rule, double *v)
{
	const double at[] = {
		rule->raise.a, end_of(&rule->raise), rule->clear.a, end_of(&rule->clear)};

	for (uint32_t i = 0; i < 4; i++) {
		for (uint32_t k = 0; k < 4; k++) {
			*v = at[i] / 2 + at[k] / 2;
			if (both_hold(rule, *v))
				return true;
		}
	}
	for (uint32_t i = 0; i < 4; i++) {
		const double adjacent[] = {at[i] + 1, at[i] - 1, nextafter(at[i], INFINITY),
			nextafter(at[i], -INFINITY)};

		for (uint32_t k = 0; k < 4; k++) {
			*v = adjacent[k];
			if (both_hold(rule, *v))
				return true;
		}
	}
	return false;
}

static void check_clear(
	struct bp_reader *r, const struct bp_yaml *n, const struct bp_rule_spec *rule)
{
	const struct bp_yaml *clear = bp_good(n, "clear");
	char number[32];
	double v;

	if (clear == NULL || bp_good(n, "raise") == NULL ||
		!(rule->value.type == BP_VALUE_NUMBER ? find_overlap(rule, &v)
						      : bp_value_overlap(rule, &v)))
		return;
	bp_warning(r->messages, clear->line, clear->column,
		"%s.clear: %s would both raise and clear this alarm; expected conditions that no "
		"value "
		"meets together",
		r->path, bp_value_text_of(rule, v, number));
}

/* The payload of the device has no space for them. */
static void check_annotations(
	struct bp_reader *r, const struct bp_yaml *n, const struct bp_rule_spec *rule)
{
	const struct bp_yaml *at = bp_good(n, "annotations");

	if (at != NULL && rule->annotations.n != 0 && rule->payload == BP_PAYLOAD_ORIGINAL)
		bp_warning(r->messages, at->line, at->column,
			"%s.annotations: only the envelope contains them; expected payload: "
			"envelope, or no annotations",
			r->path);
}

static void check_deadband(
	struct bp_reader *r, const struct bp_yaml *n, const struct bp_rule_spec *rule)
{
	const struct bp_yaml *at = bp_good(n, "deadband");

	if (at != NULL && rule->repeat == BP_REPEAT_ON_CHANGE)
		bp_error(r->messages, at->line, at->column,
			"%s.deadband: repeat: on_change sends no further alarm while one is "
			"raised; expected repeat: every, or no deadband",
			r->path);
}

void bp_check_rule(struct bp_reader *r, const struct bp_yaml *n, void *base)
{
	struct bp_rule_spec *rule = base;
	const struct bp_yaml *payload = bp_yaml_find(n, "payload");

	bp_check_absence(r, n, rule);
	bp_check_combination(r, n, rule);
	if (rule->action == BP_ACTION_MIRROR) {
		if (payload != NULL && !payload->bad && rule->payload == BP_PAYLOAD_ENVELOPE)
			bp_error(r->messages, payload->line, payload->column,
				"%s.payload: action mirror sends the device's own payload; "
				"expected "
				"original, or action publish",
				r->path);
		rule->payload = BP_PAYLOAD_ORIGINAL;
	}
	bp_check_value(r, n, rule);
	check_clear(r, n, rule);
	check_annotations(r, n, rule);
	bp_check_sparkplug(r, n, rule, false);
	check_deadband(r, n, rule);
}

struct named_rule {
	const char *name;
	const struct bp_yaml *node;
};

static int by_name(const void *a, const void *b)
{
	const struct named_rule *x = a, *y = b;
	int d = strcmp(x->name, y->name);

	return d != 0                              ? d
	       : x->node->line != y->node->line    ? (x->node->line < y->node->line ? -1 : 1)
	       : x->node->column < y->node->column ? -1
						   : x->node->column > y->node->column;
}

/* There may be thousands of rules: after sorting, equal names are adjacent. */
void bp_check_names(struct bp_reader *r, const struct bp_yaml *rules, const char *what,
	const char *(*name_of)(const void *items, uint32_t i), const void *items)
{
	struct named_rule *list = calloc(rules->n, sizeof(*list));
	uint32_t n = 0, i = 0;

	if (list == NULL) {
		bp_error(r->messages, rules->line, rules->column,
			"out of memory; expected fewer rules or more free memory");
		return;
	}
	for (const struct bp_yaml *e = rules->first; e != NULL; e = e->next, i++) {
		const struct bp_yaml *name = bp_good(e, "name");

		if (name != NULL)
			list[n++] = (struct named_rule){name_of(items, i), name};
	}
	if (n > 1)
		qsort(list, n, sizeof(*list), by_name);
	for (i = 1; i < n; i++) {
		if (strcmp(list[i].name, list[i - 1].name) == 0)
			bp_error(r->messages, list[i].node->line, list[i].node->column,
				"%s '%s' is named twice; expected a unique name (the "
				"other is on line %u)",
				what, list[i].name,
				bp_messages_line(r->messages, list[i - 1].node->line));
	}
	free(list);
}

static const char *rule_name(const void *items, uint32_t i)
{
	return ((const struct bp_rule_spec *)items)[i].name;
}

/* Returns the section that the rule's action needs and the file does not have; NULL: none. */
static const char *missing_section(const struct bp_rule_spec *rule, const struct bp_config_mqtt *m)
{
	if (rule->action == BP_ACTION_MIRROR)
		return m->mirror.enabled ? NULL : "mirror";
	if (rule->destination != BP_DESTINATION_KAFKA && !m->publisher.enabled)
		return "publisher";
	return rule->destination != BP_DESTINATION_MQTT && !m->kafka.enabled ? "kafka" : NULL;
}

/* An action needs its target. */
static void check_rule_targets(struct bp_reader *r, const struct bp_yaml *mqtt,
	const struct bp_yaml *rules, const struct bp_config_mqtt *m)
{
	uint32_t i = 0;

	for (const struct bp_yaml *e = rules->first; e != NULL; e = e->next, i++) {
		const struct bp_rule_spec *rule = &m->rules[i];
		const struct bp_yaml *action = bp_yaml_find(e, "action"),
				     *at = action != NULL ? action : e;
		const bool mirror = rule->action == BP_ACTION_MIRROR;
		const char *missing = missing_section(rule, m);
		char which[sizeof(rule->name) + 16];

		if (e->bad || e->kind != BP_YAML_MAP || (action != NULL && action->bad))
			continue;
		/* A section under its old name has its own message. */
		if (missing == NULL || bp_yaml_find(mqtt, mirror ? "clone" : "edge") != NULL)
			continue;
		if (rule->name[0] != '\0')
			snprintf(which, sizeof(which), "rule '%s'", rule->name);
		else /* not given, or invalid: it then has its own message */
			snprintf(which, sizeof(which), "mqtt.rules[%u]", i);
		bp_error(r->messages, at->line, at->column,
			"%s: action %s has no destination; expected section mqtt.%s in this file",
			which, mirror ? "mirror" : "publish", missing);
	}
}

/* The parts of combinations count as rules. */
static uint32_t count_rules(const struct bp_config_mqtt *m)
{
	uint32_t n = m->n_rules;

	for (uint32_t i = 0; i < m->n_rules; i++)
		if (m->rules[i].combination != NULL)
			n += m->rules[i].combination->n_parts;
	return n;
}

static void check_rules(
	struct bp_reader *r, const struct bp_yaml *n, const struct bp_config_mqtt *m)
{
	const struct bp_yaml *rules = bp_yaml_find(n, "rules");
	const uint32_t all = count_rules(m);

	if (rules == NULL || rules->bad || m->n_rules == 0)
		return;
	if (all > m->max_rules &&
		(bp_yaml_find(n, "max_rules") == NULL || bp_good(n, "max_rules") != NULL))
		bp_error(r->messages, rules->line, rules->column,
			"mqtt.rules: %u rules are given; expected at most %u (mqtt.max_rules)", all,
			m->max_rules);
	bp_check_names(r, rules, "rule", rule_name, m->rules);
	check_rule_targets(r, n, rules, m);
}

/* Rules with clear, hold or on_change keep one state per matching topic: at least one is needed. */
static void check_states(
	struct bp_reader *r, const struct bp_yaml *n, const struct bp_config_mqtt *m)
{
	const struct bp_yaml *at = bp_good(n, "max_alarm_states");
	uint32_t stateful = 0;

	for (uint32_t i = 0; i < m->n_rules; i++)
		stateful += bp_rule_spec_stateful(&m->rules[i]);
	if (at != NULL && stateful > m->max_alarm_states)
		bp_error(r->messages, at->line, at->column,
			"mqtt.max_alarm_states: %u rules have clear, hold, absent, repeat: "
			"on_change, deadband or quiet, and each needs a state per topic; expected "
			"at least %u",
			stateful, stateful);
}

/* A payload that a rule sends must fit in an alarm, a quarter of the queue. */
static void check_alarm_queue(
	struct bp_reader *r, const struct bp_yaml *n, const struct bp_config_mqtt *m)
{
	for (uint32_t i = 0; i < m->n_rules; i++) {
		const struct bp_rule_spec *rule = &m->rules[i];

		if (rule->action != BP_ACTION_PUBLISH || rule->payload != BP_PAYLOAD_ORIGINAL ||
			m->reassembly_per_connection <= m->alarm_queue_size / 4)
			continue;
		bp_warning(r->messages, n->line, n->column,
			"mqtt: reassembly_per_connection exceeds a quarter of alarm_queue_size, so "
			"alarms with larger payloads are dropped; expected alarm_queue_size of "
			"at least %llu bytes",
			4 * (unsigned long long)m->reassembly_per_connection);
		return;
	}
}

/* Returns whether any traffic can be forwarded: by a bridge, or by a route of the kernel or of this
 * file. */
static bool can_forward(const struct bp_config *c)
{
	if (c->n_bridges > 0 || c->fixed.n_routes > 0)
		return true;
	for (uint32_t i = 0; i < c->n_ports; i++) {
		const struct bp_config_interface *port = &c->port[i].interface;

		if (port->backend != BP_BACKEND_OFF || port->n_addresses > 0)
			return true;
	}
	return false;
}

/* Default limit of unestablished connections. */
static void share_unestablished(struct bp_config_mqtt *m)
{
	if (m->max_unestablished == 0)
		m->max_unestablished = m->max_connections / 4 + 1;
	if (m->reassembly_unestablished == 0)
		m->reassembly_unestablished = m->reassembly_total / 4;
}

/* Returns whether the setting is valid or not given. *at: its node, or `n` if it is not given. */
static bool is_read(const struct bp_yaml *n, const char *key, const struct bp_yaml **at)
{
	const struct bp_yaml *found = bp_yaml_find(n, key);

	if (found != NULL)
		*at = found;
	return found == NULL || !found->bad;
}

/* Each worker has its share of the memory, and the packets of its connections must fit in it. */
static void check_reassembly(
	struct bp_reader *r, const struct bp_yaml *n, const struct bp_config_mqtt *m)
{
	const uint32_t workers = r->config->n_workers != 0 ? r->config->n_workers : 1;
	const uint64_t share = m->reassembly_total / workers;
	const struct bp_yaml *at = n, *of = n;

	if (!is_read(n, "reassembly_total", &at))
		return;
	of = at;
	if (is_read(n, "reassembly_per_connection", &at) && m->reassembly_per_connection > share)
		bp_error(r->messages, at->line, at->column,
			"mqtt.reassembly_per_connection: %llu bytes exceed what each worker has; "
			"expected at most mqtt.reassembly_total / workers, %llu bytes",
			(unsigned long long)m->reassembly_per_connection,
			(unsigned long long)share);
	at = of;
	if (is_read(n, "reassembly_unestablished", &at) &&
		m->reassembly_unestablished > m->reassembly_total)
		bp_error(r->messages, at->line, at->column,
			"mqtt.reassembly_unestablished: %llu bytes exceed the memory of all "
			"connections; expected at most mqtt.reassembly_total, %llu bytes",
			(unsigned long long)m->reassembly_unestablished,
			(unsigned long long)m->reassembly_total);
}

/* A connection begins either with MQTT or with HTTP. */
static void check_websocket_ports(
	struct bp_reader *r, const struct bp_yaml *n, const struct bp_config_mqtt *m)
{
	const struct bp_yaml *at = bp_good(n, "websocket_ports");

	for (uint32_t i = 0; at != NULL && i < m->n_websocket_ports; i++)
		for (uint32_t k = 0; k < m->n_tcp_ports; k++)
			if (m->websocket_ports[i] == m->tcp_ports[k])
				bp_error(r->messages, at->line, at->column,
					"mqtt.websocket_ports: %u is also in mqtt.tcp_ports; "
					"expected each TCP port in one of the two lists",
					m->websocket_ports[i]);
}

void bp_check_mqtt(struct bp_reader *r, const struct bp_yaml *n, void *base)
{
	struct bp_config_mqtt *m = base;

	check_websocket_ports(r, n, m);
	check_reassembly(r, n, m);
	share_unestablished(m);
	/* one path per instance: two instances with one file would take each other's alarms */
	if (m->spool.path[0] == '\0')
		snprintf(m->spool.path, sizeof(m->spool.path), "/var/lib/biplane/%s.spool.db",
			r->config->name);
	/* No warning when the errors may be in the bridges. */
	if (!can_forward(r->config) && r->messages->errors == 0)
		bp_warning(r->messages, n->line, n->column,
			"mqtt: no traffic passes that could be inspected, as there is no bridge "
			"and no route; expected bridges: [{name: line-1, ports: [devices, "
			"cloud]}], "
			"or routed ports with addresses");
	check_rules(r, n, m);
	check_states(r, n, m);
	bp_check_windows(r, n, m);
	check_alarm_queue(r, n, m);
}
