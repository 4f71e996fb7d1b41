/* SPDX-License-Identifier: BSD-3-Clause */
/* `biplane sessions release ID`: what is asked of the manager of health devices. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "config/health/settings.h"
#include "apps/biplane/ask.h"
#include "apps/biplane/commands.h"
#include "apps/biplane/exit_status.h"

enum { OPT_NAME = BP_CLI_LONG };

static const struct bp_cli_option options[] = {
	{'c', "config", "FILE", "the instance that runs with this configuration file"},
	{OPT_NAME, "name", "NAME", "the instance of this name, in /run/biplane (default: biplane)"},
	{0, NULL, NULL, NULL},
};

static int ask(const struct bp_cli_command *command, const struct bp_config_instance *id,
	const char *system_id)
{
	json_t *reply = NULL;
	const int status = bp_ask(command, id,
		json_pack("{s:s, s:s}", "command", "sessions-release", "id", system_id), &reply);

	if (status)
		return status;
	printf(json_is_true(json_object_get(reply, "again"))
			? "%s was asked to release its association already, and has not answered "
			  "yet\n"
			: "%s is asked to release its association\n",
		system_id);
	json_decref(reply);
	return BP_EX_OK;
}

/* "release ID"; 0, or an exit status. */
static int check_words(const struct bp_cli_command *command, int n, char **words)
{
	uint8_t system_id[8];

	if (n == 0 || strcmp(words[0], "release") != 0)
		return bp_cli_usage_error(command, "what? 'release ID' was expected%s%s%s",
			n ? ", not '" : "", n ? words[0] : "", n ? "'" : "");
	if (n == 1)
		return bp_cli_usage_error(command,
			"release whom? The device's system-id is missing; 'biplane show sessions' "
			"has it");
	if (n > 2)
		return bp_cli_usage_error(command, "unexpected argument '%s'", words[2]);
	if (!bp_system_id_read(words[1], strlen(words[1]), system_id))
		return bp_cli_usage_error(command,
			"'%s' is no system-id: 16 hexadecimal digits, not all 0, were expected",
			words[1]);
	return BP_EX_OK;
}

static int sessions_main(const struct bp_cli_command *command, int argc, char **argv)
{
	const char *path = NULL, *name = NULL;
	struct bp_config_instance id;
	struct bp_cli cli;
	char **words;
	int key, n, status;

	bp_cli_begin(&cli, command, argc, argv);
	while ((key = bp_cli_next(&cli)) != BP_CLI_END) {
		if (key == BP_CLI_STOP)
			return cli.status;
		*(key == 'c' ? &path : &name) = cli.value;
	}
	n = bp_cli_operands(&cli, &words);
	status = check_words(command, n, words);
	if (status)
		return status;
	status = bp_ask_whom(command, path, name, &id);
	return status ? status : ask(command, &id, words[1]);
}

const struct bp_cli_command bp_cmd_sessions = {
	.name = "sessions",
	.summary = "end the association of a health device",
	.synopsis = "release ID [-c FILE | --name NAME]",
	.text = "Has the manager of personal health devices ask the device whose system-id is ID\n"
		"(16 hexadecimal digits, as 'biplane show sessions' prints it) to release its\n"
		"association. Does not wait for the device: its session ends when it has "
		"answered,\n"
		"or after phd.timeouts.release. Nothing keeps it from associating anew: section\n"
		"phd.allow does.",
	.example = "  biplane sessions release 002209225801a3ff --name plant",
	.options = options,
	.main = sessions_main,
};
