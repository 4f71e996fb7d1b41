/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/alarms/spool.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "controlplane/process/clock.h"
#include "daemon/log.h"
#include "controlplane/process/sqlite_file.h"

/* Maximum number of rows that one call deletes for their age, so that the event loop continues in
 * between. */
#define EXPIRE_MAX 4096
/* Pages that one call returns to the file system. */
#define SHRINK_PAGES "1024"

enum stmt {
	S_BEGIN,
	S_COMMIT,
	S_ROLLBACK,
	S_ADD,
	S_SAME,
	S_DELETE,
	S_OLDEST,
	S_READ,
	S_MAX_ID,
	S_COUNT
};

static const char *const sql[S_COUNT] = {
	[S_BEGIN] = "BEGIN IMMEDIATE",
	[S_COMMIT] = "COMMIT",
	[S_ROLLBACK] = "ROLLBACK",
	[S_ADD] = "INSERT OR IGNORE INTO alarm(id, time_ns, bytes, record) VALUES(?1, ?2, ?3, ?4)",
	[S_SAME] = "SELECT record = ?2 FROM alarm WHERE id = ?1",
	[S_DELETE] = "DELETE FROM alarm WHERE id = ?1 RETURNING bytes",
	[S_OLDEST] = "SELECT id, time_ns FROM alarm ORDER BY id LIMIT 1",
	[S_READ] = "SELECT id, record FROM alarm WHERE id >= ?1 ORDER BY id",
	[S_MAX_ID] = "SELECT max(id) FROM alarm",
};

struct bp_spool {
	char *path;
	uint64_t max_bytes, max_age_ns;
	sqlite3 *db;
	sqlite3_stmt *stmt[S_COUNT];
	uint64_t rows, bytes; /* committed */
	uint64_t oldest;      /* lowest id; UINT64_MAX: no rows */
	uint64_t opened;
	uint64_t dropped, batch_last;                    /* highest ids that the limits dropped */
	uint64_t batch_rows, batch_bytes, batch_dropped; /* including the open batch */
	bool in_batch;
	int lock; /* -1: not read yet */
	bool in_use;
	bool full;
	struct bp_spool_events events;
	struct bp_alarm *record; /* aligned copy of the row being read */
	size_t record_size;
	char error[512];
};

struct bp_spool *bp_spool_new(const char *path, uint64_t max_bytes, uint64_t max_age_ns)
{
	struct bp_spool *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->path = strdup(path);
	if (s->path == NULL) {
		free(s);
		return NULL;
	}
	s->oldest = UINT64_MAX;
	s->lock = -1;
	bp_spool_set_bounds(s, max_bytes, max_age_ns);
	return s;
}

static void close_file(struct bp_spool *s)
{
	for (unsigned i = 0; i < S_COUNT; i++) {
		sqlite3_finalize(s->stmt[i]);
		s->stmt[i] = NULL;
	}
	sqlite3_close(s->db);
	s->db = NULL;
	s->in_batch = false;
	s->rows = 0;
	s->bytes = 0;
	s->oldest = UINT64_MAX;
}

void bp_spool_free(struct bp_spool *s)
{
	if (s == NULL)
		return;
	close_file(s);
	if (s->lock >= 0)
		close(s->lock);
	free(s->record);
	free(s->path);
	free(s);
}

const char *bp_spool_path(const struct bp_spool *s)
{
	return s->path;
}

void bp_spool_set_bounds(struct bp_spool *s, uint64_t max_bytes, uint64_t max_age_ns)
{
	s->max_bytes = max_bytes;
	s->max_age_ns = max_age_ns;
}

bool bp_spool_in_use(const struct bp_spool *s)
{
	return s->in_use;
}

const char *bp_spool_error(const struct bp_spool *s)
{
	return s->error;
}

uint64_t bp_spool_rows(const struct bp_spool *s)
{
	return s->rows;
}

