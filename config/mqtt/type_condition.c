/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <string.h>

#include "config/mqtt/condition.h"
#include "config/mqtt/schema.h"

/* Conditions of an alarm: a mapping of one comparison, or its short form as text. */

static const struct {
	const char *text; /* longer operators before their prefixes */
	uint8_t op;       /* also its index in struct bp_condition_map */
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

/* Reads the number in [p, end), with optional blanks around it. `text` is the whole condition. */
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
	*v = NAN; /* unchanged when the number is too large for a double */
	stop = bp_number_parse((const uint8_t *)p, (const uint8_t *)end, true, v);
	if (stop != (const uint8_t *)end || !isfinite(*v))
		return bp_fault_set(fault, (size_t)(p - text),
			"'%s' is not a finite decimal number",
			bp_shown(p, (size_t)(end - p), shown));
	*v += 0.0; /* -0 compares like 0, and must not make two different rules */
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
		return bp_fault_set(fault, (size_t)(p - text),
			"'%s' does not begin with a comparison",
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

static void expect_condition(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fputs("a mapping of one comparison, such as {above: 80} or {inside: [1, 5]}, or its short "
	      "form in quotes: >, >=, <, <=, == or != and a number, inside A..B or outside A..B",
		out);
}

/* ---- the mapping ---- */

static void check_short_form(struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n,
	const struct bp_rule_spec *rule)
{
	if (n->kind == BP_YAML_SCALAR && !n->bad && rule->value.type != BP_VALUE_NUMBER)
		bp_reader_error(r, s, n,
			"the short form compares numbers, and the value of the rule is none");
}

/* Whether the comparison exists for values of the rule's type. */
static bool is_comparable(const struct bp_condition_map *map)
{
	const uint8_t type = map->rule->value.type;
	bool ordered = false;

	for (unsigned op = 0; op < BP_CONDITION_ONE_OF; op++)
		ordered = ordered || (map->has[op] && op != BP_COND_EQ && op != BP_COND_NE);
	return type == BP_VALUE_NUMBER
		       ? !map->has[BP_CONDITION_ONE_OF]
		       : !ordered && (type == BP_VALUE_STRING || !map->has[BP_CONDITION_ONE_OF]);
}

static void read_condition(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *field)
{
	const uint32_t errors = r->messages->errors;
	struct bp_condition_map map = {0};
	struct bp_condition cond;
	unsigned given = 0;

	if (n->kind == BP_YAML_SCALAR && n->block) {
		struct bp_yaml header = *n; /* the text itself begins on a later line */

		header.line = n->key->line;
		header.column = n->key->column;
		bp_reader_error(
			r, s, &header, "the text begins with | or >; conditions must be quoted");
		n->bad = true;
		return;
	}
	if (!bp_reader_section_or_text(r, s, n, parse_condition, field)) {
		check_short_form(r, s, n, (struct bp_rule_spec *)((char *)field - s->offset));
		return;
	}
	map.rule = (struct bp_rule_spec *)((char *)field - s->offset);
	bp_read_section(r, s, n, &map);
	if (r->messages->errors != errors) {
		n->bad = true;
		return;
	}
	memset(&cond, 0, sizeof(cond));
	for (unsigned op = 0; op < BP_CONDITIONS; op++) {
		if (!map.has[op])
			continue;
		cond.op = op == BP_CONDITION_ONE_OF ? BP_COND_INSIDE : (uint8_t)op;
		cond.a = map.bounds.a;
		cond.b = map.bounds.b;
		given++;
	}
	if (given != 1)
		bp_reader_error(r, s, n, "%u comparisons are given", given);
	else if (!is_comparable(&map))
		bp_reader_error(r, s, n, "the value of the rule is a %s",
			map.rule->value.type == BP_VALUE_STRING
				? "string, which has equals, not_equals and one_of"
			: map.rule->value.type == BP_VALUE_BOOLEAN
				? "boolean, which has equals and not_equals"
				: "number, which has no one_of");
	else
		memcpy(field, &cond, sizeof(cond));
}

_Static_assert(sizeof(struct bp_condition_map) <= BP_UNFOLDED, "raise BP_UNFOLDED");

static bool unfold(const struct bp_condition *cond, const char *rule, struct bp_condition_map *map)
{
	map->rule = (struct bp_rule_spec *)(uintptr_t)rule;
	map->has[map->rule->value.type == BP_VALUE_STRING && cond->op == BP_COND_INSIDE
			 ? BP_CONDITION_ONE_OF
			 : cond->op] = true;
	map->bounds.a = cond->a;
	map->bounds.b = cond->b;
	return true;
}

bool bp_raise_unfold(const void *field, void *base)
{
	return unfold(field, (const char *)field - offsetof(struct bp_rule_spec, raise), base);
}

bool bp_clear_unfold(const void *field, void *base)
{
	return unfold(field, (const char *)field - offsetof(struct bp_rule_spec, clear), base);
}

const struct bp_type bp_type_condition = {
	.parse = parse_condition, .read = read_condition, .expect = expect_condition};

/* ---- its numbers ---- */

static bool parse_bound(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	double *a = field;

	(void)s;
	(void)c;
	return read_bound(text, text, text + strlen(text), a, fault);
}

static void format_bound(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	char text[32];
	const int len = bp_number_format(*(const double *)field, text);

	(void)s;
	(void)c;
	fwrite(text, 1, (size_t)len, out);
}

static void expect_bound(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fputs("a finite decimal number", out);
}

const struct bp_type bp_type_bound = {
	.parse = parse_bound, .format = format_bound, .expect = expect_bound};

static void read_bounds(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *field)
{
	struct bp_bounds *bounds = field;
	double *to[2] = {&bounds->a, &bounds->b};
	struct bp_yaml *e = n->first;
	struct bp_fault fault;

	if (n->kind != BP_YAML_LIST || n->n != 2) {
		bp_reader_error(r, s, n, "no list of two numbers is given");
		return;
	}
	for (unsigned i = 0; i < 2; i++, e = e->next) {
		if (e->kind != BP_YAML_SCALAR) {
			bp_reader_error(r, s, e, "no number is given");
			return;
		}
		if (!parse_bound(s, r->config, e->text, to[i], &fault)) {
			bp_reader_fault(r, s, e, &fault);
			return;
		}
	}
	if (bounds->a > bounds->b)
		bp_reader_error(r, s, n, "the range ends below its beginning");
}

static void format_bounds(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const struct bp_bounds *bounds = field;

	fputc('[', out);
	format_bound(s, c, &bounds->a, out);
	fputs(", ", out);
	format_bound(s, c, &bounds->b, out);
	fputc(']', out);
}

static void expect_bounds(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fputs("[A, B]: two finite decimal numbers, A at most B", out);
}

const struct bp_type bp_type_bounds = {
	.read = read_bounds, .format = format_bounds, .expect = expect_bounds};
