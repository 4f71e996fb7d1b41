/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "config/mqtt/schema.h"
#include "shm/rules/combination.h"

/*
 * mqtt.rules[].all and any: a list of parts, in which an element may be a mapping with only all,
 * any or not. The settings of a part are the rows below mqtt.rules[].all.
 */

struct combination_reader {
	struct bp_reader *r;
	const struct bp_setting *s; /* all or any, for messages */
	const struct bp_setting *part;
	struct bp_combination_spec *c;
	struct bp_yaml *topic[BP_PARTS_MAX]; /* of each part */
	unsigned depth;
	bool full; /* reported */
};

static const struct {
	const char *key;
	uint8_t kind; /* enum bp_step */
} operators[] = {{"all", BP_STEP_ALL}, {"any", BP_STEP_ANY}, {"not", BP_STEP_NOT}};
#define N_OPERATORS (sizeof(operators) / sizeof(operators[0]))

/* The index of the operator with this key; N_OPERATORS: none. */
static unsigned operator_of(const char *key)
{
	unsigned i = 0;

	while (i < N_OPERATORS && strcmp(operators[i].key, key) != 0)
		i++;
	return i;
}

#define PART_ROWS "mqtt.rules[].all"

static bool add_step(struct combination_reader *x, struct bp_yaml *n, unsigned step)
{
	if (x->c->program.len == BP_COMBINATION_PROGRAM_MAX) {
		bp_reader_error(x->r, x->s, n, "the combination has too many operators");
		return false;
	}
	x->c->program.step[x->c->program.len++] = (uint8_t)step;
	return true;
}

static void read_element(struct combination_reader *x, struct bp_yaml *e);

static void read_part(struct combination_reader *x, struct bp_yaml *e)
{
	struct bp_rule_spec *part = &x->c->part[x->c->n_parts];

	if (x->c->n_parts == BP_PARTS_MAX) {
		if (!x->full)
			bp_reader_error(
				x->r, x->s, e, "there are more than %u parts", BP_PARTS_MAX);
		x->full = true;
		return;
	}
	if (!add_step(x, e, BP_STEP_PART | x->c->n_parts))
		return;
	bp_read_section(x->r, x->part, e, part);
	bp_check_value(x->r, e, part);
	if (e->kind == BP_YAML_MAP) {
		bp_check_sparkplug(x->r, e, part, true);
		x->topic[x->c->n_parts] = bp_yaml_find(e, "topic");
	}
	x->c->n_parts++;
}

/* The elements of all or any. */
static void read_elements(struct combination_reader *x, struct bp_yaml *n, unsigned kind)
{
	uint32_t i = 0;

	if (n->kind != BP_YAML_LIST || n->n == 0 || n->n > BP_PARTS_MAX) {
		bp_reader_error(x->r, x->s, n, "%s",
			n->kind == BP_YAML_LIST && n->n != 0 ? "the list is too long"
							     : "no list of parts is given");
		return;
	}
	if (!add_step(x, n, kind | n->n))
		return;
	for (struct bp_yaml *e = n->first; e != NULL; e = e->next, i++) {
		const size_t before = bp_reader_enter(x->r, NULL, i);

		read_element(x, e);
		bp_reader_leave(x->r, before);
	}
}

/* {all: [...]}, {any: [...]} or {not: ...} */
static void read_operator(struct combination_reader *x, struct bp_yaml *e, unsigned kind)
{
	struct bp_yaml *operand = e->first;
	const size_t before = bp_reader_enter(x->r, operand->key->text, -1);

	if (++x->depth == BP_COMBINATION_DEPTH_MAX)
		bp_reader_error(x->r, x->s, operand, "all, any and not are nested deeper than %u",
			BP_COMBINATION_DEPTH_MAX);
	else if (operand->bad)
		e->bad = true;
	else if (kind != BP_STEP_NOT)
		read_elements(x, operand, kind);
	else if (add_step(x, operand, kind))
		read_element(x, operand);
	x->depth--;
	bp_reader_leave(x->r, before);
}

