/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_FUZZ_SQLITE_ROWS_H
#define BP_TESTS_FUZZ_SQLITE_ROWS_H

#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <unistd.h>

/*
 * Rows of a foreign sqlite3 file, from a fuzzer's input: values of any type in any column, in a
 * folder that is empty before each input.
 */
struct rows_input {
	const uint8_t *p, *end;
};

static inline uint8_t rows_take(struct rows_input *in)
{
	return in->p < in->end ? *in->p++ : 0;
}

static inline uint64_t rows_number(struct rows_input *in, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v = v << 8 | rows_take(in);
	return v;
}

static inline const uint8_t *rows_bytes(struct rows_input *in, size_t want, size_t *n)
{
	const uint8_t *p = in->p;

	*n = (size_t)(in->end - in->p) < want ? (size_t)(in->end - in->p) : want;
	in->p += *n;
	return p;
}

/* A value: its type, and what that takes. */
static inline void rows_bind(sqlite3_stmt *st, int column, struct rows_input *in)
{
	static uint8_t big[1 << 18];
	const uint8_t type = rows_take(in);
	const uint8_t *p;
	double number;
	uint64_t bits;
	size_t n;

	switch (type % 8) {
	case 0:
		sqlite3_bind_null(st, column);
		break;
	case 1:
		sqlite3_bind_int64(st, column, (sqlite3_int64)rows_number(in, 8));
		break;
	case 2:
		bits = rows_number(in, 8);
		memcpy(&number, &bits, sizeof(number));
		sqlite3_bind_double(st, column, number);
		break;
	case 3:
		p = rows_bytes(in, rows_take(in), &n);
		sqlite3_bind_text(st, column, (const char *)p, (int)n, SQLITE_TRANSIENT);
		break;
	case 4: /* huge, and all the same */
		memset(big, rows_take(in), sizeof(big));
		sqlite3_bind_blob(st, column, big, (int)(rows_number(in, 2) * 4), SQLITE_STATIC);
		break;
	case 5:
	case 6:
		p = rows_bytes(in, rows_take(in), &n);
		sqlite3_bind_blob(st, column, p, (int)n, SQLITE_TRANSIENT);
		break;
	default:
		sqlite3_bind_int(st, column, rows_take(in));
		break;
	}
}

/* A row of `columns` values; values that the tables refuse are omitted. */
static inline void rows_insert(sqlite3 *db, const char *insert, int columns, struct rows_input *in)
{
	sqlite3_stmt *st;

	if (sqlite3_prepare_v2(db, insert, -1, &st, NULL) != SQLITE_OK)
		abort();
	for (int i = 1; i <= columns; i++)
		rows_bind(st, i, in);
	(void)sqlite3_step(st);
	sqlite3_finalize(st);
}

/* Of this process, in memory where there is such a file system. */
static inline const char *rows_dir(void)
{
	static char dir[64];

	if (dir[0] == '\0') {
		snprintf(dir, sizeof(dir), "%s/fuzz-XXXXXX",
			access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
		if (mkdtemp(dir) == NULL)
			abort();
	}
	return dir;
}

static inline void rows_clear(void)
{
	DIR *d = opendir(rows_dir());
	char path[512];
	struct dirent *e;

	if (d == NULL)
		abort();
	while ((e = readdir(d)) != NULL) {
		snprintf(path, sizeof(path), "%s/%.400s", rows_dir(), e->d_name);
		if (e->d_name[0] != '.')
			unlink(path);
	}
	closedir(d);
}

static inline void rows_remove_dir(void)
{
	rows_clear();
	rmdir(rows_dir());
}

static inline sqlite3 *rows_open(const char *path)
{
	static bool registered;
	sqlite3 *db;

	if (!registered && atexit(rows_remove_dir) != 0)
		abort();
	registered = true;
	if (sqlite3_open(path, &db) != SQLITE_OK)
		abort();
	sqlite3_exec(
		db, "PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY", NULL, NULL, NULL);
	return db;
}

#endif
