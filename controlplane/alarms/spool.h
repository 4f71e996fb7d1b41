/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_ALARMS_SPOOL_H
#define BP_CONTROLPLANE_ALARMS_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "biplane/alarm.h"

/*
 * Alarms on disk while the edge broker can't take them: one sqlite3 file, write-ahead logged, one
 * transaction a batch. What is committed survives kill -9 of the process.
 *
 * The file is opened when it is first needed and again after every failure that closed it, so that
 * a disk that comes back is used again. A file that is not a sound spool of this version is moved
 * aside (FILE.damaged-TIME) with a warning and a fresh one is made. One process at a time:
 * FILE.lock stays locked, from the first time that the file is opened on.
 *
 * Functions that return bool return false when the disk would not; bp_spool_error() says why.
 */
struct bp_spool;

#define BP_SPOOL_ROW_OVERHEAD 64u /* bytes that a row costs beside its record */
#define BP_SPOOL_FORMAT 1         /* of the rows: struct bp_alarm as in include/biplane/alarm.h */

/* What changed since it was last asked, for the counters. */
struct bp_spool_events {
	uint64_t dropped_size; /* rows given up because of max_bytes */
	uint64_t dropped_age;  /* rows given up because of max_age_ns */
};

/* max_bytes: sum of the records and their overhead. Never NULL but for want of memory. */
struct bp_spool *bp_spool_new(const char *path, uint64_t max_bytes, uint64_t max_age_ns);
void bp_spool_free(struct bp_spool *s);
void bp_spool_set_bounds(struct bp_spool *s, uint64_t max_bytes, uint64_t max_age_ns);

/* Opens the file if it is not open. */
bool bp_spool_ready(struct bp_spool *s);
/* Another process had it when it was last to be opened. */
bool bp_spool_in_use(const struct bp_spool *s);
const char *bp_spool_error(const struct bp_spool *s);

/* Rows and bytes (overhead included) of what is committed; 0 while the file can't be opened. */
uint64_t bp_spool_rows(const struct bp_spool *s);
uint64_t bp_spool_bytes(const struct bp_spool *s);
/* The lowest id of what is committed; UINT64_MAX: nothing is. */
uint64_t bp_spool_oldest(const struct bp_spool *s);
/* How often the file was opened. */
uint64_t bp_spool_opened(const struct bp_spool *s);
/* The highest id in it, or 0. */
uint64_t bp_spool_max_id(struct bp_spool *s);
/* Takes the events since the last call. */
struct bp_spool_events bp_spool_take_events(struct bp_spool *s);

/*
 * A batch: begin, any number of adds, commit. Commit drops the oldest rows (lowest ids) that exceed
 * max_bytes, in the same transaction. After any false the batch is rolled back.
 */
enum bp_spool_added {
	BP_SPOOL_ADDED,
	BP_SPOOL_PRESENT,  /* the very same alarm is there already */
	BP_SPOOL_CONFLICT, /* another alarm has this id: nothing was added */
	BP_SPOOL_FAILED,
};
bool bp_spool_begin(struct bp_spool *s);
enum bp_spool_added bp_spool_add(struct bp_spool *s, const struct bp_alarm *a);
bool bp_spool_commit(struct bp_spool *s);
void bp_spool_rollback(struct bp_spool *s);

/* Deletes these ids in one transaction; *deleted: how many of them were there. */
bool bp_spool_delete(struct bp_spool *s, const uint64_t *ids, size_t n, uint64_t *deleted);

/* Whether the last failure was for want of space. */
bool bp_spool_full(const struct bp_spool *s);
/*
 * Removes the file and makes a fresh one. A full disk may not have the space that deleting rows
 * takes: for when none of the rows is needed any more.
 */
bool bp_spool_start_over(struct bp_spool *s);

/* Drops what is older than max_age_ns at now_ns (Unix time), oldest first, a bounded number a call.
 */
bool bp_spool_expire(struct bp_spool *s, uint64_t now_ns);

/*
 * Calls `row` for rows with id >= from in id order until it returns false or there are no more;
 * *end says whether the last row was reached. `a` is aligned, checked with bp_alarm_valid() and
 * valid during the call only; it is NULL for a row whose record is damaged. `row` must not call the
 * spool.
 */
typedef bool (*bp_spool_row)(void *arg, uint64_t id, const struct bp_alarm *a);
bool bp_spool_read(struct bp_spool *s, uint64_t from, bp_spool_row row, void *arg, bool *end);

/* Gives pages of deleted rows back to the file system, a bounded number a call. */
void bp_spool_shrink(struct bp_spool *s);

#endif
