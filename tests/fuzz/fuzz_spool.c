/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A foreign spool: rows with values of any type, huge ones, none; a table that lacks columns of the
 * spool's own. Valid rows are read, and every iteration over it ends.
 *
 * The first byte says which table: bit 0 without constraints; bits 1 to 3 how many rows; the other
 * bits what is done with the file. Then the rows' values.
 */
#include "controlplane/alarms/spool.h"

#include "tests/fuzz/sqlite_rows.h"

#define MAX_BYTES 4096u

static const char strict[] = "CREATE TABLE alarm(id INTEGER PRIMARY KEY, time_ns INTEGER NOT NULL, "
			     "bytes INTEGER NOT NULL,"
			     " record BLOB NOT NULL); PRAGMA user_version = 1";
static const char loose[] =
	"CREATE TABLE alarm(id, time_ns, bytes, record); PRAGMA user_version = 1";

struct walk {
	unsigned rows, most;
	uint64_t id[64];
};

static bool row(void *arg, uint64_t id, const struct bp_alarm *a)
{
	struct walk *w = arg;

	if (a != NULL)
		HOLDS(a->id == id && bp_alarm_payload(a) + a->payload_len >= (const char *)a);
	if (w->rows < 64)
		w->id[w->rows] = id;
	return ++w->rows < w->most;
}

static void add(struct bp_spool *s, uint64_t id)
{
	struct bp_alarm a = {.id = id, .time_ns = 1, .state = BP_ALARM_RAISED};

	if (!bp_spool_begin(s))
		return;
	(void)bp_spool_add(s, &a);
	(void)bp_spool_commit(s);
}

static void use(struct bp_spool *s, uint8_t what)
{
	struct walk w = {.most = what & 0x10 ? 3 : 1000};
	uint64_t deleted;
	bool end;

	(void)bp_spool_max_id(s);
	if (bp_spool_read(s, 0, row, &w, &end) && end)
		HOLDS(w.rows <= 8); /* no row twice */
	if (what & 0x20)
		add(s, 77);
	if (what & 0x40) {
		(void)bp_spool_delete(s, w.id, w.rows < 64 ? w.rows : 64, &deleted);
		HOLDS(deleted <= 64);
	}
	if (what & 0x80)
		(void)bp_spool_expire(s, 1000000000000000000ull);
	bp_spool_shrink(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rows_input in = {data, data + size};
	char path[128];
	struct bp_spool *s;
	uint8_t what;
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/spool.db", rows_dir());
	rows_clear();
	what = rows_take(&in);
	db = rows_open(path);
	if (sqlite3_exec(db, what & 1 ? loose : strict, NULL, NULL, NULL) != SQLITE_OK)
		abort();
	for (unsigned n = what >> 1 & 7; n > 0; n--)
		rows_insert(db, "INSERT INTO alarm VALUES(?1, ?2, ?3, ?4)", 4, &in);
	sqlite3_close(db);

	s = bp_spool_new(path, MAX_BYTES, 1000);
	if (s == NULL)
		abort();
	/* whatever was in the file, one can be had: that or a fresh one */
	HOLDS(bp_spool_ready(s));
	use(s, what);
	bp_spool_free(s);
	return 0;
}
