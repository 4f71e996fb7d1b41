/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "shm/rules/policy_value.h"
#include "shm/rules/rule_uid.h"

uint64_t bp_policy_values_size(const struct bp_policy_spec *spec)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < spec->n_rules; i++)
		n += spec->rules[i].payload != NULL;
	return n * sizeof(struct bp_policy_value);
}

void bp_policy_value_write(struct bp_policy_value *v, const struct bp_rule_spec *spec)
{
	bp_value_source_canonical(&v->source, &spec->value);
	if (spec->value.type == BP_VALUE_STRING)
		v->strings = spec->strings;
	v->condition = spec->raise;
}

bool bp_policy_value_valid(const struct bp_ruleset *rs, const struct bp_policy_rule *r)
{
	const struct bp_policy_value *v = bp_policy_value(rs, r);

	if (r->value == 0)
		return true;
	return r->value % _Alignof(struct bp_policy_value) == 0 && r->value >= rs->policy &&
	       r->value <= rs->size && sizeof(*v) <= rs->size - r->value &&
	       v->source.kind != BP_VALUE_SPARKPLUG && bp_value_source_valid(&v->source) &&
	       bp_value_strings_valid(&v->strings) && v->condition.op <= BP_COND_OUTSIDE;
}

static unsigned rank_any(const void *condition, double value)
{
	return bp_condition_holds(condition, value);
}

static unsigned rank_all(const void *condition, double value)
{
	return !bp_condition_holds(condition, value);
}

bool bp_policy_value_meets(const struct bp_ruleset *rs, const struct bp_policy_rule *r,
	const uint8_t *payload, uint32_t len, bool *has, uint32_t *elements)
{
	const struct bp_policy_value *v = bp_policy_value(rs, r);
	const bool each = bp_value_has_elements(&v->source);
	const struct bp_value_rank rank = {
		.of = v->source.match == BP_ELEMENT_ALL ? rank_all : rank_any,
		.arg = &v->condition,
		.top = 1};
	struct bp_value_result result = {.elements = 0};

	if (v->source.extended)
		*has = bp_value_select(payload, len, false, &v->source,
			v->source.type == BP_VALUE_STRING ? &v->strings : NULL, each ? &rank : NULL,
			&result);
	else
		*has = bp_value_extract(payload, len, &v->source, &result.value);
	*elements = result.elements;
	return *has && bp_condition_holds(&v->condition, result.value);
}
