/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_DOCTOR_JOURNAL_H
#define BP_APPS_BIPLANE_DOCTOR_JOURNAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * What `doctor --fix` has done since this machine started, one step a line, each written before the
 * step is begun: whatever interrupts it, `--undo` knows how things were. It lies beside biplane's
 * own folder, in one where root alone may write, since root acts by it; and where it goes with the
 * next start of the machine, as what it tells of does.
 */
#define BP_JOURNAL_PATH "/run/biplane-doctor.journal"

struct bp_journal {
	int fd; /* locked: one fix or undo at a time */
	char path[1088];
};

/* Opens and locks it, and makes it when `make`. A journal of before the machine's last start is
 * emptied: nothing of it is in force. 1: there is none; 0; or -1 with a sentence. */
int bp_journal_open(struct bp_journal *j, const char *root, bool make, char *err, size_t err_size);
void bp_journal_close(struct bp_journal *j);

/* Adds a step, and returns when it will outlive this process and a crash of the kernel as far as
 * the file system does. 0, or -1 with a sentence. */
int bp_journal_add(struct bp_journal *j, const json_t *step, char *err, size_t err_size);
/* All steps, oldest first. A last line that is cut was never begun, and is left out. NULL with a
 * sentence when there is anything else in it that is no step. The caller's. */
json_t *bp_journal_steps(struct bp_journal *j, char *err, size_t err_size);
/* Keeps only these, all at once; the file goes when there are none. 0, or -1 with a sentence. */
int bp_journal_keep(struct bp_journal *j, const json_t *steps, char *err, size_t err_size);

#endif
