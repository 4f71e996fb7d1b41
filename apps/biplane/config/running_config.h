/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_CONFIG_RUNNING_CONFIG_H
#define BP_APPS_BIPLANE_CONFIG_RUNNING_CONFIG_H

#include "apps/biplane/cli.h"
#include "config/config.h"

/*
 * The configuration of a running instance, as its control plane reports it. *text: as YAML, *file:
 * the path of its file; the caller frees both. 0, or an exit status with an error on stderr.
 */
int bp_running_config(const struct bp_cli_command *command, const struct bp_config_instance *id,
	char **text, char **file);

#endif
