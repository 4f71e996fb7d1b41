/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/service.h"

/* Returns a zeroed configuration; NULL when there is no memory. */
static struct bp_config *alloc_config(void)
{
	struct bp_config *c = calloc(1, sizeof(*c));

	for (unsigned i = 0; c != NULL && i < BP_SERVICE_COUNT; i++) {
		const size_t size = bp_config_services[i]->size;

		if (size == 0)
			continue;
		c->service[i] = calloc(1, size);
		if (c->service[i] == NULL) {
			bp_config_free(c);
			return NULL;
		}
	}
	return c;
}

/* A configuration file states its format version; a text that biplane generates has the current
 * version. */
static void check_version(struct bp_reader *r, const struct bp_yaml *root)
{
	if (root->kind == BP_YAML_MAP && bp_yaml_find(root, "version") == NULL)
		bp_error(r->messages, root->line, root->column,
			"the file has no 'version'; expected version: 1, the version of this "
			"file's format");
}

static struct bp_config *parse(
	const char *name, const char *text, size_t len, bool is_file, FILE *errors)
{
	struct bp_messages messages = {0};
	struct bp_yaml_tree tree;
	struct bp_reader reader = {.config = alloc_config(), .messages = &messages};
	struct bp_config *c = reader.config;

	if (c == NULL) {
		fprintf(errors, "%s:1:1: out of memory; expected more free memory\n", name);
		return NULL;
	}
	if (bp_yaml_parse(&tree, text, len, &messages) == 0) {
		reader.root = tree.root;
		if (tree.root == NULL || (!tree.root->bad && bp_yaml_is_null(tree.root)))
			bp_error(&messages, 1, 1,
				"the file is empty; expected a mapping of settings with at least "
				"'ports'");
		else if (!tree.root->bad)
			bp_read_section(&reader, NULL, tree.root, NULL);
		if (is_file && tree.root != NULL && !tree.root->bad)
			check_version(&reader, tree.root);
	}
	bp_yaml_free(&tree);
	if (messages.errors > 0) {
		bp_config_free(c);
		c = NULL;
	}
	bp_messages_flush(&messages, name, errors);
	return c;
}

struct bp_config *bp_config_parse(const char *name, const char *text, size_t len, FILE *errors)
{
	return parse(name, text, len, false, errors);
}

struct bp_config *bp_config_parse_file(const char *name, const char *text, size_t len, FILE *errors)
{
	return parse(name, text, len, true, errors);
}

void bp_config_free(struct bp_config *c)
{
	if (c == NULL)
		return;
	for (unsigned i = 0; i < BP_SERVICE_COUNT; i++) {
		if (c->service[i] != NULL && bp_config_services[i]->release != NULL)
			bp_config_services[i]->release(c->service[i]);
		free(c->service[i]);
	}
	free(c->fixed.route);
	free(c->fixed.neighbor);
	free(c);
}

/* Reads to the end, or to one byte beyond the maximum size of a configuration. */
static char *read_all(FILE *f, size_t *len)
{
	size_t room = 64 << 10, n = 0, got;
	char *text = malloc(room);

	while (text != NULL && (got = fread(text + n, 1, room - n, f)) > 0) {
		char *more;

		n += got;
		if (n < room || n > BP_YAML_BYTES_MAX)
			continue;
		room *= 2;
		more = realloc(text, room);
		if (more == NULL) {
			free(text);
			errno = ENOMEM;
			return NULL;
		}
		text = more;
	}
	*len = n;
	return text;
}

char *bp_config_read_file(const char *path, size_t *len, FILE *errors)
{
	FILE *f = fopen(path, "re");
	char *text;

	*len = 0;
	if (f == NULL) {
		fprintf(errors,
			"%s:1:1: cannot be opened: %s; expected a readable configuration file\n",
			path, strerror(errno));
		return NULL;
	}
	errno = 0;
	text = read_all(f, len);
	if (text == NULL || ferror(f)) {
		fprintf(errors,
			"%s:1:1: cannot be read: %s; expected a readable configuration file\n",
			path, strerror(errno));
		free(text);
		text = NULL;
	}
	fclose(f);
	return text;
}

struct bp_config *bp_config_load(const char *path, FILE *errors)
{
	size_t len;
	char *text = bp_config_read_file(path, &len, errors);
	struct bp_config *c = text != NULL ? bp_config_parse_file(path, text, len, errors) : NULL;

	free(text);
	return c;
}
