/* SPDX-License-Identifier: BSD-3-Clause */
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <sys/un.h>

#include "apps/biplane/commands.h"
#include "apps/biplane/exit_status.h"
#include "config/config.h"
#include "controlplane/process/control.h"

static const struct bp_cli_option options[] = {
	{'c', "config", "FILE", "the configuration file that the instance runs with"},
	{0, NULL, NULL, NULL},
};

static void print_refusal(const json_t *reply)
{
	const json_t *errors = json_object_get(reply, "errors"), *line;
	size_t i;

	fputs("biplane reload: refused, nothing has changed:\n", stderr);
	json_array_foreach(errors, i, line)
	{
		const char *text = json_string_value(line);

		fprintf(stderr, "%s\n", text ? text : "(no reason given)");
	}
}

static json_int_t number(const json_t *reply, const char *key)
{
	return json_integer_value(json_object_get(reply, key));
}

static int report(const json_t *reply)
{
	if (!json_is_true(json_object_get(reply, "ok"))) {
		print_refusal(reply);
		return BP_EX_CONFIG;
	}
	printf("reloaded: generation %" JSON_INTEGER_FORMAT ", %" JSON_INTEGER_FORMAT
	       " rule%s (%" JSON_INTEGER_FORMAT " unchanged)%s%s\n",
		number(reply, "generation"), number(reply, "rules"),
		number(reply, "rules") == 1 ? "" : "s", number(reply, "unchanged"),
		json_is_true(json_object_get(reply, "aggregation_changed"))
			? ", aggregation begins anew"
			: "",
		json_is_true(json_object_get(reply, "flows_changed")) ? ", lcl.flows changed" : "");
	return BP_EX_OK;
}

static int request(const struct bp_config *c)
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
	status = report(reply);
	json_decref(reply);
	return status;
}

static int reload_main(const struct bp_cli_command *command, int argc, char **argv)
{
	const char *path = NULL;
	struct bp_cli cli;
	int key;

	bp_cli_begin(&cli, command, argc, argv);
	while ((key = bp_cli_next(&cli)) != BP_CLI_END) {
		if (key == BP_CLI_STOP)
			return cli.status;
		path = cli.value;
	}
	if (bp_cli_just_config(&cli, path))
		return BP_EX_USAGE;

	struct bp_config *c = bp_config_load(path, stderr);

	if (!c)
		return BP_EX_CONFIG;

	int status = request(c);

	bp_config_free(c);
	return status;
}

const struct bp_cli_command bp_cmd_reload = {
	.name = "reload",
	.summary = "take over a changed configuration without stopping",
	.synopsis = "-c FILE",
	.text = "Validates FILE, then has the control plane of the instance that it names read "
		"its\n"
		"file again and swap the rules at once: every publication is judged by exactly "
		"the\n"
		"old or the new set, and unchanged rules keep their state. Where entries of\n"
		"section aggregation changed, waiting messages are sent. The other settings\n"
		"of which biplane.yaml(5) says so are taken over with them. A file with an error, "
		"or\n"
		"with a change that needs a restart, is refused whole and changes nothing.",
	.example = "  biplane reload -c /etc/biplane/plant.yaml",
	.options = options,
	.main = reload_main,
};
