/* SPDX-License-Identifier: BSD-3-Clause */
/* `biplane config diff`: a file against the running configuration, or against another file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/commands.h"
#include "apps/biplane/config/changes.h"
#include "apps/biplane/config/quiet_config.h"
#include "apps/biplane/config/running_config.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/which.h"

enum { OPT_JSON = BP_CLI_LONG };

static const struct bp_cli_option options[] = {
	{'c', "config", "FILE", "compare the running configuration with this file"},
	{'i', "instance", "NAME", "the instance of this name; default: the instance of FILE"},
	{OPT_JSON, "json", NULL, "one JSON object"},
	{0, NULL, NULL, NULL},
};

static int compare(const struct bp_config *from, const struct bp_config *to, bool json)
{
	unsigned restart;

	return bp_config_print_changes(from, to, json, &restart) != 0 ? BP_EX_DIFFERENT : BP_EX_OK;
}

static int compare_files(const char *first, const char *second, bool json)
{
	struct bp_config *from = bp_config_load_quietly(first, stderr);
	struct bp_config *to = bp_config_load_quietly(second, stderr);
	const int status = from != NULL && to != NULL ? compare(from, to, json) : BP_EX_CONFIG;

	bp_config_free(from);
	bp_config_free(to);
	return status;
}

static int compare_running(
	const struct bp_cli_command *command, const char *path, const char *name, bool json)
{
	struct bp_config_instance id;
	struct bp_config *from = NULL, *to = bp_config_load_quietly(path, stderr);
	char *text = NULL, *file = NULL;
	int status = BP_EX_CONFIG;

	if (to != NULL)
		status = bp_which_instance(command, name == NULL ? path : NULL, name, &id);
	if (status == BP_EX_OK)
		status = bp_running_config(command, &id, &text, &file);
	if (status == BP_EX_OK) {
		from = bp_config_parse("running configuration", text, strlen(text), stderr);
		status = from != NULL ? compare(from, to, json) : BP_EX_UNAVAILABLE;
	}
	free(text);
	free(file);
	bp_config_free(from);
	bp_config_free(to);
	return status;
}

static int diff_main(const struct bp_cli_command *command, int argc, char **argv)
{
	const char *path = NULL, *name = NULL;
	bool json = false;
	struct bp_cli cli;
	char **enum_names;
	int key, n;

	bp_cli_begin(&cli, command, argc, argv);
	while ((key = bp_cli_next(&cli)) != BP_CLI_END) {
		if (key == BP_CLI_STOP)
			return cli.status;
		if (key == OPT_JSON)
			json = true;
		else
			*(key == 'c' ? &path : &name) = cli.value;
	}
	n = bp_cli_operands(&cli, &enum_names);
	if (n == 2 && path == NULL && name == NULL)
		return compare_files(enum_names[0], enum_names[1], json);
	if (n != 0 || path == NULL)
		return bp_cli_usage_error(command, "expected -c FILE, to compare with the running "
						   "configuration, or two files");
	return compare_running(command, path, name, json);
}

const struct bp_cli_command bp_cmd_config_diff = {
	.name = "config diff",
	.summary = "compare a file with the running configuration",
	.synopsis = "-c FILE [-i NAME] [--json] | FILE FILE [--json]",
	.text = "Compares FILE with the running configuration of its instance, or two files with\n"
		"each other. Lists each setting that differs, and whether the change takes\n"
		"effect with 'biplane reload' or needs a restart.\n"
		"Exits with 0 if there is no difference, with 1 if there is one.",
	.example = "  biplane config diff -c /etc/biplane/plant.yaml\n"
		   "  biplane config diff old.yaml new.yaml --json",
	.options = options,
	.main = diff_main,
};
