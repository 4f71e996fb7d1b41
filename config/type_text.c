/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/schema.h"
#include "proto/mqtt/mqtt.h"
#include "proto/payload/utf8.h"

/* Words and texts. The maximum length of a text is that of its array. */

static bool fits(const struct bp_setting *s, const char *text, struct bp_fault *fault)
{
	size_t len = strlen(text);

	if (len < s->min)
		return bp_fault_set(fault, 0, "the text is empty");
	if (len >= s->size)
		return bp_fault_set(fault, 0, "the text is %zu bytes long", len);
	return true;
}

static void keep(const struct bp_setting *s, const char *text, void *field)
{
	memset(field, 0, s->size);
	memcpy(field, text, strlen(text));
}

static void format_text(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	(void)s;
	(void)c;
	bp_write_quoted(field, out);
}

static bool parse_bool(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	static const char *const enum_names[] = {"false", "true", "False", "True", "FALSE", "TRUE"};
	char shown[BP_SHOWN];

	(void)c;
	for (uint32_t i = 0; i < 6; i++) {
		if (strcmp(text, enum_names[i]) == 0) {
			bp_field_store(s, field, i & 1);
			return true;
		}
	}
	return bp_fault_set(
		fault, 0, "'%s' is neither true nor false", bp_shown(text, strlen(text), shown));
}

static void format_bool(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	(void)c;
	fputs(bp_field_load(s, field) != 0 ? "true" : "false", out);
}

static void expect_bool(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fputs("true or false", out);
}

const struct bp_type bp_type_bool = {
	.parse = parse_bool, .format = format_bool, .expect = expect_bool};

static bool parse_enum(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	char shown[BP_SHOWN];

	(void)c;
	for (uint32_t i = 0; s->enum_names[i] != NULL; i++) {
		if (text[0] != '\0' && strcmp(text, s->enum_names[i]) == 0) {
			bp_field_store(s, field, i);
			return true;
		}
	}
	return bp_fault_set(
		fault, 0, "'%s' is not a valid choice", bp_shown(text, strlen(text), shown));
}

static void format_enum(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	(void)c;
	fputs(s->enum_names[bp_field_load(s, field)], out);
}

static void expect_enum(const struct bp_setting *s, FILE *out)
{
	bool first = true;

	for (uint32_t i = 0; s->enum_names[i] != NULL; i++) {
		if (s->enum_names[i][0] == '\0')
			continue;
		fprintf(out, "%s%s",
			first                          ? ""
			: s->enum_names[i + 1] == NULL ? " or "
						       : ", ",
			s->enum_names[i]);
		first = false;
	}
}

const struct bp_type bp_type_enum = {
	.parse = parse_enum, .format = format_enum, .expect = expect_enum};

static bool is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Names become parts of file names and of DPDK arguments. */
static bool parse_name(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	char shown[BP_SHOWN];

	(void)c;
	if (!fits(s, text, fault))
		return false;
	for (size_t i = 0; text[i] != '\0'; i++) {
		if (is_alnum(text[i]) || text[i] == '_' ||
			(i > 0 && (text[i] == '.' || text[i] == '-')))
			continue;
		return bp_fault_set(
			fault, i, "'%s' is not a name", bp_shown(text, strlen(text), shown));
	}
	keep(s, text, field);
	return true;
}

static void expect_name(const struct bp_setting *s, FILE *out)
{
	fprintf(out,
		"a name of at most %u letters, digits, '_', '-' and '.', the first not '-' or '.'",
		s->size - 1);
}

const struct bp_type bp_type_name = {
	.parse = parse_name, .format = format_text, .expect = expect_name};

static bool parse_string(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	(void)c;
	if (!fits(s, text, fault))
		return false;
	for (size_t i = 0; text[i] != '\0'; i++) {
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return bp_fault_set(fault, i, "the text has a control character");
	}
	keep(s, text, field);
	return true;
}

static void expect_string(const struct bp_setting *s, FILE *out)
{
	fprintf(out, "a text of 1 to %u bytes without control characters", s->size - 1);
}

const struct bp_type bp_type_string = {
	.parse = parse_string, .format = format_text, .expect = expect_string};

/* Returns the offset of the first invalid byte of a filter: the first wildcard that does not fill a
 * level. */
static size_t filter_fault(const char *text)
{
	for (size_t i = 0; text[i] != '\0'; i++) {
		bool alone = (i == 0 || text[i - 1] == '/') &&
			     (text[i + 1] == '\0' || text[i + 1] == '/');

		if ((text[i] == '+' && !alone) ||
			(text[i] == '#' && (!alone || text[i + 1] != '\0')))
			return i;
	}
	return 0;
}

static bool parse_filter(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	char shown[BP_SHOWN];

	(void)c;
	if (!fits(s, text, fault))
		return false;
	if (!bp_mqtt_filter_valid(text, strlen(text)))
		return bp_fault_set(fault, filter_fault(text), "'%s' is not a topic filter",
			bp_shown(text, strlen(text), shown));
	keep(s, text, field);
	return true;
}

static void expect_filter(const struct bp_setting *s, FILE *out)
{
	fprintf(out,
		"an MQTT topic filter of at most %u bytes, in which + is a whole level and # the "
		"last",
		s->size - 1);
}

const struct bp_type bp_type_filter = {
	.parse = parse_filter, .format = format_text, .expect = expect_filter};

/* Returns the length of a placeholder at `p`, a word in braces, or 0. Which words are known,
 * depends on the rule: check_mqtt.c. */
static size_t placeholder(const char *p)
{
	size_t n = 1;

	while (is_alnum(p[n]) || p[n] == '_')
		n++;
	return n > 1 && p[n] == '}' ? n + 1 : 0;
}

static bool parse_template(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	char shown[BP_SHOWN];
	size_t step;

	(void)c;
	if (!fits(s, text, fault))
		return false;
	for (const char *p = text; *p != '\0'; p += step) {
		size_t at = (size_t)(p - text), len = strcspn(p, "}");

		step = *p == '{' ? placeholder(p) : 1;
		if (step == 0)
			return bp_fault_set(fault, at, "'%s' is not a placeholder",
				bp_shown(p, len + (p[len] == '}'), shown));
		if (*p == '}')
			return bp_fault_set(fault, at, "'}' has no '{' in front of it");
		if (*p == '+' || *p == '#')
			return bp_fault_set(
				fault, at, "a topic that is published has no wildcard '%c'", *p);
	}
	/* A device may connect without a client identifier, and an empty topic cannot be
	 * published. */
	if (strcmp(text, "{client}") == 0)
		return bp_fault_set(
			fault, 0, "{client} alone would be empty for a device without one");
	keep(s, text, field);
	return true;
}

static void expect_template(const struct bp_setting *s, FILE *out)
{
	fprintf(out,
		"a topic of at most %u bytes, in quotes, with the placeholders {topic}, {rule}, "
		"{client}, and the names in braces of a combination",
		s->size - 1);
}

const struct bp_type bp_type_template = {
	.parse = parse_template, .format = format_text, .expect = expect_template};
