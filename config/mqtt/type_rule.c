/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/mqtt/schema.h"

/* The value in a payload. */

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
	rule->value.scale = 1;
	if (strcmp(text, "sparkplug_online") == 0) {
		rule->value.kind = BP_VALUE_SPARKPLUG;
		rule->value.sparkplug.what = BP_SPARKPLUG_ONLINE;
		return true;
	}
	if (strcmp(text, "text") != 0)
		return bp_fault_set(fault, 0, "'%s' is not a source of values",
			bp_shown(text, strlen(text), shown));
	rule->value.kind = BP_VALUE_TEXT;
	return true;
}

static const struct {
	const char *key;
	enum bp_value_kind kind;
} sources[] = {
	{"json", BP_VALUE_JSON},
	{"cbor", BP_VALUE_CBOR},
	{"msgpack", BP_VALUE_MSGPACK},
	{"binary", BP_VALUE_BINARY},
	{"sparkplug", BP_VALUE_SPARKPLUG},
};
#define N_SOURCES (sizeof(sources) / sizeof(sources[0]))

/* Settings that only one source has. */
static void check_options(struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n,
	const struct bp_rule_spec *rule)
{
	static const char *const key[] = {"member", "historical", "death"};

	for (unsigned i = 0; i < sizeof(key) / sizeof(key[0]); i++) {
		if (bp_yaml_find(n, key[i]) != NULL && rule->value.kind != BP_VALUE_SPARKPLUG)
			bp_reader_error(r, s, n, "%s is given without sparkplug", key[i]);
	}
}

static void read_value(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *field)
{
	struct bp_rule_spec *rule = field;
	const char *first = NULL;

	if (!bp_reader_section_or_text(r, s, n, parse_value, field))
		return;
	bp_read_section(r, s, n, field);
	for (unsigned i = 0; i < N_SOURCES; i++) {
		if (bp_yaml_find(n, sources[i].key) == NULL)
			continue;
		if (first != NULL)
			bp_reader_error(r, s, n, "both %s and %s are given", first, sources[i].key);
		first = sources[i].key;
		rule->value.kind = sources[i].kind;
	}
	if (n->n == 0)
		bp_reader_error(r, s, n, "the mapping is empty");
	check_options(r, s, n, rule);
	rule->value.scaled = rule->value.scale != 1 || rule->value.offset != 0;
}

static void format_value(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const struct bp_rule_spec *rule = field;

	(void)s;
	(void)c;
	fputs(rule->value.kind == BP_VALUE_SPARKPLUG ? "sparkplug_online" : "text", out);
}

static void expect_value(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fputs("text, sparkplug_online, {json: PATH}, {cbor: PATH}, {msgpack: PATH}, {binary: "
	      "{offset: N, type: TYPE, byte_order: big or little}}, {sparkplug: METRIC} or {type: "
	      "TYPE}",
		out);
}

const struct bp_type bp_type_variant = {
	.parse = parse_value, .read = read_value, .format = format_value, .expect = expect_value};
