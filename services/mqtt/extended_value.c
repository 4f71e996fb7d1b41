/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/mqtt.h"
#include "services/mqtt/evaluate.h"
#include "services/mqtt/mqtt_worker.h"

/* Values with a type, a scale or several elements. */

/* Whether a value that does not raise clears the alarm. */
static bool clears(const struct bp_rule *rule, double value)
{
	return !rule->has_clear || bp_condition_holds(&rule->clear, value);
}

/* One element that raises is enough, and only elements that all clear do. */
static unsigned rank_any(const void *arg, double value)
{
	const struct bp_rule *rule = arg;

	return bp_condition_holds(&rule->raise, value) ? 2 : !clears(rule, value);
}

/* Only elements that all raise do; one that clears is enough. */
static unsigned rank_all(const void *arg, double value)
{
	const struct bp_rule *rule = arg;

	return bp_condition_holds(&rule->raise, value) ? 0 : 1 + clears(rule, value);
}

bool bp_extended_value(struct bp_mqtt_worker *in, const struct bp_rule *rule,
	const struct bp_value_source *source, struct bp_evaluated *j)
{
	const struct bp_mqtt_publish *p = j->publish;
	const struct bp_value_rank rank = {
		.of = source->match == BP_ELEMENT_ALL ? rank_all : rank_any, .arg = rule, .top = 2};
	struct bp_value_result result;
	bool found;

	found = bp_value_select(p->payload, p->payload_len, j->beginning, source,
		bp_ruleset_strings(in->rules, source), bp_value_has_elements(source) ? &rank : NULL,
		&result);
	bp_work_add(&in->work,
		BP_WORK_VALUE + p->payload_len + (uint64_t)result.elements * BP_WORK_ELEMENT);
	if (result.elements > BP_VALUE_ELEMENTS_MAX)
		bp_tally(in, BP_C_VALUE_ELEMENTS_EXCEEDED);
	if (!found)
		return false;
	j->value = result.value;
	j->type = source->type;
	if (j->type == BP_VALUE_STRING)
		j->text = result.text;
	return true;
}
