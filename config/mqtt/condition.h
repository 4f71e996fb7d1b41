/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_MQTT_CONDITION_H
#define BP_CONFIG_MQTT_CONDITION_H

#include <stdbool.h>

#include "biplane/rule.h"
#include "config/schema.h"

/* For the rows of mqtt.rules[].raise and clear. */

#define BP_CONDITION_ONE_OF (BP_COND_OUTSIDE + 1) /* INSIDE of the rule's strings */
#define BP_CONDITIONS (BP_CONDITION_ONE_OF + 1)

struct bp_bounds {
	double a, b; /* b: second number of a range */
};

/* A condition in mapping form: the given comparisons, by enum bp_cond_op, and the numbers of the
 * last one; only one comparison is allowed. */
struct bp_condition_map {
	bool has[BP_CONDITIONS];
	struct bp_bounds bounds;
	struct bp_rule_spec *rule; /* the rule of the condition: type and strings of its value */
};

/* Types of struct bp_bounds: `a` alone, and both numbers. */
extern const struct bp_type bp_type_bound, bp_type_bounds;
/* Those of struct bp_condition_map, for values of each type. */
extern const struct bp_type bp_type_operand, bp_type_operands;

bool bp_raise_unfold(const void *field, void *base);
bool bp_clear_unfold(const void *field, void *base);
/* Brings the strings of a rule that was read into the order that its conditions need. */
void bp_condition_sort_strings(struct bp_rule_spec *rule);

#endif