static void read_element(struct combination_reader *x, struct bp_yaml *e)
{
	unsigned op = N_OPERATORS;

	if (e->bad)
		return;
	for (struct bp_yaml *v = e->kind == BP_YAML_MAP ? e->first : NULL; v != NULL; v = v->next) {
		const unsigned i = v->key->bad ? N_OPERATORS : operator_of(v->key->text);

		if (i != N_OPERATORS)
			op = i;
	}
	if (op == N_OPERATORS)
		read_part(x, e);
	else if (e->n != 1)
		bp_reader_error(
			x->r, x->s, e, "%s has other settings next to it", operators[op].key);
	else
		read_operator(x, e, operators[op].kind);
}

/* All topics have the same names. */
static void check_names(struct combination_reader *x)
{
	struct bp_level_names first = {0}, names;

	for (unsigned i = 0; i < x->c->n_parts; i++) {
		const char *filter = x->c->part[i].filter, *why;
		struct bp_yaml *n = x->topic[i];
		uint32_t at = 0;

		if (n == NULL || n->bad || n->faulty)
			return;
		if (!bp_level_names_read(filter, (uint32_t)strlen(filter), &names, &why, &at)) {
			bp_error(x->r->messages, n->line, bp_yaml_column(n, at),
				"%s: '%s': %s; expected a topic such as plant/{cell}/temperature",
				x->r->path, filter, why);
			n->bad = true;
			return;
		}
		if (i == 0)
			first = names;
		for (unsigned k = 0; k < first.n || first.n != names.n; k++) {
			if (first.n == names.n &&
				bp_level_names_find(&names, first.at[k].name, first.at[k].len) >= 0)
				continue;
			bp_error(x->r->messages, n->line, n->column,
				"%s: '%s' and '%s' have different names in braces; expected the "
				"same names in all parts",
				x->r->path, x->c->part[0].filter, filter);
			n->bad = true;
			return;
		}
	}
}

static void read_combination(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *field)
{
	struct bp_rule_spec *rule = field;
	struct combination_reader x = {.r = r, .s = s, .part = bp_schema_at(PART_ROWS)};
	const uint32_t errors = r->messages->errors;

	if (rule->combination != NULL) {
		bp_reader_error(r, s, n, "both all and any are given");
		return;
	}
	x.c = calloc(1, sizeof(*x.c) + BP_PARTS_MAX * sizeof(x.c->part[0]));
	if (x.c == NULL) {
		bp_reader_error(r, s, n, "there is no memory for it");
		return;
	}
	rule->combination = x.c;
	read_elements(&x, n, operators[operator_of(bp_setting_key(s))].kind);
	if (r->messages->errors == errors)
		check_names(&x);
	n->bad |= r->messages->errors != errors;
}

/* ---- output ---- */

/* Writes the step at *at with its operands. */
static void write_step(const struct bp_config *c, const struct bp_combination_spec *spec,
	unsigned *at, unsigned depth, FILE *out)
{
	const unsigned step = spec->program.step[(*at)++], n = step & BP_STEP_NUMBER;

	if ((step & BP_STEP_KIND) == BP_STEP_PART) {
		bp_write_flow(bp_schema_at(PART_ROWS), c, &spec->part[n], out);
		return;
	}
	if ((step & BP_STEP_KIND) == BP_STEP_NOT) {
		fputs("{not: ", out);
		write_step(c, spec, at, depth + 1, out);
		fputc('}', out);
		return;
	}
	if (depth != 0)
		fputs((step & BP_STEP_KIND) == BP_STEP_ALL ? "{all: " : "{any: ", out);
	for (unsigned i = 0; i < n; i++) {
		fputs(i == 0 ? "[" : ", ", out);
		write_step(c, spec, at, depth + 1, out);
	}
	fputs(depth != 0 ? "]}" : "]", out);
}

static void format_combination(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const struct bp_rule_spec *rule = field;
	unsigned at = 0;

	(void)s;
	write_step(c, rule->combination, &at, 0, out);
}

static void expect_combination(const struct bp_setting *s, FILE *out)
{
	fprintf(out,
		"a list of parts with topic and condition, of {not: PART}, {all: [PART, ...]} or "
		"{any: [PART, ...]}; 1 to %u parts, nested at most %u deep",
		BP_PARTS_MAX, BP_COMBINATION_DEPTH_MAX);
	(void)s;
}

const struct bp_type bp_type_combination = {
	.read = read_combination, .format = format_combination, .expect = expect_combination};
