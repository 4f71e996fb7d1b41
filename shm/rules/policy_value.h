/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_RULES_POLICY_VALUE_H
#define BP_SHM_RULES_POLICY_VALUE_H

#include "shm/rules/policy.h"

/*
 * Values of payloads: an array in the image, of which a rule with `payload` has an element.
 */
struct bp_policy_value {
	struct bp_value_source source;
	struct bp_value_strings strings; /* of a source of type string */
	struct bp_condition condition;
};
_Static_assert(sizeof(struct bp_policy_value) % 8 == 0, "the index behind them is aligned");

/* That of a rule which has one (value). */
static inline const struct bp_policy_value *bp_policy_value(
	const struct bp_ruleset *rs, const struct bp_policy_rule *r)
{
	return (const struct bp_policy_value *)(const void *)((const uint8_t *)rs + r->value);
}

/* Bytes of the values of the rules. */
uint64_t bp_policy_values_size(const struct bp_policy_spec *spec);
/* Writes it; `spec` has a payload. */
void bp_policy_value_write(struct bp_policy_value *v, const struct bp_rule_spec *spec);
/* Whether the value of the rule can be read: it is in the image, and consistent. */
bool bp_policy_value_valid(const struct bp_ruleset *rs, const struct bp_policy_rule *r);

/* Whether the payload has the value of the rule, and it meets the condition. *has: it has it;
 * *elements: elements of an array that were compared. */
bool bp_policy_value_meets(const struct bp_ruleset *rs, const struct bp_policy_rule *r,
	const uint8_t *payload, uint32_t len, bool *has, uint32_t *elements);

#endif
