/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_TABLE_H
#define BP_APPS_BIPLANE_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * `biplane show` collects JSON in every case; for people the same objects are set as a table, so
 * that the two forms can't disagree.
 */
struct bp_column {
	const char *key; /* of the row's object; NULL ends the columns */
	const char *heading;
	int right; /* numbers: aligned to the right */
};

/*
 * One row per object of the array `rows`. Missing and null are "-", booleans yes and no; control
 * characters are escaped, since topics and client identifiers come from the network and the reader
 * is a terminal. Prints `empty` and a newline when there are no rows.
 */
void bp_table_print(
	FILE *out, const struct bp_column *columns, const json_t *rows, const char *empty);

/*
 * The same row by row, for more rows than are to be held: the first `look` of them are, and make
 * the columns as wide as they need to be; those behind are printed as they come, and a cell that is
 * wider than its column moves what is behind it. NULL without memory.
 */
struct bp_table;
struct bp_table *bp_table_begin(FILE *out, const struct bp_column *columns, size_t look);
/* Takes the reference. False without memory: rows are missing then, as a line in the output says.
 */
bool bp_table_row(struct bp_table *t, json_t *row);
/* Prints what is held, or `empty`, and ends the table. False: rows are missing. */
bool bp_table_end(struct bp_table *t, const char *empty);

#endif
