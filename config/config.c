/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/fleet/bundle.h"
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

/* What a text is: a part of a file, or a file, which may have a stored bundle. */
enum origin { TEXT, FILE_WITH_STORED_BUNDLE, FILE_WITH_BUNDLE };

static uint32_t count_lines(const char *text, size_t len)
{
	uint32_t n = 1;

	for (const char *p = text; (p = memchr(p, '\n', (size_t)(text + len - p))) != NULL; p++)
		n++;
	return n;
}

/* The trees and the texts of a configuration. */
struct sources {
	const char *text;
	size_t len;
	struct bp_yaml_tree tree, bundle_tree;
	struct bp_bundle_file stored;
};

/* Merges the bundle over the tree; false: the bundle has errors. */
static bool merge_bundle(struct sources *s, enum origin origin, const struct bp_bundle *bundle,
	struct bp_messages *messages)
{
	if (origin == FILE_WITH_STORED_BUNDLE) {
		const int found = bp_bundle_read(s->tree.root, &s->stored, messages);

		if (found <= 0)
			return found == 0;
		bundle = &s->stored.bundle;
	}
	return bundle == NULL || bp_bundle_merge(s->tree.root, count_lines(s->text, s->len), bundle,
					 &s->bundle_tree, messages);
}

static void read_tree(
	struct bp_reader *r, struct sources *s, enum origin origin, const struct bp_bundle *bundle)
{
	struct bp_yaml *root = s->tree.root;

	r->root = root;
	if (root == NULL || (!root->bad && bp_yaml_is_null(root))) {
		bp_error(r->messages, 1, 1,
			"the file is empty; expected a mapping of settings with at least "
			"'ports'");
	} else if (!root->bad) {
		if (root->kind == BP_YAML_MAP && !merge_bundle(s, origin, bundle, r->messages))
			return;
		bp_read_section(r, NULL, root, NULL);
		if (origin != TEXT)
			check_version(r, root);
	}
}

static struct bp_config *parse(const char *name, const char *text, size_t len, enum origin origin,
	const struct bp_bundle *bundle, FILE *errors)
{
	struct sources s = {.text = text, .len = len};
	struct bp_messages messages = {0};
	struct bp_reader reader = {.config = alloc_config(), .messages = &messages};
	struct bp_config *c = reader.config;

	if (c == NULL) {
		fprintf(errors, "%s:1:1: out of memory; expected more free memory\n", name);
		return NULL;
	}
	if (bp_yaml_parse(&s.tree, text, len, &messages) == 0)
		read_tree(&reader, &s, origin, bundle);
	bp_yaml_free(&s.tree);
	bp_yaml_free(&s.bundle_tree);
	if (messages.errors > 0) {
		bp_config_free(c);
		c = NULL;
	}
	bp_messages_flush(&messages, name, errors);
	bp_bundle_file_free(&s.stored);
	return c;
}

struct bp_config *bp_config_parse(const char *name, const char *text, size_t len, FILE *errors)
{
	return parse(name, text, len, TEXT, NULL, errors);
}

struct bp_config *bp_config_parse_file(const char *name, const char *text, size_t len, FILE *errors)
{
	return parse(name, text, len, FILE_WITH_STORED_BUNDLE, NULL, errors);
}

struct bp_config *bp_config_parse_with(const char *name, const char *text, size_t len,
	const struct bp_bundle *bundle, FILE *errors)
{
	return parse(name, text, len, FILE_WITH_BUNDLE, bundle, errors);
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
