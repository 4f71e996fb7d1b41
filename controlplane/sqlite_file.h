/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_SQLITE_FILE_H
#define BP_CONTROLPLANE_SQLITE_FILE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/* What the spool and the store of health devices share: an sqlite3 file that may be damaged, or of
 * another version, and is replaced then. */

/* Whether this result says that the file can't be used as it is. */
bool bp_sqlite_damaged(int rc);
/* The first column of the first row of `text`. SQLITE_OK, SQLITE_NOTADB without a row, or what the
 * disk would not. */
int bp_sqlite_scalar(sqlite3 *db, const char *text, int64_t *value);
/* What sqlite itself finds wrong with the file, which it reads whole: SQLITE_OK, SQLITE_CORRUPT or
 * another failure. */
int bp_sqlite_quick_check(sqlite3 *db);
/* mkdir -p of the file's directory; errors show when the file is opened. */
void bp_sqlite_make_parents(const char *path);
/* Renames the file, which is closed, and what goes with it to PATH.damaged-TIME, and warns. `what`:
 * "alarm spool"; `lost`: the sentence's end, of what was in it. */
void bp_sqlite_move_aside(const char *path, int rc, const char *what, const char *lost);

#endif
