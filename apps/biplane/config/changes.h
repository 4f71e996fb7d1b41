/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_CONFIG_CHANGES_H
#define BP_APPS_BIPLANE_CONFIG_CHANGES_H

#include <stdbool.h>

#include "config/config.h"

/* What a change of the configuration comes to, as a table or a JSON object. Returns the number of
 * settings that differ; *restart: how many of them need a restart. */
unsigned bp_config_print_changes(
	const struct bp_config *from, const struct bp_config *to, bool json, unsigned *restart);

#endif
