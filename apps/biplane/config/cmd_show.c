/* SPDX-License-Identifier: BSD-3-Clause */
#include <libfyaml.h>
#include <stdio.h>
#include <stdlib.h>

#include "apps/biplane/commands.h"
#include "apps/biplane/config/quiet_config.h"
#include "apps/biplane/config/running_config.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/pager.h"
#include "apps/biplane/which.h"

enum { OPT_JSON = BP_CLI_LONG };

/* The dump as text; ownership to the caller, NULL without memory. */
static char *dump_text(const struct bp_config *c)
{
	char *text = NULL;
	size_t len = 0;
	FILE *buffer = open_memstream(&text, &len);

	if (!buffer)
		return NULL;
	bp_config_dump(c, buffer);
	if (fclose(buffer)) {
		free(text);
		return NULL;
	}
	return text;
}

static int fail(const char *what, int status)
{
	fprintf(stderr, "biplane config show: %s\n", what);
	return status;
}

static int print_json(const char *text)
{
	struct fy_document *doc = text ? fy_document_build_from_string(NULL, text, FY_NT) : NULL;
	char *json = doc ? fy_emit_document_to_string(doc, FYECF_MODE_JSON) : NULL;
	int status = BP_EX_OK;

	if (json)
		fputs(json, stdout);
	else
		status = fail("cannot write the configuration as JSON", BP_EX_SOFTWARE);
	free(json);
	fy_document_destroy(doc);
	return status;
}

static int show_file(const char *path, bool json)
{
	struct bp_config *c = bp_config_load_quietly(path, stderr);
	int status = BP_EX_OK;

	if (!c)
		return BP_EX_CONFIG;
	if (json) {
		char *text = dump_text(c);

		status = print_json(text);
		free(text);
	} else {
		bp_config_dump(c, stdout);
	}
	bp_config_free(c);
	return status;
}

static int show_running(
	const struct bp_cli_command *command, const struct bp_config_instance *id, bool json)
{
	char *text, *file;
	int status = bp_running_config(command, id, &text, &file);

	if (status != BP_EX_OK)
		return status;
	if (json)
		status = print_json(text);
	else
		printf("# running configuration of instance '%s', from %s\n%s", id->name, file,
			text);
	free(text);
	free(file);
	return status;
}

static const struct bp_cli_option options[] = {
	{'c', "config", "FILE", "print this file instead of the running configuration"},
	BP_OPTION_INSTANCE,
	{OPT_JSON, "json", NULL, "JSON instead of YAML"},
	{0, NULL, NULL, NULL},
};

static int show_main(const struct bp_cli_command *command, int argc, char **argv)
{
	const char *path = NULL, *name = NULL;
	struct bp_config_instance id;
	bool json = false;
	struct bp_cli cli;
	int key, status;

	bp_cli_begin(&cli, command, argc, argv);
	while ((key = bp_cli_next(&cli)) != BP_CLI_END) {
		if (key == BP_CLI_STOP)
			return cli.status;
		if (key == OPT_JSON)
			json = true;
		else
			*(key == 'c' ? &path : &name) = cli.value;
	}
	if (bp_cli_no_operands(&cli))
		return BP_EX_USAGE;
	if (path != NULL && name != NULL)
		return bp_cli_usage_error(command, "-c and -i exclude each other");
	bp_pager_begin();
	if (path != NULL)
		return show_file(path, json);
	status = bp_which_instance(command, NULL, name, &id);
	return status != BP_EX_OK ? status : show_running(command, &id, json);
}

const struct bp_cli_command bp_cmd_config_show = {
	.name = "config show",
	.summary = "print the effective configuration",
	.synopsis = "[-c FILE | -i NAME] [--json]",
	.text = "Prints every setting with its value, including the defaults. The settings are\n"
		"those of the running instance, as its control plane reports them, or with -c\n"
		"those of FILE.",
	.example = "  biplane config show -i plant --json",
	.options = options,
	.main = show_main,
};
