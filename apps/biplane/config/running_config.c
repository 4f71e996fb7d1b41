/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/config/running_config.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/request.h"
#include "apps/biplane/exit_status.h"

int bp_running_config(const struct bp_cli_command *command, const struct bp_config_instance *id,
	char **text, char **file)
{
	const char *config, *path;
	json_t *reply = NULL;
	const int status = bp_request(command, id, json_pack("{ss}", "command", "config"), &reply);

	*text = *file = NULL;
	if (status != BP_EX_OK)
		return status;
	config = json_string_value(json_object_get(reply, "config"));
	path = json_string_value(json_object_get(reply, "file"));
	if (config != NULL && path != NULL) {
		*text = strdup(config);
		*file = strdup(path);
	}
	json_decref(reply);
	if (*text != NULL && *file != NULL)
		return BP_EX_OK;
	fprintf(stderr,
		"biplane %s: the control plane did not send its configuration; it may be of "
		"another version: restart it\n",
		command->name);
	free(*text);
	free(*file);
	*text = *file = NULL;
	return BP_EX_UNAVAILABLE;
}
