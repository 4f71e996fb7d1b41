/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_DEFAULTS_H
#define BP_CONFIG_DEFAULTS_H

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"

/* The settings of a configuration that its file does not give, for display. */

struct bp_config_default {
	const char *path;    /* "mqtt.rules[overheat].hold"; elements by name if they have one */
	const char *setting; /* the same for all elements of a list: "mqtt.rules[].hold" */
	const char *value;   /* as YAML text */
	bool main;           /* one of the settings that operators must know, BP_MAIN */
	bool in_section;     /* the file has the section at the top level that contains it */
};

/*
 * Calls visit() for each setting with a value that the file `text` does not give, in the order of
 * the schema; `c` is the configuration that was read from this text. Lists that the file does not
 * give are empty and not visited. Returns 0, or -1 when `text` is not valid YAML or memory is
 * missing.
 */
int bp_config_defaults(const struct bp_config *c, const char *text, size_t len,
	void (*visit)(const struct bp_config_default *d, void *arg), void *arg);

#endif
