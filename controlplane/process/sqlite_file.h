/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_PROCESS_SQLITE_FILE_H
#define BP_CONTROLPLANE_PROCESS_SQLITE_FILE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Common code of the spool and the store of health devices: an sqlite3 file that may be damaged or
 * of another version, and is then replaced. */

/* Whether this result means that the file cannot be used. */
bool bp_sqlite_damaged(int rc);
/* The first column of the first row of `text`. SQLITE_OK, SQLITE_NOTADB without a row, or an I/O
 * error. */
int bp_sqlite_scalar(sqlite3 *db, const char *text, int64_t *value);
/* sqlite's own check of the file, which reads all of it: SQLITE_OK, SQLITE_CORRUPT or another
 * failure. */
int bp_sqlite_quick_check(sqlite3 *db);
/* mkdir -p of the file's directory; errors show when the file is opened. */
void bp_sqlite_make_parents(const char *path);
/*
 * Creates the file if it does not exist, and sets the mode of it and its companions to 0640,
 * whatever the umask: its contents are confidential. The file must not be open. Errors show when it
 * is opened.
 */
void bp_sqlite_make_private(const char *path);
/*
 * Locks PATH.lock for as long as the descriptor that is returned is open; -1 with a sentence and
 * *in_use when another process has it.
 */
int bp_sqlite_lock(const char *path, bool *in_use, char *err, size_t err_size);
/* Whether another process has that lock now, with a sentence; makes nothing. */
bool bp_sqlite_locked(const char *path, char *err, size_t err_size);
/* Removes the file, which is closed, and what goes with it. */
void bp_sqlite_remove(const char *path);
/* Renames the closed file and its companions to PATH.damaged-TIME, and warns. `what`: "alarm
 * spool"; `lost`: the end of the sentence, what was lost. */
void bp_sqlite_move_aside(const char *path, int rc, const char *what, const char *lost);

#endif
