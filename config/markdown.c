/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/schema.h"

/* In a table cell, | separates cells, and < begins an HTML tag. */
static void write_cell(const char *text, FILE *out)
{
	for (; *text != '\0'; text++) {
		if (strchr("|<*_", *text) != NULL)
			fputc('\\', out);
		fputc(*text, out);
	}
}

/* Returns the part of the path that the heading above does not contain. */
static const char *name_below(const struct bp_setting *s, const struct bp_setting *heading)
{
	const size_t n = heading != NULL ? strlen(heading->path) : 0;

	if (n == 0 || strncmp(s->path, heading->path, n) != 0)
		return s->path;
	return s->path + n + strspn(s->path + n, "[].");
}

static void write_row(const struct bp_setting *s, const struct bp_setting *heading, FILE *out)
{
	const bool is_section = s->type == &bp_type_section;
	char expected[BP_EXPECTED_TEXT];

	fprintf(out, "| `%s` | ", name_below(s, heading));
	write_cell(s->help, out);
	fputs(" | ", out);
	if (!is_section)
		write_cell(bp_setting_expected(s, expected), out);
	fputs(" | ", out);
	if ((s->flags & BP_REQUIRED) != 0)
		fputs("**required**", out);
	else if (!is_section)
		write_cell(s->preset_text != NULL ? s->preset_text : s->preset, out);
	fprintf(out, " | %s |\n",
		is_section                    ? ""
		: (s->flags & BP_RELOAD) != 0 ? "reload"
					      : "restart");
}

static void write_table_head(FILE *out)
{
	fputs("| Setting | Description | Value | Default | Change |\n"
	      "| --- | --- | --- | --- | --- |\n",
		out);
}

static void write_heading(const struct bp_setting *s, FILE *out)
{
	char expected[BP_EXPECTED_TEXT];

	fprintf(out, "\n## %s\n\n", s->path);
	write_cell(s->help, out);
	fputs("\n", out);
	if (s->type == &bp_type_section)
		return;
	fputs("\nValue: ", out);
	write_cell(bp_setting_expected(s, expected), out);
	fprintf(out, ". A change needs a %s.\n",
		(s->flags & BP_RELOAD) != 0 ? "reload" : "restart");
}

void bp_config_markdown(FILE *out)
{
	const struct bp_setting *s = NULL, *heading = NULL;
	bool in_table = false;

	fputs("\n## General\n", out);
	while ((s = bp_schema_next(s)) != NULL) {
		if (bp_setting_has_heading(s, heading != NULL)) {
			write_heading(s, out);
			heading = s;
			in_table = false;
			continue;
		}
		if (!in_table) {
			fputc('\n', out);
			write_table_head(out);
		}
		in_table = true;
		write_row(s, heading, out);
	}
	fputc('\n', out);
}
