/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_SHOW_SHOW_ROWS_H
#define BP_APPS_BIPLANE_SHOW_SHOW_ROWS_H

#include "apps/biplane/show/show.h"
#include "apps/biplane/table.h"

/*
 * Rows of a view that may have more of them than are to be held: each is written as it is read, to
 * a table or to an array of a JSON object, and those beyond the limit are only counted.
 */
struct bp_show_rows {
	const char *name; /* what they are, and the array's name; a plural without escapes */
	/* Goes through all there are: bp_show_rows_next() for each that is asked for, and, where
	 * that is true, bp_show_rows_add(). False: no memory. */
	bool (*all)(struct bp_show_rows *w, const struct bp_show_source *s);
	FILE *out;
	bool compact;
	/* zeros at first */
	struct bp_table *table;
	uint64_t shown, total; /* total: that were asked for */
};

/* Counts one. True: it is to be shown. */
bool bp_show_rows_next(struct bp_show_rows *w, const struct bp_show_source *s);
/* Takes the reference, NULL is allowed. False: no memory. */
bool bp_show_rows_add(struct bp_show_rows *w, json_t *row);

/* The array and `total`, the last members of an object that was begun, and its end. False: no
 * memory. */
bool bp_show_rows_json(struct bp_show_rows *w, const struct bp_show_source *s);
/* The table, or `empty`, and how many were left out. False: no memory. */
bool bp_show_rows_text(struct bp_show_rows *w, const struct bp_show_source *s,
	const struct bp_column *columns, const char *empty);

/* A view of a few entries, and of rows behind them, which may be many. */
struct bp_show_rows_behind {
	const char *name; /* as in bp_show_rows */
	bool (*all)(struct bp_show_rows *w, const struct bp_show_source *s);
	/* The entries, as a JSON object's members; NULL: no memory. */
	json_t *(*entries)(const struct bp_shm *m);
	/* Both, for people. False: no memory. */
	bool (*text)(struct bp_show_rows *w, const struct bp_show_source *s, const json_t *entries);
};
/* What such a view's `write` does (struct bp_show_view). */
int bp_show_rows_behind(const struct bp_show_rows_behind *v, const struct bp_show_source *s,
	bool json, bool compact, FILE *out, char *err, size_t err_size);

#endif
