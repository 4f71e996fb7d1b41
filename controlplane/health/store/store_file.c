/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/health/store/store_file_internal.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controlplane/process/sqlite_file.h"

#define FORMAT 1     /* of the tables: the version of the oldest program that can use them */
#define BUSY_MS 1000 /* the previous process may be ending */
#define EXPLAIN_MAX 128

static const char *const sql[BP_PHD_STORE_S_COUNT] = {
	[BP_PHD_STORE_S_BEGIN] = "BEGIN IMMEDIATE",
	[BP_PHD_STORE_S_COMMIT] = "COMMIT",
	[BP_PHD_STORE_S_ROLLBACK] = "ROLLBACK",
	[BP_PHD_STORE_S_PUT_CONFIG] =
		"INSERT OR REPLACE INTO configs(content, report) VALUES(?1, ?2)",
	[BP_PHD_STORE_S_DROP_CONFIG] = "DELETE FROM configs WHERE content = ?1",
	/* Deletes the row of a replaced pair; the new row has the highest number. */
	[BP_PHD_STORE_S_PUT_KNOWN] =
		"INSERT OR REPLACE INTO known(system_id, config_id, content, spec, made)"
		" VALUES(?1, ?2, ?3, ?4, ?5)",
	[BP_PHD_STORE_S_DROP_KNOWN] = "DELETE FROM known WHERE system_id = ?1 AND config_id = ?2",
	[BP_PHD_STORE_S_PUT_SESSION] =
		"INSERT OR REPLACE INTO sessions(transport, address, port, own, system_id,"
		" config_id, content, protocol, associated_s, reports, epoch)"
		" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
	[BP_PHD_STORE_S_DROP_SESSION] =
		"DELETE FROM sessions WHERE transport = ?1 AND address = ?2 AND port = ?3",
	[BP_PHD_STORE_S_READ_CONFIGS] = "SELECT content, report FROM configs WHERE content > ?1"
					" ORDER BY content LIMIT ?4",
	[BP_PHD_STORE_S_READ_KNOWN] =
		"SELECT seq, system_id, config_id, content, spec, made FROM known"
		" WHERE seq < ?1 ORDER BY seq DESC LIMIT ?4",
	[BP_PHD_STORE_S_READ_SESSIONS] =
		"SELECT transport, address, port, own, system_id, config_id, content, protocol,"
		" associated_s, reports, epoch FROM sessions"
		" WHERE (transport, address, port) > (?1, ?2, ?3)"
		" ORDER BY transport, address, port LIMIT ?4",
};

static const char tables[] =
	"BEGIN;"
	"CREATE TABLE store(epoch INTEGER NOT NULL); INSERT INTO store VALUES(0);"
	"CREATE TABLE configs(content INTEGER PRIMARY KEY, report BLOB NOT NULL);"
	"CREATE TABLE known(seq INTEGER PRIMARY KEY, system_id BLOB NOT NULL,"
	" config_id INTEGER NOT NULL, content INTEGER NOT NULL, spec INTEGER NOT NULL,"
	" made INTEGER NOT NULL DEFAULT 0, UNIQUE(system_id, config_id));"
	"CREATE TABLE sessions(transport INTEGER NOT NULL, address BLOB NOT NULL,"
	" port INTEGER NOT NULL, own BLOB NOT NULL, system_id BLOB NOT NULL,"
	" config_id INTEGER NOT NULL, content INTEGER NOT NULL, protocol INTEGER NOT NULL,"
	" associated_s INTEGER NOT NULL, reports INTEGER NOT NULL, epoch INTEGER NOT NULL,"
	" PRIMARY KEY(transport, address, port)) WITHOUT ROWID;"
	"PRAGMA user_version = 1; COMMIT";

struct bp_phd_store_file *bp_phd_store_file_new(const char *path)
{
	struct bp_phd_store_file *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return NULL;
	f->path = strdup(path);
	if (f->path == NULL) {
		free(f);
		return NULL;
	}
	return f;
}

static void close_file(struct bp_phd_store_file *f)
{
	for (unsigned i = 0; i < BP_PHD_STORE_S_COUNT; i++) {
		sqlite3_finalize(f->stmt[i]);
		f->stmt[i] = NULL;
	}
	sqlite3_close(f->db);
	f->db = NULL;
	f->logs = false;
}

void bp_phd_store_file_forget_key(struct bp_phd_store_file *f, enum bp_phd_store_table table)
{
	for (unsigned i = 0; i < BP_PHD_STORE_KEY_COLUMNS; i++) {
		sqlite3_value_free(f->key[table][i]);
		f->key[table][i] = NULL;
	}
}

