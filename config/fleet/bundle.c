/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/fleet/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/schema.h"

/* Settings of one machine, and those that need a restart in any case. */
static const char *const local[] = {
	"name", "runtime", "ports", "bridges", "monitoring", "log", "fleet", NULL};

static const char *text_at(const struct bp_yaml *root, const char *path, const char *preset)
{
	const struct bp_yaml *n = bp_yaml_find(root, path);

	return n == NULL ? preset : n->kind == BP_YAML_SCALAR ? n->text : NULL;
}

static const char *preset_of(const char *path)
{
	const struct bp_setting *s = NULL;

	while ((s = bp_schema_next(s)) != NULL)
		if (strcmp(s->path, path) == 0)
			return s->preset;
	return NULL;
}

static bool make_path(const char *directory, const char *name, char path[PATH_MAX])
{
	/* neither was checked when the tree is searched */
	return directory != NULL && name != NULL && directory[0] == '/' && name[0] != '\0' &&
	       name[0] != '.' && strchr(name, '/') == NULL &&
	       snprintf(path, PATH_MAX, "%s/%s.yaml", directory, name) < PATH_MAX;
}

bool bp_bundle_path(const struct bp_yaml *root, char path[PATH_MAX])
{
	const struct bp_yaml *config = bp_yaml_find(root, "fleet.config");

	return config != NULL && config->kind == BP_YAML_MAP &&
	       make_path(text_at(config, "directory", preset_of("fleet.config.directory")),
		       text_at(root, "name", preset_of("name")), path);
}

bool bp_config_bundle_path(const struct bp_config *c, char path[PATH_MAX])
{
	return c->fleet.config.given && make_path(c->fleet.config.directory, c->name, path);
}

/* Reads a regular file of at most BP_BUNDLE_MAX bytes; NULL with errno. */
static char *read_file(const char *path, size_t *len)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	char *text = NULL;
	ssize_t n = 0;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && (!S_ISREG(st.st_mode) || st.st_size > BP_BUNDLE_MAX))
		errno = S_ISREG(st.st_mode) ? EFBIG : EINVAL;
	else
		text = malloc(BP_BUNDLE_MAX + 1);
	for (*len = 0; text != NULL && *len < BP_BUNDLE_MAX; *len += (size_t)n) {
		n = read(fd, text + *len, BP_BUNDLE_MAX - *len);
		if (n <= 0)
			break;
	}
	if (n < 0) {
		free(text);
		text = NULL;
	}
	close(fd);
	return text;
}

int bp_bundle_read(
	const struct bp_yaml *root, struct bp_bundle_file *f, struct bp_messages *messages)
{
	const struct bp_yaml *at;
	size_t len = 0;

	memset(f, 0, sizeof(*f));
	if (!bp_bundle_path(root, f->path))
		return 0;
	f->text = read_file(f->path, &len);
	if (f->text != NULL) {
		f->bundle = (struct bp_bundle){f->path, f->text, len};
		return 1;
	}
	if (errno == ENOENT)
		return 0;
	at = bp_yaml_find(root, "fleet.config");
	bp_error(messages, at->line, at->column,
		"fleet.config: the stored bundle %s cannot be read: %s; expected a file of at most "
		"%u KiB that every process of biplane can read",
		f->path, strerror(errno), BP_BUNDLE_MAX >> 10);
	return -1;
}

void bp_bundle_file_free(struct bp_bundle_file *f)
{
	free(f->text);
	f->text = NULL;
}

/* The keys are nodes, too, and not among the items. */
static void move_lines(struct bp_yaml *n, uint32_t lines)
{
	n->line += lines;
	for (struct bp_yaml *e = n->first; e != NULL; e = e->next) {
		if (e->key != NULL)
			((struct bp_yaml *)e->key)->line += lines;
		move_lines(e, lines);
	}
}

static struct bp_yaml *find_pair(struct bp_yaml *map, const char *key)
{
	for (struct bp_yaml *n = map->first; n != NULL; n = n->next)
		if (strcmp(n->key->text, key) == 0)
			return n;
	return NULL;
}

static bool is_local(const char *key)
{
	for (unsigned i = 0; local[i] != NULL; i++)
		if (strcmp(local[i], key) == 0)
			return true;
	return false;
}

static bool check_pairs(const struct bp_yaml *map, bool top, struct bp_messages *m)
{
	const uint32_t before = m->errors;

	if (map->n > BP_CHILDREN_MAX) {
		bp_error(m, map->line, map->column,
			"%u settings in one section; expected at most %u", map->n, BP_CHILDREN_MAX);
		return false;
	}
	for (const struct bp_yaml *n = map->first; n != NULL; n = n->next) {
		if (top && is_local(n->key->text))
			bp_error(m, n->key->line, n->key->column,
				"'%s' belongs to one gateway; expected a bundle without it, and "
				"the setting in the file of the gateway",
				n->key->text);
		for (const struct bp_yaml *o = map->first; o != n; o = o->next)
			if (strcmp(o->key->text, n->key->text) == 0)
				bp_error(m, n->key->line, n->key->column,
					"'%s' is given twice; expected it once", n->key->text);
	}
	return m->errors == before;
}

/* Moves the pairs of `from` into `to`. */
static bool merge(struct bp_yaml *to, struct bp_yaml *from, bool top, struct bp_messages *m)
{
	struct bp_yaml *n, *next, *old;
	bool ok = check_pairs(from, top, m);

	for (n = from->first; ok && n != NULL; n = next) {
		next = n->next;
		old = find_pair(to, n->key->text);
		if (old != NULL && old->kind == BP_YAML_MAP && n->kind == BP_YAML_MAP) {
			ok = merge(old, n, false, m);
		} else if (old != NULL) {
			struct bp_yaml *after = old->next;

			*old = *n;
			old->next = after;
		} else {
			n->next = NULL;
			if (to->last != NULL)
				to->last->next = n;
			else
				to->first = n;
			to->last = n;
			to->n++;
		}
	}
	return ok;
}

bool bp_bundle_merge(struct bp_yaml *root, uint32_t lines, const struct bp_bundle *bundle,
	struct bp_yaml_tree *t, struct bp_messages *m)
{
	const uint32_t before = m->errors;
	bool ok = false;

	m->second = bundle->name;
	m->first_lines = lines;
	m->base = lines;
	if (bp_yaml_parse(t, bundle->text, bundle->len, m) == 0 && m->errors == before) {
		if (t->root == NULL || bp_yaml_is_null(t->root))
			ok = true;
		else if (t->root->kind != BP_YAML_MAP)
			bp_error(m, t->root->line, t->root->column,
				"the bundle is not a mapping; expected settings, such as mqtt:");
		else
			ok = true;
	}
	m->base = 0;
	if (!ok || t->root == NULL || t->root->kind != BP_YAML_MAP)
		return ok;
	move_lines(t->root, lines);
	return merge(root, t->root, true, m);
}