uint64_t bp_spool_bytes(const struct bp_spool *s)
{
	return s->bytes;
}

uint64_t bp_spool_oldest(const struct bp_spool *s)
{
	return s->oldest;
}

uint64_t bp_spool_dropped(const struct bp_spool *s)
{
	return s->dropped;
}

bool bp_spool_is_open(const struct bp_spool *s)
{
	return s->db != NULL;
}

uint64_t bp_spool_opened(const struct bp_spool *s)
{
	return s->opened;
}

struct bp_spool_events bp_spool_take_events(struct bp_spool *s)
{
	struct bp_spool_events e = s->events;

	memset(&s->events, 0, sizeof(s->events));
	return e;
}

/* Records the reason of a disk failure. A file that can no longer be trusted is closed, and opened
 * again later. */
static bool fail(struct bp_spool *s, const char *what)
{
	int rc = s->db == NULL ? SQLITE_CANTOPEN : sqlite3_extended_errcode(s->db);

	snprintf(s->error, sizeof(s->error), "spool %s: %s: %s", s->path, what,
		s->db == NULL ? "cannot be opened" : sqlite3_errmsg(s->db));
	s->full = (rc & 0xff) == SQLITE_FULL;
	if (s->in_batch)
		bp_spool_rollback(s);
	/* A full disk or a lock is temporary; after any other error the file is opened again. */
	if ((rc & 0xff) != SQLITE_FULL && (rc & 0xff) != SQLITE_BUSY)
		close_file(s);
	return false;
}

