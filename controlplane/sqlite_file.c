/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/sqlite_file.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "controlplane/clock.h"
#include "controlplane/log.h"

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

void bp_sqlite_move_aside(const char *path, int rc, const char *what, const char *lost)
{
	static const char *const suffix[] = {"", "-wal", "-shm"};
	const uint64_t now = bp_unix_ns();
	char from[PATH_MAX], to[PATH_MAX];

	for (unsigned i = 0; i < sizeof(suffix) / sizeof(suffix[0]); i++) {
		snprintf(from, sizeof(from), "%s%s", path, suffix[i]);
		snprintf(to, sizeof(to), "%s.damaged-%" PRIu64 "%s", path, now, suffix[i]);
		if (rename(from, to) != 0 && errno != ENOENT)
			bp_log(BP_LOG_WARNING, "%s: cannot be moved aside: %s", from,
				strerror(errno));
	}
	bp_log(BP_LOG_WARNING,
		"%s is not a sound %s of this version (%s): it was moved to %s.damaged-%" PRIu64
		" and a fresh one is made; %s",
		path, what, sqlite3_errstr(rc), path, now, lost);
}
