/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_SHOW_CONFIG_H
#define BP_APPS_SHOW_CONFIG_H

#include <stdbool.h>

/* Prints the file's effective settings as YAML or JSON; returns the exit status. */
int bp_show_config(const char *path, bool json);

#endif
