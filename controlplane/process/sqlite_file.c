/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/process/sqlite_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "controlplane/process/clock.h"
#include "daemon/log.h"

#define BP_SQLITE_MODE 0640

bool bp_sqlite_damaged(int rc)
{
	return (rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB;
}

int bp_sqlite_scalar(sqlite3 *db, const char *text, int64_t *value)
{
	sqlite3_stmt *st;
	int rc = sqlite3_prepare_v2(db, text, -1, &st, NULL);

	if (rc != SQLITE_OK)
		return rc;
	rc = sqlite3_step(st);
	*value = rc == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
	sqlite3_finalize(st);
	return rc == SQLITE_ROW ? SQLITE_OK : rc == SQLITE_DONE ? SQLITE_NOTADB : rc;
}

int bp_sqlite_quick_check(sqlite3 *db)
{
	sqlite3_stmt *st;
	int rc = sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &st, NULL);

	if (rc != SQLITE_OK)
		return rc;
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW) {
		const char *said = (const char *)sqlite3_column_text(st, 0);

		rc = said != NULL && strcmp(said, "ok") == 0 ? SQLITE_OK : SQLITE_CORRUPT;
	}
	sqlite3_finalize(st);
	return rc;
}

void bp_sqlite_make_parents(const char *path)
{
	char dir[PATH_MAX];

	if ((size_t)snprintf(dir, sizeof(dir), "%s", path) >= sizeof(dir))
		return;
	for (char *p = dir + 1; *p != '\0'; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		mkdir(dir, 0750);
		*p = '/';
	}
}

void bp_sqlite_make_private(const char *path)
{
	static const char *const suffix[] = {"", "-wal", "-shm"};
	char file[PATH_MAX];
	struct stat st;
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, BP_SQLITE_MODE);

	if (fd >= 0)
		close(fd);
	for (unsigned i = 0; i < sizeof(suffix) / sizeof(suffix[0]); i++) {
		snprintf(file, sizeof(file), "%s%s", path, suffix[i]);
		if (stat(file, &st) == 0 && S_ISREG(st.st_mode) &&
			(st.st_mode & 0777) != BP_SQLITE_MODE && chmod(file, BP_SQLITE_MODE) != 0)
			bp_log_event(BP_LOG_WARNING, BP_LOG_FIELDS(BP_LOG_STR("file", file)),
				"mode 0640 cannot be set: %s", strerror(errno));
	}
}

/* The lock owner has written its process id into the file. */
static void lock_owner(int fd, char *owner, size_t size)
{
	char text[32] = "";

	snprintf(owner, size, "another process");
	if (pread(fd, text, sizeof(text) - 1, 0) > 0 && atoi(text) > 0)
		snprintf(owner, size, "process %d", atoi(text));
}

static void describe_lock(const char *path, const char *file, int fd, char *err, size_t err_size)
{
	char owner[48];

	lock_owner(fd, owner, sizeof(owner));
	snprintf(err, err_size,
		"%s is in use by %s, which holds %s: each instance needs a file of its own", path,
		owner, file);
}

bool bp_sqlite_locked(const char *path, char *err, size_t err_size)
{
	char file[PATH_MAX];
	bool locked;
	int fd;

	snprintf(file, sizeof(file), "%s.lock", path);
	fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return false;
	locked = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
	if (locked)
		describe_lock(path, file, fd, err, err_size);
	close(fd);
	return locked;
}

int bp_sqlite_lock(const char *path, bool *in_use, char *err, size_t err_size)
{
	char file[PATH_MAX];
	int fd;

	*in_use = false;
	snprintf(file, sizeof(file), "%s.lock", path);
	fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, BP_SQLITE_MODE);
	if (fd < 0) {
		snprintf(err, err_size, "%s cannot be opened: %s", file, strerror(errno));
		return -1;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		*in_use = errno == EWOULDBLOCK;
		describe_lock(path, file, fd, err, err_size);
		close(fd);
		return -1;
	}
	if (fchmod(fd, BP_SQLITE_MODE) != 0 || ftruncate(fd, 0) != 0 ||
		dprintf(fd, "%d\n", (int)getpid()) < 0)
		bp_log_event(BP_LOG_WARNING, BP_LOG_FIELDS(BP_LOG_STR("file", file)), "%s",
			strerror(errno));
	return fd;
}

void bp_sqlite_remove(const char *path)
{
	/* The write-ahead log first: without the database file it would be orphaned. */
	static const char *const suffix[] = {"-wal", "-shm", ""};
	char file[PATH_MAX];

	for (unsigned i = 0; i < sizeof(suffix) / sizeof(suffix[0]); i++) {
		snprintf(file, sizeof(file), "%s%s", path, suffix[i]);
		if (unlink(file) != 0 && errno != ENOENT)
			bp_log_event(BP_LOG_WARNING, BP_LOG_FIELDS(BP_LOG_STR("file", file)),
				"cannot be removed: %s", strerror(errno));
	}
}

void bp_sqlite_move_aside(const char *path, int rc, const char *what, const char *lost)
{
	static const char *const suffix[] = {"", "-wal", "-shm"};
	const uint64_t now = bp_unix_ns();
	char from[PATH_MAX], to[PATH_MAX];

	for (unsigned i = 0; i < sizeof(suffix) / sizeof(suffix[0]); i++) {
		snprintf(from, sizeof(from), "%s%s", path, suffix[i]);
		snprintf(to, sizeof(to), "%s.damaged-%" PRIu64 "%s", path, now, suffix[i]);
		if (rename(from, to) != 0 && errno != ENOENT)
			bp_log_event(BP_LOG_WARNING, BP_LOG_FIELDS(BP_LOG_STR("file", from)),
				"cannot be renamed: %s", strerror(errno));
	}
	bp_log(BP_LOG_WARNING,
		"%s is not a valid %s of this version (%s): it was moved to %s.damaged-%" PRIu64
		" and a fresh one is made; %s",
		path, what, sqlite3_errstr(rc), path, now, lost);
}
