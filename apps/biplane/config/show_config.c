/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/config/show_config.h"

#include <jansson.h>
#include <libfyaml.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/un.h>

#include "apps/biplane/exit_status.h"
#include "apps/biplane/config/quiet_config.h"
#include "controlplane/process/control.h"

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
	fprintf(stderr, "biplane show: %s\n", what);
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
		status = fail("the configuration can't be written as JSON", BP_EX_SOFTWARE);
	free(json);
	fy_document_destroy(doc);
	return status;
}

int bp_show_config(const char *path, bool json)
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

static int print_reply(const struct bp_config_instance *id, const json_t *reply, bool json)
{
	const char *text = json_string_value(json_object_get(reply, "config"));
	const char *file = json_string_value(json_object_get(reply, "file"));

	if (!text || !file)
		return fail("the control plane does not tell its configuration; it may be of "
			    "another version: restart it, or give -c FILE",
			BP_EX_UNAVAILABLE);
	if (json)
		return print_json(text);
	printf("# instance '%s' runs with this; file: %s\n%s", id->name, file, text);
	return BP_EX_OK;
}

int bp_show_running_config(const struct bp_config_instance *id, bool json)
{
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)], err[512];
	json_t *reply = NULL;
	int status;

	if (bp_control_path(id->runtime_dir, id->name, path, sizeof(path)))
		return fail("the name is too long for a socket's path", BP_EX_USAGE);
	if (bp_control_request(path, "config", &reply, err, sizeof(err))) {
		fail(err, 0);
		fprintf(stderr, "Say whose settings are meant with -c FILE or --name NAME.\n");
		return BP_EX_UNAVAILABLE;
	}
	status = print_reply(id, reply, json);
	json_decref(reply);
	return status;
}
