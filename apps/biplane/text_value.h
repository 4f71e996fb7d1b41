/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_TEXT_VALUE_H
#define BP_APPS_BIPLANE_TEXT_VALUE_H

#include <jansson.h>

#include "shm/layout.h"

/* Values and conditions of rules, which may be strings and booleans, as text. */

/* The value of an alarm as in its envelope. */
json_t *bp_text_alarm_json(const struct bp_alarm_log *a);
#define BP_TEXT_ALARM_VALUE 80
void bp_text_alarm_value(const struct bp_alarm_log *a, char out[BP_TEXT_ALARM_VALUE]);

/* "> 80", "== \"open\"", "one of \"ajar\", \"open\"", "== true", "absent for 30 s" */
#define BP_TEXT_RULE_CONDITION 1280
void bp_text_rule_condition(const struct bp_ruleset *rs, const struct bp_rule *rule,
	const struct bp_condition *c, char out[BP_TEXT_RULE_CONDITION]);

/* What the rule has evaluated: "81.5", "\"open\"", "another string", "true" */
#define BP_TEXT_RULE_VALUE 96
/* Of a value at this source; `strings`: NULL: it has none. */
void bp_text_value_condition(const struct bp_value_source *source,
	const struct bp_value_strings *strings, const struct bp_condition *c,
	char out[BP_TEXT_RULE_CONDITION]);
void bp_text_rule_value(const struct bp_ruleset *rs, const struct bp_rule *rule, double value,
	char out[BP_TEXT_RULE_VALUE]);

#endif
