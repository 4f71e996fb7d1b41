/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/text_value.h"

#include <stdio.h>

#include "apps/biplane/text.h"

json_t *bp_text_alarm_json(const struct bp_alarm_log *a)
{
	switch (bp_alarm_value_type(a->value_text)) {
	case BP_ALARM_NUMBER:
		return json_real(a->value); /* NULL: JSON has no such number */
	case BP_ALARM_BOOLEAN:
		return json_boolean(a->value != 0);
	case BP_ALARM_STRING:
	case BP_ALARM_STRING_TRUNCATED:
		break;
	}
	return bp_text_json(a->value_string, bp_alarm_value_len(a->value_text));
}

void bp_text_alarm_value(const struct bp_alarm_log *a, char out[BP_TEXT_ALARM_VALUE])
{
	switch (bp_alarm_value_type(a->value_text)) {
	case BP_ALARM_NUMBER:
		snprintf(out, BP_TEXT_ALARM_VALUE, "%g", a->value);
		return;
	case BP_ALARM_BOOLEAN:
		snprintf(out, BP_TEXT_ALARM_VALUE, "%s", a->value != 0 ? "true" : "false");
		return;
	case BP_ALARM_STRING:
	case BP_ALARM_STRING_TRUNCATED:
		break;
	}
	snprintf(out, BP_TEXT_ALARM_VALUE, "\"%.*s\"", bp_alarm_value_len(a->value_text),
		a->value_string);
}

/* `strings`: NULL: the source has none. */
static void value_text(const struct bp_value_source *source, const struct bp_value_strings *strings,
	double value, char out[BP_TEXT_RULE_VALUE])
{
	if (source->type == BP_VALUE_BOOLEAN)
		snprintf(out, BP_TEXT_RULE_VALUE, "%s", value != 0 ? "true" : "false");
	else if (source->type != BP_VALUE_STRING || strings == NULL)
		snprintf(out, BP_TEXT_RULE_VALUE, "%g", value);
	else if (value >= 0 && value < strings->n)
		snprintf(out, BP_TEXT_RULE_VALUE, "\"%.*s\"", strings->len[(unsigned)value],
			strings->text[(unsigned)value]);
	else
		snprintf(out, BP_TEXT_RULE_VALUE, "another string");
}

void bp_text_rule_value(const struct bp_ruleset *rs, const struct bp_rule *rule, double value,
	char out[BP_TEXT_RULE_VALUE])
{
	const struct bp_value_source *source = bp_ruleset_source(rs, rule->source);

	value_text(source, bp_ruleset_strings(rs, source), value, out);
}

void bp_text_value_condition(const struct bp_value_source *source,
	const struct bp_value_strings *strings, const struct bp_condition *c,
	char out[BP_TEXT_RULE_CONDITION])
{
	char value[BP_TEXT_RULE_VALUE];
	size_t at;

	if (source->type == BP_VALUE_NUMBER) {
		bp_text_condition(c, out);
		return;
	}
	at = (size_t)snprintf(out, BP_TEXT_RULE_CONDITION, "%s ",
		c->op == BP_COND_EQ   ? "=="
		: c->op == BP_COND_NE ? "!="
				      : "one of");
	value_text(source, strings, c->a, value);
	at += (size_t)snprintf(out + at, BP_TEXT_RULE_CONDITION - at, "%s", value);
	if (c->op != BP_COND_INSIDE)
		return;
	for (unsigned i = 1; i < BP_VALUE_STRINGS_MAX && c->a + i <= c->b; i++) {
		value_text(source, strings, c->a + i, value);
		at += (size_t)snprintf(out + at, BP_TEXT_RULE_CONDITION - at, ", %s", value);
	}
}

void bp_text_rule_condition(const struct bp_ruleset *rs, const struct bp_rule *rule,
	const struct bp_condition *c, char out[BP_TEXT_RULE_CONDITION])
{
	const struct bp_value_source *source = bp_ruleset_source(rs, rule->source);
	char value[BP_TEXT_RULE_VALUE];

	if (rule->absent) {
		value[bp_number_format((double)rule->absent_ns / 1e9, value)] = '\0';
		snprintf(out, BP_TEXT_RULE_CONDITION, "absent for %s s", value);
		return;
	}
	bp_text_value_condition(source, bp_ruleset_strings(rs, source), c, out);
}
