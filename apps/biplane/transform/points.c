/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/transform/points.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "apps/biplane/exit_status.h"
#include "config/messages.h"
#include "proto/payload/value.h"

#define EXPECTED                                                                                   \
	"expected a first row that names the columns: r, phi and theta, or from_x, from_y and "    \
	"from_z, or x, y and z, with commas between them"

static const char *const spherical[3] = {"r", "phi", "theta"};
static const char *const from[3] = {"from_x", "from_y", "from_z"};
static const char *const axis_names[3] = {"x", "y", "z"};

/* One column of a row. */
struct cell {
	const char *begin, *end; /* as it is written, quotes included */
};

void bp_points_error(const struct bp_points *p, uint64_t line, const char *format, ...)
{
	va_list ap;

	fprintf(stderr, "%s:%llu: ", p->name, (unsigned long long)line);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
}

/* Takes the next cell; *at becomes the text after it, or NULL after the last. False: its quotes do
 * not close, or are followed by text. */
static bool next_cell(const char **at, struct cell *c)
{
	const char *p = *at;

	c->begin = p;
	if (*p == '"') {
		for (p++; *p != '\0'; p++) {
			if (*p != '"')
				continue;
			if (p[1] != '"')
				break;
			p++;
		}
		if (*p == '\0' || (p[1] != ',' && p[1] != '\0'))
			return false;
		p++;
	} else {
		p = strchrnul(p, ',');
	}
	c->end = p;
	*at = *p == ',' ? p + 1 : NULL;
	return true;
}

/* Without blanks and quotes around it. */
static struct cell bare(struct cell c)
{
	if (c.end - c.begin >= 2 && *c.begin == '"') {
		c.begin++;
		c.end--;
	}
	while (c.begin < c.end && (*c.begin == ' ' || *c.begin == '\t'))
		c.begin++;
	while (c.begin < c.end && (c.end[-1] == ' ' || c.end[-1] == '\t'))
		c.end--;
	return c;
}

/* 1: p->row is the next row; 0: end of file; -1: read error. */
static int next_row(struct bp_points *p)
{
	ssize_t len;

	do {
		errno = 0;
		len = getline(&p->row, &p->capacity, p->file);
		if (len < 0 && errno == 0 && !ferror(p->file))
			return 0;
		p->line++;
		if (len < 0) {
			bp_points_error(p, p->line, "cannot be read: %s", strerror(errno));
			return -1;
		}
		if (len > 0 && p->row[len - 1] == '\n')
			len--;
		if (len > 0 && p->row[len - 1] == '\r')
			len--;
		p->row[len] = '\0';
		if (strlen(p->row) != (size_t)len) {
			bp_points_error(p, p->line, "a byte of 0; expected text");
			return -1;
		}
	} while (len == 0);
	return 1;
}

static bool is_named(struct cell c, const char *name)
{
	const size_t n = strlen(name);

	c = bare(c);
	return (size_t)(c.end - c.begin) == n && strncasecmp(c.begin, name, n) == 0;
}

/* The column of each name; false: one is missing, or duplicate, which is then in *twice. */
static bool find_three(
	struct bp_points *p, const struct cell *cell, const char *const name[3], const char **twice)
{
	bool all = true;

	for (unsigned i = 0; i < 3; i++) {
		unsigned found = 0;

		for (unsigned k = 0; k < p->columns; k++) {
			if (!is_named(cell[k], name[i]) &&
				!(name == spherical && i == 0 && is_named(cell[k], "radius")))
				continue;
			p->column[i] = k;
			if (found++ != 0)
				*twice = name[i];
		}
		all &= found == 1;
		p->in[i] = name[i];
	}
	return all;
}

static bool read_header(struct bp_points *p, struct cell *cell)
{
	const char *at = p->row, *twice = NULL;

	while (at != NULL) {
		if (p->columns == BP_POINTS_COLUMNS_MAX) {
			bp_points_error(p, p->line, "too many columns; expected at most %u",
				BP_POINTS_COLUMNS_MAX);
			return false;
		}
		if (!next_cell(&at, &cell[p->columns++])) {
			bp_points_error(p, p->line, "quotes that do not close; " EXPECTED);
			return false;
		}
	}
	p->cartesian = false;
	if (!find_three(p, cell, spherical, &twice)) {
		p->cartesian = true;
		if (twice == NULL && !find_three(p, cell, from, &twice) && twice == NULL)
			p->renamed = find_three(p, cell, axis_names, &twice);
		if (twice == NULL && !p->renamed && p->in[0] == axis_names[0]) {
			bp_points_error(
				p, p->line, "the columns of a point are missing; " EXPECTED);
			return false;
		}
	}
	if (twice != NULL) {
		bp_points_error(p, p->line, "two columns %s; expected one", twice);
		return false;
	}
	for (unsigned k = 0; k < p->columns; k++)
		if (is_named(cell[k], "x") || is_named(cell[k], "y") || is_named(cell[k], "z") ||
			is_named(cell[k], "saturated"))
			p->role[k] = BP_POINTS_REPLACED;
	for (unsigned i = 0; i < 3; i++)
		p->role[p->column[i]] = BP_POINTS_INPUT;
	return true;
}

