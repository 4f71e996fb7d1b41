/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_DIFF_H
#define BP_CONFIG_DIFF_H

#include <stdbool.h>

#include "config/config.h"

/* Differences between two configurations, setting by setting, for people. */

struct bp_config_change {
	const char *path; /* "mqtt.rules[overheat].raise"; elements by name where they have one */
	/* The value in either as the file would have it; NULL: it has none. "" for a section or an
	 * element of a list. */
	const char *from, *to;
	bool reload; /* takes effect on reload; else with a restart */
};

/*
 * Calls visit() for each setting that differs, in the order of the schema. A section or an element
 * that only one of them has is one change. Elements with names are compared by name, and a list
 * whose elements are the same in another order is one change of the list.
 */
void bp_config_diff(const struct bp_config *from, const struct bp_config *to,
	void (*visit)(const struct bp_config_change *change, void *arg), void *arg);

#endif
