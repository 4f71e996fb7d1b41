/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/transform/matrix_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/exit_status.h"
#include "config/schema.h"
#include "config/yaml.h"
#include "proto/payload/value.h"
#include "proto/transform/transform_matrix.h"

#define ROWS "three rows of four numbers, as [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]"
#define PARTS "matrix, three rows of three numbers, and translation, three numbers"

static bool read_number(const struct bp_yaml *n, struct bp_messages *messages, double *v)
{
	const uint8_t *text = (const uint8_t *)n->text, *end = text + n->n;
	char shown[BP_SHOWN];

	*v = HUGE_VAL;
	if (n->kind == BP_YAML_SCALAR && !n->quoted && bp_number_parse(text, end, true, v) == end &&
		*v != HUGE_VAL)
		return true;
	if (n->kind == BP_YAML_SCALAR)
		bp_error(messages, n->line, n->column, "'%s'; expected a number",
			bp_shown(n->text, n->n, shown));
	else
		bp_error(messages, n->line, n->column, "a %s; expected a number",
			n->kind == BP_YAML_LIST ? "list" : "mapping");
	return false;
}

static bool read_list(const struct bp_yaml *n, struct bp_messages *messages, double v[])
{
	bool good = true;

	for (const struct bp_yaml *item = n->first; item != NULL; item = item->next)
		good &= read_number(item, messages, v++);
	return good;
}

static bool is_list_of(const struct bp_yaml *n, unsigned count)
{
	return n != NULL && n->kind == BP_YAML_LIST && n->n == count;
}

/* Three rows, each of `columns` numbers. */
static bool read_rows(
	const struct bp_yaml *n, unsigned columns, struct bp_messages *messages, double row[3][4])
{
	unsigned r = 0;
	bool good = true;

	for (const struct bp_yaml *item = n->first; item != NULL; item = item->next, r++) {
		if (is_list_of(item, columns)) {
			good &= read_list(item, messages, row[r]);
			continue;
		}
		bp_error(messages, item->line, item->column,
			"row %u is no list of %u numbers; expected %s", r + 1, columns,
			columns == 4 ? ROWS : PARTS);
		good = false;
	}
	return good;
}

static bool read_map(const struct bp_yaml *map, struct bp_messages *messages, double row[3][4])
{
	const struct bp_yaml *matrix = NULL, *translation = NULL;
	double t[3] = {0};
	bool four;

	for (const struct bp_yaml *n = map->first; n != NULL; n = n->next) {
		if (strcmp(n->key->text, "matrix") == 0 && matrix == NULL)
			matrix = n;
		else if (strcmp(n->key->text, "translation") == 0 && translation == NULL)
			translation = n;
		else {
			char shown[BP_SHOWN];

			bp_error(messages, n->key->line, n->key->column,
				"'%s' is not known here, or is there twice; expected matrix and "
				"translation",
				bp_shown(n->key->text, n->key->n, shown));
			return false;
		}
	}
	if (!is_list_of(matrix, 3)) {
		const struct bp_yaml *at = matrix != NULL ? matrix : map;

		bp_error(messages, at->line, at->column, "no matrix; expected " ROWS ", or " PARTS);
		return false;
	}
	four = is_list_of(matrix->first, 4);
	if (four && translation != NULL) {
		bp_error(messages, translation->line, translation->column,
			"a translation, and a matrix whose rows have theirs; expected one of them");
		return false;
	}
	if (translation != NULL && !is_list_of(translation, 3)) {
		bp_error(messages, translation->line, translation->column,
			"no translation; expected three numbers, as [1.5, 0, 0.25]");
		return false;
	}
	if (!read_rows(matrix, four ? 4 : 3, messages, row) ||
		(translation != NULL && !read_list(translation, messages, t)))
		return false;
	for (unsigned r = 0; !four && r < 3; r++)
		row[r][3] = t[r];
	return true;
}

static bool read_root(const struct bp_yaml *root, struct bp_messages *messages, double row[3][4])
{
	if (root != NULL && root->kind == BP_YAML_MAP)
		return read_map(root, messages, row);
	if (is_list_of(root, 3))
		return read_rows(root, 4, messages, row);
	bp_error(messages, root != NULL ? root->line : 1, root != NULL ? root->column : 1,
		"no matrix; expected " ROWS ", or " PARTS);
	return false;
}

static void check(
	const double m[12], bool flat, const struct bp_yaml *at, struct bp_messages *messages)
{
	switch (bp_transform_matrix_check(m)) {
	case BP_TRANSFORM_MATRIX_OK:
		return;
	case BP_TRANSFORM_MATRIX_SINGULAR:
		if (!flat)
			bp_error(messages, at->line, at->column,
				"the matrix flattens space: its rows are not independent; expected "
				"one that can be inverted, or --singular");
		return;
	case BP_TRANSFORM_MATRIX_LARGE:
		bp_error(messages, at->line, at->column,
			"the matrix has an entry of 2147483648 or more; expected smaller ones");
		return;
	case BP_TRANSFORM_MATRIX_NOT_FINITE:
		bp_error(messages, at->line, at->column,
			"the matrix has an entry that is not finite; expected numbers");
		return;
	}
}

int bp_matrix_file_read(const char *path, bool flat, double m[12])
{
	struct bp_messages messages = {0};
	struct bp_yaml_tree tree = {0};
	double row[3][4] = {{0}};
	uint32_t errors;
	size_t len;
	char *text = bp_config_read_file(path, &len, stderr);

	if (text == NULL)
		return BP_EX_NOINPUT;
	if (bp_yaml_parse(&tree, text, len, &messages) == 0 && messages.errors == 0 &&
		read_root(tree.root, &messages, row)) {
		bp_transform_matrix_from_rows(row, m);
		check(m, flat, tree.root, &messages);
	}
	errors = messages.errors;
	bp_yaml_free(&tree);
	bp_messages_flush(&messages, path, stderr);
	free(text);
	return errors == 0 ? 0 : BP_EX_DATAERR;
}
