/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_CONFIG_QUIET_CONFIG_H
#define BP_APPS_BIPLANE_CONFIG_QUIET_CONFIG_H

#include <stdio.h>

#include "config/config.h"

/*
 * bp_config_load() that prints to `errors` only when the file is refused: the caller executes
 * another program, which prints the warnings. errors may be NULL.
 */
struct bp_config *bp_config_load_quietly(const char *path, FILE *errors);

#endif
