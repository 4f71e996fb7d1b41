/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/value.h"

#define COLUMNS_MAX 24
#define GAP 2

/* Columns that a terminal gives the text: one a character, near enough for what is shown here. */
static int text_width(const char *text)
{
	int width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

/* Escapes C0, DEL and C1 (U+0080..U+009F, in UTF-8 c2 80..9f). Ownership to the caller. */
static char *safe_text(const char *text)
{
	char *out = malloc(4 * strlen(text) + 1);
	size_t n = 0;

	for (const unsigned char *p = (const unsigned char *)text; out && *p; p++) {
		if (*p < 0x20 || *p == 0x7f) {
			n += (size_t)sprintf(out + n, "\\x%02x", *p);
		} else if (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0) {
			n += (size_t)sprintf(out + n, "\\x%02x", *++p);
		} else {
			out[n++] = (char)*p;
		}
	}
	if (out)
		out[n] = 0;
	return out;
}

/* A cell's text; ownership to the caller, NULL without memory. */
static char *cell_text(const json_t *v)
{
	char number[64];

	switch (v ? json_typeof(v) : JSON_NULL) {
	case JSON_STRING:
		return json_string_length(v) ? safe_text(json_string_value(v)) : strdup("-");
	case JSON_INTEGER:
		snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(v));
		return strdup(number);
	case JSON_REAL:
		bp_number_format(json_real_value(v), number);
		return strdup(number);
	case JSON_TRUE:
		return strdup("yes");
	case JSON_FALSE:
		return strdup("no");
	default:
		return strdup("-");
	}
}

static void print_cell(FILE *out, const char *text, int width, int right, int last)
{
	int fill = width - text_width(text);

	if (right)
		fprintf(out, "%*s%s", fill, "", text);
	else if (last)
		fputs(text, out); /* no blanks at the line's end */
	else
		fprintf(out, "%s%*s", text, fill, "");
	if (!last)
		fprintf(out, "%*s", GAP, "");
}

static void print_row(
	FILE *out, const struct bp_column *columns, int n, const int *width, char *const *cells)
{
	for (int c = 0; c < n; c++)
		print_cell(out, cells && cells[c] ? cells[c] : columns[c].heading, width[c],
			columns[c].right, c == n - 1);
	fputc('\n', out);
}

static int fill_cells(
	const struct bp_column *columns, int n, const json_t *rows, char **cells, int *width)
{
	size_t n_rows = json_array_size(rows);

	/* every cell has a text from here on, or the table is not printed */
	for (size_t r = 0; r < n_rows; r++) {
		const json_t *row = json_array_get(rows, r);

		for (int c = 0; c < n; c++) {
			char *text = cell_text(json_object_get(row, columns[c].key));

			if (!text)
				return -1;
			cells[r * (size_t)n + (size_t)c] = text;
			if (text_width(text) > width[c])
				width[c] = text_width(text);
		}
	}
	return 0;
}

void bp_table_print(
	FILE *out, const struct bp_column *columns, const json_t *rows, const char *empty)
{
	size_t n_rows = json_array_size(rows);
	int width[COLUMNS_MAX], n = 0;

	for (; n < COLUMNS_MAX && columns[n].key; n++)
		width[n] = text_width(columns[n].heading);
	if (n_rows == 0 || n == 0) {
		fprintf(out, "%s\n", empty);
		return;
	}

	char **cells = calloc(n_rows * (size_t)n, sizeof(*cells));

	if (!cells || fill_cells(columns, n, rows, cells, width)) {
		fprintf(out, "(not enough memory for the table)\n");
	} else {
		print_row(out, columns, n, width, NULL);
		for (size_t r = 0; r < n_rows; r++)
			print_row(out, columns, n, width, cells + r * (size_t)n);
	}
	for (size_t i = 0; cells && i < n_rows * (size_t)n; i++)
		free(cells[i]);
	free(cells);
}