void bp_phd_store_file_free(struct bp_phd_store_file *f)
{
	if (f == NULL)
		return;
	for (unsigned t = 0; t < BP_PHD_STORE_TABLES; t++)
		bp_phd_store_file_forget_key(f, t);
	close_file(f);
	free(f->path);
	free(f);
}

const char *bp_phd_store_file_error(const struct bp_phd_store_file *f)
{
	return f->error;
}

bool bp_phd_store_file_fresh(struct bp_phd_store_file *f)
{
	const bool fresh = f->fresh;

	f->fresh = false;
	return fresh;
}

/* Returns the reason of a failed open: sqlite retries read-only, and reports only that attempt. */
static int open_errno(const char *path)
{
	char dir[PATH_MAX];
	char *end;

	if (access(path, F_OK) == 0)
		return access(path, R_OK | W_OK) == 0 ? 0 : errno;
	snprintf(dir, sizeof(dir), "%s", path);
	end = strrchr(dir, '/');
	if (end != NULL)
		end[end == dir] = '\0';
	return access(end != NULL ? dir : ".", W_OK | X_OK) == 0 ? 0 : errno;
}

/* Adds details for the log that sqlite's message omits. */
static void explain(const struct bp_phd_store_file *f, int rc, char out[EXPLAIN_MAX])
{
	int code = 0;

	out[0] = '\0';
	if ((rc & 0xff) == SQLITE_CANTOPEN)
		code = open_errno(f->path);
	else if ((rc & 0xff) == SQLITE_IOERR)
		code = sqlite3_system_errno(f->db);
	if ((rc & 0xff) == SQLITE_BUSY)
		snprintf(out, EXPLAIN_MAX,
			", by another process; retrying until it releases the file");
	else if (code != 0)
		snprintf(out, EXPLAIN_MAX, ": %s", strerror(code));
}

bool bp_phd_store_file_fail(struct bp_phd_store_file *f, const char *what)
{
	const int rc = f->db == NULL ? SQLITE_CANTOPEN : sqlite3_extended_errcode(f->db);
	char more[EXPLAIN_MAX];

	explain(f, rc, more);
	snprintf(f->error, sizeof(f->error), "store of health devices %s: %s: %s%s", f->path, what,
		f->db == NULL ? "cannot be opened" : sqlite3_errmsg(f->db), more);
	if (f->db != NULL && sqlite3_get_autocommit(f->db) == 0 &&
		f->stmt[BP_PHD_STORE_S_ROLLBACK] != NULL) {
		sqlite3_step(f->stmt[BP_PHD_STORE_S_ROLLBACK]);
		sqlite3_reset(f->stmt[BP_PHD_STORE_S_ROLLBACK]);
	}
	f->suspect = f->suspect || bp_sqlite_damaged(rc);
	if ((rc & 0xff) != SQLITE_FULL && (rc & 0xff) != SQLITE_BUSY)
		close_file(f);
	return false;
}

/* ---- opening ---- */

/*
 * Older files have no column known.made. Rows without a value mean that no containers are known;
 * older programs write such rows, so the format version is unchanged.
 */
static int add_columns(sqlite3 *db)
{
	int64_t n;
	int rc = bp_sqlite_scalar(
		db, "SELECT count(*) FROM pragma_table_info('known') WHERE name = 'made'", &n);

	if (rc == SQLITE_OK && n == 0)
		rc = sqlite3_exec(db,
			"ALTER TABLE known ADD COLUMN made INTEGER NOT NULL DEFAULT 0", NULL, NULL,
			NULL);
	return rc == SQLITE_ERROR ? SQLITE_NOTADB : rc; /* ERROR: the table does not exist */
}

/* A file of another format is as unusable as a damaged one. */
static int check_format(struct bp_phd_store_file *f)
{
	int64_t version, n;
	int rc = bp_sqlite_scalar(f->db, "PRAGMA user_version", &version);

	if (rc == SQLITE_OK)
		rc = bp_sqlite_scalar(f->db, "SELECT count(*) FROM sqlite_master", &n);
	if (rc != SQLITE_OK)
		return rc;
	if (version == 0 && n == 0) { /* a new file */
		rc = sqlite3_exec(f->db, tables, NULL, NULL, NULL);
		f->fresh = f->fresh || rc == SQLITE_OK;
		return rc;
	}
	if (version != FORMAT)
		return SQLITE_NOTADB;
	/* Once: it reads the whole file, and a failed disk is retried each second. */
	rc = f->checked ? SQLITE_OK : bp_sqlite_quick_check(f->db);
	f->checked = f->checked || rc == SQLITE_OK;
	return rc == SQLITE_OK ? add_columns(f->db) : rc;
}

