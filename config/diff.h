/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_DIFF_H
#define BP_CONFIG_DIFF_H

#include <stdbool.h>

#include "config/config.h"

/* Differences between two configurations, setting by setting, for display. */

struct bp_config_change {
	const char *path; /* "mqtt.rules[overheat].raise"; elements by name if they have one */
	/* The two values as YAML text; NULL: not present. "" for a section or a list element. */
	const char *from, *to;
	bool reload; /* takes effect on reload; false: on restart */
};

/*
 * Calls visit() for each setting that differs, in the order of the schema. A section or an element
 * that only one configuration has is one change. Elements with names are compared by name; a list
 * with the same elements in another order is one change of the list.
 */
void bp_config_diff(const struct bp_config *from, const struct bp_config *to,
	void (*visit)(const struct bp_config_change *change, void *arg), void *arg);

#endif
