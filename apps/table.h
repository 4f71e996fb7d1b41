/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_TABLE_H
#define BP_APPS_TABLE_H

#include <jansson.h>
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

#endif