static int prepare(struct bp_phd_store_file *f)
{
	for (unsigned i = 0; i < BP_PHD_STORE_S_COUNT; i++) {
		const int rc = sqlite3_prepare_v3(
			f->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &f->stmt[i], NULL);

		if (rc != SQLITE_OK) /* SQLITE_ERROR: a table or a column does not exist */
			return rc == SQLITE_ERROR ? SQLITE_NOTADB : rc;
	}
	return SQLITE_OK;
}

/* Writes the epoch of this process to the disk before any row of it: a power failure must not lose
 * it, because it identifies the rows of earlier processes. */
static int begin_epoch(struct bp_phd_store_file *f)
{
	int64_t epoch;
	int rc = bp_sqlite_scalar(f->db, "SELECT epoch FROM store", &epoch);

	if (rc == SQLITE_OK && f->epoch != 0 && (uint64_t)epoch == f->epoch)
		return SQLITE_OK; /* the same process opens the file again */
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(f->db, "PRAGMA synchronous = FULL", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(f->db, "UPDATE store SET epoch = epoch + 1", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = bp_sqlite_scalar(f->db, "SELECT epoch FROM store", &epoch);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(f->db, "PRAGMA synchronous = NORMAL", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		f->epoch = (uint64_t)epoch;
	return rc == SQLITE_ERROR ? SQLITE_NOTADB : rc; /* ERROR: a table does not exist */
}

/* The path now has another file than the one that was open: its contents are unknown. */
static int empty_replaced(struct bp_phd_store_file *f)
{
	int rc = SQLITE_OK;

	if (!f->fresh)
		rc = sqlite3_exec(f->db, BP_PHD_STORE_WIPE_SQL, NULL, NULL, NULL);
	f->replaced = rc != SQLITE_OK;
	f->fresh = f->fresh || rc == SQLITE_OK;
	return rc;
}

static int open_file(struct bp_phd_store_file *f)
{
	int rc;

	bp_sqlite_make_private(f->path);
	rc = sqlite3_open_v2(f->path, &f->db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_PRIVATECACHE, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_busy_timeout(f->db, BUSY_MS);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(f->db,
			"PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL;"
			"PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000;"
			"PRAGMA journal_size_limit = 16777216; PRAGMA cache_size = -16384",
			NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = check_format(f);
	if (rc == SQLITE_OK)
		rc = begin_epoch(f);
	if (rc == SQLITE_OK)
		rc = prepare(f);
	if (rc == SQLITE_OK && f->replaced)
		rc = empty_replaced(f);
	return rc;
}

/* The write-ahead log contains the last commits, and exists after the first one. */
static bool wal_is_removed(struct bp_phd_store_file *f)
{
	char path[PATH_MAX];
	bool there;

	if ((size_t)snprintf(path, sizeof(path), "%s-wal", f->path) >= sizeof(path))
		return false;
	there = access(path, F_OK) == 0;
	f->logs = f->logs || there;
	return f->logs && !there;
}

/*
 * Returns whether the path now has another file than the open one, or none. sqlite would continue
 * with the open file, and all data would be lost when the process ends.
 */
static bool is_gone(struct bp_phd_store_file *f)
{
	int moved = 0;

	return (sqlite3_file_control(f->db, NULL, SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
		       moved != 0) ||
	       wal_is_removed(f);
}

static bool leave(struct bp_phd_store_file *f)
{
	snprintf(f->error, sizeof(f->error),
		"store of health devices %s: the file, or its log FILE-wal, was removed or "
		"replaced while it was in use; all data is written again",
		f->path);
	close_file(f);
	f->replaced = true;
	f->checked = false;
	f->epoch = 0;
	return false;
}

bool bp_phd_store_file_ready(struct bp_phd_store_file *f)
{
	int rc;

	if (f->db != NULL)
		return is_gone(f) ? leave(f) : true;
	bp_sqlite_make_parents(f->path);
	rc = f->suspect ? SQLITE_CORRUPT : open_file(f);
	if (bp_sqlite_damaged(rc)) {
		close_file(f);
		bp_sqlite_move_aside(f->path, rc, "store of health devices",
			"devices in it must associate, or declare their configuration, again");
		f->suspect = false;
		f->checked = false;
		rc = open_file(f);
	}
	if (rc == SQLITE_OK)
		return true;
	bp_phd_store_file_fail(f, "opening");
	close_file(f);
	return false;
}
