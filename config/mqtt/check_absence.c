/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/check_place.h"
#include "config/mqtt/schema.h"
#include "shm/rules/watch.h"

/* A rule with `absent` evaluates no value, so it has no setting about values. */

static void check_excluded(
	struct bp_reader *r, const struct bp_yaml *n, const struct bp_yaml *absent)
{
	static const char *const excluded[] = {
		"value", "raise", "clear", "hold", "repeat", "window", "deadband", "quiet"};

	for (unsigned i = 0; i < sizeof(excluded) / sizeof(excluded[0]); i++) {
		const struct bp_yaml *e = bp_yaml_find(n, excluded[i]);

		if (e != NULL)
			bp_error(r->messages, e->key->line, e->key->column,
				"%s.%s: the rule has absent (line %u), which evaluates no value; "
				"expected absent without %s, or a second rule",
				r->path, excluded[i],
				bp_messages_line(r->messages, absent->key->line), excluded[i]);
	}
}

/* An alarm of a topic that is silent has no frame and no payload. */
static void check_sent(
	struct bp_reader *r, const struct bp_yaml *n, const struct bp_rule_spec *rule)
{
	const struct bp_yaml *action = bp_good(n, "action"), *payload = bp_good(n, "payload");

	if (action != NULL && rule->action == BP_ACTION_MIRROR)
		bp_error(r->messages, action->line, action->column,
			"%s.action: there is no frame to mirror when a topic is silent; expected "
			"publish",
			r->path);
	if (payload != NULL && rule->payload == BP_PAYLOAD_ORIGINAL)
		bp_error(r->messages, payload->line, payload->column,
			"%s.payload: there is no payload when a topic is silent; expected envelope",
			r->path);
}

static void check_topic(
	struct bp_reader *r, const struct bp_yaml *n, const struct bp_rule_spec *rule)
{
	const struct bp_yaml *topic = bp_good(n, "topic");

	if (topic != NULL && strpbrk(rule->filter, "+#") == NULL &&
		strlen(rule->filter) > BP_WATCH_TOPIC_MAX)
		bp_error(r->messages, topic->line, topic->column,
			"%s.topic: it has %zu bytes; expected at most %u for a rule with absent",
			r->path, strlen(rule->filter), BP_WATCH_TOPIC_MAX);
}

void bp_check_absence(struct bp_reader *r, const struct bp_yaml *n, struct bp_rule_spec *rule)
{
	const struct bp_yaml *absent = bp_yaml_find(n, "absent");

	if (absent == NULL)
		return;
	check_excluded(r, n, absent);
	check_sent(r, n, rule);
	check_topic(r, n, rule);
	/* the value of such a rule is the silence in seconds */
	memset(&rule->raise, 0, sizeof(rule->raise));
	rule->raise.op = BP_COND_GE;
	rule->raise.a = (double)rule->absent_ns / 1e9;
	rule->repeat = BP_REPEAT_ON_CHANGE;
}
