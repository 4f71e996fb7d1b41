/* SPDX-License-Identifier: BSD-3-Clause */
/* What the policy decides about a connection, or about a topic. */
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/explain/explain.h"
#include "apps/biplane/show/mqtt/rules_copy.h"
#include "apps/biplane/text.h"
#include "shm/rules/policy.h"

#define CHECK "policy"
#define CONDITIONS 2048u

/* "rule NAME", or "the default". */
#define RULE_TEXT (BP_RULE_NAME_MAX + 8)
static const char *rule_text(const struct bp_ruleset *rs, uint32_t rule, char out[RULE_TEXT])
{
	const struct bp_policy_rule *r = rule < rs->n_policy ? bp_policy_rule(rs, rule) : NULL;

	if (r == NULL)
		return "the default";
	snprintf(out, RULE_TEXT, "rule %.*s", r->name_len, r->name);
	return out;
}

static const char *verb(uint8_t action)
{
	static const char *const verbs[BP_POLICY_ACTIONS] = {[BP_POLICY_ALLOW] = "allows",
		[BP_POLICY_OBSERVE] = "observes",
		[BP_POLICY_CLOSE] = "refuses",
		[BP_POLICY_BLANK] = "blanks"};

	return verbs[action];
}

/* What is refused raises no alarm. */
static enum bp_explain_status status_of(uint8_t action)
{
	return action == BP_POLICY_ALLOW     ? BP_EXPLAIN_OK
	       : action == BP_POLICY_OBSERVE ? BP_EXPLAIN_INFO
					     : BP_EXPLAIN_NO;
}

/* Of packets without a decision. */
static const char *failure(const struct bp_ruleset *rs, uint8_t port)
{
	return !rs->policy_refuses                 ? ""
	       : !bp_policy_fails_closed(rs, port) ? ": it is forwarded (fail: open)"
						   : ": it is refused (fail: closed)";
}

static const char *failure_of_all(const struct bp_ruleset *rs, uint8_t port)
{
	return !rs->policy_refuses                 ? ""
	       : !bp_policy_fails_closed(rs, port) ? ", and are forwarded (fail: open)"
						   : ", and are refused (fail: closed)";
}

static void add_text(char *out, size_t size, const char *name, const struct bp_ruleset *rs,
	uint32_t at, uint16_t len)
{
	const size_t used = strlen(out);
	json_t *text = len != 0 ? bp_text_json((const char *)rs + at, len) : NULL;

	if (text != NULL)
		snprintf(out + used, size - used, "%s%s %s", used != 0 ? ", " : "", name,
			json_string_value(text));
	json_decref(text);
}

/* What else the rule asks for; "": nothing. */
static void conditions_of(
	const struct bp_explain *e, const struct bp_policy_rule *r, char *out, size_t size)
{
	json_t *others = bp_policy_conditions(e->rules, e->shm, r);
	const char *text = json_string_value(others);

	snprintf(out, size, "%s", text != NULL ? text : "");
	add_text(out, size, "client_id", e->rules, r->client, r->client_len);
	add_text(out, size, "user_name", e->rules, r->user, r->user_len);
	if (r->topic_len != 0 &&
		memchr((const char *)e->rules + r->topic, '{', r->topic_len) != NULL)
		add_text(out, size, "topic", e->rules, r->topic, r->topic_len);
	json_decref(others);
}

/* ---- a connection ---- */

