/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_SHOW_MQTT_RULES_COPY_H
#define BP_APPS_BIPLANE_SHOW_MQTT_RULES_COPY_H

#include <jansson.h>
#include <stddef.h>

#include "shm/layout.h"

/*
 * A consistent copy of the active rules. All offsets of the rules and filters are validated. If the
 * control plane swaps banks during the copy, the copy is repeated. Release it with free(). NULL
 * with a sentence in err if the segment is damaged or the rules change too often.
 */
struct bp_ruleset *bp_rules_copy(const struct bp_shm *m, char *err, size_t err_size);

/* A rule's filter in a checked copy; not NUL terminated, rule->filter_len bytes. */
static inline const char *bp_rules_filter(const struct bp_ruleset *rs, const struct bp_rule *rule)
{
	return (const char *)rs + rule->filter;
}

/* show_policy.c: the conditions of a rule of the policy except its texts, as in the configuration:
 * "qos 0, retain true"; null: none. A new reference, NULL without memory. */
struct bp_policy_rule;
json_t *bp_policy_conditions(
	const struct bp_ruleset *rs, const struct bp_shm *m, const struct bp_policy_rule *r);

#endif
