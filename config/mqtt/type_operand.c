/* SPDX-License-Identifier: BSD-3-Clause */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "config/mqtt/condition.h"
#include "config/mqtt/schema.h"

/* What values of any type are compared with: a number, true or false, a string, several strings. */

/* Appends a string of the file; NULL: *fault has the reason. */
static bool add_string(struct bp_value_strings *strings, const char *text, struct bp_fault *fault)
{
	const size_t len = strlen(text);

	if (len > BP_VALUE_STRING_MAX)
		return bp_fault_set(fault, BP_VALUE_STRING_MAX,
			"the string is longer than %d bytes", BP_VALUE_STRING_MAX);
	if (strings->n == BP_VALUE_STRINGS_MAX)
		return bp_fault_set(
			fault, 0, "the rule has more than %d strings", BP_VALUE_STRINGS_MAX);
	strings->len[strings->n] = (uint8_t)len;
	memcpy(strings->text[strings->n++], text, len);
	return true;
}

static struct bp_condition_map *map_of(const void *field)
{
	return (struct bp_condition_map *)((uintptr_t)field -
					   offsetof(struct bp_condition_map, bounds));
}

static bool parse_operand(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	struct bp_condition_map *map = map_of(field);
	char shown[BP_SHOWN];

	switch ((enum bp_value_type)map->rule->value.type) {
	case BP_VALUE_NUMBER:
		return bp_type_bound.parse(s, c, text, field, fault);
	case BP_VALUE_BOOLEAN:
		map->bounds.a = strcmp(text, "true") == 0;
		if (map->bounds.a == 0 && strcmp(text, "false") != 0)
			return bp_fault_set(fault, 0,
				"'%s' is neither true nor false, and the value is a boolean",
				bp_shown(text, strlen(text), shown));
		return true;
	case BP_VALUE_STRING:
		break;
	}
	map->bounds.a = map->rule->strings.n;
	return add_string(&map->rule->strings, text, fault);
}

static void format_string(const struct bp_condition_map *map, double index, FILE *out)
{
	const unsigned i = (unsigned)index;

	if (i < BP_VALUE_STRINGS_MAX)
		bp_write_quoted(map->rule->strings.text[i], out);
}

static void format_operand(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const struct bp_condition_map *map = map_of(field);

	if (map->rule->value.type == BP_VALUE_STRING)
		format_string(map, map->bounds.a, out);
	else if (map->rule->value.type == BP_VALUE_BOOLEAN)
		fputs(map->bounds.a != 0 ? "true" : "false", out);
	else
		bp_type_bound.format(s, c, field, out);
}

static void expect_operand(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fprintf(out,
		"a finite decimal number; true or false, with value type boolean; a text of at "
		"most %d bytes, with type string",
		BP_VALUE_STRING_MAX);
}

const struct bp_type bp_type_operand = {
	.parse = parse_operand, .format = format_operand, .expect = expect_operand};

static void read_operands(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *field)
{
	struct bp_condition_map *map = map_of(field);
	struct bp_fault fault;

	if (n->kind != BP_YAML_LIST || n->n == 0) {
		bp_reader_error(r, s, n, "no list of strings is given");
		return;
	}
	map->bounds.a = map->rule->strings.n;
	for (struct bp_yaml *e = n->first; e != NULL; e = e->next) {
		if (e->kind != BP_YAML_SCALAR) {
			bp_reader_error(r, s, e, "no string is given");
			return;
		}
		if (!add_string(&map->rule->strings, e->text, &fault)) {
			bp_reader_fault(r, s, e, &fault);
			return;
		}
	}
	map->bounds.b = map->rule->strings.n - 1;
}

static void format_operands(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const struct bp_condition_map *map = map_of(field);

	(void)s;
	(void)c;
	fputc('[', out);
	for (double i = map->bounds.a; i <= map->bounds.b; i++) {
		format_string(map, i, out);
		fputs(i < map->bounds.b ? ", " : "", out);
	}
	fputc(']', out);
}

static void expect_operands(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fprintf(out, "a list of strings of at most %d bytes, at most %d in the rule",
		BP_VALUE_STRING_MAX, BP_VALUE_STRINGS_MAX);
}

const struct bp_type bp_type_operands = {
	.read = read_operands, .format = format_operands, .expect = expect_operands};

/* ---- the order of the strings of a rule ---- */

/* A string and the conditions that have it. */
struct entry {
	char text[BP_VALUE_STRING_MAX + 1];
	bool raise, clear;
};

/* First those of raise alone, then those of both, then those of clear alone. */
static int group(const struct entry *e)
{
	return e->raise ? e->clear : 2;
}

static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return group(x) != group(y) ? group(x) - group(y) : strcmp(x->text, y->text);
}

static bool has(const struct bp_condition *c, unsigned i)
{
	return c->op == BP_COND_INSIDE ? i >= c->a && i <= c->b : i == c->a;
}

static struct entry *find(struct entry *entries, unsigned n, const char *text)
{
	for (unsigned i = 0; i < n; i++) {
		if (strcmp(entries[i].text, text) == 0)
			return &entries[i];
	}
	return NULL;
}

/* The first and the last string of a condition are its numbers. */
static void set_range(struct bp_condition *c, const struct entry *entries, unsigned n, bool clear)
{
	bool found = false;

	for (unsigned i = 0; i < n; i++) {
		if (!(clear ? entries[i].clear : entries[i].raise))
			continue;
		if (!found)
			c->a = i;
		found = true;
		if (c->op == BP_COND_INSIDE)
			c->b = i;
	}
}

void bp_condition_sort_strings(struct bp_rule_spec *rule)
{
	struct entry entries[BP_VALUE_STRINGS_MAX] = {0}, *e;
	struct bp_value_strings *strings = &rule->strings;
	unsigned n = 0;

	for (unsigned i = 0; i < strings->n; i++) {
		e = find(entries, n, strings->text[i]);
		if (e == NULL) {
			e = &entries[n++];
			memcpy(e->text, strings->text[i], strings->len[i]);
		}
		e->raise = e->raise || has(&rule->raise, i);
		e->clear = e->clear || (rule->has_clear && has(&rule->clear, i));
	}
	qsort(entries, n, sizeof(entries[0]), compare);
	memset(strings, 0, sizeof(*strings));
	for (; strings->n < n; strings->n++) {
		strings->len[strings->n] = (uint8_t)strlen(entries[strings->n].text);
		memcpy(strings->text[strings->n], entries[strings->n].text,
			strings->len[strings->n]);
	}
	set_range(&rule->raise, entries, n, false);
	if (rule->has_clear)
		set_range(&rule->clear, entries, n, true);
}
