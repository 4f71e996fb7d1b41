/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/doctor/tree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX ((size_t)16 << 20)

/* False: it is longer than a path may be. */
static bool make_path(char out[BP_TREE_PATH], const char *root, const char *format, va_list args)
{
	const int n = snprintf(out, BP_TREE_PATH, "%s", root);
	int more = -1;

	if (n >= 0 && n < BP_TREE_PATH)
		more = vsnprintf(out + n, BP_TREE_PATH - (size_t)n, format, args);
	return more >= 0 && n + more < BP_TREE_PATH;
}

/* Files of procfs and sysfs have no size: what there is is what read() gives. */
static char *read_all(const char *path, size_t most, size_t *len)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	size_t room = 4096, n = 0;
	char *text = fd < 0 ? NULL : malloc(room + 1);

	while (text) {
		const ssize_t got = read(fd, text + n, room - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			free(text);
			text = NULL;
			break;
		}
		n += (size_t)got;
		if (got == 0 || n >= most)
			break;
		if (n == room) {
			char *more = realloc(text, 2 * room + 1);

			if (!more)
				free(text);
			text = more;
			room *= 2;
		}
	}
	if (fd >= 0)
		close(fd);
	if (text)
		text[n] = 0;
	*len = text ? n : 0;
	return text;
}

char *bp_tree_read_all(const char *root, size_t *len, const char *format, ...)
{
	char path[BP_TREE_PATH];
	va_list args;
	bool fits;

	va_start(args, format);
	fits = make_path(path, root, format, args);
	va_end(args);
	*len = 0;
	return fits ? read_all(path, FILE_MAX, len) : NULL;
}

static bool read_text(const char *path, char *out, size_t size)
{
	size_t len;
	char *text = read_all(path, size, &len);

	out[0] = 0;
	if (!text)
		return false;
	snprintf(out, size, "%s", text);
	free(text);
	len = strlen(out);
	while (len > 0 && isspace((unsigned char)out[len - 1]))
		out[--len] = 0;
	return true;
}

bool bp_tree_text(const char *root, char *out, size_t size, const char *format, ...)
{
	char path[BP_TREE_PATH];
	va_list args;
	bool fits;

	va_start(args, format);
	fits = make_path(path, root, format, args);
	va_end(args);
	out[0] = 0;
	return fits && read_text(path, out, size);
}

bool bp_tree_number(const char *root, int64_t *out, const char *format, ...)
{
	char path[BP_TREE_PATH], text[64], *end;
	va_list args;
	bool fits;

	va_start(args, format);
	fits = make_path(path, root, format, args);
	va_end(args);
	if (!fits || !read_text(path, text, sizeof(text)))
		return false;
	errno = 0;
	const long long v = strtoll(text, &end, 10);

	if (errno || end == text || *end)
		return false;
	*out = v;
	return true;
}

static bool read_target(char out[BP_TREE_PATH], const char *root, const char *format, va_list args)
{
	char path[BP_TREE_PATH];
	ssize_t n = -1;

	if (make_path(path, root, format, args))
		n = readlink(path, out, BP_TREE_PATH - 1);
	out[n < 0 ? 0 : n] = 0;
	return n >= 0;
}

bool bp_tree_link(const char *root, char *out, size_t size, const char *format, ...)
{
	char target[BP_TREE_PATH];
	const char *slash;
	va_list args;
	bool found;

	va_start(args, format);
	found = read_target(target, root, format, args);
	va_end(args);
	slash = strrchr(target, '/');
	snprintf(out, size, "%s", slash ? slash + 1 : target);
	return found;
}

bool bp_tree_target(const char *root, char *out, size_t size, const char *format, ...)
{
	char target[BP_TREE_PATH];
	va_list args;
	bool found;

	va_start(args, format);
	found = read_target(target, root, format, args);
	va_end(args);
	snprintf(out, size, "%s", target);
	return found;
}

bool bp_tree_exists(const char *root, const char *format, ...)
{
	char path[BP_TREE_PATH];
	va_list args;
	bool fits;

	va_start(args, format);
	fits = make_path(path, root, format, args);
	va_end(args);
	return fits && access(path, F_OK) == 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool add_name(struct bp_tree_names *names, const char *name)
{
	char **more = realloc(names->name, (names->n + 1) * sizeof(*more));

	if (!more)
		return false;
	names->name = more;
	more[names->n] = strdup(name);
	names->n += more[names->n] != NULL;
	return true;
}

struct bp_tree_names bp_tree_list(const char *root, const char *format, ...)
{
	struct bp_tree_names names = {0};
	const struct dirent *e;
	char path[BP_TREE_PATH];
	va_list args;
	DIR *d = NULL;

	va_start(args, format);
	if (make_path(path, root, format, args))
		d = opendir(path);
	va_end(args);
	while (d && (e = readdir(d)) != NULL)
		if (e->d_name[0] != '.' && !add_name(&names, e->d_name))
			break;
	if (d)
		closedir(d);
	if (names.n)
		qsort(names.name, names.n, sizeof(*names.name), by_name);
	return names;
}

void bp_tree_names_free(struct bp_tree_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->name[i]);
	free(names->name);
	*names = (struct bp_tree_names){0};
}
