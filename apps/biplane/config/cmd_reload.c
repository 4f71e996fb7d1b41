/* SPDX-License-Identifier: BSD-3-Clause */
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "apps/biplane/commands.h"
#include "apps/biplane/config/changes.h"
#include "apps/biplane/config/running_config.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/print_json.h"
#include "config/config.h"
#include "controlplane/process/control.h"

enum { OPT_DRY_RUN = BP_CLI_LONG, OPT_JSON };

static const struct bp_cli_option options[] = {
	{'c', "config", "FILE", "the configuration file of the instance"},
	{OPT_DRY_RUN, "dry-run", NULL, "list the changes, and do not apply them"},
	{OPT_JSON, "json", NULL, "one JSON object"},
	{0, NULL, NULL, NULL},
};

static void print_refusal(const json_t *reply)
{
	const json_t *errors = json_object_get(reply, "errors"), *line;
	size_t i;

	fputs("biplane reload: rejected, nothing changed:\n", stderr);
	json_array_foreach(errors, i, line)
	{
		const char *text = json_string_value(line);

		fprintf(stderr, "%s\n", text ? text : "(no reason)");
	}
}

static json_int_t number(const json_t *reply, const char *key)
{
	return json_integer_value(json_object_get(reply, key));
}

static int report(const json_t *reply, bool json)
{
	if (json) {
		bp_print_json(reply, false, stdout);
		return json_is_true(json_object_get(reply, "ok")) ? BP_EX_OK : BP_EX_CONFIG;
	}
	if (!json_is_true(json_object_get(reply, "ok"))) {
		print_refusal(reply);
		return BP_EX_CONFIG;
	}
	printf("reloaded: generation %" JSON_INTEGER_FORMAT ", %" JSON_INTEGER_FORMAT
	       " rule%s (%" JSON_INTEGER_FORMAT " unchanged)%s%s\n",
		number(reply, "generation"), number(reply, "rules"),
		number(reply, "rules") == 1 ? "" : "s", number(reply, "unchanged"),
		json_is_true(json_object_get(reply, "aggregation_changed"))
			? ", aggregation changed"
			: "",
		json_is_true(json_object_get(reply, "flows_changed")) ? ", lcl.flows changed" : "");
	return BP_EX_OK;
}

static int request(const struct bp_config *c, bool json)
{
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)], err[512];
	json_t *reply = NULL;
	int status;

	if (bp_control_path(c->runtime_dir, c->name, path, sizeof(path))) {
		fprintf(stderr,
			"biplane reload: runtime.directory is too long for a socket's path\n");
		return BP_EX_CONFIG;
	}
	if (bp_control_request(path, "reload", &reply, err, sizeof(err))) {
		fprintf(stderr, "biplane reload: %s\n", err);
		return BP_EX_UNAVAILABLE;
	}
	status = report(reply, json);
	json_decref(reply);
	return status;
}

/* Lists the changes of a reload, and whether it would be refused. */
static int dry_run(const struct bp_cli_command *command, const struct bp_config *next, bool json)
{
	struct bp_config_instance id = {0};
	struct bp_config *running;
	char *text, *file;
	unsigned restart = 0;
	int status;

	memcpy(id.name, next->name, sizeof(id.name));
	memcpy(id.runtime_dir, next->runtime_dir, sizeof(id.runtime_dir));
	status = bp_running_config(command, &id, &text, &file);
	if (status != BP_EX_OK)
		return status;
	running = bp_config_parse("running configuration", text, strlen(text), stderr);
	free(text);
	free(file);
	if (running == NULL)
		return BP_EX_UNAVAILABLE;
	bp_config_print_changes(running, next, json, &restart);
	bp_config_free(running);
	if (restart == 0)
		return BP_EX_OK;
	if (!json)
		printf("\nreload would be refused: %u change%s a restart\n", restart,
			restart == 1 ? " needs" : "s need");
	return BP_EX_CONFIG;
}

static int reload_main(const struct bp_cli_command *command, int argc, char **argv)
{
	const char *path = NULL;
	bool dry = false, json = false;
	struct bp_config *c;
	struct bp_cli cli;
	int key, status;

	bp_cli_begin(&cli, command, argc, argv);
	while ((key = bp_cli_next(&cli)) != BP_CLI_END) {
		if (key == 'c')
			path = cli.value;
		else if (key == OPT_DRY_RUN)
			dry = true;
		else if (key == OPT_JSON)
			json = true;
		else
			return cli.status;
	}
	if (bp_cli_just_config(&cli, path))
		return BP_EX_USAGE;
	c = bp_config_load(path, stderr);
	if (!c)
		return BP_EX_CONFIG;
	status = dry ? dry_run(command, c, json) : request(c, json);
	bp_config_free(c);
	return status;
}

const struct bp_cli_command bp_cmd_reload = {
	.name = "reload",
	.summary = "apply a changed configuration without a restart",
	.synopsis = "-c FILE [--dry-run] [--json]",
	.text = "Validates FILE and makes the control plane of its instance read it again. The\n"
		"new rules replace the old rules as a whole: each message is evaluated with\n"
		"either the old or the new rules. Unchanged rules keep their state. The settings\n"
		"that biplane.yaml(5) marks as reloadable take effect at the same time. A file\n"
		"with an error, or with a change that needs a restart, is rejected as a whole.",
	.example = "  biplane reload -c /etc/biplane/plant.yaml --dry-run",
	.options = options,
	.main = reload_main,
};
