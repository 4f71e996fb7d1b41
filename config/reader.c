/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "config/schema.h"

bool bp_fault_set(struct bp_fault *fault, size_t at, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(fault->what, sizeof(fault->what), format, ap);
	va_end(ap);
	fault->at = at;
	return false;
}

static void report(struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, size_t at,
	const char *what)
{
	char expected[BP_EXPECTED_TEXT];

	bp_error(r->messages, n->line, bp_yaml_column(n, at), "%s: %s; expected %s", r->path, what,
		bp_setting_expected(s, expected));
	n->bad = true;
}

void bp_reader_fault(struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n,
	const struct bp_fault *fault)
{
	report(r, s, n, fault->at, fault->what);
}

void bp_reader_error(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, const char *format, ...)
{
	char what[224];
	va_list ap;

	va_start(ap, format);
	vsnprintf(what, sizeof(what), format, ap);
	va_end(ap);
	report(r, s, n, 0, what);
}

bool bp_reader_section_or_text(struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n,
	bool (*parse)(const struct bp_setting *s, const struct bp_config *c, const char *text,
		void *field, struct bp_fault *fault),
	void *field)
{
	struct bp_fault fault;

	if (n->kind == BP_YAML_MAP)
		return true;
	if (n->kind != BP_YAML_SCALAR || bp_yaml_is_null(n))
		bp_reader_error(r, s, n, "%s",
			n->kind == BP_YAML_LIST ? "found a list" : "no value is given");
	else if (!parse(s, r->config, n->text, field, &fault))
		bp_reader_fault(r, s, n, &fault);
	return false;
}

size_t bp_reader_enter(struct bp_reader *r, const char *name, int64_t index)
{
	size_t before = r->path_len;
	char *to = r->path + before;
	size_t room = sizeof(r->path) - before;
	int n;

	if (index >= 0)
		n = snprintf(to, room, "[%lld]", (long long)index);
	else
		n = snprintf(to, room, "%s%s", before > 0 ? "." : "", name);
	r->path_len = (size_t)n < room ? before + (size_t)n : sizeof(r->path) - 1;
	return before;
}

void bp_reader_leave(struct bp_reader *r, size_t before)
{
	r->path[before] = '\0';
	r->path_len = before;
}

/* The name of a section in messages: its path, or the file itself. */
static const char *section_name(const struct bp_reader *r)
{
	return r->path_len > 0 ? r->path : "the file";
}

static void report_unknown(
	struct bp_reader *r, const struct bp_setting *section, const struct bp_yaml *key)
{
	/* A suggestion that is not printed would waste time on a file with many unknown names. */
	bool heard = r->messages->n < BP_MESSAGES_MAX;
	const char *meant = heard ? bp_suggest(section, key->text) : NULL;
	const struct bp_setting *s = NULL;
	const char *is = bp_renamed_to(section, key->text);
	char shown[BP_SHOWN], known[512];
	size_t n = 0;

	bp_shown(key->text, key->n, shown);
	if (is != NULL) {
		bp_error(r->messages, key->line, key->column,
			"unknown setting '%s' in %s; expected %s, its name in version 1", shown,
			section_name(r), is);
		return;
	}
	if (meant != NULL) {
		bp_error(r->messages, key->line, key->column,
			"unknown setting '%s'; did you mean '%s'?", shown, meant);
		return;
	}
	known[0] = '\0';
	while ((s = bp_schema_child(section, s)) != NULL && n < sizeof(known))
		n += (size_t)snprintf(
			known + n, sizeof(known) - n, "%s%s", n > 0 ? ", " : "", bp_setting_key(s));
	bp_error(r->messages, key->line, key->column,
		"unknown setting '%s' in %s; expected one of: %s", shown, section_name(r), known);
}

/* Finds the row of each pair of `n`; reports unknown and repeated names. */
static void sort_pairs(struct bp_reader *r, const struct bp_setting *section,
	const struct bp_yaml *n, struct bp_yaml *given[BP_CHILDREN_MAX])
{
	for (struct bp_yaml *v = n->first; v != NULL; v = v->next) {
		const struct bp_setting *s = NULL;
		uint32_t i = 0;

		if (v->key->bad)
			continue;
		while ((s = bp_schema_child(section, s)) != NULL &&
			strcmp(bp_setting_key(s), v->key->text) != 0)
			i++;
		if (s == NULL)
			report_unknown(r, section, v->key);
		else if (given[i] != NULL)
			bp_error(r->messages, v->key->line, v->key->column,
				"'%s' is given twice; expected it once (the first is on line %u)",
				bp_setting_key(s),
				bp_messages_line(r->messages, given[i]->key->line));
		else
			given[i] = v;
	}
}

static void set_preset(struct bp_reader *r, const struct bp_setting *s, void *base)
{
	struct bp_fault fault;

	if (bp_setting_is_section(s))
		bp_read_section(r, s, NULL, base);
	else if (s->preset != NULL)
		s->type->parse(s, r->config, s->preset, bp_setting_field(s, base), &fault);
}

static void read_scalar(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *field)
{
	struct bp_fault fault;

	if (n->kind != BP_YAML_SCALAR)
		bp_reader_error(
			r, s, n, "found a %s", n->kind == BP_YAML_LIST ? "list" : "mapping");
	else if (bp_yaml_is_null(n))
		bp_reader_error(
			r, s, n, "no value is given (text that begins with # needs quotes)");
	else if (!s->type->parse(s, r->config, n->text, field, &fault))
		bp_reader_fault(r, s, n, &fault);
}

