/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/print_json.h"
#include "apps/biplane/config/changes.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/table.h"
#include "config/diff.h"

struct changes {
	json_t *rows;
	unsigned restart;
};

static const char *kind_of(const struct bp_config_change *c)
{
	return c->from == NULL ? "added" : c->to == NULL ? "removed" : "changed";
}

static json_t *value_or_null(const char *text)
{
	return text != NULL && text[0] != '\0' ? json_string(text) : json_null();
}

static void add(const struct bp_config_change *c, void *arg)
{
	struct changes *all = arg;

	json_array_append_new(
		all->rows, json_pack("{ss ss so so ss}", "setting", c->path, "change", kind_of(c),
				   "from", value_or_null(c->from), "to", value_or_null(c->to),
				   "applies", c->reload ? "reload" : "restart"));
	all->restart += !c->reload;
}

/* Reasons for a restart other than single settings, such as the first entry of a service. */
static void add_reasons(
	const struct bp_config *from, const struct bp_config *to, struct changes *all)
{
	char *text = NULL, *line, *rest;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (f == NULL)
		return;
	bp_config_restart_needed(from, to, f);
	fclose(f);
	rest = text;
	while ((line = strsep(&rest, "\n")) != NULL && line[0] != '\0') {
		char *colon = strstr(line, ": ");

		/* the others are settings, which are in the list */
		if (colon == NULL || strncmp(colon, ": changing", 10) == 0)
			continue;
		*colon = '\0';
		json_array_append_new(all->rows,
			json_pack("{ss ss sn ss ss}", "setting", line, "change", "changed", "from",
				"to", colon + 2, "applies", "restart"));
		all->restart++;
	}
	free(text);
}

unsigned bp_config_print_changes(
	const struct bp_config *from, const struct bp_config *to, bool json, unsigned *restart)
{
	static const struct bp_column columns[] = {{"setting", "SETTING", 0},
		{"change", "CHANGE", 0}, {"from", "FROM", 0}, {"to", "TO", 0},
		{"applies", "APPLIES", 0}, {NULL, NULL, 0}};
	struct changes all = {.rows = json_array()};
	unsigned n;

	bp_config_diff(from, to, add, &all);
	add_reasons(from, to, &all);
	n = (unsigned)json_array_size(all.rows);
	if (json) {
		bp_print_json_new(
			json_pack("{sO sb}", "changes", all.rows, "restart", all.restart != 0),
			false, stdout);
	} else {
		bp_table_print(stdout, columns, all.rows, "no difference");
	}
	json_decref(all.rows);
	*restart = all.restart;
	return n;
}
