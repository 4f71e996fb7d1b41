/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "config/schema.h"

/* Returns the code point that must be escaped (YAML forbids it, or reads it as a line break), or 0.
 * *taken: its length in bytes, at least 1. */
static uint32_t must_escape(const unsigned char *p, uint32_t *taken)
{
	*taken = 1;
	if (p[0] < 0x20 || p[0] == 0x7f)
		return p[0];
	if (p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0) {
		*taken = 2;
		return p[1]; /* C1 control characters */
	}
	if ((p[0] & 0xf0) == 0xe0 && p[1] != 0 && p[2] != 0) {
		uint32_t c = (uint32_t)(p[0] & 0x0f) << 12 | (uint32_t)(p[1] & 0x3f) << 6 |
			     (p[2] & 0x3f);

		*taken = 3;
		return c == 0x2028 || c == 0x2029 || c == 0xfeff || c >= 0xfffe ? c : 0;
	}
	return 0;
}

void bp_write_quoted(const char *text, FILE *out)
{
	const unsigned char *p = (const unsigned char *)text;

	fputc('"', out);
	while (*p != '\0') {
		uint32_t taken, c = must_escape(p, &taken);

		if (c != 0) {
			fprintf(out, "\\u%04x", c);
		} else {
			if (*p == '"' || *p == '\\')
				fputc('\\', out);
			fwrite(p, 1, taken, out);
		}
		p += taken;
	}
	fputc('"', out);
}

static void dump_section(const struct bp_setting *section, const struct bp_config *c,
	const void *base, uint32_t indent, bool in_item, FILE *out);

static void dump_list(const struct bp_setting *s, const struct bp_config *c, const void *base,
	uint32_t indent, FILE *out)
{
	uint32_t n;
	const char *items = bp_list_items(s, c, base, &n);

	fputs(n == 0 ? " []\n" : "\n", out);
	for (uint32_t i = 0; i < n; i++) {
		fprintf(out, "%*s- ", (int)indent + 2, "");
		dump_section(s, c, items + (size_t)i * s->list->element, indent + 4, true, out);
	}
}

/* Returns whether the value of the variant is one of the sections below it and not a word. */
static bool is_nested(const struct bp_setting *s, const void *base)
{
	const struct bp_setting *child = NULL;

	if (s->type == &bp_type_section)
		return true;
	while (s->type == &bp_type_variant && (child = bp_schema_child(s, child)) != NULL) {
		if (bp_setting_present(child, base))
			return true;
	}
	return false;
}

/* Returns whether the settings below were dumped: the mapping is stored in another form than it is
 * written. */
static bool dump_unfolded(const struct bp_setting *s, const struct bp_config *c, const void *field,
	uint32_t indent, FILE *out)
{
	max_align_t base[BP_UNFOLDED / sizeof(max_align_t)];

	memset(base, 0, sizeof(base));
	if (s->unfold == NULL || !s->unfold(field, base))
		return false;
	fputc('\n', out);
	dump_section(s, c, base, indent + 2, false, out);
	return true;
}

/* In a list item the first setting follows the dash. */
static void dump_section(const struct bp_setting *section, const struct bp_config *c,
	const void *base, uint32_t indent, bool in_item, FILE *out)
{
	const struct bp_setting *s = NULL;

	while ((s = bp_schema_child(section, s)) != NULL) {
		const void *in = section != NULL ? base : bp_setting_base_const(s, c);
		const void *field = bp_setting_field_const(s, in);

		if (!bp_setting_has_value(s, in))
			continue;
		fprintf(out, "%*s%s:", in_item ? 0 : (int)indent, "", bp_setting_key(s));
		in_item = false;
		if (s->list != NULL) {
			dump_list(s, c, in, indent, out);
		} else if (is_nested(s, in)) {
			fputc('\n', out);
			dump_section(s, c, in, indent + 2, false, out);
		} else if (!dump_unfolded(s, c, field, indent, out)) {
			fputc(' ', out);
			s->type->format(s, c, field, out);
			fputc('\n', out);
		}
	}
}

/* The mapping of a setting that may be a word, or its word. */
static void write_value(
	const struct bp_setting *s, const struct bp_config *c, const void *base, FILE *out)
{
	max_align_t unfolded[BP_UNFOLDED / sizeof(max_align_t)] = {0};

	if (is_nested(s, base))
		bp_write_flow(s, c, base, out);
	else if (s->unfold != NULL && s->unfold(bp_setting_field_const(s, base), unfolded))
		bp_write_flow(s, c, unfolded, out);
	else
		s->type->format(s, c, bp_setting_field_const(s, base), out);
}

void bp_write_flow(
	const struct bp_setting *section, const struct bp_config *c, const void *base, FILE *out)
{
	const struct bp_setting *s = NULL;
	const char *before = "{";

	while ((s = bp_schema_child(section, s)) != NULL) {
		if (!bp_setting_has_value(s, base))
			continue;
		fprintf(out, "%s%s: ", before, bp_setting_key(s));
		write_value(s, c, base, out);
		before = ", ";
	}
	fputs(before[0] == '{' ? "{}" : "}", out);
}

char *bp_setting_text(const struct bp_setting *s, const struct bp_config *c, const void *base)
{
	max_align_t unfolded[BP_UNFOLDED / sizeof(max_align_t)] = {0};
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (f == NULL)
		return NULL;
	if (s->unfold != NULL && s->unfold(bp_setting_field_const(s, base), unfolded))
		bp_write_flow(s, c, unfolded, f);
	else
		s->type->format(s, c, bp_setting_field_const(s, base), f);
	return fclose(f) == 0 ? text : NULL;
}

void bp_config_dump(const struct bp_config *c, FILE *out)
{
	dump_section(NULL, c, NULL, 0, false, out);
}

uint64_t bp_config_hash(const struct bp_config *c)
{
	uint64_t hash = 0xcbf29ce484222325ull;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (out == NULL)
		return 0;
	bp_config_dump(c, out);
	if (fclose(out) != 0)
		len = 0;
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3ull;
	free(text);
	return len > 0 ? hash : 0;
}
