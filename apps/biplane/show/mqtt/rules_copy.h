/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_SHOW_MQTT_RULES_COPY_H
#define BP_APPS_BIPLANE_SHOW_MQTT_RULES_COPY_H

#include <stddef.h>

#include "shm/layout.h"

/*
 * A copy of the rules in force, whole and checked: every rule and its filter lie inside it. The
 * control plane may swap banks during the copy; then it is made again. Release with free(). NULL
 * with a sentence in err when the segment is damaged or reloads never pause.
 */
struct bp_ruleset *bp_rules_copy(const struct bp_shm *m, char *err, size_t err_size);

/* A rule's filter in a checked copy; not NUL terminated, rule->filter_len bytes. */
static inline const char *bp_rules_filter(const struct bp_ruleset *rs, const struct bp_rule *rule)
{
	return (const char *)rs + rule->filter;
}

#endif
