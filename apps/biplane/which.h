/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_WHICH_H
#define BP_APPS_BIPLANE_WHICH_H

#include "apps/biplane/cli.h"
#include "config/config.h"

/* Which instance a command is about. */

#define BP_INSTANCES_MAX 64u

/* The options of every command with an instance. */
#define BP_OPTION_CONFIG                                                                           \
	{                                                                                          \
		'c', "config", "FILE", "the instance of this configuration file"                   \
	}
#define BP_OPTION_INSTANCE                                                                         \
	{                                                                                          \
		'i', "instance", "NAME",                                                           \
			"the instance of this name; default: the only running one"                 \
	}

/*
 * From -c FILE or -i NAME, either or both NULL. With neither it is the only running instance in the
 * default runtime directory, or "biplane" if there is none. 0, or an exit status with an error on
 * stderr.
 */
int bp_which_instance(const struct bp_cli_command *command, const char *path, const char *name,
	struct bp_config_instance *id);

/* Names of the running instances in the default runtime directory: those with a process that holds
 * the lock. Returns their number, at most BP_INSTANCES_MAX. */
unsigned bp_instances_running(char names[BP_INSTANCES_MAX][BP_NAME_MAX + 1]);

#endif
