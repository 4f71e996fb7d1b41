/* SPDX-License-Identifier: BSD-3-Clause */
/* `biplane config schema`: a JSON Schema of the configuration file, from the table of settings. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/commands.h"
#include "apps/biplane/exit_status.h"
#include "config/schema.h"

static const struct bp_cli_option no_options[] = {{0, NULL, NULL, NULL}};

static json_t *properties_of(const struct bp_setting *section);

/* A schema that accepts either of two; takes the references. */
static json_t *either(json_t *a, json_t *b)
{
	return json_pack("{s[oo]}", "anyOf", a, b);
}

static json_t *words_of(const struct bp_setting *s)
{
	json_t *list = json_array();
	uint64_t number;

	for (const char *const *w = s->enum_names; *w != NULL; w++) {
		if ((*w)[0] != '\0')
			json_array_append_new(list, json_string(*w));
		/* which YAML reads as a number */
		if (bp_cli_number(*w, 0, INT64_MAX, &number))
			json_array_append_new(list, json_integer((json_int_t)number));
	}
	return json_pack("{so}", "enum", list);
}

static json_t *list_of(const struct bp_setting *s)
{
	json_t *list = json_pack("{ss sI so}", "type", "array", "maxItems", (json_int_t)s->max,
		"items", properties_of(s));

	if (s->min > 0)
		json_object_set_new(list, "minItems", json_integer((json_int_t)s->min));
	return list;
}

/* Numbers; YAML's core schema makes strings of those with a unit. */
static json_t *number_of(const struct bp_setting *s)
{
	json_t *n;

	if (s->type == &bp_type_uint)
		n = json_pack("{ss sI sI}", "type", "integer", "minimum", (json_int_t)s->min,
			"maximum", (json_int_t)s->max);
	else if (s->type == &bp_type_size)
		n = either(json_pack("{ss si}", "type", "integer", "minimum", 0),
			json_pack("{ss ss}", "type", "string", "pattern",
				"^[0-9]+ ?([KMGT]i)?B$|^[0-9]+ ?[kMGT]B$"));
	else if (s->type == &bp_type_duration)
		n = json_pack(
			"{ss ss}", "type", "string", "pattern", "^[0-9]+ ?(d|h|m|s|ms|us|ns)$");
	else
		n = json_pack("{ss ss}", "type", "string", "pattern", "^[0-9]+ ?[kMGT]?bps$");
	return s->zero != NULL ? either(n, json_pack("{ss}", "const", s->zero)) : n;
}

static json_t *value_of(const struct bp_setting *s)
{
	if (s->type == &bp_type_section)
		return properties_of(s);
	if (s->list != NULL)
		return list_of(s);
	/* a word or a short form, or a mapping */
	if (s->type == &bp_type_variant || s->unfold != NULL)
		return either(json_pack("{ss}", "type", "string"), properties_of(s));
	if (s->type == &bp_type_version)
		return json_pack("{si}", "const", 1);
	if (s->type == &bp_type_uint || s->type == &bp_type_size || s->type == &bp_type_duration ||
		s->type == &bp_type_rate)
		return number_of(s);
	if (s->type == &bp_type_bool)
		return json_pack("{ss}", "type", "boolean");
	if (s->type == &bp_type_enum)
		return words_of(s);
	/* a special form, which the description explains */
	return json_object();
}

static json_t *describe(const struct bp_setting *s)
{
	json_t *value = value_of(s);
	char text[4096], expected[BP_EXPECTED_TEXT];

	if (s->type == &bp_type_section)
		snprintf(text, sizeof(text), "%s", s->help);
	else
		snprintf(text, sizeof(text), "%s Takes %s.%s%s%s %s", s->help,
			bp_setting_expected(s, expected),
			(s->flags & BP_REQUIRED) != 0 ? "" : " Default: ",
			(s->flags & BP_REQUIRED) != 0 ? ""
			: s->preset_text != NULL      ? s->preset_text
						      : s->preset,
			(s->flags & BP_REQUIRED) != 0 ? "" : ".",
			(s->flags & BP_RELOAD) != 0 ? "Reloadable." : "Needs a restart.");
	json_object_set_new(value, "description", json_string(text));
	return value;
}

static json_t *properties_of(const struct bp_setting *section)
{
	json_t *properties = json_object(), *required = json_array();
	const struct bp_setting *s = NULL;

	while ((s = bp_schema_child(section, s)) != NULL) {
		json_object_set_new(properties, bp_setting_key(s), describe(s));
		if ((s->flags & BP_REQUIRED) != 0)
			json_array_append_new(required, json_string(bp_setting_key(s)));
	}
	return json_pack("{ss so so sb}", "type", "object", "properties", properties, "required",
		required, "additionalProperties", 0);
}

static int schema_main(const struct bp_cli_command *command, int argc, char **argv)
{
	struct bp_cli cli;
	json_t *schema;

	bp_cli_begin(&cli, command, argc, argv);
	if (bp_cli_next(&cli) == BP_CLI_STOP)
		return cli.status;
	if (bp_cli_no_operands(&cli))
		return BP_EX_USAGE;
	schema = properties_of(NULL);
	json_object_set_new(
		schema, "$schema", json_string("https://json-schema.org/draft/2020-12/schema"));
	json_object_set_new(schema, "title", json_string("biplane configuration, version 1"));
	json_dumpf(schema, stdout, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
	putchar('\n');
	json_decref(schema);
	return BP_EX_OK;
}

const struct bp_cli_command bp_cmd_config_schema = {
	.name = "config schema",
	.summary = "print the JSON Schema of the configuration file",
	.synopsis = "",
	.text = "Prints the JSON Schema of the configuration file. An editor uses it if the\n"
		"first line of the file is\n"
		"  # yaml-language-server: $schema=/usr/share/biplane/schema.json\n"
		"The schema covers the names, types and bounds of the settings. 'biplane config\n"
		"check' validates the complete file.",
	.example = "  biplane config schema > schema.json",
	.options = no_options,
	.main = schema_main,
};
