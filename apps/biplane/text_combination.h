/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_TEXT_COMBINATION_H
#define BP_APPS_BIPLANE_TEXT_COMBINATION_H

#include <jansson.h>

#include "shm/rules/ruleset.h"

/* What raises a combination, as a text to free: "all(plant/{cell}/temperature > 80, not(...))".
 * NULL: no memory. */
char *bp_text_combination(const struct bp_ruleset *rs, const struct bp_rule *rule);
/* The topics of its parts: "a/{x}, b/{x}". */
char *bp_text_combination_topics(const struct bp_ruleset *rs, const struct bp_rule *rule);

/* Of any rule, for a column or a member: its topic filter, and the condition of its raise. */
json_t *bp_text_rule_topics(const struct bp_ruleset *rs, const struct bp_rule *rule);
json_t *bp_text_rule_raise(const struct bp_ruleset *rs, const struct bp_rule *rule);

#endif
