/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/show_config.h"

#include <libfyaml.h>
#include <stdio.h>
#include <stdlib.h>

#include "apps/exit_status.h"
#include "apps/quiet_config.h"

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

static int print_json(const struct bp_config *c)
{
	char *text = dump_text(c);
	struct fy_document *doc = text ? fy_document_build_from_string(NULL, text, FY_NT) : NULL;
	char *json = doc ? fy_emit_document_to_string(doc, FYECF_MODE_JSON) : NULL;

	if (json)
		fputs(json, stdout);
	else
		fputs("biplane show: the configuration can't be written as JSON\n", stderr);

	int status = json ? BP_EX_OK : BP_EX_SOFTWARE;

	free(json);
	fy_document_destroy(doc);
	free(text);
	return status;
}

int bp_show_config(const char *path, bool json)
{
	struct bp_config *c = bp_config_load_quietly(path, stderr);
	int status = BP_EX_OK;

	if (!c)
		return BP_EX_CONFIG;
	if (json)
		status = print_json(c);
	else
		bp_config_dump(c, stdout);
	bp_config_free(c);
	return status;
}
