/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/plane_dirs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether the directory exists, and its owner. */
static bool there_is(const char *top, const char *sub, char *dir, size_t size, struct stat *st)
{
	const int n = snprintf(dir, size, "%s/%s", top, sub);

	return n > 0 && (size_t)n < size && stat(dir, st) == 0 && S_ISDIR(st->st_mode);
}

static bool choose(const char *runtime_dir, const char *sub, char *dir, size_t size)
{
	struct stat st;
	int n;

	if (there_is(runtime_dir, sub, dir, size, &st))
		return true;
	n = snprintf(dir, size, "%s", runtime_dir);
	return n >= 0 && (size_t)n < size;
}

bool bp_data_dir(const char *runtime_dir, char *dir, size_t size)
{
	return choose(runtime_dir, BP_DATA_SUBDIR, dir, size);
}

bool bp_control_dir(const char *runtime_dir, char *dir, size_t size)
{
	return choose(runtime_dir, BP_CONTROL_SUBDIR, dir, size);
}

bool bp_huge_dir(const char *mount, const char *runtime_dir, char *dir, size_t size)
{
	struct stat st;
	int n;

	if (there_is(runtime_dir, BP_DATA_SUBDIR, dir, size, &st) &&
		there_is(mount, BP_HUGE_SUBDIR, dir, size, &st))
		return true;
	n = snprintf(dir, size, "%s", mount);
	return n >= 0 && (size_t)n < size;
}

/* The runtime directory, when `path` is in its `data`; else NULL. Changes the text. */
static const char *runtime_of(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash == NULL)
		return NULL;
	*slash = '\0';
	slash = strrchr(path, '/');
	if (slash == NULL || strcmp(slash + 1, BP_DATA_SUBDIR) != 0)
		return NULL;
	*slash = '\0';
	return path;
}

int bp_control_share(int fd, const char *path, mode_t mode)
{
	char copy[PATH_MAX], dir[PATH_MAX];
	struct stat file, control;
	const char *top;

	if (snprintf(copy, sizeof(copy), "%s", path) >= (int)sizeof(copy))
		return ENAMETOOLONG;
	top = runtime_of(copy);
	if (top == NULL || !there_is(top, BP_CONTROL_SUBDIR, dir, sizeof(dir), &control))
		return 0;
	if (fstat(fd, &file) != 0)
		return errno;
	if (file.st_uid != geteuid())
		return 0;
	if (file.st_gid != control.st_gid && fchown(fd, (uid_t)-1, control.st_gid) != 0)
		return errno;
	return (file.st_mode & 07777) == mode || fchmod(fd, mode) == 0 ? 0 : errno;
}
