/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_CONFIG_SHOW_CONFIG_H
#define BP_APPS_BIPLANE_CONFIG_SHOW_CONFIG_H

#include <stdbool.h>

#include "config/config.h"

/* Prints the file's effective settings as YAML or JSON; returns the exit status. */
int bp_show_config(const char *path, bool json);
/* The same of those with which an instance runs, as its control plane tells them. */
int bp_show_running_config(const struct bp_config_instance *id, bool json);

#endif