static void read_setting(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *base)
{
	size_t before = bp_reader_enter(r, bp_setting_key(s), -1);
	uint32_t errors = r->messages->errors;

	if (s->given != 0)
		*((bool *)base + s->given - 1) = true;
	if (n->bad)
		; /* the YAML reader has reported it */
	else if (s->type == &bp_type_section)
		bp_read_section(r, s, n, base);
	else if (s->type->read != NULL)
		s->type->read(r, s, n, bp_setting_field(s, base));
	else
		read_scalar(r, s, n, bp_setting_field(s, base));
	n->faulty = n->bad || r->messages->errors != errors;
	bp_reader_leave(r, before);
}

static void report_missing(
	struct bp_reader *r, const struct bp_setting *s, const struct bp_yaml *section)
{
	char expected[BP_EXPECTED_TEXT];

	bp_error(r->messages, section->line, section->column, "%s has no '%s'; expected %s",
		section_name(r), bp_setting_key(s), bp_setting_expected(s, expected));
}

void bp_reader_missing(struct bp_reader *r, const char *path, const struct bp_yaml *section)
{
	report_missing(r, bp_schema_at(path), section);
}

void bp_read_section(
	struct bp_reader *r, const struct bp_setting *section, struct bp_yaml *n, void *base)
{
	struct bp_yaml *given[BP_CHILDREN_MAX] = {NULL};
	const struct bp_setting *s = NULL;

	if (n != NULL && n->kind != BP_YAML_MAP && !bp_yaml_is_null(n)) {
		bp_error(r->messages, n->line, n->column,
			"%s: found a %s; expected a mapping of settings", section_name(r),
			n->kind == BP_YAML_LIST ? "list" : "single value");
		n->bad = true;
		return;
	}
	if (n != NULL)
		sort_pairs(r, section, n, given);
	for (uint32_t i = 0; (s = bp_schema_child(section, s)) != NULL; i++) {
		void *in = section != NULL ? base : bp_setting_base(s, r->config);

		if (given[i] != NULL)
			read_setting(r, s, given[i], in);
		else if (n == NULL || (s->flags & BP_REQUIRED) == 0)
			set_preset(r, s, in);
		else
			report_missing(r, s, n);
		if (s->done != NULL)
			s->done(r);
	}
	if (n != NULL && section != NULL && section->type == &bp_type_section &&
		section->check != NULL)
		section->check(r, n, base);
}

/* Allocates `n` zeroed elements; NULL when there is no memory. */
static void *make_items(const struct bp_setting *s, struct bp_config *c, uint32_t n)
{
	const struct bp_list_layout *l = s->list;
	char *settings = bp_setting_base(s, c);
	void *items = settings + l->items;

	if (l->allocated) {
		void *p = n > 0 ? calloc(n, l->element) : NULL;

		memcpy(items, &p, sizeof(p));
		items = p;
	}
	if (items != NULL)
		*(uint32_t *)(settings + l->count) = n;
	return items;
}

static void read_element(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *e, void *base)
{
	bp_read_section(r, s, e, base);
	if (s->check != NULL && e->kind == BP_YAML_MAP)
		s->check(r, e, base);
}

bool bp_list_given(struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n)
{
	if (n->kind != BP_YAML_LIST && !bp_yaml_is_null(n)) {
		bp_reader_error(
			r, s, n, "found a %s", n->kind == BP_YAML_MAP ? "mapping" : "single value");
		return false;
	}
	if (n->kind == BP_YAML_SCALAR ? s->min > 0 : n->n < s->min || n->n > s->max) {
		bp_reader_error(r, s, n, "%u are given", n->kind == BP_YAML_SCALAR ? 0 : n->n);
		return false;
	}
	return n->kind != BP_YAML_SCALAR && n->n > 0;
}

void bp_read_elements(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *items)
{
	uint32_t i = 0;

	for (struct bp_yaml *e = n->first; e != NULL; e = e->next, i++) {
		size_t before = bp_reader_enter(r, NULL, i);
		uint32_t errors = r->messages->errors;

		if (!e->bad)
			read_element(r, s, e, (char *)items + (size_t)i * s->list->element);
		e->faulty = e->bad || r->messages->errors != errors;
		bp_reader_leave(r, before);
	}
}

void bp_read_list(struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *field)
{
	void *items;

	(void)field;
	if (!bp_list_given(r, s, n))
		return;
	items = make_items(s, r->config, n->n);
	if (items == NULL)
		bp_reader_error(r, s, n, "there is no memory for %u of them", n->n);
	else
		bp_read_elements(r, s, n, items);
}

static void expect_list(const struct bp_setting *s, FILE *out)
{
	fprintf(out, "a list of %s%llu mappings", s->min > 0 ? "1 to " : "at most ",
		(unsigned long long)s->max);
}

static void expect_section(const struct bp_setting *s, FILE *out)
{
	fputs("a mapping of settings", out);
}

const struct bp_type bp_type_section = {.expect = expect_section};
const struct bp_type bp_type_list = {.read = bp_read_list, .expect = expect_list};
