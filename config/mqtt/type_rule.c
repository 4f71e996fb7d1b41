/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <string.h>

#include "config/mqtt/schema.h"

/* What a rule is made of: where the number stands and which numbers matter. */

static const struct {
	const char *text; /* longer ones before their beginnings */
	uint8_t op;
	bool range;
} operators[] = {
	{">=", BP_COND_GE, false},
	{"<=", BP_COND_LE, false},
	{"==", BP_COND_EQ, false},
	{"!=", BP_COND_NE, false},
	{">", BP_COND_GT, false},
	{"<", BP_COND_LT, false},
	{"inside", BP_COND_INSIDE, true},
	{"outside", BP_COND_OUTSIDE, true},
};
#define N_OPERATORS (sizeof(operators) / sizeof(operators[0]))

static const char *skip_blanks(const char *p)
{
	while (*p == ' ' || *p == '\t')
		p++;
	return p;
}

/* The number that fills [p, end) but for blanks around it. `text` is the whole condition. */
static bool read_bound(
	const char *text, const char *p, const char *end, double *v, struct bp_fault *fault)
{
	const uint8_t *stop;
	char shown[BP_SHOWN];

	p = skip_blanks(p);
	while (end > p && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	if (end <= p)
		return bp_fault_set(fault, (size_t)(p - text), "a number is missing");
	*v = NAN; /* stays so when the number is too large for a double */
	stop = bp_number_parse((const uint8_t *)p, (const uint8_t *)end, true, v);
	if (stop != (const uint8_t *)end || !isfinite(*v))
		return bp_fault_set(fault, (size_t)(p - text),
			"'%s' is not a finite decimal number",
			bp_shown(p, (size_t)(end - p), shown));
	*v += 0.0; /* -0 compares like 0, and must not make two rules of one */
	return true;
}

static bool parse_condition(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	const char *p = skip_blanks(text), *dots, *end = text + strlen(text);
	struct bp_condition cond;
	uint32_t i = 0;
	char shown[BP_SHOWN];

	(void)s;
	(void)c;
	/* Rules are compared and hashed as bytes. */
	memset(&cond, 0, sizeof(cond));
	while (i < N_OPERATORS && strncmp(p, operators[i].text, strlen(operators[i].text)) != 0)
		i++;
	if (i == N_OPERATORS)
		return bp_fault_set(fault, (size_t)(p - text), "'%s' begins with no comparison",
			bp_shown(text, strlen(text), shown));
	cond.op = operators[i].op;
	p += strlen(operators[i].text);
	if (operators[i].range) {
		dots = strstr(p, "..");
		if (dots == NULL)
			return bp_fault_set(fault, (size_t)(p - text), "'%s' has no range A..B",
				bp_shown(text, strlen(text), shown));
		if (!read_bound(text, p, dots, &cond.a, fault) ||
			!read_bound(text, dots + 2, end, &cond.b, fault))
			return false;
		if (cond.a > cond.b)
			return bp_fault_set(fault, (size_t)(skip_blanks(p) - text),
				"the range ends below its beginning");
	} else if (!read_bound(text, p, end, &cond.a, fault)) {
		return false;
	}
	memcpy(field, &cond, sizeof(cond));
	return true;
}

static void format_condition(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const struct bp_condition *cond = field;
	char a[32], b[32];
	uint32_t i = 0;
	int na = bp_number_format(cond->a, a), nb = bp_number_format(cond->b, b);

	(void)s;
	(void)c;
	while (operators[i].op != cond->op)
		i++;
	fprintf(out, "\"%s %.*s", operators[i].text, na, a);
	if (operators[i].range)
		fprintf(out, "..%.*s", nb, b);
	fputc('"', out);
}

static void expect_condition(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fputs("a condition in quotes: >, >=, <, <=, == or != and a number, or inside A..B or "
	      "outside "
	      "A..B, such as \"> 80\"",
		out);
}

const struct bp_type bp_type_condition = {
	.parse = parse_condition, .format = format_condition, .expect = expect_condition};

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
		return bp_fault_set(fault, 0, "'%s' is no source of values",
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
	fputs("text, {json: PATH} or {binary: {offset: N, type: TYPE, endian: big or little}}",
		out);
}

const struct bp_type bp_type_variant = {
	.parse = parse_value, .read = read_value, .format = format_value, .expect = expect_value};
