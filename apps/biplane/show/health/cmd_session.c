/* SPDX-License-Identifier: BSD-3-Clause */
/* `biplane session disconnect ID`: a request to the manager of health devices. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "config/health/settings.h"
#include "apps/biplane/request.h"
#include "apps/biplane/commands.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/print_json.h"
#include "apps/biplane/which.h"

enum { OPT_JSON = BP_CLI_LONG };

static const struct bp_cli_option options[] = {
	BP_OPTION_CONFIG,
	BP_OPTION_INSTANCE,
	{OPT_JSON, "json", NULL, "one JSON object"},
	{0, NULL, NULL, NULL},
};

static int ask(const struct bp_cli_command *command, const struct bp_config_instance *id,
	const char *system_id, bool json)
{
	json_t *reply = NULL;
	const int status = bp_request(command, id,
		json_pack("{s:s, s:s}", "command", "sessions-release", "id", system_id), &reply);

	if (status)
		return status;
	const bool again = json_is_true(json_object_get(reply, "again"));

	if (json)
		bp_print_json_new(json_pack("{ss sb}", "system_id", system_id, "requested_before",
					  (int)again),
			false, stdout);
	else
		printf(again ? "%s: release was requested before; no answer yet\n"
			     : "%s: release requested\n",
			system_id);
	json_decref(reply);
	return BP_EX_OK;
}

static int disconnect_main(const struct bp_cli_command *command, int argc, char **argv)
{
	const char *path = NULL, *name = NULL;
	struct bp_config_instance id;
	uint8_t system_id[8];
	struct bp_cli cli;
	char **words;
	bool json = false;
	int key, n, status;

	bp_cli_begin(&cli, command, argc, argv);
	while ((key = bp_cli_next(&cli)) != BP_CLI_END) {
		if (key == BP_CLI_STOP)
			return cli.status;
		if (key == OPT_JSON)
			json = true;
		else
			*(key == 'c' ? &path : &name) = cli.value;
	}
	n = bp_cli_operands(&cli, &words);
	if (n == 0)
		return bp_cli_usage_error(command,
			"missing argument: the system-id of a device, from 'biplane show "
			"sessions'");
	if (n > 1)
		return bp_cli_usage_error(command, "unexpected argument '%s'", words[1]);
	if (!bp_system_id_read(words[0], strlen(words[0]), system_id))
		return bp_cli_usage_error(command,
			"'%s' is not a system-id; expected 16 hexadecimal digits, not all 0",
			words[0]);
	status = bp_which_instance(command, path, name, &id);
	return status ? status : ask(command, &id, words[0], json);
}

const struct bp_cli_command bp_cmd_session_disconnect = {
	.name = "session disconnect",
	.summary = "end the association of a health device",
	.synopsis = "ID [-c FILE | -i NAME] [--json]",
	.text = "Requests the health device with the system-id ID to release its association. ID\n"
		"has 16 hexadecimal digits; 'biplane show sessions' prints it. The command does\n"
		"not wait for the answer: the session ends when the device has answered, or\n"
		"after health_devices.timeouts.release. The device can associate again; use\n"
		"health_devices.allow to prevent this.",
	.example = "  biplane session disconnect 002209225801a3ff -i plant",
	.options = options,
	.main = disconnect_main,
};
