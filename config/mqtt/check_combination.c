/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/check_place.h"
#include "config/mqtt/schema.h"
#include "shm/rules/combination.h"

/* Checks of a rule that depend on whether it is a combination. */

/* A combination replaces the source and the conditions of a rule. */
static void check_parts(struct bp_reader *r, const struct bp_yaml *n, struct bp_rule_spec *rule)
{
	static const char *const replaced[] = {
		"topic", "value", "raise", "clear", "window", "absent"};
	const char *all = bp_yaml_find(n, "all") != NULL ? "all" : "any";
	const struct bp_yaml *repeat = bp_yaml_find(n, "repeat");

	for (unsigned i = 0; i < sizeof(replaced) / sizeof(replaced[0]); i++) {
		const struct bp_yaml *found = bp_yaml_find(n, replaced[i]);

		if (found != NULL)
			bp_error(r->messages, found->key->line, found->key->column,
				"%s.%s: the rule has %s, whose parts replace it; expected only one "
				"of them",
				r->path, replaced[i], all);
	}
	if (repeat == NULL)
		rule->repeat = BP_REPEAT_ON_CHANGE;
}

/* Without a combination, the topic is required, and what raises the alarm. */
static void check_required(struct bp_reader *r, const struct bp_yaml *n)
{
	if (bp_yaml_find(n, "topic") == NULL)
		bp_reader_missing(r, "mqtt.rules[].topic", n);
	if (bp_yaml_find(n, "raise") == NULL && bp_yaml_find(n, "absent") == NULL)
		bp_error(r->messages, n->line, n->column,
			"%s has no 'raise'; expected raise, absent, all or any", r->path);
}

/* Whether a combination has a level with the name in [at, end), with its braces. */
static bool is_level(const struct bp_rule_spec *rule, const char *at, const char *end)
{
	struct bp_level_names names;
	const char *filter, *why;
	uint32_t fault;

	if (rule->combination == NULL)
		return false;
	filter = rule->combination->part[0].filter;
	return bp_level_names_read(filter, (uint32_t)strlen(filter), &names, &why, &fault) &&
	       bp_level_names_find(&names, at + 1, (uint32_t)(end - at) - 2) >= 0;
}

/* publish.topic may have the names of the levels of a combination. */
static void check_placeholders(
	struct bp_reader *r, const struct bp_yaml *n, const struct bp_rule_spec *rule)
{
	static const char *const known[] = {"{topic}", "{rule}", "{client}"};
	const struct bp_setting *s = bp_schema_at("mqtt.rules[].publish.topic");
	const struct bp_yaml *topic = bp_good(n, "publish.topic");
	char expected[BP_EXPECTED_TEXT], shown[BP_SHOWN];

	for (const char *p = rule->to; topic != NULL && (p = strchr(p, '{')) != NULL;) {
		const char *end = strchr(p, '}') + 1;
		bool ok = is_level(rule, p, end);

		for (unsigned i = 0; i < 3; i++)
			ok |= strncmp(p, known[i], strlen(known[i])) == 0;
		if (!ok) {
			bp_error(r->messages, topic->line,
				bp_yaml_column(topic, (size_t)(p - rule->to)),
				"%s.publish.topic: '%s' is not a placeholder; expected %s", r->path,
				bp_shown(p, (size_t)(end - p), shown),
				bp_setting_expected(s, expected));
			return;
		}
		p = end;
	}
}

void bp_check_combination(struct bp_reader *r, const struct bp_yaml *n, struct bp_rule_spec *rule)
{
	if (bp_yaml_find(n, "all") != NULL || bp_yaml_find(n, "any") != NULL)
		check_parts(r, n, rule);
	else
		check_required(r, n);
	check_placeholders(r, n, rule);
}
