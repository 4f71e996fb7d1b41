/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/print_json.h"

int bp_print_json(const json_t *object, bool compact, FILE *out)
{
	json_t *all = json_pack("{si}", "schema_version", BP_JSON_SCHEMA_VERSION);
	int rc = -1;

	if (all != NULL && json_object_update(all, (json_t *)object) == 0)
		rc = json_dumpf(
			all, out, JSON_PRESERVE_ORDER | (compact ? JSON_COMPACT : JSON_INDENT(2)));
	json_decref(all);
	return rc == 0 && fputc('\n', out) != EOF ? 0 : -1;
}

int bp_print_json_new(json_t *object, bool compact, FILE *out)
{
	const int rc = object != NULL ? bp_print_json(object, compact, out) : -1;

	json_decref(object);
	return rc;
}

void bp_print_json_begin(bool compact, FILE *out)
{
	fprintf(out, compact ? "{\"schema_version\":%d," : "{\n  \"schema_version\": %d,",
		BP_JSON_SCHEMA_VERSION);
}
