/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "config/mqtt/schema.h"

/* The annotations of a rule: a mapping of names to texts. */

static bool is_key(const struct bp_yaml *key)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

	return key->n > 0 && key->n <= BP_RULE_ANNOTATION_KEY_MAX &&
	       strspn(key->text, allowed) == key->n;
}

static bool has_key(const struct bp_rule_annotations *a, const char *key)
{
	const char *at = a->text;

	for (unsigned i = 0; i < 2u * a->n; i++, at += strlen(at) + 1)
		if (i % 2 == 0 && strcmp(at, key) == 0)
			return true;
	return false;
}

/* The tree is UTF-8 without NUL characters. */
static void add_text(struct bp_rule_annotations *a, const struct bp_yaml *text)
{
	memcpy(a->text + a->used, text->text, text->n + 1);
	a->used = (uint16_t)(a->used + text->n + 1);
}

static bool add(struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *v,
	struct bp_rule_annotations *a)
{
	if (!is_key(v->key))
		bp_reader_error(r, s, v, "the name of an annotation is not valid");
	else if (v->kind != BP_YAML_SCALAR || (bp_yaml_is_null(v) && !v->quoted))
		bp_reader_error(r, s, v, "annotation %s is not a text", v->key->text);
	else if (has_key(a, v->key->text))
		bp_reader_error(r, s, v, "annotation %s is given twice", v->key->text);
	else if (a->used + v->key->n + v->n + 2 > sizeof(a->text))
		bp_reader_error(r, s, v, "the annotations are longer than %u bytes",
			BP_RULE_ANNOTATIONS_SIZE);
	else {
		add_text(a, v->key);
		add_text(a, v);
		a->n++;
		return true;
	}
	return false;
}

static void read_annotations(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *field)
{
	if (n->kind != BP_YAML_MAP) {
		bp_reader_error(
			r, s, n, "found a %s", n->kind == BP_YAML_LIST ? "list" : "single value");
		return;
	}
	if (n->n > BP_RULE_ANNOTATIONS_MAX) {
		bp_reader_error(r, s, n, "%u are given", n->n);
		return;
	}
	for (struct bp_yaml *v = n->first; v != NULL; v = v->next)
		if (!v->bad && !v->key->bad && !add(r, s, v, field))
			return;
}

static void format_annotations(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const struct bp_rule_annotations *a = field;
	const char *at = a->text;

	(void)s;
	(void)c;
	fputc('{', out);
	for (unsigned i = 0; i < 2u * a->n; i++, at += strlen(at) + 1) {
		if (i % 2 != 0)
			bp_write_quoted(at, out);
		else
			fprintf(out, "%s%s: ", i > 0 ? ", " : "", at);
	}
	fputc('}', out);
}

static void expect_annotations(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fprintf(out,
		"a mapping of at most %u names to texts, such as {site: north}; names of letters, "
		"digits, '_', '.' and '-'; at most %u bytes in all",
		BP_RULE_ANNOTATIONS_MAX, BP_RULE_ANNOTATIONS_SIZE);
}

const struct bp_type bp_type_annotations = {
	.read = read_annotations, .format = format_annotations, .expect = expect_annotations};
