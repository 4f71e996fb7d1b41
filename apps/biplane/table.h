/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_TABLE_H
#define BP_APPS_BIPLANE_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * `biplane show` always collects JSON; for people the same objects are printed as a table, so that
 * the two forms cannot differ.
 */
struct bp_column {
	const char *key; /* of the row's object; NULL ends the columns */
	const char *heading;
	int right; /* numbers: aligned to the right */
};

/*
 * One row per object of the array `rows`. Missing and null are "-", booleans yes and no; control
 * characters are escaped, since topics and client identifiers come from the network and the output
 * may be a terminal. Prints `empty` and a newline without rows.
 */
void bp_table_print(
	FILE *out, const struct bp_column *columns, const json_t *rows, const char *empty);

/*
 * The same row by row, for more rows than can be held: the first `look` of them are held to
 * determine the column widths; the following ones are printed immediately, and a cell that is wider
 * than its column shifts the following cells. NULL without memory.
 */
struct bp_table;
struct bp_table *bp_table_begin(FILE *out, const struct bp_column *columns, size_t look);
/* Takes the reference. False without memory: then rows are missing, as a line in the output
 * states. */
bool bp_table_row(struct bp_table *t, json_t *row);
/* Prints the held rows, or `empty`, and ends the table. False: rows are missing. */
bool bp_table_end(struct bp_table *t, const char *empty);

#endif