/* Runs a statement without result rows. */
static int run(struct bp_spool *s, enum stmt i)
{
	int rc = sqlite3_step(s->stmt[i]);

	sqlite3_reset(s->stmt[i]);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Ids begin at 0, and the total size of all rows is valid: otherwise the rows could not be read to
 * the end, or their size would be unlimited. */
static int check_rows(sqlite3 *db)
{
	int64_t bad;
	const int rc = bp_sqlite_scalar(db,
		"SELECT count(*) FROM alarm WHERE id < 0 OR typeof(bytes) <> 'integer'"
		" OR bytes < 0 OR bytes > 4294967296",
		&bad);

	return rc != SQLITE_OK || bad == 0 ? rc : SQLITE_NOTADB;
}

/* A file of another format is as unusable as a damaged one. */
static int check_format(sqlite3 *db)
{
	int64_t version, tables, columns;
	int rc = bp_sqlite_scalar(db, "PRAGMA user_version", &version);

	if (rc == SQLITE_OK)
		rc = bp_sqlite_scalar(db, "SELECT count(*) FROM sqlite_master", &tables);
	if (rc != SQLITE_OK)
		return rc;
	if (version == 0 && tables == 0) /* a new file */
		return sqlite3_exec(db,
			"BEGIN; CREATE TABLE alarm(id INTEGER PRIMARY KEY, time_ns INTEGER NOT "
			"NULL,"
			" bytes INTEGER NOT NULL, record BLOB NOT NULL);"
			"PRAGMA user_version = 1; COMMIT",
			NULL, NULL, NULL);
	if (version != BP_SPOOL_FORMAT)
		return SQLITE_NOTADB;
	/* Only that table, and no trigger; rows are found and deleted by `id`, so that every scan
	 * of the rows ends. */
	rc = bp_sqlite_scalar(db,
		"SELECT count(*) FROM pragma_table_info('alarm')"
		" WHERE (name = 'id' AND type = 'INTEGER' AND pk = 1)"
		" OR name IN ('time_ns', 'bytes', 'record')",
		&columns);
	if (rc != SQLITE_OK)
		return rc;
	if (tables != 1 || columns != 4)
		return SQLITE_NOTADB;
	rc = bp_sqlite_quick_check(db);
	return rc == SQLITE_OK ? check_rows(db) : rc;
}

/* Returns SQLITE_ROW with the row of the lowest id, SQLITE_DONE when there is none. */
static int oldest(struct bp_spool *s, uint64_t *id, uint64_t *time_ns)
{
	sqlite3_stmt *st = s->stmt[S_OLDEST];
	int rc = sqlite3_step(st);

	if (rc == SQLITE_ROW) {
		*id = (uint64_t)sqlite3_column_int64(st, 0);
		*time_ns = (uint64_t)sqlite3_column_int64(st, 1);
	}
	sqlite3_reset(st);
	return rc;
}

/* Called after any change. */
static int update_oldest(struct bp_spool *s)
{
	uint64_t id = UINT64_MAX, time_ns;
	int rc = oldest(s, &id, &time_ns);

	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return rc;
	s->oldest = id;
	return SQLITE_OK;
}

static int count_rows(struct bp_spool *s)
{
	int64_t rows, bytes;
	int rc = bp_sqlite_scalar(s->db, "SELECT count(*) FROM alarm", &rows);

	if (rc == SQLITE_OK)
		rc = bp_sqlite_scalar(s->db, "SELECT coalesce(sum(bytes), 0) FROM alarm", &bytes);
	if (rc != SQLITE_OK)
		return rc;
	s->rows = (uint64_t)rows;
	s->bytes = (uint64_t)bytes;
	return update_oldest(s);
}

static int open_file(struct bp_spool *s)
{
	int rc;

	bp_sqlite_make_private(s->path);
	/* Without mutexes: only the event loop uses the spool. */
	rc = sqlite3_open_v2(s->path, &s->db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_PRIVATECACHE |
			SQLITE_OPEN_NOMUTEX,
		NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_exec(s->db,
			"PRAGMA locking_mode = EXCLUSIVE; PRAGMA auto_vacuum = INCREMENTAL;"
			"PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
			"PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 16777216",
			NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = check_format(s->db);
	for (unsigned i = 0; i < S_COUNT && rc == SQLITE_OK; i++)
		rc = sqlite3_prepare_v3(
			s->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &s->stmt[i], NULL);
	if (rc == SQLITE_OK)
		rc = count_rows(s);
	s->opened += rc == SQLITE_OK;
	return rc;
}

bool bp_spool_ready(struct bp_spool *s)
{
	char why[480];
	int rc;

	if (s->db != NULL)
		return true;
	bp_sqlite_make_parents(s->path);
	if (s->lock < 0)
		s->lock = bp_sqlite_lock(s->path, &s->in_use, why, sizeof(why));
	if (s->lock < 0) {
		snprintf(s->error, sizeof(s->error), "spool: %s", why);
		return false;
	}
	rc = open_file(s);
	if (bp_sqlite_damaged(rc)) {
		close_file(s);
		bp_sqlite_move_aside(s->path, rc, "alarm spool", "alarms in it were not sent");
		rc = open_file(s);
	}
	if (rc == SQLITE_OK)
		return true;
	fail(s, "opening");
	close_file(s);
	return false;
}

uint64_t bp_spool_max_id(struct bp_spool *s)
{
	uint64_t id = 0;

	if (!bp_spool_ready(s))
		return 0;
	if (sqlite3_step(s->stmt[S_MAX_ID]) == SQLITE_ROW)
		id = (uint64_t)sqlite3_column_int64(s->stmt[S_MAX_ID], 0);
	sqlite3_reset(s->stmt[S_MAX_ID]);
	return id;
}

bool bp_spool_begin(struct bp_spool *s)
{
	if (!bp_spool_ready(s))
		return false;
	if (run(s, S_BEGIN) != SQLITE_OK)
		return fail(s, "beginning a transaction");
	s->in_batch = true;
	s->batch_rows = s->rows;
	s->batch_bytes = s->bytes;
	s->batch_dropped = 0;
	s->batch_last = 0;
	return true;
}

void bp_spool_rollback(struct bp_spool *s)
{
	if (s->db != NULL && s->in_batch && sqlite3_get_autocommit(s->db) == 0)
		run(s, S_ROLLBACK);
	s->in_batch = false;
}

static enum bp_spool_added same_or_not(struct bp_spool *s, const struct bp_alarm *a)
{
	sqlite3_stmt *st = s->stmt[S_SAME];
	enum bp_spool_added r = BP_SPOOL_FAILED;

	sqlite3_bind_int64(st, 1, (sqlite3_int64)a->id);
	sqlite3_bind_blob64(st, 2, a, bp_alarm_size(a), SQLITE_STATIC);
	if (sqlite3_step(st) == SQLITE_ROW)
		r = sqlite3_column_int(st, 0) != 0 ? BP_SPOOL_PRESENT : BP_SPOOL_CONFLICT;
	sqlite3_reset(st);
	sqlite3_clear_bindings(st);
	return r;
}

enum bp_spool_added bp_spool_add(struct bp_spool *s, const struct bp_alarm *a)
{
	sqlite3_stmt *st;
	uint64_t size = bp_alarm_size(a), bytes = size + BP_SPOOL_ROW_OVERHEAD;
	int rc;

	if (!s->in_batch || a->id > INT64_MAX)
		return BP_SPOOL_FAILED;
	st = s->stmt[S_ADD];
	sqlite3_bind_int64(st, 1, (sqlite3_int64)a->id);
	sqlite3_bind_int64(st, 2, (sqlite3_int64)a->time_ns);
	sqlite3_bind_int64(st, 3, (sqlite3_int64)bytes);
	sqlite3_bind_blob64(st, 4, a, size, SQLITE_STATIC);
	rc = run(s, S_ADD);
	sqlite3_clear_bindings(st);
	if (rc != SQLITE_OK) {
		fail(s, "adding an alarm");
		return BP_SPOOL_FAILED;
	}
	if (sqlite3_changes(s->db) == 0)
		return same_or_not(s, a);
	s->batch_rows++;
	s->batch_bytes += bytes;
	return BP_SPOOL_ADDED;
}

/* Deletes one row inside the batch; *there: whether it existed. */
static int delete_row(struct bp_spool *s, uint64_t id, bool *there)
{
	sqlite3_stmt *st = s->stmt[S_DELETE];
	int rc;

	*there = false;
	sqlite3_bind_int64(st, 1, (sqlite3_int64)id);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		*there = true;
		s->batch_rows--;
		s->batch_bytes -= (uint64_t)sqlite3_column_int64(st, 0);
	}
	sqlite3_reset(st);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int drop_over_size(struct bp_spool *s)
{
	uint64_t id, time_ns;
	bool there;
	int rc;

	while (s->batch_bytes > s->max_bytes) {
		rc = oldest(s, &id, &time_ns);
		if (rc != SQLITE_ROW)
			return rc == SQLITE_DONE ? SQLITE_OK : rc;
		rc = delete_row(s, id, &there);
		if (rc != SQLITE_OK)
			return rc;
		s->batch_dropped++;
		s->batch_last = id;
	}
	return SQLITE_OK;
}

/* Ends the batch on disk and updates the totals. */
static bool finish(struct bp_spool *s)
{
	if (run(s, S_COMMIT) != SQLITE_OK)
		return fail(s, "committing");
	s->in_batch = false;
	s->rows = s->batch_rows;
	s->bytes = s->batch_bytes;
	if (s->batch_last > s->dropped)
		s->dropped = s->batch_last;
	/* The batch is committed in any case. An unknown oldest id counts as the worst case: 0. */
	if (update_oldest(s) != SQLITE_OK)
		s->oldest = 0;
	return true;
}

bool bp_spool_commit(struct bp_spool *s)
{
	if (!s->in_batch)
		return false;
	if (drop_over_size(s) != SQLITE_OK)
		return fail(s, "dropping the oldest alarms");
	if (!finish(s))
		return false;
	s->events.dropped_size += s->batch_dropped;
	return true;
}

bool bp_spool_delete(struct bp_spool *s, const uint64_t *ids, size_t n, uint64_t *deleted)
{
	uint64_t count = 0;
	bool there;

	*deleted = 0;
	if (!bp_spool_begin(s))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (delete_row(s, ids[i], &there) != SQLITE_OK)
			return fail(s, "deleting");
		count += there;
	}
	if (!finish(s))
		return false;
	*deleted = count;
	return true;
}

bool bp_spool_full(const struct bp_spool *s)
{
	return s->full;
}

bool bp_spool_start_over(struct bp_spool *s)
{
	close_file(s);
	bp_sqlite_remove(s->path);
	s->full = false;
	return bp_spool_ready(s);
}

bool bp_spool_expire(struct bp_spool *s, uint64_t now_ns)
{
	uint64_t id, time_ns, dropped = 0;
	bool there;
	int rc;

	if (s->rows == 0)
		return true;
	if (!bp_spool_ready(s))
		return false;
	/* Check before a transaction begins: in most cases no row is too old. */
	rc = oldest(s, &id, &time_ns);
	if (rc != SQLITE_ROW || time_ns > now_ns || now_ns - time_ns <= s->max_age_ns)
		return rc == SQLITE_ROW || rc == SQLITE_DONE ? true
							     : fail(s, "reading the oldest alarm");
	if (!bp_spool_begin(s))
		return false;
	while (dropped < EXPIRE_MAX) {
		rc = oldest(s, &id, &time_ns);
		if (rc != SQLITE_ROW || time_ns > now_ns || now_ns - time_ns <= s->max_age_ns)
			break;
		if (delete_row(s, id, &there) != SQLITE_OK)
			return fail(s, "dropping old alarms");
		dropped++;
		s->batch_last = id;
	}
	if (!finish(s))
		return false;
	s->events.dropped_age += dropped;
	return true;
}

/* Copies a row's record to aligned memory; NULL when it is not a complete alarm with that id. */
static const struct bp_alarm *row_record(struct bp_spool *s, sqlite3_stmt *st, uint64_t id)
{
	const void *blob = sqlite3_column_blob(st, 1);
	size_t size = (size_t)sqlite3_column_bytes(st, 1);

	if (blob == NULL)
		return NULL;
	if (size > s->record_size) {
		struct bp_alarm *bigger = realloc(s->record, size);

		if (bigger == NULL)
			return NULL;
		s->record = bigger;
		s->record_size = size;
	}
	memcpy(s->record, blob, size);
	return bp_alarm_valid(s->record, size) && s->record->id == id ? s->record : NULL;
}

bool bp_spool_read(struct bp_spool *s, uint64_t from, bp_spool_row row, void *arg, bool *end)
{
	sqlite3_stmt *st;
	bool more = true;
	int rc = SQLITE_ROW;

	*end = false;
	if (!bp_spool_ready(s))
		return false;
	st = s->stmt[S_READ];
	sqlite3_bind_int64(st, 1, (sqlite3_int64)from);
	while (more && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		uint64_t id = (uint64_t)sqlite3_column_int64(st, 0);

		more = row(arg, id, row_record(s, st, id));
	}
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		fail(s, "reading");
	if (s->db != NULL) /* otherwise the statement was freed with the file */
		sqlite3_reset(st);
	*end = rc == SQLITE_DONE;
	return rc == SQLITE_ROW || rc == SQLITE_DONE;
}

void bp_spool_shrink(struct bp_spool *s)
{
	int64_t free_pages;

	if (s->db == NULL || s->in_batch)
		return;
	if (bp_sqlite_scalar(s->db, "PRAGMA freelist_count", &free_pages) != SQLITE_OK ||
		free_pages == 0)
		return;
	sqlite3_exec(s->db, "PRAGMA incremental_vacuum(" SHRINK_PAGES ")", NULL, NULL, NULL);
}
