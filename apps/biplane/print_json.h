/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_PRINT_JSON_H
#define BP_APPS_BIPLANE_PRINT_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "biplane/json_schema.h"

/* Writes the object in one line if `compact`, else with line breaks, with schema_version as its
 * first member and a line break after it. 0, or -1 without memory or after an error of `out`. */
int bp_print_json(const json_t *object, bool compact, FILE *out);
/* The same; consumes the object, which may be NULL: then -1. */
int bp_print_json_new(json_t *object, bool compact, FILE *out);
/* Begins an object whose members the caller writes: the brace, schema_version and a comma. */
void bp_print_json_begin(bool compact, FILE *out);

#endif
