/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/check_place.h"
#include "config/mqtt/condition.h"
#include "config/mqtt/schema.h"
#include "proto/payload/value.h"

/* Values of rules: settings that exist only with others, and conditions for strings and booleans.
 */

const char *bp_value_text_of(const struct bp_rule_spec *rule, double v, char number[32])
{
	const unsigned i = v >= 0 && v < BP_VALUE_STRINGS_MAX ? (unsigned)v : 0;

	if (rule->value.type == BP_VALUE_STRING)
		return v >= 0 && v < rule->strings.n ? rule->strings.text[i] : "another string";
	if (rule->value.type == BP_VALUE_BOOLEAN)
		return v != 0 ? "true" : "false";
	number[bp_number_format(v, number)] = '\0';
	return number;
}

bool bp_value_overlap(const struct bp_rule_spec *rule, double *v)
{
	const bool string = rule->value.type == BP_VALUE_STRING;
	const int first = string ? -1 : 0, end = string ? rule->strings.n : 2;

	for (int i = first; i < end; i++) {
		*v = i;
		if (bp_condition_holds(&rule->raise, i) && bp_condition_holds(&rule->clear, i))
			return true;
	}
	return false;
}

/* A window and deadband compute with numbers, and a window with one of each publication. */
static void check_numbers(
	struct bp_reader *r, const struct bp_yaml *n, const struct bp_rule_spec *rule)
{
	static const char *const key[] = {"window", "deadband"};

	for (unsigned i = 0; i < sizeof(key) / sizeof(key[0]); i++) {
		const struct bp_yaml *at = bp_yaml_find(n, key[i]);

		if (at == NULL)
			continue;
		if (rule->value.type != BP_VALUE_NUMBER)
			bp_error(r->messages, at->key->line, at->key->column,
				"%s.%s: the value is no number; expected value type number, or no "
				"%s",
				r->path, key[i], key[i]);
		else if (i == 0 && bp_value_has_elements(&rule->value))
			bp_error(r->messages, at->key->line, at->key->column,
				"%s.window: the path has [*], whose elements are compared before a "
				"window; expected a path to one value, or no window",
				r->path);
	}
}

/* Settings of the value that exist only with others. */
static void check_options(
	struct bp_reader *r, const struct bp_yaml *n, const struct bp_rule_spec *rule)
{
	const struct bp_yaml *value = bp_good(n, "value"), *type, *death, *match, *scale;

	if (value == NULL || value->kind != BP_YAML_MAP)
		return;
	type = bp_good(value, "type");
	if (type != NULL && rule->value.type != BP_VALUE_NUMBER &&
		rule->value.kind == BP_VALUE_BINARY)
		bp_error(r->messages, type->line, type->column,
			"%s.value.type: a binary value is a number; expected number, or another "
			"source",
			r->path);
	death = bp_good(value, "death");
	if (death != NULL && rule->value.type != BP_VALUE_NUMBER)
		bp_error(r->messages, death->line, death->column,
			"%s.value.death: the value at a death is a number; expected type number, "
			"or no death",
			r->path);
	match = bp_good(value, "match");
	if (match != NULL && !bp_value_has_elements(&rule->value))
		bp_error(r->messages, match->line, match->column,
			"%s.value.match: the path has no [*]; expected a path to elements of an "
			"array, such as $.readings[*].celsius, or no match",
			r->path);
	scale = bp_good(value, "scale");
	if (scale != NULL && rule->value.scale == 0)
		bp_error(r->messages, scale->line, scale->column,
			"%s.value.scale: with 0 each value is the offset; expected another factor",
			r->path);
	if (scale == NULL)
		scale = bp_good(value, "offset");
	if (scale != NULL && rule->value.type != BP_VALUE_NUMBER)
		bp_error(r->messages, scale->line, scale->column,
			"%s.value.%s: the value is no number; expected type number, or no scale "
			"and offset",
			r->path, scale->key->text);
}

void bp_check_value(struct bp_reader *r, const struct bp_yaml *n, struct bp_rule_spec *rule)
{
	if (n->kind == BP_YAML_MAP) {
		check_options(r, n, rule);
		check_numbers(r, n, rule);
	}
	if (rule->value.type == BP_VALUE_STRING)
		bp_condition_sort_strings(rule);
}
