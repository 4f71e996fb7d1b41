/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "config/schema.h"

static const struct bp_setting *row(const char *path)
{
	const struct bp_setting *s = bp_schema_next(NULL);

	while (strcmp(s->path, path) != 0)
		s = bp_schema_next(s);
	return s;
}

/* Returns whether an unknown name in `map` is probably a misspelling of `key`. */
static bool misspelt(const struct bp_yaml *map, const struct bp_setting *section, const char *key)
{
	for (const struct bp_yaml *v = map->first; v != NULL; v = v->next) {
		const char *meant = bp_suggest(section, v->key->text);

		if (meant != NULL && strcmp(meant, key) == 0)
			return true;
	}
	return false;
}

/* Reads one setting of `map` (NULL: not in the file) into `c`; false when the value is
 * ambiguous. */
static bool take(const struct bp_yaml *map, const struct bp_setting *section,
	const struct bp_setting *s, struct bp_config *c)
{
	const char *key = bp_setting_key(s);
	const struct bp_yaml *n = bp_yaml_find(map, key);
	const char *text = s->preset;
	struct bp_fault ignored;

	if (n == NULL && map != NULL && misspelt(map, section, key))
		return false;
	if (n != NULL) {
		if (n->bad || n->kind != BP_YAML_SCALAR || bp_yaml_is_null(n))
			return false;
		text = n->text;
	}
	return s->type->parse(s, c, text, bp_setting_field(s, c), &ignored);
}

/* Finds the mapping `runtime`: NULL in *map when the file has none. False when it is unknown. */
static bool find_runtime(const struct bp_yaml *root, const struct bp_yaml **map)
{
	const struct bp_yaml *n = bp_yaml_find(root, "runtime");

	*map = NULL;
	if (n == NULL)
		return !misspelt(root, NULL, "runtime");
	if (n->kind == BP_YAML_MAP)
		*map = n;
	return !n->bad && (*map != NULL || bp_yaml_is_null(n));
}

/*
 * The text after a YAML syntax error is unknown (`cut`). The name must then precede the error: its
 * default could be another instance. The directory may be the default, because a segment in
 * hugepages is found by its name alone.
 */
static bool has_instance(const struct bp_yaml *root, bool cut, struct bp_config *c)
{
	const struct bp_setting *runtime = row("runtime");
	const struct bp_yaml *map;

	if (root == NULL || root->bad || root->kind != BP_YAML_MAP)
		return false;
	if (cut && bp_yaml_find(root, "name") == NULL)
		return false;
	if (!take(root, NULL, row("name"), c) || !find_runtime(root, &map) ||
		!take(map, runtime, row("runtime.directory"), c))
		return false;
	if (!take(map, runtime, row("runtime.hugepages"), c))
		c->hugepages = BP_HUGEPAGES_AUTO; /* both locations are searched */
	return true;
}

static void keep(struct bp_config_instance *i, const struct bp_config *c)
{
	memcpy(i->name, c->name, sizeof(i->name));
	memcpy(i->runtime_dir, c->runtime_dir, sizeof(i->runtime_dir));
	i->no_hugepages = c->hugepages == BP_HUGEPAGES_NEVER;
}

/* Finds the instance of a text with errors. */
static bool find(const char *text, size_t len, struct bp_config_instance *i)
{
	struct bp_messages ignored = {0};
	struct bp_config *c = calloc(1, sizeof(*c));
	struct bp_yaml_tree tree;
	bool cut, found;

	if (c == NULL)
		return false;
	cut = bp_yaml_parse(&tree, text, len, &ignored) != 0;
	found = has_instance(tree.root, cut, c);
	if (found)
		keep(i, c);
	bp_yaml_free(&tree);
	bp_messages_free(&ignored);
	free(c);
	return found;
}

int bp_config_parse_instance(
	const char *name, const char *text, size_t len, struct bp_config_instance *i, FILE *errors)
{
	char *said = NULL;
	size_t n = 0;
	FILE *kept = open_memstream(&said, &n);
	struct bp_config *c = bp_config_parse(name, text, len, kept != NULL ? kept : errors);
	int ret = 0;

	if (kept != NULL)
		fclose(kept);
	if (c != NULL)
		keep(i, c);
	else
		ret = find(text, len, i) ? 1 : -1;
	if (ret < 0 && said != NULL)
		fwrite(said, 1, n, errors);
	bp_config_free(c);
	free(said);
	return ret;
}

int bp_config_load_instance(const char *path, struct bp_config_instance *i, FILE *errors)
{
	size_t len;
	char *text = bp_config_read_file(path, &len, errors);
	int ret = text != NULL ? bp_config_parse_instance(path, text, len, i, errors) : -1;

	free(text);
	return ret;
}
