/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_TOP_TABLE_H
#define BP_APPS_BIPLANE_TOP_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "apps/biplane/show/instance_view.h"
#include "apps/biplane/top/connections.h"
#include "apps/biplane/top/sample.h"

/* The tables of `biplane top`: rows with texts and numbers, sorted by a column. */

enum {
	BP_TOP_PORTS,
	BP_TOP_WORKERS,
	BP_TOP_RULES,
	BP_TOP_CONNECTIONS,
	BP_TOP_NODES,
	BP_TOP_SECTIONS
};

#define BP_TOP_TEXTS 3u
#define BP_TOP_TEXT 96u
#define BP_TOP_NUMBERS 8u
#define BP_TOP_COLUMNS 10u    /* at most */
#define BP_TOP_ROWS_MAX 1000u /* of connections */

enum bp_top_format {
	BP_TOP_AS_TEXT,
	BP_TOP_AS_SCALED,  /* "1.2M" */
	BP_TOP_AS_INTEGER, /* in full */
	BP_TOP_AS_PERCENT, /* one decimal */
};

struct bp_top_column {
	const char *heading; /* NULL ends the columns */
	enum bp_top_format format;
	unsigned at; /* of the row's texts or numbers */
};

struct bp_top_row {
	char text[BP_TOP_TEXTS][BP_TOP_TEXT]; /* UTF-8 without control characters */
	double number[BP_TOP_NUMBERS];        /* NAN: unknown */
};

struct bp_top_table {
	struct bp_top_row *row;
	uint32_t n, size;
	uint64_t total; /* rows that there are */
	char note[128]; /* a line for the user, or "" */
};

/* How a section is sorted: the user's choice. */
struct bp_top_order {
	unsigned column;
	bool reverse; /* numbers ascending, texts descending */
};

struct bp_top_section {
	const char *name;
	const struct bp_top_column *columns;
	unsigned column; /* sorted by this one at first */
};
extern const struct bp_top_section bp_top_section[BP_TOP_SECTIONS];

/* All of one `biplane top`. */
struct bp_top {
	const struct bp_config_instance *id;
	struct bp_instance_view
		view;             /* of the last refresh; segment NULL: the instance is not there */
	struct bp_ruleset *rules; /* a copy; NULL: none */
	uint64_t rules_active;
	struct bp_top_sample sample[2];
	unsigned now;     /* index of the newer sample */
	unsigned samples; /* that were read since the instance was found: 2 are needed for rates */
	struct bp_top_connections connections;
	char err[512]; /* why the last refresh failed, or "" */
};

/* Reads the instance again. A failure is in `err`, and is no reason to end: the next refresh may
 * succeed. */
void bp_top_refresh(struct bp_top *t);
void bp_top_free(struct bp_top *t);

/* Fills and sorts the table of a section, with at most `rows` connections. */
void bp_top_table_fill(const struct bp_top *t, unsigned section, const struct bp_top_order *order,
	unsigned rows, struct bp_top_table *out);
void bp_top_table_free(struct bp_top_table *table);

/* Columns of a section. */
unsigned bp_top_columns(unsigned section);

/* The lines above the tables, the most important first. Returns their number. */
#define BP_TOP_LINE 512u /* bytes, with the NUL */
#define BP_TOP_HEADER 4u
unsigned bp_top_header(const struct bp_top *t, char line[BP_TOP_HEADER][BP_TOP_LINE]);

/* The heading of the table (row NULL), or a row, as a line; `width`: of the columns, from
 * bp_top_widths(). marked: the column with a mark at its heading. */
void bp_top_widths(unsigned section, const struct bp_top_table *table, uint32_t first,
	uint32_t rows, unsigned width[BP_TOP_COLUMNS]);
void bp_top_line(unsigned section, const struct bp_top_row *row,
	const unsigned width[BP_TOP_COLUMNS], const struct bp_top_order *marked,
	char out[BP_TOP_LINE]);

/* Columns of a terminal that a text takes; the length of its longest beginning, bytes, that takes
 * at most `columns`. */
unsigned bp_top_text_width(const char *text);
size_t bp_top_text_cut(const char *text, unsigned columns);

#endif