static uint8_t decide(const struct bp_explain *e, const struct bp_policy_packet_view *p,
	const char *what, json_t *checks)
{
	char text[RULE_TEXT], conditions[CONDITIONS];
	const char *rule;
	struct bp_policy_decision d;

	bp_policy_decide(e->rules, p, &d);
	rule = rule_text(e->rules, d.rule, text);
	if (d.action == BP_POLICY_UNDECIDED && p->known && d.rule < e->rules->n_policy) {
		const struct bp_policy_rule *r = bp_policy_rule(e->rules, d.rule);

		conditions_of(e, r, conditions, sizeof(conditions));
		bp_explain_add(checks, CHECK, BP_EXPLAIN_INFO,
			"%s: %s %s it with %s, and the rules after it decide about others", what,
			rule, verb(r->action), conditions);
	} else if (d.action == BP_POLICY_UNDECIDED)
		bp_explain_add(checks, CHECK, BP_EXPLAIN_INFO,
			"%s: no decision: what %s asks for is not known of this client%s", what,
			rule, failure(e->rules, p->port));
	else
		bp_explain_add(checks, CHECK, status_of(d.action), "%s: %s %s it%s", what, rule,
			verb(d.action),
			d.fixed ? ""
				: "; other packets of it may have another decision, by their "
				  "properties");
	return d.action;
}

/* The policy refuses the CONNECT of a connection that exists. */
static void add_reload(const struct bp_ruleset *rs, uint8_t action, json_t *checks)
{
	if (action != BP_POLICY_CLOSE && action != BP_POLICY_BLANK)
		return;
	bp_explain_add(checks, CHECK, BP_EXPLAIN_INFO,
		rs->policy_on_reload == BP_POLICY_ON_RELOAD_CLOSE
			? "an earlier policy allowed it: a connection for which all conditions are "
			  "known ends with its next segment (on_reload: close)"
			: "an earlier policy allowed it: the connection continues until a packet "
			  "is refused (on_reload: leave)");
}

static void publications(const struct bp_explain *e, struct bp_policy_packet_view *p,
	const struct bp_flow_view *v, const char *topic, json_t *checks)
{
	const char *why = v->unread ? "no decisions: they are not inspected"
			  : !bp_explain_has_topic(v)
				  ? "none was inspected yet"
				  : "the name of the last topic is not stored: use "
				    "'biplane explain topic'";

	if (topic == NULL || v->unread) {
		bp_explain_add(checks, CHECK, BP_EXPLAIN_INFO, "PUBLISH: %s", why);
		return;
	}
	p->packet = BP_POLICY_PUBLISH;
	p->topic = (const uint8_t *)topic;
	p->topic_len = (uint32_t)strlen(topic);
	(void)decide(e, p, "PUBLISH on the last topic", checks);
}

/* As services/mqtt/policy.c. */
static void of_client(const struct bp_explain *e, const struct bp_flow_view *v, const char *topic,
	const struct bp_flow_identity *id, json_t *checks)
{
	struct bp_policy_packet_view p = {.packet = BP_POLICY_CONNECT,
		.version = v->version,
		.port = v->input_port,
		.ip6 = v->ip6,
		.known = id->known,
		.address = v->client_ip,
		.keep_alive = BP_POLICY_KEEP_ALIVE_UNKNOWN,
		.client = id->client,
		.client_len = id->client_len,
		.user = id->user,
		.user_len = id->user_len};

	bp_policy_set_time(&p, e->unix_ns);
	if (!id->known)
		bp_explain_add(checks, CHECK, BP_EXPLAIN_INFO,
			"the CONNECT of the client is not known: rules that ask for its client "
			"identifier or user name decide nothing");
	else
		add_reload(e->rules, decide(e, &p, "CONNECT", checks), checks);
	publications(e, &p, v, topic, checks);
}

void bp_explain_policy(
	const struct bp_explain *e, const struct bp_flow_view *v, const char *topic, json_t *checks)
{
	struct bp_flow_identity *id;

	if (!e->rules->policy_given)
		return;
	if (v->not_inspected_reason[0] != '\0') {
		bp_explain_add(checks, CHECK, BP_EXPLAIN_INFO,
			"no decisions: packets of the client are not inspected%s",
			failure_of_all(e->rules, v->input_port));
		return;
	}
	id = calloc(1, sizeof(*id));
	if (id == NULL)
		return;
	bp_flow_identity(v, e->shm->reassembly, e->shm->reassembly_len, e->shm->workers, id);
	of_client(e, v, topic, id, checks);
	free(id);
}

/* ---- a topic ---- */

