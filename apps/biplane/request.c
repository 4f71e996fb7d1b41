/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/request.h"

#include <stdio.h>
#include <sys/un.h>

#include "apps/biplane/exit_status.h"
#include "controlplane/process/control.h"

static int fail(const struct bp_cli_command *command, const char *what)
{
	fprintf(stderr, "biplane %s: %s\n", command->name, what);
	return BP_EX_UNAVAILABLE;
}

int bp_request(const struct bp_cli_command *command, const struct bp_config_instance *id,
	json_t *request, json_t **reply)
{
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)], err[512];
	const char *why;
	int status;

	if (bp_control_path(id->runtime_dir, id->name, path, sizeof(path))) {
		json_decref(request);
		return fail(command, "runtime.directory and name are too long for a socket's path");
	}
	if (bp_control_call(path, request, reply, err, sizeof(err)))
		return fail(command, err);
	if (json_is_true(json_object_get(*reply, "ok")))
		return BP_EX_OK;
	why = json_string_value(json_array_get(json_object_get(*reply, "errors"), 0));
	status = fail(command, why ? why : "refused, and no reason given");
	json_decref(*reply);
	return status;
}
