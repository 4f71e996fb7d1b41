/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/show_rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/print_json.h"

#define LOOK_ROWS 1000u /* by which the columns are made as wide as they need to be */

bool bp_show_rows_next(struct bp_show_rows *w, const struct bp_show_source *s)
{
	w->total++;
	if (s->limit && w->total > s->limit)
		return false;
	w->shown++;
	return true;
}

bool bp_show_rows_add(struct bp_show_rows *w, json_t *row)
{
	bool written;

	if (!row)
		return false;
	if (w->table)
		return bp_table_row(w->table, row);
	fprintf(w->out, "%s%s", w->shown > 1 ? "," : "", w->compact ? "" : "\n    ");
	written = json_dumpf(row, w->out, w->compact ? JSON_COMPACT : 0) == 0 || ferror(w->out);
	json_decref(row);
	return written;
}

bool bp_show_rows_json(struct bp_show_rows *w, const struct bp_show_source *s)
{
	bool whole;

	fprintf(w->out, w->compact ? "\"%s\":[" : "\n  \"%s\": [", w->name);
	whole = w->all(w, s);
	fprintf(w->out,
		w->compact ? "%s],\"total\":%" PRIu64 "}\n" : "%s],\n  \"total\": %" PRIu64 "\n}\n",
		w->shown && !w->compact ? "\n  " : "", w->total);
	return whole;
}

/* A whole object: the members of `head` first, then the rows. */
static bool write_json(struct bp_show_rows *w, const struct bp_show_source *s, const json_t *head)
{
	const size_t flags = JSON_PRESERVE_ORDER | (w->compact ? JSON_COMPACT : JSON_INDENT(2));
	char *text = json_dumps(head, flags);
	size_t len;

	if (!text)
		return false;
	bp_print_json_begin(w->compact, w->out);
	/* without its braces, and the line break before the last one */
	len = strlen(text) - (w->compact ? 2 : 3);
	fprintf(w->out, "%.*s,", (int)len, text + 1);
	free(text);
	return bp_show_rows_json(w, s);
}

bool bp_show_rows_text(struct bp_show_rows *w, const struct bp_show_source *s,
	const struct bp_column *columns, const char *empty)
{
	bool whole;

	w->table = bp_table_begin(w->out, columns, LOOK_ROWS);
	if (!w->table)
		return false;
	whole = w->all(w, s);
	if (!bp_table_end(w->table, empty))
		return false;
	if (whole && w->shown < w->total)
		fprintf(w->out, "\n%" PRIu64 " of %" PRIu64 " %s; -n 0 shows all\n", w->shown,
			w->total, w->name);
	return whole;
}

int bp_show_rows_behind(const struct bp_show_rows_behind *v, const struct bp_show_source *s,
	bool json, bool compact, FILE *out, char *err, size_t err_size)
{
	struct bp_show_rows w = {.name = v->name, .all = v->all, .out = out, .compact = compact};
	json_t *entries = v->entries(s->shm);
	const bool whole = entries && (json ? write_json(&w, s, entries) : v->text(&w, s, entries));

	json_decref(entries);
	if (whole)
		return 0;
	snprintf(err, err_size, "not enough memory");
	return -1;
}
