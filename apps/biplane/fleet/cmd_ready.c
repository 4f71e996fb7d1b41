/* SPDX-License-Identifier: BSD-3-Clause */
/* `biplane fleet ready`: the checks of /readyz without the monitor, for routing daemons. */
#include "apps/biplane/commands.h"
#include "apps/biplane/config/quiet_config.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/fleet/operator.h"
#include "apps/biplane/fleet/trial.h"
#include "apps/biplane/print_json.h"

enum { OPT_JSON = BP_CLI_LONG };

static const struct bp_cli_option options[] = {
	{'c', "config", "FILE", "the configuration file"},
	{OPT_JSON, "json", NULL, "one JSON object"},
	{0, NULL, NULL, NULL},
};

static const char *text(const json_t *check, const char *key)
{
	const char *s = json_string_value(json_object_get(check, key));

	return s != NULL ? s : "?";
}

/* One line: "ready", or the failed checks. */
static void print(const json_t *ready)
{
	const char *separator = ": ";
	const json_t *check;
	size_t i;

	if (json_is_true(json_object_get(ready, "ready"))) {
		puts("ready");
		return;
	}
	fputs("not ready", stdout);
	json_array_foreach(json_object_get(ready, "checks"), i, check)
	{
		if (json_is_true(json_object_get(check, "ok")))
			continue;
		printf("%s%s: %s", separator, text(check, "check"), text(check, "reason"));
		separator = "; ";
	}
	putchar('\n');
}

static int ready(const struct bp_cli_command *command, const char *path, bool json)
{
	struct bp_config *c = bp_config_load_quietly(path, stderr);
	char err[512];
	json_t *found;
	int status;

	if (c == NULL)
		return BP_EX_CONFIG;
	found = bp_fleet_readiness(c, err, sizeof(err));
	bp_config_free(c);
	if (found == NULL)
		return bp_cli_fail(command, BP_EX_UNAVAILABLE, "%s", err);
	status = json_is_true(json_object_get(found, "ready")) ? BP_EX_OK : BP_EX_FAULTS;
	if (json) {
		bp_print_json_new(found, false, stdout);
	} else {
		print(found);
		json_decref(found);
	}
	return status;
}

static int ready_main(const struct bp_cli_command *command, int argc, char **argv)
{
	const char *path = NULL;
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
			path = cli.value;
	}
	status = bp_cli_just_config(&cli, path);
	return status != 0 ? status : ready(command, path, json);
}

const struct bp_cli_command bp_cmd_fleet_ready = {
	.name = "fleet ready",
	.summary = "whether this gateway may receive traffic",
	.synopsis = "-c FILE [--json]",
	.text = "Evaluates the checks of /readyz for the instance of FILE: both planes run, all\n"
		"links are up, the tables are synchronized, the spool is below its limit. Prints\n"
		"\"ready\", or the checks that failed. It needs neither the monitor nor section\n"
		"fleet. Exits with 0 if the gateway is ready, with 2 if not, and with 69 if the\n"
		"instance does not run.",
	.example = "  biplane fleet ready -c /etc/biplane/plant.yaml",
	.options = options,
	.main = ready_main,
};
