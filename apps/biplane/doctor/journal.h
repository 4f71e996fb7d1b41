/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_DOCTOR_JOURNAL_H
#define BP_APPS_BIPLANE_DOCTOR_JOURNAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * The steps of `doctor --fix` since boot, one on each line. A step is written before it is applied,
 * so `--undo` can restore the previous state after any interruption. The journal is in /run: only
 * root can write there, which is necessary because root executes the steps; and a reboot deletes
 * the journal together with the changes that it lists.
 */
#define BP_JOURNAL_PATH "/run/biplane-doctor.journal"

struct bp_journal {
	int fd; /* locked: one fix or undo at a time */
	char path[1088];
};

/* Opens and locks the journal; creates it if `make`. A journal from before the last boot is
 * truncated, because its changes no longer exist. Returns 0; 1 if there is no journal; -1 with a
 * sentence. */
int bp_journal_open(struct bp_journal *j, const char *root, bool make, char *err, size_t err_size);
void bp_journal_close(struct bp_journal *j);

/* Appends a step and synchronises it to the file system. 0, or -1 with a sentence. */
int bp_journal_add(struct bp_journal *j, const json_t *step, char *err, size_t err_size);
/* All steps, oldest first. A truncated last line is omitted: its step was not applied. NULL with a
 * sentence if any other line is not a step. The caller owns the result. */
json_t *bp_journal_steps(struct bp_journal *j, char *err, size_t err_size);
/* Atomically replaces the content with these steps; removes the file if there are none. 0, or -1
 * with a sentence. */
int bp_journal_keep(struct bp_journal *j, const json_t *steps, char *err, size_t err_size);

#endif
