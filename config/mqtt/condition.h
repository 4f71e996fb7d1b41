/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_MQTT_CONDITION_H
#define BP_CONFIG_MQTT_CONDITION_H

#include <stdbool.h>

#include "biplane/rule.h"
#include "config/schema.h"

/* For the rows of mqtt.rules[].raise and clear. */

#define BP_CONDITIONS (BP_COND_OUTSIDE + 1)

struct bp_bounds {
	double a, b; /* b: second number of a range */
};

/* A condition in mapping form: the given comparisons, by enum bp_cond_op, and the numbers of the
 * last one; only one comparison is allowed. */
struct bp_condition_map {
	bool has[BP_CONDITIONS];
	struct bp_bounds bounds;
};

/* Types of struct bp_bounds: `a` alone, and both numbers. */
extern const struct bp_type bp_type_bound, bp_type_bounds;

bool bp_condition_unfold(const void *field, void *base);

#endif
