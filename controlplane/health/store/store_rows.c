/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "controlplane/health/store/store_file_internal.h"

/* ---- writing ---- */

/* Runs a statement without result rows. */
static int run(struct bp_phd_store_file *f, enum bp_phd_store_stmt i)
{
	const int rc = sqlite3_step(f->stmt[i]);

	sqlite3_reset(f->stmt[i]);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static void bind_key(sqlite3_stmt *st, const struct bp_phd_store_session *s)
{
	sqlite3_bind_int(st, 1, s->transport);
	sqlite3_bind_blob(st, 2, s->address, sizeof(s->address), SQLITE_STATIC);
	sqlite3_bind_int(st, 3, s->port);
}

static int put_session(struct bp_phd_store_file *f, const struct bp_phd_store_session *s)
{
	sqlite3_stmt *st = f->stmt[BP_PHD_STORE_S_PUT_SESSION];

	bind_key(st, s);
	sqlite3_bind_blob(st, 4, s->own, sizeof(s->own), SQLITE_STATIC);
	sqlite3_bind_blob(st, 5, s->system_id, sizeof(s->system_id), SQLITE_STATIC);
	sqlite3_bind_int(st, 6, s->config_id);
	sqlite3_bind_int64(st, 7, (sqlite3_int64)s->content);
	sqlite3_bind_int(st, 8, s->protocol);
	sqlite3_bind_int64(st, 9, s->associated_s);
	sqlite3_bind_int64(st, 10, s->reports);
	sqlite3_bind_int64(st, 11, (sqlite3_int64)f->epoch);
	return run(f, BP_PHD_STORE_S_PUT_SESSION);
}

static int write_pair(
	struct bp_phd_store_file *f, enum bp_phd_store_stmt i, const struct bp_phd_store_row *row)
{
	sqlite3_stmt *st = f->stmt[i];

	sqlite3_bind_blob(st, 1, row->system_id, sizeof(row->system_id), SQLITE_STATIC);
	sqlite3_bind_int(st, 2, row->config_id);
	if (i == BP_PHD_STORE_S_PUT_KNOWN) {
		sqlite3_bind_int64(st, 3, (sqlite3_int64)row->content);
		sqlite3_bind_int(st, 4, row->spec);
		sqlite3_bind_int64(st, 5, (sqlite3_int64)row->made);
	}
	return run(f, i);
}

static int write_row(struct bp_phd_store_file *f, const struct bp_phd_store_row *row)
{
	switch (row->kind) {
	case BP_PHD_STORE_PUT_CONFIG:
		sqlite3_bind_int64(
			f->stmt[BP_PHD_STORE_S_PUT_CONFIG], 1, (sqlite3_int64)row->content);
		sqlite3_bind_blob(f->stmt[BP_PHD_STORE_S_PUT_CONFIG], 2, row->report,
			row->report_len, SQLITE_STATIC);
		return run(f, BP_PHD_STORE_S_PUT_CONFIG);
	case BP_PHD_STORE_DROP_CONFIG:
		sqlite3_bind_int64(
			f->stmt[BP_PHD_STORE_S_DROP_CONFIG], 1, (sqlite3_int64)row->content);
		return run(f, BP_PHD_STORE_S_DROP_CONFIG);
	case BP_PHD_STORE_PUT_KNOWN:
		return write_pair(f, BP_PHD_STORE_S_PUT_KNOWN, row);
	case BP_PHD_STORE_DROP_KNOWN:
		return write_pair(f, BP_PHD_STORE_S_DROP_KNOWN, row);
	case BP_PHD_STORE_PUT_SESSION:
		return put_session(f, &row->session);
	case BP_PHD_STORE_DROP_SESSION:
		bind_key(f->stmt[BP_PHD_STORE_S_DROP_SESSION], &row->session);
		return run(f, BP_PHD_STORE_S_DROP_SESSION);
	case BP_PHD_STORE_WIPE:
		return sqlite3_exec(f->db, BP_PHD_STORE_WIPE_SQL, NULL, NULL, NULL);
	default:
		return SQLITE_OK;
	}
}

bool bp_phd_store_file_write(
	struct bp_phd_store_file *f, const struct bp_phd_store_row *row, size_t n)
{
	if (!bp_phd_store_file_ready(f))
		return false;
	if (run(f, BP_PHD_STORE_S_BEGIN) != SQLITE_OK)
		return bp_phd_store_file_fail(f, "beginning a transaction");
	for (size_t i = 0; i < n; i++)
		if (write_row(f, &row[i]) != SQLITE_OK)
			return bp_phd_store_file_fail(f, "writing");
	if (run(f, BP_PHD_STORE_S_COMMIT) != SQLITE_OK)
		return bp_phd_store_file_fail(f, "committing");
	return true;
}

/* ---- reading ---- */

/* Returns whether column `i` is an integer of 0..max, in *out. */
static bool number(sqlite3_stmt *st, int i, uint64_t max, uint64_t *out)
{
	*out = (uint64_t)sqlite3_column_int64(st, i);
	return sqlite3_column_type(st, i) == SQLITE_INTEGER && *out <= max;
}

static bool bytes(sqlite3_stmt *st, int i, void *out, int n)
{
	const void *p = sqlite3_column_blob(st, i);

	if (sqlite3_column_type(st, i) != SQLITE_BLOB || p == NULL ||
		sqlite3_column_bytes(st, i) != n)
		return false;
	memcpy(out, p, (size_t)n);
	return true;
}

/* False: the row is malformed. */
static bool read_config(sqlite3_stmt *st, struct bp_phd_store_row *row)
{
	const void *p = sqlite3_column_blob(st, 1);
	const int n = sqlite3_column_bytes(st, 1);

	row->content = (uint64_t)sqlite3_column_int64(st, 0);
	if (sqlite3_column_type(st, 1) != SQLITE_BLOB || p == NULL || n > UINT16_MAX)
		return false;
	row->report = malloc((size_t)n);
	if (row->report == NULL)
		return false;
	memcpy(row->report, p, (size_t)n);
	row->report_len = (uint16_t)n;
	row->kind = BP_PHD_STORE_PUT_CONFIG;
	return true;
}

static bool read_known(sqlite3_stmt *st, struct bp_phd_store_row *row)
{
	uint64_t config_id, spec;

	if (!bytes(st, 1, row->system_id, sizeof(row->system_id)) ||
		!number(st, 2, UINT16_MAX, &config_id) ||
		!number(st, 3, UINT64_MAX, &row->content) || !number(st, 4, UINT16_MAX, &spec) ||
		!number(st, 5, UINT64_MAX, &row->made))
		return false;
	row->config_id = (uint16_t)config_id;
	row->spec = (uint16_t)spec;
	row->kind = BP_PHD_STORE_PUT_KNOWN;
	return true;
}

static bool read_session(
	const struct bp_phd_store_file *f, sqlite3_stmt *st, struct bp_phd_store_row *row)
{
	struct bp_phd_store_session *s = &row->session;
	uint64_t transport, port, config_id, protocol, associated_s, reports, epoch;

	if (!number(st, 0, UINT8_MAX, &transport) || !bytes(st, 1, s->address, 16) ||
		!number(st, 2, UINT16_MAX, &port) || !bytes(st, 3, s->own, 16) ||
		!bytes(st, 4, s->system_id, 8) || !number(st, 5, UINT16_MAX, &config_id) ||
		!number(st, 6, UINT64_MAX, &s->content) || !number(st, 7, UINT8_MAX, &protocol) ||
		!number(st, 8, UINT32_MAX, &associated_s) || !number(st, 9, UINT32_MAX, &reports) ||
		!number(st, 10, f->epoch, &epoch))
		return false;
	if (transport != 6 && transport != 17)
		return false;
	s->transport = (uint8_t)transport;
	s->port = (uint16_t)port;
	s->config_id = (uint16_t)config_id;
	s->protocol = (uint8_t)protocol;
	s->associated_s = (uint32_t)associated_s;
	s->reports = (uint32_t)(reports + (f->epoch - epoch) * BP_PHD_STORE_RAISE);
	row->kind = BP_PHD_STORE_PUT_SESSION;
	return true;
}

static void read_row(const struct bp_phd_store_file *f, enum bp_phd_store_table table,
	sqlite3_stmt *st, struct bp_phd_store_row *row)
{
	bool good;

	memset(row, 0, sizeof(*row));
	if (table == BP_PHD_STORE_CONFIGS)
		good = read_config(st, row);
	else if (table == BP_PHD_STORE_KNOWN)
		good = read_known(st, row);
	else
		good = read_session(f, st, row);
	if (!good)
		row->kind = BP_PHD_STORE_BAD;
}

/* Records where the scan continues: after the row of `st`, whatever it contains. */
static bool record_key(struct bp_phd_store_file *f, enum bp_phd_store_table table, sqlite3_stmt *st)
{
	const unsigned n = table == BP_PHD_STORE_SESSIONS ? BP_PHD_STORE_KEY_COLUMNS : 1;

	bp_phd_store_file_forget_key(f, table);
	for (unsigned i = 0; i < n; i++) {
		f->key[table][i] = sqlite3_value_dup(sqlite3_column_value(st, (int)i));
		if (f->key[table][i] == NULL)
			return false;
	}
	return true;
}

static void bind_start(
	const struct bp_phd_store_file *f, enum bp_phd_store_table table, sqlite3_stmt *st)
{
	if (f->key[table][0] != NULL) {
		for (int i = 0; i < (int)BP_PHD_STORE_KEY_COLUMNS && f->key[table][i] != NULL; i++)
			sqlite3_bind_value(st, i + 1, f->key[table][i]);
		return;
	}
	sqlite3_bind_int64(st, 1, table == BP_PHD_STORE_KNOWN ? INT64_MAX : INT64_MIN);
	if (table == BP_PHD_STORE_SESSIONS) {
		sqlite3_bind_zeroblob(st, 2, 0);
		sqlite3_bind_int(st, 3, 0);
	}
}

bool bp_phd_store_file_read(
	struct bp_phd_store_file *f, enum bp_phd_store_table table, struct bp_phd_store_page *out)
{
	const unsigned max =
		table == BP_PHD_STORE_CONFIGS ? BP_PHD_STORE_PAGE_CONFIGS : BP_PHD_STORE_PAGE;
	sqlite3_stmt *st;
	int rc;

	out->table = table;
	out->n = 0;
	if (!bp_phd_store_file_ready(f))
		return false;
	st = f->stmt[BP_PHD_STORE_S_READ_CONFIGS + table];
	bind_start(f, table, st);
	sqlite3_bind_int64(st, 4, max);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW && out->n < max) {
		read_row(f, table, st, &out->row[out->n++]);
		if (out->n == max && !record_key(f, table, st)) {
			rc = SQLITE_NOMEM;
			break;
		}
	}
	out->end = out->n < max;
	if (rc == SQLITE_DONE) {
		sqlite3_reset(st);
		return true;
	}
	for (unsigned i = 0; i < out->n; i++)
		free(out->row[i].report);
	bp_phd_store_file_fail(f, "reading");
	if (f->db != NULL) /* otherwise the statement was freed with the file */
		sqlite3_reset(st);
	return false;
}
