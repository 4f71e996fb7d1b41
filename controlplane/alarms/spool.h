/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_ALARMS_SPOOL_H
#define BP_CONTROLPLANE_ALARMS_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "biplane/alarm.h"

/*
 * Alarms on disk while the edge broker cannot receive them: one sqlite3 file with a write-ahead
 * log, one transaction per batch. Committed alarms survive kill -9 of the process.
 *
 * The file is opened when it is first needed and again after every failure that closed it, so that
 * a repaired disk is used again. A file that is not a valid spool of this version is renamed
 * (FILE.damaged-TIME) with a warning and a new one is created. One process at a time: FILE.lock is
 * locked from the first open on.
 *
 * Functions that return bool return false when the disk fails; bp_spool_error() has the reason.
 */
struct bp_spool;

#define BP_SPOOL_ROW_OVERHEAD 64u /* bytes of a row in addition to its record */
#define BP_SPOOL_FORMAT 1 /* format of the rows: struct bp_alarm as in include/biplane/alarm.h */

/* Changes since the last call, for the counters. */
struct bp_spool_events {
	uint64_t dropped_size; /* rows dropped because of max_bytes */
	uint64_t dropped_age;  /* rows dropped because of max_age_ns */
};

/* max_bytes: sum of the records and their overhead. Returns NULL only without memory. */
struct bp_spool *bp_spool_new(const char *path, uint64_t max_bytes, uint64_t max_age_ns);
void bp_spool_free(struct bp_spool *s);
const char *bp_spool_path(const struct bp_spool *s);
void bp_spool_set_bounds(struct bp_spool *s, uint64_t max_bytes, uint64_t max_age_ns);

/* Opens the file if it is not open. */
bool bp_spool_ready(struct bp_spool *s);
/* Returns whether another process had the file at the last attempt to open it. */
bool bp_spool_in_use(const struct bp_spool *s);
const char *bp_spool_error(const struct bp_spool *s);

/* Rows and bytes (with overhead) that are committed; 0 while the file cannot be opened. */
uint64_t bp_spool_rows(const struct bp_spool *s);
uint64_t bp_spool_bytes(const struct bp_spool *s);
/* Returns the lowest committed id; UINT64_MAX: none. */
uint64_t bp_spool_oldest(const struct bp_spool *s);
/* Returns the highest id that the limits have dropped since the start; 0: none. */
uint64_t bp_spool_dropped(const struct bp_spool *s);
bool bp_spool_is_open(const struct bp_spool *s);
/* Returns how many times the file was opened. */
uint64_t bp_spool_opened(const struct bp_spool *s);
/* Returns the highest id, or 0. */
uint64_t bp_spool_max_id(struct bp_spool *s);
/* Returns the events since the last call. */
struct bp_spool_events bp_spool_take_events(struct bp_spool *s);

/*
 * A batch: begin, any number of adds, commit. Commit drops the oldest rows (lowest ids) that exceed
 * max_bytes, in the same transaction. After any false the batch is rolled back.
 */
enum bp_spool_added {
	BP_SPOOL_ADDED,
	BP_SPOOL_PRESENT,  /* the same alarm is already there */
	BP_SPOOL_CONFLICT, /* another alarm has this id: nothing was added */
	BP_SPOOL_FAILED,
};
bool bp_spool_begin(struct bp_spool *s);
enum bp_spool_added bp_spool_add(struct bp_spool *s, const struct bp_alarm *a);
bool bp_spool_commit(struct bp_spool *s);
void bp_spool_rollback(struct bp_spool *s);

/* Deletes these ids in one transaction; *deleted: how many of them existed. */
bool bp_spool_delete(struct bp_spool *s, const uint64_t *ids, size_t n, uint64_t *deleted);

/* Returns whether the last failure was a lack of space. */
bool bp_spool_full(const struct bp_spool *s);
/*
 * Removes the file and creates a new one. A full disk may lack the space for deleting rows: use it
 * when no row is needed any more.
 */
bool bp_spool_start_over(struct bp_spool *s);

/* Drops rows older than max_age_ns at now_ns (Unix time), oldest first, a bounded number per
 * call. */
bool bp_spool_expire(struct bp_spool *s, uint64_t now_ns);

/*
 * Calls `row` for rows with id >= from in the order of ids until it returns false or there are no
 * more; *end is true if the last row was reached. `a` is aligned, checked with bp_alarm_valid() and
 * valid only during the call; it is NULL for a row with a damaged record. `row` must not call the
 * spool.
 */
typedef bool (*bp_spool_row)(void *arg, uint64_t id, const struct bp_alarm *a);
bool bp_spool_read(struct bp_spool *s, uint64_t from, bp_spool_row row, void *arg, bool *end);

/* Returns pages of deleted rows to the file system, a bounded number per call. */
void bp_spool_shrink(struct bp_spool *s);

#endif
