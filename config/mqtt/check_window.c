/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/check_place.h"
#include "config/mqtt/schema.h"
#include "shm/rules/combination.h"
#include "shm/rules/window.h"

/* Section mqtt.rules[].window. */

static void check_percentile(
	struct bp_reader *r, const struct bp_yaml *n, const struct bp_window_spec *w)
{
	const struct bp_yaml *percentile = bp_yaml_find(n, "percentile");
	const bool wants = w->function == BP_WINDOW_PERCENTILE;

	if (bp_good(n, "function") == NULL)
		return;
	if (wants && percentile == NULL)
		bp_error(r->messages, n->line, n->column,
			"%s: function percentile has no percentage; expected percentile: P, above "
			"0 and at most 100",
			r->path);
	else if (!wants && percentile != NULL)
		bp_error(r->messages, percentile->key->line, percentile->key->column,
			"%s.percentile: the function is not percentile; expected function: "
			"percentile, or no percentile",
			r->path);
	else if (bp_good(n, "percentile") != NULL && !(w->percentile > 0 && w->percentile <= 100))
		bp_error(r->messages, percentile->line, percentile->column,
			"%s.percentile: '%s' is out of range; expected a number above 0 and at "
			"most 100",
			r->path, percentile->text);
}

void bp_check_window(struct bp_reader *r, const struct bp_yaml *n, void *base)
{
	const struct bp_rule_spec *rule = base;
	const struct bp_yaml *values = bp_yaml_find(n, "values"), *time = bp_yaml_find(n, "time");

	if (values == NULL && time == NULL)
		bp_error(r->messages, n->line, n->column,
			"%s has no size; expected values or time, such as {values: 16, function: "
			"mean}",
			r->path);
	else if (values != NULL && time != NULL)
		bp_error(r->messages, time->key->line, time->key->column,
			"%s.time: the window has values; expected only one of them", r->path);
	check_percentile(r, n, &rule->window);
	if (rule->value.type != BP_VALUE_NUMBER || bp_value_has_elements(&rule->value))
		bp_error(r->messages, n->key->line, n->key->column,
			"%s: a window is of numbers, and of one from each payload; expected no "
			"value.type and no [*] in the path, or no window",
			r->path);
}

/* The window of a rule or of a part; `name`: of the rule. Returns 1 if there is one. */
static uint32_t check_size(struct bp_reader *r, const struct bp_yaml *n, uint64_t stride,
	const struct bp_rule_spec *rule, const char *name)
{
	const uint32_t most =
		bp_window_capacity(stride, (enum bp_window_function)rule->window.function);

	if (rule->window.given && rule->window.values > most)
		bp_error(r->messages, n->line, n->column,
			"mqtt.rules: the window of rule '%s' has %u values; expected at "
			"most %u, or a higher mqtt.max_window_values",
			name, rule->window.values, most);
	if (rule->window.given && bp_window_in_classes(&rule->window) &&
		bp_window_classes(stride) == 0)
		bp_error(r->messages, n->line, n->column,
			"mqtt.rules: the window of rule '%s' is a percentile over time; expected "
			"mqtt.max_window_values: %u or more",
			name, BP_WINDOW_CLASSES_VALUES);
	return rule->window.given;
}

void bp_check_windows(struct bp_reader *r, const struct bp_yaml *n, const struct bp_config_mqtt *m)
{
	const struct bp_yaml *max = bp_yaml_find(n, "max_windows");
	const struct bp_yaml *max_values = bp_yaml_find(n, "max_window_values");
	const uint64_t stride = bp_window_stride(m->max_window_values);
	uint32_t windows = 0;

	if ((max != NULL && max->bad) || (max_values != NULL && max_values->bad))
		return;
	for (uint32_t i = 0; i < m->n_rules; i++) {
		const struct bp_rule_spec *rule = &m->rules[i];
		const struct bp_combination_spec *c = rule->combination;

		windows += check_size(r, n, stride, rule, rule->name);
		for (unsigned k = 0; c != NULL && k < c->n_parts; k++)
			windows += check_size(r, n, stride, &c->part[k], rule->name);
	}
	if (windows > m->max_windows)
		bp_error(r->messages, max != NULL ? max->line : n->line,
			max != NULL ? max->column : n->column,
			"mqtt.max_windows: %u rules have a window, and each needs one per topic; "
			"expected at least %u",
			windows, windows);
}
