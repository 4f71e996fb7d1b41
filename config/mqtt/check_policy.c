/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/check_place.h"
#include "config/mqtt/schema.h"

/* Section mqtt.policy. */

static const char *name_of(const void *items, uint32_t i)
{
	return ((const struct bp_policy_rule_spec *)items)[i].name;
}

/* So that it, its beginning, and it with another level are topics at each broker. */
static const char *quarantine_fault(const char *topic)
{
	if (topic[0] != '$' || topic[1] == '\0' || topic[1] == '-')
		return "expected $ and another character than '-' at its beginning";
	if (strncmp(topic, "$SYS", 4) == 0 || strncmp(topic, "$share", 6) == 0)
		return "brokers have another use for it; expected another topic";
	for (const char *p = topic; *p != '\0'; p++)
		if (*p == '+' || *p == '#' || (unsigned char)*p > 0x7e)
			return "expected ASCII characters other than + and #";
	return NULL;
}

static void check_quarantine(struct bp_reader *r, const struct bp_yaml *n)
{
	const struct bp_yaml *at = bp_good(n, "quarantine");
	const char *fault = at != NULL ? quarantine_fault(at->text) : NULL;

	if (fault != NULL)
		bp_error(r->messages, at->line, at->column,
			"mqtt.policy.quarantine: '%s' is no quarantine topic: %s", at->text, fault);
}

static uint32_t ports_of(const struct bp_config *c, unsigned interface)
{
	uint32_t ports = 0;

	if (interface < BP_MAX_PORTS)
		return 1u << interface;
	for (uint32_t i = 0; i < c->bridge[interface - BP_MAX_PORTS].n; i++)
		ports |= 1u << c->bridge[interface - BP_MAX_PORTS].port[i];
	return ports;
}

static void check_overrides(struct bp_reader *r, const struct bp_yaml *n, struct bp_policy_spec *p)
{
	const struct bp_yaml *list = bp_yaml_find(n, "fail_overrides");
	uint32_t i = 0;

	if (list == NULL || list->bad)
		return;
	for (const struct bp_yaml *e = list->first; e != NULL && i < p->n_fail_overrides;
		e = e->next, i++) {
		const struct bp_policy_fail_override *o = &p->fail_override[i];
		const struct bp_yaml *at = bp_good(e, "interface");
		uint32_t ports;

		if (at == NULL)
			continue;
		ports = ports_of(r->config, o->interface);
		if (ports & (p->fail_open_ports | p->fail_closed_ports))
			bp_error(r->messages, at->line, at->column,
				"mqtt.policy.fail_overrides[%u].interface: '%s' is given twice; "
				"expected each bridge and routed port once at most",
				i, at->text);
		if (o->fail == BP_POLICY_FAIL_OPEN)
			p->fail_open_ports |= ports;
		else
			p->fail_closed_ports |= ports;
	}
}

void bp_check_policy(struct bp_reader *r, const struct bp_yaml *n, void *base)
{
	struct bp_config_mqtt *m = base;
	const struct bp_yaml *rules = bp_yaml_find(n, "rules");

	if (m->directions == BP_DIRECTIONS_FROM_BROKER)
		bp_error(r->messages, n->key->line, n->key->column,
			"mqtt.policy: the publications of clients are not read; expected "
			"mqtt.directions: to_broker or both");
	check_quarantine(r, n);
	check_overrides(r, n, &m->policy);
	if (rules == NULL || rules->bad)
		return;
	if (m->policy.n_rules > m->max_policy_rules)
		bp_error(r->messages, rules->line, rules->column,
			"mqtt.policy.rules: %u rules are given; expected at most %u "
			"(mqtt.max_policy_rules)",
			m->policy.n_rules, m->max_policy_rules);
	bp_check_names(r, rules, "rule of the policy", name_of, m->policy.rules);
}

static void check_pattern(struct bp_reader *r, const struct bp_yaml *n, const char *key)
{
	const struct bp_yaml *at = bp_good(n, key);
	const char *star = at != NULL ? strchr(at->text, '*') : NULL;

	if (star != NULL && strchr(star + 1, '*') != NULL)
		bp_error(r->messages, at->line, at->column,
			"%s.%s: '%s' has more than one *; expected one at most", r->path, key,
			at->text);
}

/* A placeholder is a level of its own, and another text in braces is an error of writing. */
static bool is_level(const char *p, size_t n)
{
	static const char *const level[] = {BP_POLICY_CLIENT_LEVEL, BP_POLICY_USER_LEVEL};

	if (memchr(p, '{', n) == NULL && memchr(p, '}', n) == NULL)
		return true;
	for (unsigned i = 0; i < sizeof(level) / sizeof(level[0]); i++)
		if (n == strlen(level[i]) && memcmp(p, level[i], n) == 0)
			return true;
	return false;
}

static void check_levels(struct bp_reader *r, const struct bp_yaml *n)
{
	const struct bp_yaml *at = bp_good(n, "topic");
	const char *p = at != NULL ? at->text : NULL;

	while (p != NULL) {
		const size_t len = strcspn(p, "/");

		if (!is_level(p, len)) {
			bp_error(r->messages, at->line, at->column,
				"%s.topic: '%.*s' is no level; expected {client} or {user} as a "
				"whole level, or no braces",
				r->path, (int)len, p);
			return;
		}
		p = p[len] == '/' ? p + len + 1 : NULL;
	}
}