/* The level of the topic at which the filter has `placeholder` first; *n: its bytes. NULL: it has
 * none. */
static const char *text_of(const struct bp_ruleset *rs, const struct bp_policy_rule *r,
	const char *topic, const char *placeholder, uint32_t *n)
{
	const char *filter = (const char *)rs + r->topic, *end = filter + r->topic_len;
	const size_t len = strlen(placeholder);

	while (filter != end) {
		const char *slash = memchr(filter, '/', (size_t)(end - filter));
		const size_t level = (size_t)((slash != NULL ? slash : end) - filter);

		*n = (uint32_t)strcspn(topic, "/");
		if (level == len && memcmp(filter, placeholder, len) == 0)
			return topic;
		if (slash == NULL || topic[*n] == '\0')
			return NULL;
		filter = slash + 1;
		topic += *n + 1;
	}
	return NULL;
}

/* Whether a rule with this pattern, or none, may be about `text`. */
static bool fits(const struct bp_ruleset *rs, uint32_t pattern, uint16_t len, uint16_t star,
	const char *text, uint32_t n)
{
	return len == 0 || bp_policy_pattern_is((const uint8_t *)rs + pattern, len, star,
				   (const uint8_t *)text, n);
}

/* Of any client that the rule is about: it has the text of a level with a placeholder. */
static bool may_match(
	const struct bp_ruleset *rs, const struct bp_policy_rule *r, const char *topic)
{
	struct bp_policy_packet_view p = {
		.topic = (const uint8_t *)topic, .topic_len = (uint32_t)strlen(topic)};
	uint32_t client_len, user_len;
	const char *client = text_of(rs, r, topic, BP_POLICY_CLIENT_LEVEL, &client_len);
	const char *user = text_of(rs, r, topic, BP_POLICY_USER_LEVEL, &user_len);

	if (client != NULL) {
		p.client = (const uint8_t *)client;
		p.client_len = (uint16_t)client_len;
	}
	if (user != NULL) {
		p.user = (const uint8_t *)user;
		p.user_len = (uint16_t)user_len;
	}
	if ((client != NULL &&
		    !fits(rs, r->client, r->client_len, r->client_star, client, client_len)) ||
		(user != NULL &&
			(r->identity == BP_POLICY_ANONYMOUS ||
				!fits(rs, r->user, r->user_len, r->user_star, user, user_len))))
		return false;
	return (r->packet == BP_POLICY_ANY || r->packet == BP_POLICY_PUBLISH) &&
	       !r->has_keep_alive && r->connections == 0 &&
	       (r->topic_len == 0 || bp_policy_topic_is((const uint8_t *)rs + r->topic,
					     r->topic_len, BP_POLICY_MATCHES, &p));
}

void bp_explain_policy_of_topic(const struct bp_explain *e, const char *topic, json_t *checks)
{
	const struct bp_ruleset *rs = e->rules;
	char conditions[CONDITIONS], text[RULE_TEXT];
	uint64_t n = 0;

	if (!rs->policy_given)
		return;
	for (uint32_t i = 0; i < rs->n_policy; i++) {
		const struct bp_policy_rule *r = bp_policy_rule(rs, i);

		if (!may_match(rs, r, topic))
			continue;
		conditions_of(e, r, conditions, sizeof(conditions));
		if (e->limit == 0 || n < e->limit)
			bp_explain_add(checks, CHECK, status_of(r->action), "PUBLISH: %s %s it%s%s",
				rule_text(rs, i, text), verb(r->action),
				conditions[0] != '\0' ? " with " : "", conditions);
		n++;
		if (conditions[0] == '\0')
			return;
	}
	if (e->limit != 0 && n > e->limit)
		bp_explain_add(checks, CHECK, BP_EXPLAIN_INFO, "PUBLISH: %u more rules may decide",
			(unsigned)(n - e->limit));
	bp_explain_add(checks, CHECK, status_of(rs->policy_preset), "PUBLISH: the default %s %s",
		verb(rs->policy_preset), n != 0 ? "all others" : "it");
}
