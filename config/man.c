/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/schema.h"

/* roff interprets a backslash, and a period or an apostrophe at the start of a line; it prints a
 * plain hyphen as a typographic one. */
static void write_roff(const char *text, FILE *out)
{
	if (*text == '.' || *text == '\'')
		fputs("\\&", out);
	for (; *text != '\0'; text++) {
		if (*text == '\\')
			fputs("\\e", out);
		else if (*text == '-')
			fputs("\\-", out);
		else if (*text == '\'')
			fputs("\\(aq", out);
		else
			fputc(*text, out);
	}
}

/* Writes the value range, the default, and whether a reload applies the setting. */
static void write_facts(const struct bp_setting *s, FILE *out)
{
	char expected[BP_EXPECTED_TEXT];

	fputs("Takes ", out);
	write_roff(bp_setting_expected(s, expected), out);
	fputs(".\n", out);
	if ((s->flags & BP_REQUIRED) != 0) {
		fputs("Must be given.\n", out);
	} else {
		fputs("Default: ", out);
		write_roff(s->preset_text != NULL ? s->preset_text : s->preset, out);
		fputs(".\n", out);
	}
	fputs((s->flags & BP_RELOAD) != 0 ? "A reload applies it.\n"
					  : "Changing it needs a restart.\n",
		out);
}

static void write_setting(const struct bp_setting *s, FILE *out)
{
	fputs(".TP\n.B ", out);
	write_roff(s->path, out);
	fputs("\n", out);
	write_roff(s->help, out);
	fputs("\n", out);
	if (s->type == &bp_type_section && (s->flags & BP_REQUIRED) == 0)
		return;
	fputs(".br\n", out);
	if (s->type == &bp_type_section)
		fputs("Must be given.\n", out);
	else
		write_facts(s, out);
}

static void write_heading(const struct bp_setting *s, FILE *out)
{
	fputs(".SS ", out);
	write_roff(s->path, out);
	fputs("\n", out);
	write_roff(s->help, out);
	fputs("\n", out);
	if (s->type != &bp_type_section)
		write_facts(s, out);
}

bool bp_setting_has_heading(const struct bp_setting *s, bool after_section)
{
	const char *dot = strchr(s->path, '.');

	return s->list != NULL || (dot == NULL && after_section) ||
	       (s->type == &bp_type_section && strchr(s->path, '[') == NULL &&
		       (dot == NULL || strchr(dot + 1, '.') == NULL));
}

void bp_config_man(FILE *out)
{
	const struct bp_setting *s = NULL;
	bool after_section = false;

	fputs(".SS General\n", out);
	while ((s = bp_schema_next(s)) != NULL) {
		if (bp_setting_has_heading(s, after_section)) {
			write_heading(s, out);
			after_section = true;
		} else {
			write_setting(s, out);
		}
	}
}
