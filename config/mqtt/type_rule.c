/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/mqtt/schema.h"

/* The position of the number in a payload. */

static bool parse_json(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	struct bp_rule_spec *rule = field;
	struct bp_json_path path;
	const char *why = "";
	char shown[BP_SHOWN];
	size_t at = 0;

	(void)s;
	(void)c;
	memset(&path, 0, sizeof(path));
	if (bp_json_path_compile(text, &path, &why, &at) != 0)
		return bp_fault_set(fault, at, "'%s' is not a JSON path: %s",
			bp_shown(text, strlen(text), shown), why);
	rule->value.kind = BP_VALUE_JSON;
	rule->value.json = path;
	return true;
}

static void format_json(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const struct bp_rule_spec *rule = field;
	char text[BP_JSON_PATH_TEXT];

	(void)s;
	(void)c;
	bp_json_path_format(&rule->value.json, text);
	bp_write_quoted(text, out);
}

static void expect_json(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fprintf(out,
		"a path of at most %d members and indices, in quotes, such as "
		"\"$.sensors[2].celsius\"",
		BP_JSON_STEPS_MAX);
}

const struct bp_type bp_type_json_path = {
	.parse = parse_json, .format = format_json, .expect = expect_json};

static bool parse_value(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	struct bp_rule_spec *rule = field;
	char shown[BP_SHOWN];

	(void)s;
	(void)c;
	if (strcmp(text, "text") != 0)
		return bp_fault_set(fault, 0, "'%s' is not a source of values",
			bp_shown(text, strlen(text), shown));
	rule->value.kind = BP_VALUE_TEXT;
	return true;
}

static void read_value(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *field)
{
	struct bp_rule_spec *rule = field;
	bool json, binary;

	if (!bp_reader_section_or_text(r, s, n, parse_value, field))
		return;
	bp_read_section(r, s, n, field);
	json = bp_yaml_find(n, "json") != NULL;
	binary = bp_yaml_find(n, "binary") != NULL;
	if (json && binary)
		bp_reader_error(r, s, n, "both json and binary are given");
	else if (n->n == 0)
		bp_reader_error(r, s, n, "the mapping is empty");
	rule->value.kind = json ? BP_VALUE_JSON : binary ? BP_VALUE_BINARY : BP_VALUE_TEXT;
}

static void format_value(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	(void)s;
	(void)c;
	(void)field;
	fputs("text", out);
}

static void expect_value(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fputs("text, {json: PATH} or {binary: {offset: N, type: TYPE, byte_order: big or little}}",
		out);
}

const struct bp_type bp_type_variant = {
	.parse = parse_value, .read = read_value, .format = format_value, .expect = expect_value};
