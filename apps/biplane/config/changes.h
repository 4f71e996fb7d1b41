/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_CONFIG_CHANGES_H
#define BP_APPS_BIPLANE_CONFIG_CHANGES_H

#include <stdbool.h>

#include "config/config.h"

/* Prints the effect of a change of the configuration as a table or a JSON object. Returns the
 * number of settings that differ; *restart: the number of those that need a restart. */
unsigned bp_config_print_changes(
	const struct bp_config *from, const struct bp_config *to, bool json, unsigned *restart);

#endif
