/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/ask.h"

#include <stdio.h>
#include <sys/un.h>

#include "apps/biplane/exit_status.h"
#include "controlplane/process/control.h"

int bp_ask_whom(const struct bp_cli_command *command, const char *path, const char *name,
	struct bp_config_instance *id)
{
	char err[256];
	int errors;

	if (path && name)
		return bp_cli_usage_error(
			command, "-c and --name both say which instance is meant: give one");
	if (!path) {
		if (bp_instance_of_name(id, name ? name : BP_DEFAULT_NAME, err, sizeof(err)) == 0)
			return BP_EX_OK;
		return bp_cli_usage_error(command, "%s", err);
	}
	errors = bp_config_load_instance(path, id, stderr);
	if (errors < 0)
		return BP_EX_CONFIG;
	if (errors > 0)
		fprintf(stderr,
			"biplane %s: warning: %s has errors, see 'biplane check -c %s'; this asks "
			"instance '%s' of %s\n",
			command->name, path, path, id->name, id->runtime_dir);
	return BP_EX_OK;
}

static int fail(const struct bp_cli_command *command, const char *what)
{
	fprintf(stderr, "biplane %s: %s\n", command->name, what);
	return BP_EX_UNAVAILABLE;
}

int bp_ask(const struct bp_cli_command *command, const struct bp_config_instance *id,
	json_t *request, json_t **reply)
{
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)], err[512];
	const char *why;
	int status;

	if (bp_control_path(id->runtime_dir, id->name, path, sizeof(path))) {
		json_decref(request);
		return fail(command, "runtime.directory and name are too long for a socket's path");
	}
	if (bp_control_ask(path, request, reply, err, sizeof(err)))
		return fail(command, err);
	if (json_is_true(json_object_get(*reply, "ok")))
		return BP_EX_OK;
	why = json_string_value(json_array_get(json_object_get(*reply, "errors"), 0));
	status = fail(command, why ? why : "refused, and no reason given");
	json_decref(*reply);
	return status;
}
