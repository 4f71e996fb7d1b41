/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/doctor/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apps/biplane/doctor/step.h"
#include "apps/biplane/doctor/tree.h"

#define BYTES_MAX ((off_t)1 << 20)

static int fail(const struct bp_journal *j, const char *what, char *err, size_t err_size)
{
	snprintf(err, err_size, "%s: %s: %s", j->path, what, strerror(errno));
	return -1;
}

/* Only root may write to the journal: any other writer could gain root privileges. */
static int check_owner(const struct bp_journal *j, char *err, size_t err_size)
{
	struct stat s;

	if (fstat(j->fd, &s) != 0)
		return fail(j, "fstat", err, err_size);
	if (S_ISREG(s.st_mode) && s.st_uid == geteuid() && !(s.st_mode & 022) &&
		s.st_size <= BYTES_MAX)
		return 0;
	snprintf(err, err_size,
		"%s is not a journal of 'biplane doctor' (another user can write to it); "
		"check it, and remove it",
		j->path);
	return -1;
}

/*
 * Opens and locks; again when another undo has removed the file meanwhile. Not O_CLOEXEC: a
 * modprobe that outlives a fix that was killed still changes the machine, and holds the lock until
 * it ends.
 */
static int open_locked(struct bp_journal *j, bool make, char *err, size_t err_size)
{
	for (;;) {
		struct stat s;

		j->fd = open(j->path, O_RDWR | O_APPEND | O_NOFOLLOW | (make ? O_CREAT : 0), 0600);
		if (j->fd < 0 && errno == ENOENT && !make)
			return 1;
		if (j->fd < 0)
			return fail(j, "open", err, err_size);
		if (flock(j->fd, LOCK_EX | LOCK_NB) != 0) {
			snprintf(err, err_size,
				"another 'biplane doctor --fix' or '--undo' is "
				"running; wait until it ends");
			return -1;
		}
		if (fstat(j->fd, &s) == 0 && s.st_nlink > 0)
			return 0;
		close(j->fd);
	}
}

static void boot_id(const char *root, char out[64])
{
	bp_tree_text(root, out, 64, "/proc/sys/kernel/random/boot_id");
}

static char *read_all(const struct bp_journal *j)
{
	char *text = calloc(1, BYTES_MAX + 1);
	size_t n = 0;

	while (text && n < (size_t)BYTES_MAX) {
		const ssize_t got = pread(j->fd, text + n, BYTES_MAX - n, (off_t)n);

		if (got <= 0)
			break;
		n += (size_t)got;
	}
	return text;
}

static int write_line(const struct bp_journal *j, int fd, const json_t *o, char *err, size_t size)
{
	char *text = json_dumps(o, JSON_COMPACT | JSON_PRESERVE_ORDER);
	const size_t len = text ? strlen(text) : 0;
	ssize_t n = -1;

	errno = ENOMEM;
	if (text) {
		text[len] = '\n'; /* in place of the NUL: one write, one line */
		n = write(fd, text, len + 1);
	}
	free(text);
	if (n < 0 || (size_t)n != len + 1 || fsync(fd) != 0)
		return fail(j, "cannot be written", err, size);
	return 0;
}

static int empty(struct bp_journal *j, const char *boot, char *err, size_t err_size)
{
	json_t *head = json_pack("{ss}", "boot", boot);
	int result;

	if (ftruncate(j->fd, 0) != 0)
		result = fail(j, "ftruncate", err, err_size);
	else
		result = write_line(j, j->fd, head, err, err_size);
	json_decref(head);
	return result;
}

/* The first line says of which start of the machine it is. A last line that was cut by a crash
 * goes, so that none is appended to it. */
static int begin_file(struct bp_journal *j, const char *root, char *err, size_t err_size)
{
	char now[64], *text = read_all(j), *last = text ? strrchr(text, '\n') : NULL;
	json_t *head = last ? json_loads(text, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
	const char *then = json_string_value(json_object_get(head, "boot"));
	int result = 0;

	boot_id(root, now);
	if (!then || strcmp(then, now) != 0)
		result = empty(j, now, err, err_size);
	else if (ftruncate(j->fd, last + 1 - text) != 0)
		result = fail(j, "ftruncate", err, err_size);
	json_decref(head);
	free(text);
	return result;
}

int bp_journal_open(struct bp_journal *j, const char *root, bool make, char *err, size_t err_size)
{
	int result;

	*j = (struct bp_journal){.fd = -1};
	snprintf(j->path, sizeof(j->path), "%s%s", root, BP_JOURNAL_PATH);
	result = open_locked(j, make, err, err_size);
	if (result == 0)
		result = check_owner(j, err, err_size);
	if (result == 0)
		result = begin_file(j, root, err, err_size);
	if (result != 0)
		bp_journal_close(j);
	return result;
}

void bp_journal_close(struct bp_journal *j)
{
	if (j->fd >= 0)
		close(j->fd);
	j->fd = -1;
}

int bp_journal_add(struct bp_journal *j, const json_t *step, char *err, size_t err_size)
{
	return write_line(j, j->fd, step, err, err_size);
}

json_t *bp_journal_steps(struct bp_journal *j, char *err, size_t err_size)
{
	char *text = read_all(j), *rest = text, *end;
	json_t *steps = json_array();
	bool head = true, good = text && steps;

	snprintf(err, err_size, "not enough memory for %s", j->path);
	for (; good && (end = strchr(rest, '\n')) != NULL; rest = end + 1) {
		json_t *o = json_loadb(rest, (size_t)(end - rest), 0, NULL);
		struct bp_step s;

		if (!head && !bp_step_read(o, &s)) {
			snprintf(err, err_size,
				"%s: '%.*s' is not a step of 'biplane doctor --fix'; revert its "
				"changes manually",
				j->path, (int)(end - rest > 200 ? 200 : end - rest), rest);
			good = false;
		} else if (!head) {
			json_array_append(steps, o);
		}
		head = false;
		json_decref(o);
	}
	free(text);
	if (good)
		return steps;
	json_decref(steps);
	return NULL;
}

int bp_journal_keep(struct bp_journal *j, const json_t *steps, char *err, size_t err_size)
{
	char next[sizeof(j->path) + 8], *text;
	json_t *head, *step;
	size_t i;
	int fd, result;

	if (json_array_size(steps) == 0)
		return unlink(j->path) == 0 ? 0 : fail(j, "cannot be removed", err, err_size);
	snprintf(next, sizeof(next), "%s.next", j->path);
	unlink(next); /* from an interrupted call */
	fd = open(next, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fail(j, "the next version cannot be created", err, err_size);
	text = read_all(j);
	head = text ? json_loads(text, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
	result = write_line(j, fd, head, err, err_size);
	json_array_foreach(steps, i, step) if (result == 0) result =
		write_line(j, fd, step, err, err_size);
	json_decref(head);
	free(text);
	if (result == 0 && (flock(fd, LOCK_EX | LOCK_NB) != 0 || rename(next, j->path) != 0))
		result = fail(j, "the next version cannot replace it", err, err_size);
	if (result != 0) {
		close(fd);
		return result;
	}
	close(j->fd);
	j->fd = fd;
	return 0;
}
