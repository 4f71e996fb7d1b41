/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/payload/value.h"

#define COLUMNS_MAX 24
#define GAP 2

/* Width of the text on a terminal: one column per character, which is sufficient for this
 * output. */
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
	int fill = width > text_width(text) ? width - text_width(text) : 0;

	if (right)
		fprintf(out, "%*s%s", fill, "", text);
	else if (last)
		fputs(text, out); /* no blanks at the line's end */
	else
		fprintf(out, "%s%*s", text, fill, "");
	if (!last)
		fprintf(out, "%*s", GAP, "");
}

struct bp_table {
	FILE *out;
	const struct bp_column *columns;
	int n, width[COLUMNS_MAX];
	size_t look;
	json_t *held_rows; /* rows; NULL: they are printed, and the headings above them */
	bool whole;
};

static void print_headings(const struct bp_table *t)
{
	for (int c = 0; c < t->n; c++)
		print_cell(t->out, t->columns[c].heading, t->width[c], t->columns[c].right,
			c == t->n - 1);
	fputc('\n', t->out);
}

/* Calls for each cell of a row, with its text; false without memory, before anything is done. */
static bool each_cell(struct bp_table *t, const json_t *row,
	void (*call)(struct bp_table *t, int column, const char *text))
{
	char *text[COLUMNS_MAX];
	int n = 0;

	for (; n < t->n; n++) {
		text[n] = cell_text(json_object_get(row, t->columns[n].key));
		if (!text[n])
			break;
	}
	for (int c = 0; c < n; c++) {
		if (n == t->n)
			call(t, c, text[c]);
		free(text[c]);
	}
	return n == t->n;
}

static void widen(struct bp_table *t, int column, const char *text)
{
	const int width = text_width(text);

	if (width > t->width[column])
		t->width[column] = width;
}

static void print_text(struct bp_table *t, int column, const char *text)
{
	print_cell(t->out, text, t->width[column], t->columns[column].right, column == t->n - 1);
}

static void print_row(struct bp_table *t, const json_t *row)
{
	if (each_cell(t, row, print_text))
		fputc('\n', t->out);
	else
		t->whole = false;
}

/* Prints the held rows; later rows are printed immediately. */
static void print_held_rows(struct bp_table *t)
{
	const size_t n = json_array_size(t->held_rows);

	print_headings(t);
	for (size_t r = 0; r < n; r++)
		print_row(t, json_array_get(t->held_rows, r));
	json_decref(t->held_rows);
	t->held_rows = NULL;
}

struct bp_table *bp_table_begin(FILE *out, const struct bp_column *columns, size_t look)
{
	struct bp_table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	*t = (struct bp_table){.out = out,
		.columns = columns,
		.look = look,
		.held_rows = json_array(),
		.whole = true};
	for (; t->n < COLUMNS_MAX && columns[t->n].key; t->n++)
		t->width[t->n] = text_width(columns[t->n].heading);
	if (t->held_rows)
		return t;
	free(t);
	return NULL;
}

bool bp_table_row(struct bp_table *t, json_t *row)
{
	if (t->held_rows && json_array_size(t->held_rows) == t->look)
		print_held_rows(t);
	if (!t->held_rows)
		print_row(t, row);
	else if (!each_cell(t, row, widen) || json_array_append(t->held_rows, row) != 0)
		t->whole = false;
	json_decref(row);
	return t->whole;
}

bool bp_table_end(struct bp_table *t, const char *empty)
{
	bool whole;

	if (t->held_rows && json_array_size(t->held_rows) == 0 && t->whole)
		fprintf(t->out, "%s\n", empty);
	else if (t->held_rows)
		print_held_rows(t);
	if (!t->whole)
		fprintf(t->out, "(not enough memory for the table)\n");
	whole = t->whole;
	json_decref(t->held_rows);
	free(t);
	return whole;
}

void bp_table_print(
	FILE *out, const struct bp_column *columns, const json_t *rows, const char *empty)
{
	const size_t n = json_array_size(rows);
	struct bp_table *t = bp_table_begin(out, columns, n);
	bool whole = t != NULL;

	if (!t) {
		fprintf(out, "(not enough memory for the table)\n");
		return;
	}
	for (size_t r = 0; r < n && whole; r++)
		whole = bp_table_row(t, json_incref(json_array_get(rows, r)));
	bp_table_end(t, empty);
}