/* Which packets have a condition: bits of enum bp_policy_packet. */
#define HAS(packet_) (1u << BP_POLICY_##packet_)
static const struct {
	const char *key, *what, *packets;
	unsigned has;
} fields[] = {
	{"topic", "a CONNECT has no topic", "will, publish or subscribe, or no topic",
		HAS(WILL) | HAS(PUBLISH) | HAS(SUBSCRIBE)},
	{"qos", "only publications and wills have it", "publish, will or any",
		HAS(WILL) | HAS(PUBLISH)},
	{"retain", "only publications and wills have it", "publish, will or any",
		HAS(WILL) | HAS(PUBLISH)},
	{"larger_than", "only publications and wills have it", "publish, will or any",
		HAS(WILL) | HAS(PUBLISH)},
	{"payload", "only publications and wills have it", "publish, will or any",
		HAS(WILL) | HAS(PUBLISH)},
	{"packet_larger_than", "a will is a part of a CONNECT",
		"connect, publish, subscribe or any", HAS(CONNECT) | HAS(PUBLISH) | HAS(SUBSCRIBE)},
	{"keep_alive", "only a CONNECT has it", "connect or any", HAS(CONNECT)},
	{"connections", "only a CONNECT has it", "connect or any", HAS(CONNECT)},
};

/* What the packets of the rule never have. */
static void check_fields(
	struct bp_reader *r, const struct bp_yaml *n, const struct bp_policy_rule_spec *rule)
{
	if (rule->packet == BP_POLICY_ANY)
		return;
	for (unsigned i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const struct bp_yaml *at = bp_yaml_find(n, fields[i].key);

		if (at != NULL && (fields[i].has >> rule->packet & 1) == 0)
			bp_error(r->messages, at->key->line, at->key->column,
				"%s.%s: %s; expected packet: %s", r->path, fields[i].key,
				fields[i].what, fields[i].packets);
	}
}

/* Sections of a rule. */
void bp_check_policy_hours(struct bp_reader *r, const struct bp_yaml *n, void *base)
{
	const struct bp_policy_rule_spec *rule = base;
	const struct bp_yaml *to = bp_good(n, "to");

	if (rule->from == rule->to && to != NULL)
		bp_error(r->messages, to->line, to->column,
			"%s.to: the time ends when it begins; expected another time, or neither "
			"from nor to for the whole day",
			r->path);
}

void bp_check_policy_rate(struct bp_reader *r, const struct bp_yaml *n, void *base)
{
	const struct bp_policy_rule_spec *rule = base;
	const struct bp_yaml *per = bp_good(n, "per");

	if (per != NULL && rule->rate_per == BP_POLICY_PER_TOPIC &&
		rule->packet == BP_POLICY_CONNECT)
		bp_error(r->messages, per->line, per->column,
			"%s.per: a CONNECT has no topic; expected client or address", r->path);
}

void bp_check_policy_keep_alive(struct bp_reader *r, const struct bp_yaml *n, void *base)
{
	const struct bp_policy_rule_spec *rule = base;

	if (bp_yaml_find(n, "above") == NULL && bp_yaml_find(n, "below") == NULL)
		bp_error(r->messages, n->line, n->column,
			"%s has no limit; expected above or below, such as {above: 2m}", r->path);
	else if (rule->has_keep_above && rule->has_keep_below &&
		 rule->keep_above + 1 >= rule->keep_below)
		bp_error(r->messages, n->line, n->column,
			"%s: no keep-alive is above %us and below %us; expected a higher below, or "
			"two rules",
			r->path, rule->keep_above, rule->keep_below);
}

/* A CONNECT has no topic that could be another one, and a will is a part of it. */
static void check_action(
	struct bp_reader *r, const struct bp_yaml *n, const struct bp_policy_rule_spec *rule)
{
	const struct bp_yaml *at = bp_good(n, "action");

	if (at != NULL && rule->action == BP_POLICY_BLANK &&
		(rule->packet == BP_POLICY_CONNECT || rule->packet == BP_POLICY_WILL))
		bp_error(r->messages, at->line, at->column,
			"%s.action: a CONNECT and its will cannot be overwritten; expected close",
			r->path);
}

void bp_check_policy_rule(struct bp_reader *r, const struct bp_yaml *n, void *base)
{
	const struct bp_policy_rule_spec *rule = base;
	const struct bp_yaml *anonymous = bp_yaml_find(n, "anonymous");

	check_pattern(r, n, "client_id");
	check_pattern(r, n, "user_name");
	check_levels(r, n);
	if (bp_yaml_find(n, "packet") == NULL || bp_good(n, "packet") != NULL)
		check_fields(r, n, rule);
	check_action(r, n, rule);
	if (rule->identity == BP_POLICY_ANONYMOUS && rule->user[0] != '\0')
		bp_error(r->messages, anonymous->key->line, anonymous->key->column,
			"%s.anonymous: the rule has a user name; expected only one of them",
			r->path);
}
