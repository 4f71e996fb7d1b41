/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A foreign store of health devices: rows with values of any type in its tables, with and without
 * their constraints. Valid rows are read, the rest is skipped, and reading ends.
 *
 * The first byte: bit 0 tables without constraints, bit 1 whether sessions are taken; then rows,
 * each with the table before its values.
 */
#include <event2/event.h>

#include "controlplane/health/store/store.h"
#include "tests/fuzz/sqlite_rows.h"

#define ROWS_MAX 40u

static const char strict[] =
	"CREATE TABLE store(epoch INTEGER NOT NULL); INSERT INTO store VALUES(3);"
	"CREATE TABLE configs(content INTEGER PRIMARY KEY, report BLOB NOT NULL);"
	"CREATE TABLE known(seq INTEGER PRIMARY KEY, system_id BLOB NOT NULL,"
	" config_id INTEGER NOT NULL, content INTEGER NOT NULL, spec INTEGER NOT NULL,"
	" made INTEGER NOT NULL DEFAULT 0, UNIQUE(system_id, config_id));"
	"CREATE TABLE sessions(transport INTEGER NOT NULL, address BLOB NOT NULL,"
	" port INTEGER NOT NULL, own BLOB NOT NULL, system_id BLOB NOT NULL,"
	" config_id INTEGER NOT NULL, content INTEGER NOT NULL, protocol INTEGER NOT NULL,"
	" associated_s INTEGER NOT NULL, reports INTEGER NOT NULL, epoch INTEGER NOT NULL,"
	" PRIMARY KEY(transport, address, port)) WITHOUT ROWID;"
	"PRAGMA user_version = 1";
static const char loose[] =
	"CREATE TABLE store(epoch); CREATE TABLE configs(content, report);"
	"CREATE TABLE known(seq, system_id, config_id, content, spec, made);"
	"CREATE TABLE sessions(transport, address, port, own, system_id, config_id, content,"
	" protocol, associated_s, reports, epoch); PRAGMA user_version = 1";

static const struct {
	const char *insert;
	int columns;
} tables[] = {
	{"INSERT INTO configs VALUES(?1, ?2)", 2},
	{"INSERT INTO known VALUES(?1, ?2, ?3, ?4, ?5, ?6)", 6},
	{"INSERT INTO sessions VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)", 11},
	{"INSERT INTO store VALUES(?1)", 1},
};

static unsigned sessions;
static bool takes, loaded;
static struct bp_phd_store_session last;

static bool session(void *arg, const struct bp_phd_store_session *s)
{
	(void)arg;
	HOLDS(s->transport == 6 || s->transport == 17);
	HOLDS(++sessions <= ROWS_MAX);
	last = *s;
	return takes;
}

static void on_loaded(void *arg, bool whole)
{
	(void)arg;
	(void)whole;
	loaded = true;
}

static void again(void *arg)
{
	(void)arg;
}

static void use(struct bp_phd_store *s)
{
	struct bp_phd_model model;
	uint16_t spec;

	(void)bp_phd_store_known(s, last.system_id, last.config_id, &model, &spec);
	bp_phd_store_set_created(s, last.system_id, last.config_id, 7);
	(void)bp_phd_store_put(s, &last);
	(void)bp_phd_store_close(s, last.transport, last.address, last.port);
	(void)bp_phd_store_flush(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct bp_phd_store_ops ops = {
		.session = session, .loaded = on_loaded, .retry = again};
	static struct event_base *base;
	struct rows_input in = {data, data + size};
	struct bp_phd_store *s;
	unsigned rows = 0;
	char path[128];
	uint8_t what;
	sqlite3 *db;

	if (base == NULL && (base = event_base_new()) == NULL)
		abort();
	snprintf(path, sizeof(path), "%s/phd.db", rows_dir());
	rows_clear();
	what = rows_take(&in);
	takes = what & 2;
	loaded = false;
	sessions = 0;
	memset(&last, 0, sizeof(last));
	last.transport = 17;
	db = rows_open(path);
	if (sqlite3_exec(db, what & 1 ? loose : strict, NULL, NULL, NULL) != SQLITE_OK)
		abort();
	while (in.p < in.end && rows++ < ROWS_MAX) {
		const unsigned t = rows_take(&in) % 4;

		rows_insert(db, tables[t].insert, tables[t].columns, &in);
	}
	sqlite3_close(db);

	s = bp_phd_store_new(base, path, 16, 100000, &ops, NULL);
	if (s == NULL)
		abort();
	while (!loaded)
		event_base_loop(base, EVLOOP_ONCE);
	use(s);
	bp_phd_store_free(s);
	event_base_loop(base, EVLOOP_NONBLOCK);
	return 0;
}