int bp_points_open(struct bp_points *p, const char *path)
{
	struct cell *cell;
	bool good;
	int row;

	memset(p, 0, sizeof(*p));
	p->name = strcmp(path, "-") != 0 ? path : "standard input";
	p->file = strcmp(path, "-") != 0 ? fopen(path, "re") : stdin;
	if (p->file == NULL) {
		fprintf(stderr, "%s: cannot be opened: %s\n", path, strerror(errno));
		return BP_EX_NOINPUT;
	}
	row = next_row(p);
	if (row == 0)
		bp_points_error(p, 1, "empty file; " EXPECTED);
	if (row != 1)
		return BP_EX_DATAERR;
	if (strncmp(p->row, "\xef\xbb\xbf", 3) == 0) /* the mark that some programs put first */
		memmove(p->row, p->row + 3, strlen(p->row + 3) + 1);
	cell = calloc(BP_POINTS_COLUMNS_MAX, sizeof(*cell));
	good = cell != NULL && read_header(p, cell);
	free(cell);
	return good ? 0 : BP_EX_DATAERR;
}

void bp_points_close(struct bp_points *p)
{
	if (p->file != NULL && p->file != stdin)
		fclose(p->file);
	free(p->row);
}

static bool read_number(const struct bp_points *p, unsigned i, struct cell c, double *v)
{
	const struct cell number = bare(c);
	char shown[BP_SHOWN];
	const uint8_t *end;

	*v = HUGE_VAL;
	end = bp_number_parse((const uint8_t *)number.begin, (const uint8_t *)number.end, true, v);
	if (end == (const uint8_t *)number.end && *v != HUGE_VAL)
		return true;
	bp_points_error(p, p->line, "%s is '%s'; expected a number%s", p->in[i],
		bp_shown(number.begin, (size_t)(number.end - number.begin), shown),
		end == (const uint8_t *)number.end ? " that a double can hold" : "");
	return false;
}

int bp_points_next(struct bp_points *p, double v[3])
{
	const int row = next_row(p);
	unsigned k = 0, good = 0;
	const char *at = p->row;
	struct cell c;

	if (row != 1)
		return row;
	for (; at != NULL; k++) {
		if (!next_cell(&at, &c)) {
			bp_points_error(p, p->line,
				"quotes that do not close; expected them around a whole column, on "
				"one line");
			return -1;
		}
		for (unsigned i = 0; i < 3; i++)
			good += k == p->column[i] && read_number(p, i, c, &v[i]);
	}
	if (k != p->columns) {
		bp_points_error(p, p->line, "%u column%s; expected %u as in the first row", k,
			k == 1 ? "" : "s", p->columns);
		return -1;
	}
	return good == 3 ? 1 : -1;
}

/* The cells that are kept, a comma behind each. */
static void write_kept(const struct bp_points *p, const char *row, bool header, FILE *out)
{
	const char *at = row;
	struct cell c;

	for (unsigned k = 0; at != NULL && next_cell(&at, &c); k++) {
		if (p->role[k] == BP_POINTS_REPLACED)
			continue;
		if (header && p->renamed && p->role[k] == BP_POINTS_INPUT)
			fputs(from[k == p->column[0] ? 0 : k == p->column[1] ? 1 : 2], out);
		else
			fwrite(c.begin, 1, (size_t)(c.end - c.begin), out);
		fputc(',', out);
	}
}

void bp_points_write_header(const struct bp_points *p, FILE *out)
{
	write_kept(p, p->row, true, out);
	fputs("x,y,z,saturated\n", out);
}

void bp_points_write(const struct bp_points *p, const char *row, const double result[3],
	unsigned saturated, FILE *out)
{
	char text[32];

	write_kept(p, row, false, out);
	for (unsigned i = 0; i < 3; i++) {
		fwrite(text, 1, (size_t)bp_number_format(result[i], text), out);
		fputc(',', out);
	}
	for (unsigned i = 0; i < 3; i++)
		if (saturated & 1u << i)
			fputs(axis_names[i], out);
	fputc('\n', out);
}
